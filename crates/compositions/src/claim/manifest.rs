//! The manifest of the composite resource that a claim applies.

use super::policy;
use crate::definition::Definition;
use crate::{Field, Layout};
use cambium_api::crossplane::UpdatePolicy;
use cambium_api::names::{annotation, label};
use cambium_lineage::Digest;
use serde_json::{Map, Value, json};

/// What a claim applies.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Manifest {
    /// The object to apply.
    pub object: Value,
    /// The first digits of its digest, which it carries: what the claim no longer says is found by it.
    pub digest: String,
}

/// What belongs to the claim alone, or to the composite resource alone. Where unknown fields are kept, somebody may write the latter into a
/// claim; they do not get through.
const OWN: [&str; 6] = [
    "claimRef",
    "compositeDeletePolicy",
    "publishConnectionDetailsTo",
    "resourceRef",
    "resourceRefs",
    "writeConnectionSecretToRef",
];

/// The composite resource that a claim asks for, under this name.
pub fn manifest(definition: &Definition, claim: &Value, composite: Option<&Value>, name: &str) -> Manifest {
    let metadata = &claim["metadata"];
    let type_ = definition.composite_type();
    let mut labels = inherited(&metadata["labels"]);
    labels.insert(label::CLAIM_NAME.to_owned(), metadata["name"].clone());
    labels.insert(label::CLAIM_NAMESPACE.to_owned(), metadata["namespace"].clone());
    let mut annotations = inherited(&metadata["annotations"]);
    annotations.remove(annotation::APPLIED);
    // Nothing that is there is called something else afterwards.
    if let Some(called) = composite.and_then(external_name) {
        annotations.insert(annotation::EXTERNAL_NAME.to_owned(), json!(called));
    }
    let mut object = json!({
        "apiVersion": type_.api_version,
        "kind": type_.kind,
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": spec(definition, claim, composite),
    });
    let digest = Digest::of(&object).short();
    object["metadata"]["annotations"][annotation::APPLIED] = json!(digest);
    if let Some(composite) = composite {
        object["metadata"]["uid"] = composite["metadata"]["uid"].clone();
        repeat(&mut object, composite);
    }
    Manifest { object, digest }
}

/// References that the composite resource decides are repeated as they are. To leave out what was applied before would take the name away
/// and leave the rest of the reference to whoever else wrote it, which is none. Nothing may have moved in the meantime.
fn repeat(object: &mut Value, composite: &Value) {
    for field in [Field::CompositionRef, Field::RevisionRef] {
        if let Some(decided) = Layout::Legacy.get(composite, field)
            && object["spec"][field.name()].is_null()
        {
            object["spec"][field.name()] = decided.clone();
            object["metadata"]["resourceVersion"] = composite["metadata"]["resourceVersion"].clone();
        }
    }
}

/// The selectors that a composite resource has and its claim does not, as a merge patch that takes them away: where somebody else wrote a
/// part of one, applying cannot.
pub fn leftover(manifest: &Manifest, composite: &Value) -> Option<Value> {
    let selectors = [Field::CompositionSelector, Field::RevisionSelector].into_iter();
    let left = selectors.filter(|field| {
        manifest.object["spec"][field.name()].is_null() && Layout::Legacy.get(composite, *field).is_some()
    });
    let left: Vec<(Field, Value)> = left.map(|field| (field, Value::Null)).collect();
    (!left.is_empty()).then(|| {
        let mut patch = Layout::Legacy.patch(left);
        let metadata = &composite["metadata"];
        patch["metadata"] = json!({"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]});
        patch
    })
}

/// What the thing outside is called, if that is decided.
pub(super) fn external_name(object: &Value) -> Option<&str> {
    let name = object["metadata"]["annotations"][annotation::EXTERNAL_NAME].as_str();
    name.filter(|name| !name.is_empty())
}

/// Labels or annotations, without those that Kubernetes and its tools have for themselves.
fn inherited(given: &Value) -> Map<String, Value> {
    let reserved = |name: &str| {
        let prefix = name.split('/').next().unwrap_or_default();
        prefix.ends_with("kubernetes.io") || prefix.ends_with("k8s.io")
    };
    let given = given.as_object().into_iter().flatten();
    given
        .filter(|(name, _)| !reserved(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn spec(definition: &Definition, claim: &Value, composite: Option<&Value>) -> Value {
    let mut spec = claim["spec"].as_object().cloned().unwrap_or_default();
    spec.retain(|name, _| !OWN.contains(&name.as_str()));
    if definition.enforced_composition().is_some() {
        spec.remove("compositionRef");
    }
    if policy(definition, claim, composite) == UpdatePolicy::Automatic {
        spec.remove("compositionRevisionRef");
    }
    let enforced = definition.enforced_policy();
    if enforced.is_some_and(|enforced| {
        spec.get("compositionUpdatePolicy")
            .is_some_and(|said| *said != enforced.as_str())
    }) {
        spec.remove("compositionUpdatePolicy");
    }
    let metadata = &claim["metadata"];
    spec.insert(
        "claimRef".to_owned(),
        json!({
            "apiVersion": claim["apiVersion"], "kind": claim["kind"],
            "namespace": metadata["namespace"], "name": metadata["name"],
        }),
    );
    Value::Object(spec)
}

/// The letters that Kubernetes makes names of: no words come of them.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many of them.
const SUFFIX: usize = 5;

/// How long a name may be, so that it can be a label.
const LONGEST: usize = 63;

/// The name of a new composite resource: the claim's, and some letters that are always the same for this claim and this attempt.
pub fn generated_name(claim: &Value, attempt: usize) -> String {
    let identity = Digest::of(&json!([claim["metadata"]["uid"], attempt])).hex();
    let digits = identity.as_bytes().chunks(2).take(SUFFIX);
    let suffix: String = digits
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()]))
        .collect();
    let name = claim["metadata"]["name"].as_str().unwrap_or_default();
    let room = LONGEST - SUFFIX - 1;
    format!(
        "{}-{suffix}",
        &name[..name.floor_char_boundary(room.min(name.len()))]
    )
}
