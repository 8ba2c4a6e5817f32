//! Checks patches, readiness checks and connection details against schemas: whether their field paths exist, and whether types fit.
//!
//! Schemas are those of CRDs, as JSON. What they leave open is not judged. The metadata of all objects are the same, whatever schemas say.

use std::fmt;
use std::sync::LazyLock;

use cambium_objects::meant;
use serde_json::{Value, json};

use crate::connection::DetailSource;
use crate::patch::{Patch, Source};
use crate::path::{FieldPath, Segment};
use crate::readiness::ReadinessCheck;
use crate::template::{Composition, Template};
use crate::transform::{StringTransform, Transform, ValueType};

/// Something in a composition that does not fit the schemas.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("spec.resources[{resource}]: {place}: {field}: {problem}")]
pub struct Misfit {
    /// The name of the resource.
    pub resource: String,
    /// What of the resource it is.
    pub place: Place,
    /// The field of that.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
}

/// What of a resource does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A patch.
    Patch {
        /// Its place among those of the resource, patch sets counted out.
        index: usize,
        /// Its type.
        kind: &'static str,
    },
    /// A readiness check.
    ReadinessCheck {
        /// Its place among those of the resource.
        index: usize,
        /// Its type.
        kind: &'static str,
    },
    /// A connection detail.
    ConnectionDetail {
        /// The key that it gives.
        name: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch { index, kind } => {
                write!(
                    formatter,
                    "the {kind:?} patch at index {index} (patch sets counted out)"
                )
            }
            Self::ReadinessCheck { index, kind } => {
                write!(formatter, "the {kind:?} readiness check at index {index}")
            }
            Self::ConnectionDetail { name } => write!(formatter, "the connection detail {name:?}"),
        }
    }
}

/// Whether anything of a composition is judged by schemas.
#[must_use]
pub fn is_judged(composition: &Composition) -> bool {
    composition.templates().iter().any(|template| {
        let checks = template.readiness_checks.iter();
        let details = template.connection_details.iter();
        !template.patches.is_empty()
            || checks.filter_map(looks_at).next().is_some()
            || details
                .filter_map(|detail| field_of(&detail.source))
                .next()
                .is_some()
    })
}

/// Everything in a composition that does not fit the schemas of the composite resource and of the composed ones, which are found by their bases.
/// Without a schema for either end, a patch is not judged at that end. Readiness checks and connection details read from the composed resource alone.
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
            let kind = patch.kind.name();
            found.extend(judge(patch, ends).into_iter().map(|(field, problem)| Misfit {
                resource: template.label.clone(),
                place: Place::Patch { index, kind },
                field,
                problem,
            }));
        }
        found.extend(misread(template, schema));
    }
    found
}

/// What readiness checks and connection details look at that is not there, or is of another type.
fn misread(template: &Template, schema: Option<&Value>) -> Vec<Misfit> {
    let misfit = |place: Place, field: &'static str, problem: String| Misfit {
        resource: template.label.clone(),
        place,
        field,
        problem,
    };
    let mut found = Vec::new();
    for (index, check) in template.readiness_checks.iter().enumerate() {
        let Some((kind, path, wanted)) = looks_at(check) else {
            continue;
        };
        let problem = match type_at(schema, path) {
            Err(problem) => problem,
            Ok(Some(type_)) if !wanted.is_empty() && !wanted.contains(&type_) => {
                format!("{path} is {type_}, and the check wants {}", wanted[0])
            }
            Ok(_) => continue,
        };
        found.push(misfit(
            Place::ReadinessCheck { index, kind },
            "fieldPath",
            problem,
        ));
    }
    for detail in &template.connection_details {
        let path = field_of(&detail.source);
        if let Some(problem) = path.and_then(|path| type_at(schema, path).err()) {
            let name = detail.name.clone();
            found.push(misfit(Place::ConnectionDetail { name }, "fromFieldPath", problem));
        }
    }
    found
}

/// The type of a check that looks at a field, that field, and the types that it may have; any if none is named.
fn looks_at(check: &ReadinessCheck) -> Option<(&'static str, &FieldPath, &'static [Type])> {
    Some(match check {
        ReadinessCheck::NonEmpty(path) => ("NonEmpty", path, &[]),
        ReadinessCheck::MatchString(path, _) => ("MatchString", path, &[Type::String]),
        // A number without a fraction is an integer.
        ReadinessCheck::MatchInteger(path, _) => ("MatchInteger", path, &[Type::Integer, Type::Number]),
        ReadinessCheck::MatchTrue(path) => ("MatchTrue", path, &[Type::Boolean]),
        ReadinessCheck::MatchFalse(path) => ("MatchFalse", path, &[Type::Boolean]),
        ReadinessCheck::MatchCondition { .. } | ReadinessCheck::None => return None,
    })
}

/// The field of the composed resource that a connection detail reads, if it does.
fn field_of(source: &DetailSource) -> Option<&FieldPath> {
    match source {
        DetailSource::Field(path) => Some(path),
        DetailSource::Key(_) | DetailSource::Value(_) => None,
    }
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

/// The schema of what all objects have.
static OF_ALL: LazyLock<Value> = LazyLock::new(|| {
    let text = || json!({"type": "string"});
    let integer = || json!({"type": "integer"});
    let texts = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    let open = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"type": "object", "properties": {
        "apiVersion": text(), "kind": text(),
        "metadata": {"type": "object", "properties": {
            "name": text(), "generateName": text(), "namespace": text(), "uid": text(), "resourceVersion": text(), "selfLink": text(),
            "creationTimestamp": text(), "deletionTimestamp": text(),
            "generation": integer(), "deletionGracePeriodSeconds": integer(),
            "labels": texts(), "annotations": texts(),
            "finalizers": {"type": "array", "items": text()},
            "ownerReferences": {"type": "array", "items": {"type": "object", "properties": {
                "apiVersion": text(), "kind": text(), "name": text(), "uid": text(),
                "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
            }}},
            "managedFields": {"type": "array", "items": open()},
        }},
    }})
});

/// What is at a path, if the schema says.
fn type_at(schema: Option<&Value>, path: &FieldPath) -> Result<Option<Type>, String> {
    let segments = path.segments();
    // All objects have the same metadata, and schemas rarely say more.
    let mut current = match segments.first() {
        Some(Segment::Field(name)) if name == "metadata" => Some(&*OF_ALL),
        Some(Segment::Field(name)) if ["apiVersion", "kind"].contains(&name.as_str()) => Some(&*OF_ALL),
        _ => schema,
    };
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
    fn metadata_are_those_of_all_objects() {
        let patch = |from: &str| json!({"fromFieldPath": from, "toFieldPath": "spec.name"});
        for from in [
            "metadata.name",
            "metadata.labels[a.b/c]",
            "metadata.ownerReferences[0].name",
            "metadata.finalizers[0]",
            "kind",
        ] {
            assert_eq!(check(patch(from)), [""; 0], "{from}");
        }
        for (from, problem) in [
            (
                "metadata.nam",
                "fromFieldPath: metadata.nam: the schema has no field \"nam\"; did you mean \"name\"?",
            ),
            (
                "metadata.generation",
                "toFieldPath: spec.name is a string, and the value is an integer; add a transform",
            ),
            (
                "metadata.labels",
                "toFieldPath: spec.name is a string, and the value is an object; add a transform",
            ),
        ] {
            assert_eq!(check(patch(from)), [problem]);
        }
    }

    #[test]
    fn readiness_checks_and_connection_details_must_look_at_something() {
        let check = |check: Value| read(json!({"readinessChecks": [check]}));
        let field = |type_: &str, path: &str| json!({"type": type_, "fieldPath": path, "matchString": "x", "matchInteger": 3});
        for known in [
            field("MatchString", "spec.name"),
            field("NonEmpty", "spec"),
            field("NonEmpty", "metadata.annotations[ready]"),
            field("MatchInteger", "spec.replicas"),
            field("MatchInteger", "spec.weight"),
            json!({"type": "None"}),
            json!({"type": "MatchCondition", "matchCondition": {"type": "Ready", "status": "True"}}),
        ] {
            assert_eq!(check(known.clone()), [""; 0], "{known}");
        }
        for (unfit, problem) in [
            (
                field("MatchString", "spec.nam"),
                "the \"MatchString\" readiness check at index 0: fieldPath: spec.nam: the schema has no field \"nam\"; did you mean \"name\"?",
            ),
            (
                field("NonEmpty", "metadata.nam"),
                "the \"NonEmpty\" readiness check at index 0: fieldPath: metadata.nam: the schema has no field \"nam\"; did you mean \"name\"?",
            ),
            (
                field("MatchInteger", "spec.name"),
                "the \"MatchInteger\" readiness check at index 0: fieldPath: spec.name is a string, and the check wants an integer",
            ),
            (
                field("MatchTrue", "spec.name"),
                "the \"MatchTrue\" readiness check at index 0: fieldPath: spec.name is a string, and the check wants a boolean",
            ),
            (
                field("MatchString", "spec.replicas"),
                "the \"MatchString\" readiness check at index 0: fieldPath: spec.replicas is an integer, and the check wants a string",
            ),
        ] {
            assert_eq!(check(unfit), [format!("spec.resources[box]: {problem}")]);
        }
        let detail = |path: &str| {
            read(
                json!({"connectionDetails": [{"name": "host", "type": "FromFieldPath", "fromFieldPath": path}]}),
            )
        };
        assert_eq!(detail("spec.replicas"), [""; 0]);
        assert_eq!(
            detail("spec.nope"),
            [
                "spec.resources[box]: the connection detail \"host\": fromFieldPath: spec.nope: the schema has no field \"nope\""
            ]
        );
    }

    /// What is wrong with a resource of a composition that says this besides.
    fn read(more: Value) -> Vec<String> {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "name": {"type": "string"}, "weight": {"type": "number"},
        }}}});
        let mut resource = json!({"name": "box", "base": {"apiVersion": "example.org/v1", "kind": "Box"}});
        for (field, value) in more.as_object().into_iter().flatten() {
            resource[field] = value.clone();
        }
        let composition = Composition::read(&json!({"resources": [resource]})).expect("a composition");
        let found = misfits(&composition, None, |_| Some(&schema));
        found.iter().map(ToString::to_string).collect()
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
