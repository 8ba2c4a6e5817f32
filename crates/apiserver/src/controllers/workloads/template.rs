//! Creates pods from templates, and hashes templates.

use serde_json::{Map, Value, json};

use crate::object;

/// The label with the template hash of a Deployment's ReplicaSets and pods.
pub(super) const TEMPLATE_HASH: &str = "pod-template-hash";

/// The hash of a template, encoded without vowels so that it spells no words.
pub(super) fn hash(template: &Value, collisions: i64) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut bytes = Vec::new();
    canonical(&meaning(template), &mut bytes);
    if collisions > 0 {
        bytes.extend_from_slice(&collisions.to_le_bytes());
    }
    let fnv = bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });
    fnv.to_string()
        .bytes()
        .map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]))
        .collect()
}

/// Whether two templates are equal apart from the hash label and empty fields.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    meaning(one) == meaning(other)
}

fn meaning(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template
        .pointer_mut("/metadata/labels")
        .and_then(Value::as_object_mut)
    {
        labels.remove(TEMPLATE_HASH);
    }
    strip(&mut template);
    template
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(strip);
            map.retain(|name, value| {
                let nothing = name == "metadata" && value.as_object().is_some_and(Map::is_empty);
                !value.is_null() && !nothing
            });
            if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

fn canonical(value: &Value, into: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            into.push(b'{');
            for (name, value) in fields {
                into.extend_from_slice(name.as_bytes());
                into.push(b':');
                canonical(value, into);
                into.push(b',');
            }
            into.push(b'}');
        }
        Value::Array(list) => {
            into.push(b'[');
            for value in list {
                canonical(value, into);
                into.push(b',');
            }
            into.push(b']');
        }
        scalar => into.extend_from_slice(scalar.to_string().as_bytes()),
    }
}

/// The controller owner reference to an owner.
pub(super) fn controller_reference(owner: &Value) -> Value {
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": object::name(owner),
        "uid": object::meta_text(owner, "uid"), "controller": true, "blockOwnerDeletion": true})
}

/// A pod from a template, controlled by `owner`, without a name.
pub(super) fn pod(owner: &Value, template: &Value) -> Value {
    let mut metadata =
        json!({"ownerReferences": [controller_reference(owner)], "namespace": object::namespace(owner)});
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template.get("metadata").and_then(|metadata| metadata.get(field)) {
            metadata[field] = value.clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec").cloned().unwrap_or_else(|| json!({}))})
}

/// `generateName` for the pods of an owner, truncated to leave room for the suffix.
pub(super) fn generate_name(owner: &str) -> String {
    format!("{owner}-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_the_template_alone() {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}});
        let mut labelled = template.clone();
        labelled["metadata"]["labels"][TEMPLATE_HASH] = json!("x");
        labelled["metadata"]["creationTimestamp"] = Value::Null;
        labelled["metadata"]["annotations"] = json!({});
        assert!(same(&template, &labelled));
        assert_eq!(hash(&template, 0), hash(&labelled, 0));
        assert_ne!(hash(&template, 0), hash(&template, 1));
        let mut other = template.clone();
        other["spec"]["containers"][0]["image"] = json!("b");
        assert!(!same(&template, &other));
        assert_ne!(hash(&template, 0), hash(&other, 0));
    }
}
