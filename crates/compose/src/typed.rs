//! Patches beside schemas: whether the places that they name exist, and whether the types on both ends fit.
//!
//! Schemas are those of CRDs, as JSON. What they leave open is not judged.

use std::fmt;

use cambium_objects::meant;
use serde_json::Value;

use crate::patch::{Patch, Source};
use crate::path::{FieldPath, Segment};
use crate::template::Composition;
use crate::transform::{StringTransform, Transform, ValueType};

/// Something in a patch that does not fit the schemas.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "spec.resources[{resource}]: the {kind:?} patch at index {index} (patch sets counted out): {field}: {problem}"
)]
pub struct Misfit {
    /// The name of the resource.
    pub resource: String,
    /// The place of the patch among those of the resource, patch sets counted out.
    pub index: usize,
    /// The type of the patch.
    pub kind: &'static str,
    /// The field of the patch.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
}

/// Everything in the patches of a composition that does not fit the schemas of the composite resource and of the composed ones, which are found by
/// their bases. Without a schema for either end, a patch is not judged at that end.
pub fn misfits<'s>(
    composition: &Composition,
    composite: Option<&'s Value>,
    composed: impl Fn(&Value) -> Option<&'s Value>,
) -> Vec<Misfit> {
    let mut found = Vec::new();
    for template in composition.templates() {
        let schema = template.base.as_ref().and_then(&composed);
        for (index, patch) in template.patches.iter().enumerate() {
            let ends = match (patch.kind.is_from_composite(), patch.kind.is_to_composite()) {
                (true, _) => (composite, schema),
                (_, true) => (schema, composite),
                // The environment has no schema.
                _ => continue,
            };
            found.extend(judge(patch, ends).into_iter().map(|(field, problem)| Misfit {
                resource: template.label.clone(),
                index,
                kind: patch.kind.name(),
                field,
                problem,
            }));
        }
    }
    found
}

type Ends<'s> = (Option<&'s Value>, Option<&'s Value>);

fn judge(patch: &Patch, (from, to): Ends<'_>) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    let mut source = None;
    match &patch.source {
        Source::Field(path) => match type_at(from, path) {
            Ok(found) => source = found,
            Err(problem) => problems.push(("fromFieldPath", problem)),
        },
        Source::Combine { variables, .. } => {
            source = Some(Type::String);
            let wrong = variables.iter().filter_map(|path| type_at(from, path).err());
            problems.extend(wrong.map(|problem| ("combine.variables", problem)));
        }
    }
    let target = type_at(to, &patch.to).unwrap_or_else(|problem| {
        problems.push(("toFieldPath", problem));
        None
    });
    if !problems.is_empty() {
        return problems;
    }
    for transform in &patch.transforms {
        match after(transform, source) {
            Ok(next) => source = next,
            Err(problem) => return vec![("transforms", problem)],
        }
    }
    match (source, target) {
        (Some(source), Some(target)) if !source.fits(target) => vec![(
            "toFieldPath",
            match patch.transforms.is_empty() {
                true => format!(
                    "{} is {target}, and the value is {source}; add a transform",
                    patch.to
                ),
                false => format!(
                    "{} is {target}, and the transforms make {source} of the value",
                    patch.to
                ),
            },
        )],
        _ => Vec::new(),
    }
}

/// What values are, as far as schemas say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    String,
    Boolean,
    Integer,
    Number,
    Object,
    Array,
}

impl Type {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "object" => Self::Object,
            "array" => Self::Array,
            _ => return None,
        })
    }

    fn fits(self, target: Self) -> bool {
        self == target || (self, target) == (Self::Integer, Self::Number)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::String => "a string",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Object => "an object",
            Self::Array => "an array",
        })
    }
}

/// What a transform makes of a value; nothing if that depends on the value.
fn after(transform: &Transform, input: Option<Type>) -> Result<Option<Type>, String> {
    let only = |wanted: &[Type], words: &str| match input {
        Some(input) if !wanted.contains(&input) => Err(format!(
            "a {} transform takes {words}, and the value is {input}",
            transform.name()
        )),
        _ => Ok(()),
    };
    Ok(match transform {
        Transform::Map(_) | Transform::Match(_) => {
            only(&[Type::String], "a string")?;
            None
        }
        Transform::Math(_) => {
            only(&[Type::Integer, Type::Number], "a number")?;
            input
        }
        Transform::String(string) => {
            if matches!(string, StringTransform::Join(_) | StringTransform::JoinAndCut(_)) {
                only(&[Type::Array], "an array to join")?;
            }
            Some(Type::String)
        }
        Transform::Convert(convert) => Some(match convert.to {
            ValueType::String => Type::String,
            ValueType::Bool => Type::Boolean,
            ValueType::Int64 => Type::Integer,
            ValueType::Float64 => Type::Number,
            ValueType::Object => Type::Object,
            ValueType::Array => Type::Array,
        }),
    })
}

/// What is at a path, if the schema says.
fn type_at(schema: Option<&Value>, path: &FieldPath) -> Result<Option<Type>, String> {
    let segments = path.segments();
    let name = |at: usize| match segments.get(at) {
        Some(Segment::Field(name)) => Some(name.as_str()),
        _ => None,
    };
    // All objects have the same metadata, and schemas rarely say more.
    match (name(0), name(1), segments.len()) {
        (Some("metadata"), Some("labels" | "annotations"), 3) => return Ok(Some(Type::String)),
        (Some("metadata"), Some("name" | "namespace" | "uid" | "generateName"), 2) => {
            return Ok(Some(Type::String));
        }
        (Some("apiVersion" | "kind"), _, 1) => return Ok(Some(Type::String)),
        (Some("metadata"), ..) => return Ok(None),
        _ => {}
    }
    let mut current = schema;
    for segment in segments {
        let Some(schema) = current else {
            return Ok(None);
        };
        current = step(schema, segment).map_err(|problem| format!("{path}: {problem}"))?;
    }
    let Some(schema) = current else {
        return Ok(None);
    };
    if schema["x-kubernetes-int-or-string"] == true {
        return Ok(None);
    }
    Ok(schema["type"].as_str().and_then(Type::named))
}

/// The schema of a field or an element; nothing if anything may be there.
fn step<'s>(schema: &'s Value, segment: &Segment) -> Result<Option<&'s Value>, String> {
    let type_ = schema["type"].as_str();
    let items = || schema.get("items").filter(|items| items.is_object());
    match segment {
        Segment::Field(name) if name == "*" => Ok(match type_ {
            Some("array") => items(),
            _ => schema.get("additionalProperties").filter(|more| more.is_object()),
        }),
        Segment::Index(_) => match type_ {
            Some("array") => Ok(items()),
            Some(other) => Err(format!("the schema has {other} where an array is indexed")),
            None => Ok(None),
        },
        Segment::Field(name) => {
            if let Some(other) = type_.filter(|type_| *type_ != "object") {
                return Err(format!(
                    "the schema has {other} where the field {name:?} is looked for"
                ));
            }
            let properties = schema["properties"].as_object();
            if let Some(property) = properties.and_then(|properties| properties.get(name)) {
                return Ok(Some(property));
            }
            let open = |field: &str| schema[field] == true;
            match &schema["additionalProperties"] {
                more @ Value::Object(_) => return Ok(Some(more)),
                Value::Bool(true) => return Ok(None),
                _ => {}
            }
            let unknown = type_.is_none() && properties.is_none();
            if unknown
                || open("x-kubernetes-preserve-unknown-fields")
                || open("x-kubernetes-embedded-resource")
            {
                return Ok(None);
            }
            let names = properties.into_iter().flat_map(|properties| properties.keys());
            let known = meant(name, names.map(String::as_str));
            Err(format!(
                "the schema has no field {name:?}{}",
                known.map_or(String::new(), |meant| format!("; did you mean {meant:?}?"))
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(patch: Value) -> Vec<String> {
        let composite = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer"}, "text": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}},
                "ratio": {"type": "number"}, "either": {"x-kubernetes-int-or-string": true},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            }},
        }});
        let composed = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "name": {"type": "string"}, "weight": {"type": "number"},
        }}}});
        let base = json!({"apiVersion": "example.org/v1", "kind": "Box"});
        let spec = json!({"resources": [{"name": "box", "base": base, "patches": [patch]}]});
        let composition = Composition::read(&spec).expect("a composition");
        let found = misfits(&composition, Some(&composite), |_| Some(&composed));
        found
            .into_iter()
            .map(|misfit| format!("{}: {}", misfit.field, misfit.problem))
            .collect()
    }

    #[test]
    fn places_and_types_must_fit_where_they_are_known() {
        let patch = |from: &str, to: &str| json!({"fromFieldPath": from, "toFieldPath": to});
        for (from, to) in [
            ("spec.size", "spec.replicas"),
            ("spec.size", "spec.weight"),
            ("spec.either", "spec.replicas"),
            ("spec.open.a.b[0]", "spec.name"),
            ("spec.map.any", "spec.replicas"),
            ("spec.list[0]", "spec.name"),
            ("metadata.labels[a.b/c]", "spec.name"),
            ("metadata.name", "metadata.annotations[x]"),
        ] {
            assert_eq!(check(patch(from, to)), [""; 0], "{from} to {to}");
        }
        for (from, to, problem) in [
            (
                "spec.sise",
                "spec.replicas",
                "fromFieldPath: spec.sise: the schema has no field \"sise\"; did you mean \"size\"?",
            ),
            (
                "spec.size",
                "spec.replics",
                "toFieldPath: spec.replics: the schema has no field \"replics\"; did you mean \"replicas\"?",
            ),
            (
                "spec.text.more",
                "spec.name",
                "fromFieldPath: spec.text.more: the schema has string where the field \"more\" is looked for",
            ),
            (
                "spec.text[0]",
                "spec.name",
                "fromFieldPath: spec.text[0]: the schema has string where an array is indexed",
            ),
            (
                "spec.text",
                "spec.replicas",
                "toFieldPath: spec.replicas is an integer, and the value is a string; add a transform",
            ),
            (
                "spec.ratio",
                "spec.replicas",
                "toFieldPath: spec.replicas is an integer, and the value is a number; add a transform",
            ),
        ] {
            assert_eq!(check(patch(from, to)), [problem]);
        }
    }

    #[test]
    fn transforms_change_the_type() {
        let with = |from: &str, to: &str, transform: Value| json!({"fromFieldPath": from, "toFieldPath": to, "transforms": [transform]});
        let multiply = json!({"type": "math", "math": {"type": "Multiply", "multiply": 2}});
        assert_eq!(
            check(with("spec.size", "spec.replicas", multiply.clone())),
            [""; 0]
        );
        assert_eq!(
            check(with("spec.text", "spec.replicas", multiply)),
            ["transforms: a math transform takes a number, and the value is a string"]
        );
        let convert = json!({"type": "convert", "convert": {"toType": "int64"}});
        assert_eq!(
            check(with("spec.text", "spec.replicas", convert.clone())),
            [""; 0]
        );
        assert_eq!(
            check(with("spec.text", "spec.name", convert)),
            ["toFieldPath: spec.name is a string, and the transforms make an integer of the value"]
        );
        let map = json!({"type": "map", "map": {"a": "b"}});
        assert_eq!(
            check(with("spec.text", "spec.replicas", map)),
            [""; 0],
            "it depends on the value"
        );
    }
}
