//! Reads the object of a request body: decode, prune, default.

use std::collections::HashMap;

use cambium_schema::{FieldError, FieldPath};
use serde_json::Value;

use super::Call;
use super::identity::identify;
use crate::registry::{Origin, Served};
use crate::request::FieldValidation;
use crate::status::{Result, Status};
use crate::wire::{self, Media};

/// The object of the request body: matches the URL, without unknown fields, with defaults.
pub(super) fn object(call: &Call) -> Result<Value> {
    let decoded = call.decode()?;
    let mut object = decoded.value;
    identify(call, &mut object)?;
    validate_fields(call, &mut object, &decoded.duplicates, vec![])?;
    call.resource.default(&mut object);
    Ok(object)
}

/// Prunes unknown fields and reports them according to `fieldValidation`, after the `problems` of a patch.
pub(super) fn validate_fields(
    call: &Call,
    object: &mut Value,
    duplicates: &[String],
    mut problems: Vec<String>,
) -> Result<()> {
    let unknown = decode(call, object)?;
    problems.extend(strict_problems(call, duplicates, &unknown));
    match call.options.field_validation {
        _ if problems.is_empty() => {}
        FieldValidation::Ignore => {}
        FieldValidation::Warn => problems
            .iter()
            .for_each(|problem| call.warnings.add(problem.clone())),
        FieldValidation::Strict => {
            let (kind, version) = (&call.resource.kind, &call.resource.version);
            let why = format!("strict decoding error: {}", problems.join(", "));
            return Err(match call.is_patch() {
                false => Status::bad_request(format!(
                    "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
                )),
                true => {
                    let shown = Value::String(String::from_utf8_lossy(&call.body).into_owned());
                    Status::invalid(
                        "",
                        "",
                        "",
                        &[FieldError::invalid(FieldPath::new("patch"), &shown, why)],
                    )
                }
            });
        }
    }
    Ok(())
}

/// Strict decoding errors in upstream's order: for custom resources, duplicates before unknown fields; for built-in
/// kinds, in the order of the document.
fn strict_problems(call: &Call, duplicates: &[String], unknown: &[String]) -> Vec<String> {
    let builtin = matches!(call.resource.origin, Origin::Builtin(_));
    let json = Media::of(call.content_type.as_deref()) == Ok(Media::Json);
    let fields = match builtin && json && !call.is_patch() && duplicates.len() + unknown.len() > 1 {
        true => wire::fields(&String::from_utf8_lossy(&call.body)),
        false => vec![],
    };
    let mut met: HashMap<&str, usize> = HashMap::new();
    let mut places: HashMap<(&str, usize), usize> = HashMap::new();
    for (place, field) in fields.iter().enumerate() {
        let times = met.entry(field).or_default();
        *times += 1;
        places.entry((field, (*times).min(2))).or_insert(place);
    }
    let place = |field: &str, times: usize| places.get(&(field, times)).copied().unwrap_or(usize::MAX);
    let twice = duplicates
        .iter()
        .map(|path| (place(path, 2), format!("duplicate field {path:?}")));
    let strange = unknown
        .iter()
        .map(|path| (place(path, 1), format!("unknown field {path:?}")));
    let mut problems: Vec<(usize, String)> = twice.chain(strange).collect();
    problems.sort_by_key(|(place, _)| *place);
    problems.into_iter().map(|(_, problem)| problem).collect()
}

/// Coerces metadata and prunes; returns the paths of unknown fields.
fn decode(call: &Call, object: &mut Value) -> Result<Vec<String>> {
    let pipeline = match &call.resource.origin {
        Origin::Builtin(row) => return Ok(cambium_schema::prune(row.schema, object)),
        Origin::Custom(definition, index) => &definition.versions[*index].pipeline,
    };
    let (kind, version) = (&call.resource.kind, &call.resource.version);
    pipeline.decode(object).map_err(|why| match call.is_patch() {
        true => Status::invalid_patch(&object.to_string(), &why.to_string()),
        false => Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        )),
    })
}

/// Prunes and defaults an object after admission or a patch changed it.
pub(super) fn normalise(resource: &Served, object: &mut Value) {
    match &resource.origin {
        Origin::Builtin(row) => {
            cambium_schema::prune(row.schema, object);
            cambium_builtin::default(row, object);
        }
        Origin::Custom(definition, index) => drop(definition.versions[*index].pipeline.read(object)),
    }
}
