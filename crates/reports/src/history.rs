//! `cambium history`: the revisions of a definition, an application or a composition, newest first, with the users of each.

use crate::{Inventory, ObjectName, Unanswered, Visibility};
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::{DefinitionType, DefinitionUse, ResolvedReference};
use cambium_definitions::Artifact;
use cambium_lineage::{Digest, RevisionName, Users, Version};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The revisions of a definition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionHistory {
    /// Which definition.
    pub definition: Artifact,
    /// Its revisions.
    pub revisions: Vec<DefinitionRevision>,
}

/// A revision of a definition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionRevision {
    /// Its name.
    pub revision: RevisionName,
    /// Its version, of a definition that has versions.
    pub version: Option<Version>,
    /// Its number.
    pub number: u64,
    /// The digest that it was published with.
    pub digest: Digest,
    /// When it was published.
    pub created: Timestamp,
    /// The digest of its content now, if it was edited after it was published.
    pub altered: Option<Digest>,
    /// The Applications whose objects are made from it; none if that may not be seen.
    pub run_by: Option<Vec<String>>,
    /// The consumers that resolve to it or could be rolled back to it; none if the user may not list them.
    pub used_by: Option<BTreeSet<String>>,
}

/// The revisions of an application.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationHistory {
    /// Which application.
    pub application: ObjectName,
    /// Its revisions.
    pub revisions: Vec<ApplicationRevision>,
}

/// A revision of an application.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationRevision {
    /// Its name.
    pub revision: RevisionName,
    /// Its number.
    pub number: u64,
    /// The digest of the application and the definition revisions that it uses.
    pub digest: Digest,
    /// When it was recorded.
    pub created: Timestamp,
    /// Whether the application is this revision now.
    pub current: bool,
    /// The definition revisions that it uses.
    pub definitions: Vec<DefinitionUse>,
}

/// The revisions of a composition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionHistory {
    /// Which composition.
    pub composition: String,
    /// Its revisions.
    pub revisions: Vec<CompositionRevision>,
}

/// A revision of a composition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionRevision {
    /// Its name.
    pub revision: RevisionName,
    /// Its number.
    pub number: u64,
    /// The digest that it was issued with.
    pub digest: Digest,
    /// When it was issued.
    pub created: Timestamp,
    /// Whether it is what the composition says now.
    pub current: bool,
    /// The digest of its content now, if it was edited after it was published.
    pub altered: Option<Digest>,
    /// All its labels.
    pub labels: BTreeMap<String, String>,
    /// The composite resources and claims that name it.
    pub used_by: Option<BTreeSet<String>>,
}

impl CompositionRevision {
    /// The labels that users gave it, as `name=value`; ours are in other fields.
    pub fn own_labels(&self) -> Vec<String> {
        let own = self.labels.iter();
        let own = own.filter(|(name, _)| !name.starts_with("crossplane.io/composition-"));
        own.map(|(name, value)| format!("{name}={value}")).collect()
    }
}

/// The revisions of the definition to which a name leads from a namespace.
pub fn of_definition(
    inventory: &Inventory,
    namespace: &str,
    type_: DefinitionType,
    name: &str,
) -> Result<DefinitionHistory, Unanswered> {
    let definitions = &inventory.definitions;
    let Some((artifact, shelf)) = definitions.catalogue().find(namespace, type_, name) else {
        return Err(Unanswered::NotFound(format!(
            "no {} {name:?} in namespace {namespace} or {SYSTEM_NAMESPACE}",
            type_.kind()
        )));
    };
    let lineage = shelf
        .lineage()
        .map_err(|error| Unanswered::Unclear(error.to_string()))?;
    let uses = definitions.consumers().uses(artifact, Some(lineage), usize::MAX);
    let is_known = inventory.users != Visibility::Nothing;
    let revisions = lineage.revisions().iter().rev().map(|revision| {
        let users = uses.by.get(revision.name()).map(Users::named);
        DefinitionRevision {
            revision: revision.name().clone(),
            version: revision.version().cloned(),
            number: revision.number(),
            digest: revision.digest(),
            created: revision.created(),
            altered: revision.altered(),
            run_by: is_known.then(|| run_by(inventory, artifact, revision.name().as_str())),
            used_by: is_known.then(|| users.cloned().unwrap_or_default()),
        }
    });
    Ok(DefinitionHistory {
        definition: artifact.clone(),
        revisions: revisions.collect(),
    })
}

/// The Applications whose objects are made from this revision. Others may use it: they resolve to it, or could be rolled back to it.
fn run_by(inventory: &Inventory, artifact: &Artifact, revision: &str) -> Vec<String> {
    let runs = |reference: &ResolvedReference| {
        let running = reference.running.as_ref();
        running.is_some_and(|running| {
            running.revision == revision && running.namespace.as_ref() == Some(&artifact.namespace)
        })
    };
    let running = inventory.definitions.applications().filter(|(_, application)| {
        let references = application["status"]["references"].clone();
        let references: Vec<ResolvedReference> = serde_json::from_value(references).unwrap_or_default();
        references.iter().any(runs)
    });
    running.map(|(key, _)| format!("Application {key}")).collect()
}

/// The revisions of an application.
pub fn of_application(
    inventory: &Inventory,
    namespace: &str,
    name: &str,
) -> Result<ApplicationHistory, Unanswered> {
    let (key, application) = inventory.definitions.application(namespace, name)?;
    let current = application["status"]["latestRevision"]["name"].as_str();
    let recorded = inventory.definitions.recorded(key).iter().rev();
    let revisions = recorded.map(|recorded| ApplicationRevision {
        revision: recorded.revision.name().clone(),
        number: recorded.revision.number(),
        digest: recorded.revision.digest(),
        created: recorded.revision.created(),
        current: Some(recorded.revision.name().as_str()) == current,
        definitions: recorded.definitions.clone(),
    });
    Ok(ApplicationHistory {
        application: ObjectName {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        },
        revisions: revisions.collect(),
    })
}

/// The revisions of a composition.
pub fn of_composition(inventory: &Inventory, name: &str) -> Result<CompositionHistory, Unanswered> {
    let compositions = &inventory.compositions;
    let Some(shelf) = compositions.catalogue().get(name) else {
        return Err(Unanswered::NotFound(format!(
            "no Composition {name:?}, and no revision of one"
        )));
    };
    let uses = compositions
        .consumers()
        .uses(compositions.catalogue(), name, usize::MAX);
    let lineage = shelf.lineage(name);
    let revisions = lineage.revisions().iter().rev().filter_map(|revision| {
        let stored = shelf.stored(revision.name())?;
        Some(CompositionRevision {
            revision: revision.name().clone(),
            number: revision.number(),
            digest: revision.digest(),
            created: revision.created(),
            current: lineage.current() == Some(revision),
            altered: revision.altered(),
            labels: stored.labels.clone(),
            used_by: uses.by.get(revision.name()).map(Users::named).cloned(),
        })
    });
    Ok(CompositionHistory {
        composition: name.to_owned(),
        revisions: revisions.collect(),
    })
}
