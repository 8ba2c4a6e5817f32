//! The `fieldsV1` encoding of field sets.
//!
//! Each path element is a key: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:3`. A node that is a member and has members
//! below it has the key `"."`; an empty object is a member.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{PathElement, Set};

/// Depth limit: no real object nests as deep.
const MAX_DEPTH: usize = 128;

/// An invalid `fieldsV1`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FieldsError {
    /// A node is not a JSON object.
    #[error("expected an object below {0:?}")]
    NotAnObject(String),
    /// A key has no type.
    #[error("key must be 2 characters long: {0:?}")]
    ShortKey(String),
    /// A key's type is not followed by a colon.
    #[error("missing colon: {0}")]
    MissingColon(String),
    /// The rest of a key is invalid for its type.
    #[error("parsing key {key:?} as path element: {reason}")]
    BadKey {
        /// The whole key.
        key: String,
        /// The reason.
        reason: String,
    },
    /// The tree is too deep.
    #[error("fields are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

impl Set {
    /// Decodes a `fieldsV1` tree. Path elements of an unknown type are ignored, as upstream does for future versions.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        Ok(read(fields, "", 0)?.0.unwrap_or_default())
    }

    /// Encodes a `fieldsV1` tree.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.write(Member::No))
    }

    fn write(&self, itself: Member) -> Map<String, Value> {
        let mut out = Map::new();
        if itself == Member::Yes {
            out.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for member in &self.members {
            out.insert(write_element(member), Value::Object(Map::new()));
        }
        for (element, child) in &self.children {
            let member = if self.has_member(element) {
                Member::Yes
            } else {
                Member::No
            };
            out.insert(write_element(element), Value::Object(child.write(member)));
        }
        out
    }
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Member {
    Yes,
    No,
}

/// The set below a node, if any, and whether the node itself is a member.
fn read(node: &Value, name: &str, depth: usize) -> Result<(Option<Set>, Member), FieldsError> {
    if depth > MAX_DEPTH {
        return Err(FieldsError::TooDeep);
    }
    let fields = match node {
        Value::Null => return Ok((None, Member::Yes)),
        Value::Object(fields) => fields,
        _ => return Err(FieldsError::NotAnObject(name.to_owned())),
    };
    let mut below: Option<Set> = None;
    let mut itself = Member::No;
    for (key, child) in fields {
        if key == "." {
            itself = Member::Yes;
            continue;
        }
        let Some(element) = read_element(key)? else {
            continue;
        };
        let (grandchildren, member) = read(child, key, depth + 1)?;
        let below = below.get_or_insert_default();
        if member == Member::Yes {
            below.insert_member(element.clone());
        }
        if let Some(grandchildren) = grandchildren {
            below.insert_child(element, grandchildren);
        }
    }
    if below.is_none() {
        itself = Member::Yes;
    }
    Ok((below, itself))
}

fn read_element(key: &str) -> Result<Option<PathElement>, FieldsError> {
    let bytes = key.as_bytes();
    let (Some(kind), Some(colon)) = (bytes.first(), bytes.get(1)) else {
        return Err(FieldsError::ShortKey(key.to_owned()));
    };
    if *colon != b':' {
        return Err(FieldsError::MissingColon(key.to_owned()));
    }
    let rest = key.get(2..).unwrap_or_default();
    let bad = |reason: String| FieldsError::BadKey {
        key: key.to_owned(),
        reason,
    };
    let element = match kind {
        b'f' => PathElement::field(rest),
        b'v' => PathElement::value(serde_json::from_str(rest).map_err(|error| bad(error.to_string()))?),
        b'k' => {
            let fields: Map<String, Value> =
                serde_json::from_str(rest).map_err(|error| bad(error.to_string()))?;
            PathElement::key(fields)
        }
        b'i' => PathElement::Index(
            rest.parse()
                .map_err(|_| bad("expected a whole number".to_owned()))?,
        ),
        _ => return Ok(None),
    };
    Ok(Some(element))
}

fn write_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(key) => {
            let mut out = String::from("k:{");
            for (index, (name, value)) in key.fields().iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                cambium_go_text::write_json_text(&mut out, name);
                out.push(':');
                out.push_str(&cambium_go_text::json(value));
            }
            out.push('}');
            out
        }
        PathElement::Value(value) => format!("v:{}", cambium_go_text::json(value)),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_and_writes_what_upstream_does() {
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {".": {}, "v:\"x/y\"": {}}},
            "f:spec": {
                "f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}, "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}}}}},
                "f:list": {"i:2": {"f:a": {}}},
            },
        });
        let set = Set::from_fields_v1(&fields).unwrap();
        assert_eq!(
            set.to_string(),
            r#".metadata.finalizers
.metadata.labels
.metadata.finalizers[="x/y"]
.metadata.labels.app
.spec.containers[name="web"]
.spec.containers[name="web"].image
.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]
.spec.list[2].a"#
        );
        let mut written = fields;
        // A lone "." is the same as an empty object, and is written as one.
        written["f:spec"]["f:containers"]["k:{\"name\":\"web\"}"]["f:ports"]["k:{\"containerPort\":80,\"protocol\":\"TCP\"}"] =
            json!({});
        assert_eq!(set.to_fields_v1(), written);
    }

    #[test]
    fn empty_is_empty() {
        assert_eq!(Set::from_fields_v1(&json!({})).unwrap(), Set::new());
        assert_eq!(Set::from_fields_v1(&json!(null)).unwrap(), Set::new());
        assert_eq!(Set::new().to_fields_v1(), json!({}));
    }

    #[test]
    fn unknown_steps_are_ignored() {
        let set = Set::from_fields_v1(&json!({"f:a": {"x:y": {}}, "z:b": {"f:c": {}}})).unwrap();
        assert_eq!(set.to_string(), ".a");
    }

    #[test]
    fn bad_input_is_refused() {
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({ "f:a": deep });
        }
        for (fields, message) in [
            (json!([]), r#"expected an object below """#),
            (json!({"f:a": 1}), r#"expected an object below "f:a""#),
            (json!({"f": {}}), r#"key must be 2 characters long: "f""#),
            (json!({"spec": {}}), "missing colon: spec"),
            (json!({"fé": {}}), "missing colon: fé"),
            (
                json!({"i:x": {}}),
                r#"parsing key "i:x" as path element: expected a whole number"#,
            ),
            (deep, "fields are nested more than 128 levels deep"),
        ] {
            assert_eq!(Set::from_fields_v1(&fields).unwrap_err().to_string(), message);
        }
        for key in ["v:", "v:{", "k:", "k:[]", "k:1", "i:", "i:1.5"] {
            assert!(
                matches!(
                    Set::from_fields_v1(&json!({key: {}})),
                    Err(FieldsError::BadKey { .. })
                ),
                "{key}"
            );
        }
    }
}
