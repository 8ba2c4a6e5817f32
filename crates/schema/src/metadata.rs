//! Metadata of objects and of embedded objects (`x-kubernetes-embedded-resource`).
//!
//! Schemas do not specify metadata; its type is ObjectMeta everywhere. *Coercing* decodes it as Go would (unknown and
//! empty fields are dropped, wrong types are refused or dropped); *validating* checks names and values afterwards.

mod check;
mod shape;

use serde_json::{Map, Value};

pub use self::check::{validate_embedded, validate_object};
use self::shape::Misfit;
pub use self::shape::object_meta;
use crate::field::{FieldError, FieldPath};
use crate::model::{Additional, Schema};

/// How metadata of the wrong type is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Refuse the object: for request bodies.
    Refuse,
    /// Drop the field: for stored objects.
    Drop,
}

/// Coerces `apiVersion`, `kind` and `metadata` of an object. Returns the dropped unknown fields, in the form of strict
/// field validation.
///
/// # Errors
/// The first field of a wrong type, unless those are dropped.
pub fn coerce_object(
    object: &mut Map<String, Value>,
    at: &FieldPath,
    malformed: Malformed,
) -> Result<Vec<String>, FieldError> {
    for name in ["apiVersion", "kind"] {
        let Some(value) = object.get(name).filter(|value| !value.is_string()) else {
            continue;
        };
        match malformed {
            Malformed::Refuse => return Err(FieldError::invalid(at.child(name), value, "must be a string")),
            Malformed::Drop => object.remove(name),
        };
    }
    let mut unknown = Vec::new();
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(unknown);
    };
    let path = at.child("metadata");
    match shape::coerce(metadata, malformed, path.as_str(), &mut unknown) {
        Ok(()) => {}
        Err(Misfit(_)) if malformed == Malformed::Drop => {}
        Err(Misfit(detail)) => return Err(FieldError::invalid(path, metadata, detail)),
    }
    unknown.sort();
    Ok(unknown)
}

/// Coerces the metadata of every object embedded in `value`, but not of the root ([`coerce_object`]).
///
/// # Errors
/// The first field of a wrong type, unless those are dropped.
pub fn coerce_embedded(
    schema: &Schema,
    value: &mut Value,
    at: &FieldPath,
    malformed: Malformed,
) -> Result<Vec<String>, FieldError> {
    let mut unknown = Vec::new();
    inside(schema, value, at, malformed, &mut unknown)?;
    unknown.sort();
    Ok(unknown)
}

fn inside(
    schema: &Schema,
    value: &mut Value,
    at: &FieldPath,
    malformed: Malformed,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields
                .iter_mut()
                .filter(|(_, field)| field.is_object() || field.is_array())
            {
                match (schema.property(name), &schema.additional) {
                    (Some(property), _) => {
                        node(&property.schema, field, &at.child(name), malformed, unknown)?
                    }
                    (None, Additional::Schema(child)) => {
                        node(child, field, &at.key(name), malformed, unknown)?
                    }
                    (None, _) => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else {
                return Ok(());
            };
            for (index, item) in items.iter_mut().enumerate() {
                node(schema, item, &at.index(index), malformed, unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn node(
    schema: &Schema,
    value: &mut Value,
    at: &FieldPath,
    malformed: Malformed,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    if let (true, Value::Object(object)) = (schema.embedded_resource, &mut *value) {
        unknown.extend(coerce_object(object, at, malformed)?);
    }
    inside(schema, value, at, malformed, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn coerce(object: &mut Value, malformed: Malformed) -> Result<Vec<String>, String> {
        let object = object.as_object_mut().ok_or("no object")?;
        coerce_object(object, &FieldPath::root(), malformed).map_err(|error| error.to_string())
    }

    #[test]
    fn metadata_takes_its_shape() {
        let mut object = json!({"kind": "A", "metadata": {
            "name": "x", "namespace": "", "labels": {"a": "b"}, "annotations": null, "extra": 1,
            "creationTimestamp": "2024-01-01T01:00:00+01:00",
            "ownerReferences": [{"name": "o", "other": true}], "generation": 2,
        }});
        let unknown = coerce(&mut object, Malformed::Refuse);
        assert_eq!(
            unknown,
            Ok(vec![
                "metadata.extra".to_owned(),
                "metadata.ownerReferences[0].other".to_owned()
            ])
        );
        assert_eq!(
            object,
            json!({"kind": "A", "metadata": {
                "name": "x", "labels": {"a": "b"}, "creationTimestamp": "2024-01-01T00:00:00Z",
                "ownerReferences": [{"apiVersion": "", "kind": "", "name": "o", "uid": ""}], "generation": 2,
            }})
        );
    }

    #[test]
    fn wrong_types_are_refused_or_dropped() {
        let mut object = json!({"metadata": {"name": 5, "labels": {"a": "b"}}});
        let refusal = "metadata: Invalid value: {\"labels\":{\"a\":\"b\"},\"name\":5}: json: cannot unmarshal number \
                       into Go struct field ObjectMeta.name of type string";
        assert_eq!(
            coerce(&mut object.clone(), Malformed::Refuse),
            Err(refusal.to_owned())
        );
        assert_eq!(coerce(&mut object, Malformed::Drop), Ok(Vec::new()));
        assert_eq!(object, json!({"metadata": {"labels": {"a": "b"}}}));
        assert_eq!(
            coerce(&mut json!({"kind": 5}), Malformed::Refuse),
            Err("kind: Invalid value: 5: must be a string".to_owned())
        );
    }
}
