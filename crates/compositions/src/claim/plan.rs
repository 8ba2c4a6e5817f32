//! The plan of one claim: bind and sync, refuse, or delete.

use super::manifest::{Manifest, external_name, generated_name, manifest};
use super::{is_claim_of, policy};
use crate::definition::Definition;
use crate::{Field, Layout, composite_of, delete_policy};
use cambium_api::crossplane::{CompositeDeletePolicy, UpdatePolicy};
use cambium_api::names::{annotation, finalizer};
use cambium_objects::is_within;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// All that a decision about a claim depends on.
pub struct Observed<'a> {
    /// What defines it.
    pub definition: &'a Definition,
    /// The claim.
    pub claim: &'a Value,
    /// The composite resource of a name, if there is one.
    pub composite: &'a (dyn Fn(&str) -> Option<Value> + Sync),
    /// Whether a composite resource is what became of a manifest: the API server may rewrite values.
    pub became: &'a (dyn Fn(&Manifest, &Value) -> bool + Sync),
}

/// What is to be done about a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Plan {
    /// Nothing: somebody said so.
    Pause,
    /// Nothing, until a person does something about this.
    Refuse(String),
    /// It is going, and its composite resource with it.
    Delete(Deletion),
    /// It has a composite resource, or gets one.
    Bind(Box<Bind>),
}

/// How a claim goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// The name and the identity of the composite resource to delete.
    pub delete: Option<(String, String)>,
    /// How it is deleted.
    pub policy: CompositeDeletePolicy,
    /// Whether the claim goes now; else when its composite resource is gone.
    pub let_go: bool,
}

/// How a claim and its composite resource are made the same, in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bind {
    /// The name of the composite resource.
    pub name: String,
    /// What the claim must say first: a merge patch.
    pub record: Option<Value>,
    /// What the composite resource must be; nothing if it is so.
    pub apply: Option<Manifest>,
    /// Whether it becomes the claim's by that.
    pub binds: bool,
}

/// Decides about one claim.
pub fn plan(observed: &Observed<'_>) -> Plan {
    let (claim, metadata) = (observed.claim, &observed.claim["metadata"]);
    if metadata["annotations"][annotation::PAUSED] == "true" {
        return Plan::Pause;
    }
    let named = composite_of(claim).and_then(|reference| reference.name);
    let composite = named.and_then(observed.composite);
    let claimed_by = composite
        .as_ref()
        .and_then(|found| Layout::Legacy.claim_ref(found));
    let foreign = composite
        .as_ref()
        .zip(claimed_by)
        .filter(|(found, _)| !is_claim_of(claim, found));
    if !metadata["deletionTimestamp"].is_null() {
        // What belongs to somebody else stays.
        return Plan::Delete(deletion(claim, composite.as_ref().filter(|_| foreign.is_none())));
    }
    if let Some((found, other)) = foreign {
        return Plan::Refuse(format!(
            "refusing to operate on composite resource {} that is not bound to this claim: bound to claim {:?}",
            found["metadata"]["name"], other.name
        ));
    }
    Plan::Bind(Box::new(bind(observed, named, composite.as_ref())))
}

fn deletion(claim: &Value, composite: Option<&Value>) -> Deletion {
    let policy = delete_policy(claim).unwrap_or(CompositeDeletePolicy::Background);
    let there = composite.map(|composite| &composite["metadata"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Deletion {
        delete: there
            .filter(|metadata| metadata["deletionTimestamp"].is_null())
            .map(|metadata| (text(&metadata["name"]), text(&metadata["uid"]))),
        policy,
        let_go: there.is_none() || policy == CompositeDeletePolicy::Background,
    }
}

fn bind(observed: &Observed<'_>, named: Option<&str>, composite: Option<&Value>) -> Bind {
    let (claim, definition) = (observed.claim, observed.definition);
    let name = named.map_or_else(|| free_name(observed), str::to_owned);
    let found = named.is_none().then(|| (observed.composite)(&name)).flatten();
    let composite = composite.or(found.as_ref());
    let record = record(definition, claim, composite, &name);
    let mut recorded = claim.clone();
    if let Some(record) = &record {
        merge(&mut recorded, record);
    }
    let wanted = manifest(definition, &recorded, composite, &name);
    let settled = |live: &Value| {
        live["metadata"]["annotations"][annotation::APPLIED] == wanted.digest.as_str()
            && (is_within(&wanted.object, live) || (observed.became)(&wanted, live))
    };
    let going = |live: &Value| !live["metadata"]["deletionTimestamp"].is_null();
    let binds = composite.is_none_or(|live| !is_claim_of(claim, live));
    let rest = composite.is_some_and(|live| going(live) || settled(live));
    Bind {
        name,
        record,
        apply: (!rest).then_some(wanted),
        binds,
    }
}

/// How many names are tried. More than one is taken once in millions of claims.
pub(crate) const ATTEMPTS: usize = 16;

/// A name that no composite resource has, but for one that is this claim's already.
fn free_name(observed: &Observed<'_>) -> String {
    let free =
        |name: &String| (observed.composite)(name).is_none_or(|found| is_claim_of(observed.claim, &found));
    let mut names = (0..ATTEMPTS).map(|attempt| generated_name(observed.claim, attempt));
    names
        .find(free)
        .unwrap_or_else(|| generated_name(observed.claim, ATTEMPTS))
}

/// What the claim must say before anything is made: whose it is, and what its composite resource decided.
fn record(definition: &Definition, claim: &Value, composite: Option<&Value>, name: &str) -> Option<Value> {
    let layout = Layout::Legacy;
    let (mut metadata, mut spec) = (Map::new(), Map::new());
    let mut held = claim["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !held.iter().any(|name| name == finalizer::CLAIM) {
        held.push(json!(finalizer::CLAIM));
        metadata.insert("finalizers".to_owned(), json!(held));
    }
    let type_ = definition.composite_type();
    let reference = json!({"apiVersion": type_.api_version, "kind": type_.kind, "name": name});
    if !is_within(&reference, &claim["spec"]["resourceRef"]) {
        spec.insert("resourceRef".to_owned(), reference);
    }
    if let Some(composite) = composite {
        if let Some(called) = external_name(composite).filter(|called| external_name(claim) != Some(called)) {
            metadata.insert(
                "annotations".to_owned(),
                json!({annotation::EXTERNAL_NAME: called}),
            );
        }
        let mut follow = |field: Field| {
            let decided = layout.get(composite, field);
            if let Some(decided) = decided.filter(|decided| layout.get(claim, field) != Some(decided)) {
                spec.insert(field.name().to_owned(), decided.clone());
            }
        };
        if definition.enforced_composition().is_some() || layout.composition_ref(claim).is_none() {
            follow(Field::CompositionRef);
        }
        if policy(definition, claim, Some(composite)) == UpdatePolicy::Automatic {
            follow(Field::RevisionRef);
        }
        if layout.get(claim, Field::RevisionSelector).is_none() && has_default_selector(definition, composite)
        {
            follow(Field::RevisionSelector);
        }
    }
    if metadata.is_empty() && spec.is_empty() {
        return None;
    }
    // Whoever changed it in the meantime wins, and it is looked at again.
    for field in ["resourceVersion", "uid"] {
        metadata.insert(field.to_owned(), claim["metadata"][field].clone());
    }
    let mut patch = json!({"metadata": metadata});
    if !spec.is_empty() {
        patch["spec"] = Value::Object(spec);
    }
    Some(patch)
}

/// Whether the composite resource selects what its definition gave it. What the claim gave it and takes away again must not come back.
fn has_default_selector(definition: &Definition, composite: &Value) -> bool {
    let default = definition.default_revision_selector();
    let labels = default.and_then(|default| default.match_labels.as_ref());
    let selected = Layout::Legacy.revision_selector(composite);
    labels.zip(selected).is_some_and(|(labels, selected)| {
        labels.len() == selected.len()
            && labels
                .iter()
                .all(|(name, value)| selected.get(name.as_str()) == Some(&value.as_str()))
    })
}

/// A merge patch, merged. Ours take nothing away.
fn merge(object: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => {
            for (name, value) in fields {
                if object[name].is_null() {
                    object[name] = value.clone();
                } else {
                    merge(&mut object[name], value);
                }
            }
        }
        value => *object = value.clone(),
    }
}
