//! Validates defaults: they must match their schema and have no unknown fields.

use serde_json::{Value, json};

use crate::field::{FieldError, FieldPath};
use crate::metadata::{Malformed, coerce_embedded, coerce_object, validate_embedded, validate_object};
use crate::model::Schema;
use crate::prune::{META_FIELDS, prune};
use crate::validate::validate_default;

/// Visits every schema with a default, with its path, items before properties. Defaults inside `additionalProperties` are
/// not visited, as upstream does not check them.
pub fn visit_defaults<'a>(
    schema: &'a Schema,
    at: &FieldPath,
    visitor: &mut dyn FnMut(&'a Schema, &FieldPath),
) {
    let mut visit = |schema: &'a Schema, at: &FieldPath, _: Option<&[Step<'a>]>| visitor(schema, at);
    walk(schema, at, &mut Vec::new(), false, &mut visit);
}

pub(super) fn check(schema: &Schema, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut visit = |schema: &Schema, at: &FieldPath, in_metadata: Option<&[Step<'_>]>| {
        let Some(default) = &schema.default else { return };
        let path = at.child("default");
        let about_metadata = match in_metadata {
            Some(surrounding) => check_in_metadata(default, surrounding, &path)
                .into_iter()
                .collect(),
            None => check_embedded(schema, default, &path),
        };
        if in_metadata.is_none() && !prune(schema, &mut default.clone()).is_empty() {
            errors.push(FieldError::invalid(
                path.clone(),
                default,
                "must not have unknown fields",
            ));
        }
        errors.extend(match about_metadata.is_empty() {
            true => validate_default(schema, default, &path),
            false => about_metadata,
        });
    };
    walk(schema, at, &mut Vec::new(), false, &mut visit);
    errors
}

/// A path element from an object down to a default.
#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Item,
}

type Visit<'v, 'a> = dyn FnMut(&'a Schema, &FieldPath, Option<&[Step<'a>]>) + 'v;

fn walk<'a>(
    schema: &'a Schema,
    at: &FieldPath,
    surrounding: &mut Vec<Step<'a>>,
    in_metadata: bool,
    visit: &mut Visit<'_, 'a>,
) {
    // An embedded object is an object of its own.
    let outside = schema.embedded_resource.then(|| std::mem::take(surrounding));
    let in_metadata = in_metadata && !schema.embedded_resource;
    if schema.default.is_some() {
        visit(schema, at, in_metadata.then_some(surrounding));
    }
    if let Some(item) = &schema.items {
        surrounding.push(Step::Item);
        walk(item, &at.child("items"), surrounding, in_metadata, visit);
        surrounding.pop();
    }
    for property in schema.properties.iter() {
        let meta = schema.embedded_resource && META_FIELDS.contains(&&*property.name);
        surrounding.push(Step::Field(&property.name));
        let path = at.child("properties").key(&property.name);
        walk(&property.schema, &path, surrounding, in_metadata || meta, visit);
        surrounding.pop();
    }
    if let Some(outside) = outside {
        *surrounding = outside;
    }
}

/// Validates a default of a metadata field as part of an otherwise empty object.
fn check_in_metadata(default: &Value, surrounding: &[Step<'_>], path: &FieldPath) -> Option<FieldError> {
    let wrapped = surrounding
        .iter()
        .rev()
        .fold(default.clone(), |inner, step| match step {
            Step::Field(name) => json!({ *name: inner }),
            Step::Item => json!([inner]),
        });
    let Value::Object(mut object) = wrapped else {
        return None;
    };
    object
        .entry("apiVersion")
        .or_insert_with(|| "validation/v1".into());
    object.entry("kind").or_insert_with(|| "Validation".into());
    let root = FieldPath::root();
    let problems = match coerce_object(&mut object, &root, Malformed::Refuse) {
        Err(error) => vec![error.to_string()],
        Ok(_) => validate_object(&object, &root)
            .iter()
            .map(ToString::to_string)
            .collect(),
    };
    let text = match &problems[..] {
        [] => return None,
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(FieldError::invalid(
        path.clone(),
        default,
        format!("must result in valid metadata: {text}"),
    ))
}

fn check_embedded(schema: &Schema, default: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut coerced = default.clone();
    let outer = match (schema.embedded_resource, &mut coerced) {
        (true, Value::Object(object)) => coerce_object(object, path, Malformed::Refuse),
        _ => Ok(Vec::new()),
    };
    if let Err(error) = outer.and_then(|_| coerce_embedded(schema, &mut coerced, path, Malformed::Refuse)) {
        return vec![error];
    }
    let object = coerced.as_object().filter(|_| schema.embedded_resource);
    let outer = object
        .into_iter()
        .flat_map(|object| validate_object(object, path));
    outer.chain(validate_embedded(schema, &coerced, path)).collect()
}
