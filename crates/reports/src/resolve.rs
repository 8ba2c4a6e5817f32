//! `cambium resolve`: the revision that each reference of an application resolves to, with an explanation.

use crate::{Inventory, Unanswered};
use cambium_api::v1beta1::{ApplicationStatus, DefinitionType, ResolvedReference, RunningRevision};
use cambium_definitions::application::answers;
use cambium_definitions::moves::{Explained, explain};
use cambium_definitions::{Answer, Asked, Consuming, Refused, Using, follow};
use cambium_lineage::InUse;
use serde::Serialize;
use serde_json::Value;

/// The resolution of a reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The path of the reference, such as `components[web]`.
    pub path: String,
    /// The kind of definition that it refers to.
    #[serde(rename = "type")]
    pub type_: DefinitionType,
    /// The reference, as it is written.
    pub asked: String,
    /// The version, or the revision of a definition without versions. None if the reference is refused.
    pub version: Option<String>,
    /// The revision that it gets.
    pub revision: Option<String>,
    /// The digest of that.
    pub digest: Option<String>,
    /// The namespace of the definition.
    pub namespace: Option<String>,
    /// The revision that the objects of its component are applied from.
    pub running: Option<RunningRevision>,
    /// The explanation: why it resolves to that, is refused, or runs another revision.
    pub why: String,
    /// The refusal, if it resolves to nothing: the reason of a condition, and a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// A newer version, and why it is not taken.
    pub newer: Option<Newer>,
    /// The revision that the application is frozen at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen: Option<String>,
    /// Whether a definition of the namespace hides a shared one; only if every revision was asked for.
    pub hides_shared: Option<bool>,
    /// Every revision, and why it was chosen or passed over; only if that was asked for.
    pub revisions: Option<Vec<Explained>>,
}

/// A newer version that a reference does not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Newer {
    /// The version, or the revision of a definition without versions.
    pub version: String,
    /// The reason that it is passed over.
    pub reason: String,
}

/// How much an answer explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Only the resolution of each reference.
    Answer,
    /// And what became of every revision.
    EveryRevision,
}

/// What the references of an application get. It need not be in the cluster: one that is not is answered as if it were applied now.
pub fn resolve(
    inventory: &Inventory,
    namespace: &str,
    application: &Value,
    detail: Detail,
) -> Result<Vec<Reference>, Unanswered> {
    let follow = follow(application)?;
    let definitions = &inventory.definitions;
    let application = &definitions.as_if_live(namespace, application);
    let recorded = definitions.recorded_of(namespace, application);
    let answered = answers(application, recorded, definitions.catalogue())?;
    let frozen = answered.frozen.map(|frozen| frozen.revision.name().to_string());
    let status: ApplicationStatus = serde_json::from_value(application["status"].clone()).unwrap_or_default();
    let consumer = Consuming::of(application);
    let reference = |answer: &Answer| {
        let asked = &answer.asked;
        let known = known(&status.references, asked);
        let mut reference = match inventory.hidden(namespace, asked, answer.outcome.as_ref().err()) {
            Some(hidden) => as_known(asked, known, &hidden),
            None => as_answered(answer, known, frozen.as_deref()),
        };
        if detail == Detail::EveryRevision {
            let resolved = answer.outcome.as_ref().ok();
            let using = known.and_then(using);
            let explained = explain(definitions.catalogue(), &consumer, &follow, asked, using.as_ref());
            reference.revisions = explained.ok();
            reference.hides_shared = Some(resolved.is_some_and(|resolved| {
                let artifact = &resolved.stored.artifact;
                definitions.catalogue().hides_shared(artifact)
            }));
        }
        reference
    };
    Ok(answered.answers.iter().map(reference).collect())
}

fn unknown(asked: &Asked, known: Option<&ResolvedReference>) -> Reference {
    Reference {
        path: asked.path.clone(),
        type_: asked.type_,
        asked: asked.text.clone(),
        version: None,
        revision: None,
        digest: None,
        namespace: None,
        running: known.and_then(|known| known.running.clone()),
        why: String::new(),
        refused: None,
        newer: None,
        frozen: None,
        hides_shared: None,
        revisions: None,
    }
}

/// The resolution as the status records it, where the user may not read what it depends on.
fn as_known(asked: &Asked, known: Option<&ResolvedReference>, hidden: &str) -> Reference {
    let mut reference = unknown(asked, known);
    if let Some(known) = known.filter(|known| known.revision.is_some()) {
        reference.version = known.version.clone().or_else(|| known.revision.clone());
        reference.revision.clone_from(&known.revision);
        reference.digest.clone_from(&known.digest);
        reference.namespace.clone_from(&known.namespace);
    }
    reference.why = format!("from the Application's status: {hidden}");
    reference
}

fn as_answered(answer: &Answer, known: Option<&ResolvedReference>, frozen: Option<&str>) -> Reference {
    let mut reference = unknown(&answer.asked, known);
    let resolved = match &answer.outcome {
        Ok(resolved) => resolved,
        Err(refused) => {
            reference.why.clone_from(&refused.message);
            reference.refused = Some(refused.clone());
            return reference;
        }
    };
    let revision = &resolved.stored.revision;
    reference.version = Some(revision.to_string());
    reference.revision = Some(revision.name().to_string());
    reference.digest = Some(revision.digest().to_string());
    reference.namespace = Some(resolved.stored.artifact.namespace.clone());
    reference.frozen = frozen.map(str::to_owned);
    reference.newer = resolved
        .newer
        .clone()
        .map(|(version, reason)| Newer { version, reason });
    let running = reference.running.as_ref();
    // What the status says of a reference that could not move is why it does not run what it got.
    let held_back = known
        .filter(|known| running.is_some_and(|running| known.revision.as_ref() != Some(&running.revision)));
    reference.why = held_back
        .and_then(|known| known.message.clone())
        .unwrap_or_else(|| match frozen {
            Some(frozen) => format!("frozen at {frozen}"),
            None => resolved.reason.to_string(),
        });
    reference
}

/// The status of a reference.
fn known<'s>(references: &'s [ResolvedReference], asked: &Asked) -> Option<&'s ResolvedReference> {
    references
        .iter()
        .find(|known| known.asked == asked.text && known.definition_type == asked.type_)
}

/// The revision that a reference uses now, from the status.
fn using(known: &ResolvedReference) -> Option<Using> {
    Some(Using {
        namespace: known.namespace.clone().unwrap_or_default(),
        revision: InUse {
            name: known.revision.as_ref()?.parse().ok()?,
            digest: known.digest.as_deref().and_then(|digest| digest.parse().ok()),
        },
    })
}
