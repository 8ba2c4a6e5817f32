//! Admission rules: which writes and deletions are refused. The reconcilers check the same again, since webhooks may be off.

use crate::catalogue::{Catalogue, Live};
use crate::claim::{ATTEMPTS, generated_name, is_claim_of};
use crate::consumers::{Consumers, Consuming};
use crate::definition::{self, Definition};
use crate::revision::{self, Candidate, LabelEdits, Stored};
use crate::select::{ByRevision, CompositionFetcher as _, Refusal, Wish};
use crate::{Field, Layout};
use cambium_api::crossplane::{TypeReference, UpdatePolicy};
use cambium_api::names::annotation;
use cambium_lineage::{Digest, Lineage, Scheme, Users, publish_unnamed};
use serde_json::Value;

/// Why a write or deletion is refused. The texts begin with the path of the field, where it is about a field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Something in a composition that cannot work.
    #[error("{0}")]
    Composition(cambium_compositions_render::Problem),
    /// A field that composition does not have: most likely a slip of the pen.
    #[error("{path}: there is no such field{}", .meant.map_or(String::new(), |meant| format!("; did you mean {meant:?}?")))]
    UnknownField {
        /// Where it is.
        path: String,
        /// What was meant, probably.
        meant: Option<&'static str>,
    },
    /// How a composition is to be judged by schemas, which is none of the ways.
    #[error("metadata.annotations[{name}]: {0:?} is none of \"strict\", \"loose\" and \"warn\"", name = annotation::VALIDATION_MODE)]
    ValidationMode(String),
    /// A patch, a readiness check or a connection detail that does not fit the schemas.
    #[error("{0}")]
    Misfit(cambium_compositions_render::Misfit),
    /// A kind without a schema, where all must have one.
    #[error(
        "there is no CustomResourceDefinition for the kind {kind:?} of {api_version:?}, by which its patches could be checked"
    )]
    NoSchema {
        /// Group and version.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// A number that only revisions have.
    #[error("spec.revision: revisions are numbered when they are issued; remove it")]
    RevisionNumber,
    /// A limit that is no number.
    #[error("metadata.annotations[{name}]: {value:?} is not a number of revisions; write one like \"10\", or \"0\" to keep those in use alone", name = annotation::REVISION_LIMIT)]
    RevisionLimit {
        /// What is written.
        value: String,
    },
    /// No number for a revision is left.
    #[error("no revision number is left")]
    Exhausted,
    /// Content of a revision that changed.
    #[error("spec: {0}")]
    RevisionContent(String),
    /// A number that went down.
    #[error("spec.revision: the number of a revision never goes down, from {before} to {after}")]
    NumberLowered {
        /// The number that it has.
        before: i64,
        /// The number that it would have.
        after: i64,
    },
    /// A number that a revision with other content than the composition's would get.
    #[error(
        "spec.revision: only the revision with the current spec of Composition {composition:?} may get a higher number; edit the Composition"
    )]
    NumberRaised {
        /// The composition.
        composition: String,
    },
    /// A number that leaves too many out.
    #[error(
        "spec.revision: {number} is too high: under the Composition {composition:?}, numbers up to {highest} were issued; write at most {}", .highest.saturating_add(1)
    )]
    NumberTooHigh {
        /// The number.
        number: u64,
        /// The composition.
        composition: String,
        /// The highest number that was issued.
        highest: u64,
    },
    /// A revision that somebody uses.
    #[error(
        "CompositionRevision {name:?} is in use by {users}; move them to another revision first, or annotate it with {allow}: \"true\": composed resources are kept and no longer updated",
        allow = annotation::ALLOW_ORPHANS
    )]
    InUse {
        /// The revision.
        name: String,
        /// Who uses it.
        users: String,
    },
    /// A composition that somebody uses.
    #[error(
        "Composition {name:?} is in use by {users}; move or delete them first, or annotate it with {allow}: \"true\": composed resources are kept and no longer updated",
        allow = annotation::ALLOW_ORPHANS
    )]
    CompositionInUse {
        /// The composition.
        name: String,
        /// Who uses it.
        users: String,
    },
    /// A definition whose composite resources or claims are there.
    #[error(
        "CompositeResourceDefinition {name:?} is in use by {users}; delete them first, or annotate it with {allow}: \"true\": they and their composed resources are deleted with it",
        allow = annotation::ALLOW_ORPHANS
    )]
    DefinitionInUse {
        /// The definition.
        name: String,
        /// What it defines.
        users: String,
    },
    /// Something that may be in use: who uses it could not be found out.
    #[error(
        "{kind} {name:?} may be in use: {why}; try again, or annotate it with {allow}: \"true\" to delete it regardless of its users",
        allow = annotation::ALLOW_ORPHANS
    )]
    UnknownUsers {
        /// The kind of what is deleted.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Why its users are not known.
        why: String,
    },
    /// Something in a definition that cannot work.
    #[error("{0}")]
    Definition(definition::Problem),
    /// A kind that another definition has.
    #[error(
        "{path}: CompositeResourceDefinition {other:?} defines the kind {kind:?} in {group:?} already; choose another kind, or delete that definition first"
    )]
    KindTaken {
        /// The field.
        path: &'static str,
        /// The definition that has it.
        other: String,
        /// The kind.
        kind: String,
        /// Its group.
        group: String,
    },
    /// Claims that are no longer offered: those that are there would hang.
    #[error(
        "spec.claimNames: Value is immutable: claim names cannot be removed; delete the definition, which deletes the claims, and create it again"
    )]
    ClaimsTakenAway,
    /// What is not even shaped like a definition.
    #[error("not a CompositeResourceDefinition: {0}")]
    Shape(String),
    /// A pin to a revision that cannot be used.
    #[error("{path}.name: {}", .why.bare())]
    Pin {
        /// The field that pins.
        path: &'static str,
        /// Why the revision cannot be used.
        why: Refusal,
    },
    /// A composite resource that somebody else may not give to a claim.
    #[error(
        "spec.resourceRef: {user} may not update {kind} {name:?}, and a claim takes over what it is bound to; leave spec.resourceRef out, or ask for the verb \"update\" on {plural}.{group}"
    )]
    Bind {
        /// Who writes the claim.
        user: String,
        /// The kind of the composite resource.
        kind: String,
        /// Its name.
        name: String,
        /// The resource that rights are needed for.
        plural: String,
        /// The group of the resource.
        group: String,
    },
    /// A policy other than the enforced one.
    #[error(
        "{path}: CompositeResourceDefinition {definition:?} enforces {}; leave the field out, or write {}",
        .enforced.as_str(), .enforced.as_str()
    )]
    Policy {
        /// The field.
        path: &'static str,
        /// What enforces.
        definition: String,
        /// The policy that it enforces.
        enforced: UpdatePolicy,
    },
}

/// Everything that is wrong with a Composition that is created or changed, given what was published under its name. What was there before and stays as it
/// is, is let be.
pub fn check_composition(
    old: Option<&Value>,
    new: &Value,
    lineage: Option<&Lineage>,
    edits: LabelEdits,
) -> Vec<Refused> {
    let mut refused = Vec::new();
    if is_going(new) {
        return refused;
    }
    let limit = |object: &Value| object["metadata"]["annotations"][annotation::REVISION_LIMIT].clone();
    if old.is_none_or(|old| limit(old) != limit(new))
        && let Some(value) = limit(new)
            .as_str()
            .filter(|value| value.parse::<usize>().is_err())
    {
        let value = value.to_owned();
        refused.push(Refused::RevisionLimit { value });
    }
    if old.is_some_and(|old| old["spec"] == new["spec"]) {
        return refused;
    }
    let live = Live::read(new);
    let candidate = Candidate {
        content: &live.content,
        digest: live.identity(edits),
    };
    let nothing = Lineage::empty(String::new(), Scheme::ContentAddressed);
    refused.extend(
        publish_unnamed(lineage.unwrap_or(&nothing), &candidate)
            .findings
            .refused,
    );
    refused
}

/// How strictly a composition is judged by schemas, as Crossplane has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationMode {
    /// Schemas must be known, and fit.
    Strict,
    /// Schemas that are known must fit.
    Loose,
    /// What does not fit, and what is not known, is a warning.
    Warn,
}

impl ValidationMode {
    /// What a composition asks for.
    pub fn of(composition: &Value) -> Result<Self, Refused> {
        match composition["metadata"]["annotations"][annotation::VALIDATION_MODE].as_str() {
            None | Some("warn") => Ok(Self::Warn),
            Some("loose") => Ok(Self::Loose),
            Some("strict") => Ok(Self::Strict),
            Some(other) => Err(Refused::ValidationMode(other.to_owned())),
        }
    }

    /// What is refused, and what is warned of.
    pub fn judge(self, missing: Vec<Refused>, misfits: Vec<Refused>) -> (Vec<Refused>, Vec<String>) {
        let texts = |found: &[Refused]| -> Vec<String> { found.iter().map(ToString::to_string).collect() };
        match self {
            Self::Strict => (missing.into_iter().chain(misfits).collect(), Vec::new()),
            Self::Loose => (misfits, texts(&missing)),
            Self::Warn => {
                let all: Vec<Refused> = missing.into_iter().chain(misfits).collect();
                (Vec::new(), texts(&all))
            }
        }
    }
}

/// Why a CompositionRevision cannot be changed so. What was published may be put back.
pub fn check_revision(old: &Value, new: &Value) -> Vec<Refused> {
    let mut refused = Vec::new();
    if is_going(new) {
        return refused;
    }
    if let Err(why) = revision::check_revision(old, new)
        && !is_restored(old, new)
    {
        refused.push(Refused::RevisionContent(why));
    }
    let number = |object: &Value| object["spec"]["revision"].as_i64();
    if let (Some(before), Some(after)) = (number(old), number(new))
        && after < before
    {
        refused.push(Refused::NumberLowered { before, after });
    }
    refused
}

/// Numbers up to this one may be given to revisions that are made by hand, as when a backup is restored: nobody issues so many, and so many
/// are left that nobody runs out of them.
const RESTORED: u64 = 1_000_000_000;

/// Why a CompositionRevision cannot have its number. The current revision has the highest, and there must be one left for the next: a number is
/// only raised by one, and only for what the composition says now. `issued` is the highest number that was remembered.
pub fn check_number(old: Option<&Value>, new: &Value, catalogue: &Catalogue, issued: u64) -> Option<Refused> {
    let number = |object: &Value| object["spec"]["revision"].as_u64();
    let (before, after) = (old.and_then(number), number(new)?);
    if is_going(new) || (old.is_some() && before.is_some_and(|before| after <= before)) {
        return None;
    }
    let stored = Stored::read(new, LabelEdits::Follow).ok()?;
    let composition = stored.composition.clone();
    let shelf = catalogue.get(&composition);
    if old.is_some() && !shelf.is_some_and(|shelf| shelf.live().is_some() && shelf.has_live_content(&stored))
    {
        return Some(Refused::NumberRaised { composition });
    }
    let known = shelf
        .into_iter()
        .flat_map(|shelf| shelf.revisions())
        .map(|stored| stored.revision.number());
    let highest = known.max().unwrap_or(0).max(issued);
    let is_restored = old.is_none() && after <= RESTORED;
    (after > highest.saturating_add(1) && !is_restored).then_some(Refused::NumberTooHigh {
        number: after,
        composition,
        highest,
    })
}

/// Whether a revision holds again what was published.
fn is_restored(old: &Value, new: &Value) -> bool {
    let published =
        |object: &Value| object["metadata"]["annotations"][annotation::COMPOSITION_DIGEST].clone();
    let mut spec = new["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("revision");
    }
    let issued: Option<Digest> = published(old).as_str().and_then(|digest| digest.parse().ok());
    published(old) == published(new) && issued == Some(Digest::of(&spec))
}

/// A CompositionRevision that is not deleted while somebody uses it; nothing, if it goes whoever does. With its composition it goes, and so it does if
/// somebody said that its users may be left behind.
pub fn guarded<'c>(revision: &Value, catalogue: &'c Catalogue) -> Option<&'c Stored> {
    let stored = catalogue.revision(revision["metadata"]["name"].as_str()?)?;
    let shelf = catalogue.get(&stored.composition)?;
    let goes = allows_orphans(revision) || shelf.live().is_none() || !shelf.is_own(stored) || stored.deleting;
    (!goes).then_some(stored)
}

/// Why a CompositionRevision cannot be deleted: somebody uses it.
pub fn check_revision_deletion(
    revision: &Value,
    catalogue: &Catalogue,
    consumers: &Consumers,
) -> Option<Refused> {
    let name = revision["metadata"]["name"].as_str()?;
    let stored = guarded(revision, catalogue)?;
    let uses = consumers.uses(catalogue, &stored.composition, Users::SHOWN);
    let users = uses.by.get(stored.revision.name())?;
    Some(Refused::InUse {
        name: name.to_owned(),
        users: users.to_string(),
    })
}

/// Why a Composition cannot be deleted: these use it. Users that are going themselves do not need it, and are not among them.
pub fn check_composition_deletion(name: &str, staying: &Users) -> Option<Refused> {
    (staying.count() > 0).then(|| Refused::CompositionInUse {
        name: name.to_owned(),
        users: staying.to_string(),
    })
}

/// Whether something may be deleted whoever uses it: it is going already, or somebody said that its users may be left behind.
pub fn may_go(object: &Value) -> bool {
    is_going(object) || allows_orphans(object)
}

fn allows_orphans(object: &Value) -> bool {
    object["metadata"]["annotations"][annotation::ALLOW_ORPHANS] == "true"
}

/// Everything that is wrong with a CompositeResourceDefinition that is created or changed; or else what it says in vain.
pub fn check_definition<'d>(
    old: Option<&'d Value>,
    new: &'d Value,
    others: impl IntoIterator<Item = &'d Definition>,
) -> Result<Vec<String>, Vec<Refused>> {
    if is_going(new) || old.is_some_and(|old| old["spec"] == new["spec"]) {
        return Ok(Vec::new());
    }
    let definition = definition::Candidate::new(old, new, others).publish()?;
    Ok(definition.warnings().to_vec())
}

/// Why a CompositeResourceDefinition cannot be deleted: there are these of the kinds that it defines. Those that are going themselves are not among
/// them.
pub fn check_definition_deletion(name: &str, staying: &Users) -> Option<Refused> {
    (staying.count() > 0).then(|| Refused::DefinitionInUse {
        name: name.to_owned(),
        users: staying.to_string(),
    })
}

/// What goes with a definition that may be deleted whoever uses it, for people.
pub fn goes_along(object: &Value, answers_for: &[TypeReference], consumers: &Consumers) -> Option<String> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let counts = answers_for
        .iter()
        .map(|type_| (consumers.of_kind(type_).len(), &type_.kind));
    let lost: Vec<String> = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    (!lost.is_empty()).then(|| {
        format!(
            "{name} defines {}, which are deleted with it, and so are their composed resources",
            lost.join(" and ")
        )
    })
}

/// Whether composite resources use revisions, so that a pin means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pins {
    /// They do.
    Checked,
    /// They use compositions as they are.
    Ignored,
}

/// Why a composite resource or a claim cannot be written so. What it said before is let be.
pub fn check_composite(
    definition: &Definition,
    catalogue: &Catalogue,
    pins: Pins,
    old: Option<&Value>,
    new: &Value,
) -> Vec<Refused> {
    let mut refused = Vec::new();
    if is_going(new) {
        return refused;
    }
    let layout = definition.layout();
    let policy = layout.update_policy(new);
    if let (Some(enforced), Some(said)) = (definition.enforced_policy(), policy)
        && said != enforced
        && old.and_then(|old| layout.update_policy(old)) != policy
    {
        refused.push(Refused::Policy {
            path: path(layout, Field::UpdatePolicy),
            definition: definition.name().to_owned(),
            enforced,
        });
    }
    let wish = Wish::of(definition, new);
    let says = |wish: &Wish| (wish.policy, wish.revision.clone(), wish.composition.clone());
    let is_pin = wish.policy == UpdatePolicy::Manual && wish.revision.is_some();
    let is_new = old.is_none_or(|old| says(&Wish::of(definition, old)) != says(&wish));
    if pins == Pins::Checked
        && is_pin
        && is_new
        && let Err(why) = ByRevision.fetch(catalogue, &Consuming::of(&wish.composite_type, new), &wish)
        // Whoever has no composition yet may get one.
        && !matches!(why, Refusal::NoComposition(_))
    {
        let path = path(layout, Field::RevisionRef);
        refused.push(Refused::Pin { path, why });
    }
    refused
}

impl Refused {
    /// Who uses something could not be found out.
    pub fn unknown_users(kind: &'static str, name: &str, why: String) -> Self {
        let name = name.to_owned();
        Self::UnknownUsers { kind, name, why }
    }

    /// What to warn of instead of refusing: something that is not there may come, from a backup or out of somebody's repository, in any order.
    pub fn may_come(&self, layout: Layout, object: &Value) -> Option<String> {
        match self {
            Self::Pin {
                path,
                why: Refusal::MissingRevision(name),
            } => {
                // A claim names its composite resource, and that names what it is composed of.
                let is_composed = !layout.resource_refs(object).is_empty()
                    || object["spec"]["resourceRef"]["name"].is_string();
                let until = match is_composed {
                    true => "composed resources are unchanged",
                    false => "nothing is composed",
                };
                Some(format!(
                    "{path}.name: CompositionRevision {name:?} not found; {until} until it exists"
                ))
            }
            _ => None,
        }
    }
}

/// The composite resource that a claim is to be bound to, if that is not decided already: whoever writes so must have rights on it. What we name
/// ourselves is called after the claim, and not there yet.
pub fn bound_by_hand<'c>(
    old: Option<&Value>,
    new: &'c Value,
    composite: impl Fn(&str) -> Option<Value>,
) -> Option<&'c str> {
    let named = |claim: &'c Value| {
        claim["spec"]["resourceRef"]["name"]
            .as_str()
            .filter(|name| !name.is_empty())
    };
    let name = named(new)?;
    if is_going(new) || old.is_some_and(|old| old["spec"]["resourceRef"]["name"] == *name) {
        return None;
    }
    let (found, metadata) = (composite(name), &new["metadata"]);
    let ours = match &found {
        Some(found) => is_claim_of(new, found),
        None => {
            metadata["uid"].is_string() && (0..ATTEMPTS).any(|attempt| generated_name(new, attempt) == name)
        }
    };
    (!ours).then_some(name)
}

fn path(layout: Layout, field: Field) -> &'static str {
    match (layout, field) {
        (Layout::Legacy, Field::UpdatePolicy) => "spec.compositionUpdatePolicy",
        (Layout::V2, Field::UpdatePolicy) => "spec.crossplane.compositionUpdatePolicy",
        (Layout::Legacy, _) => "spec.compositionRevisionRef",
        (Layout::V2, _) => "spec.crossplane.compositionRevisionRef",
    }
}

fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}
