//! The verb `patch`: JSON patch, merge patch, strategic merge patch, server-side apply.

use cambium_schema::{FieldError, FieldPath};
use json_patch::{AddOperation, PatchOperation};
use serde_json::{Value, json};

use super::change::{self, Intent};
use super::{Call, identity, intake, managed, present};
use crate::object;
use crate::registry::Origin as Kind;
use crate::request::FieldValidation;
use crate::status::{Result, Status};
use crate::wire::{self, Response};

/// Maximum number of JSON patch operations, as upstream.
const OPERATIONS: usize = 10_000;

/// A decoded patch.
pub(super) enum Patch {
    /// With strict decoding errors.
    Json(json_patch::Patch, Vec<String>),
    /// With duplicate fields.
    Merge(Value, Vec<String>),
    /// With duplicate fields.
    Strategic(Value, Vec<String>),
    Apply(Value),
}

impl Patch {
    pub(super) fn is_apply(&self) -> bool {
        matches!(self, Self::Apply(_))
    }
}

/// Patches an object and responds with it.
pub(super) async fn patch(call: &Call) -> Result<Response> {
    let patch = decode(call)?;
    let options = json!({"kind": "PatchOptions", "apiVersion": "meta.k8s.io/v1",
        "dryRun": if call.options.dry_run { json!(["All"]) } else { Value::Null },
        "fieldManager": call.options.field_manager, "force": call.options.force});
    let outcome = change::carry_out(call, &Intent::Patch(patch), &options).await?;
    Ok(present::object(call, outcome.code(), outcome.value))
}

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Decodes a patch of a subresource with another kind (`Scale`).
pub(super) fn decode_plain(call: &Call) -> Result<Patch> {
    let content_type = call.content_type.as_deref().unwrap_or_default();
    match content_type.split(';').next().unwrap_or_default().trim() {
        APPLY => yaml(call).map(Patch::Apply),
        _ => decode(call),
    }
}

fn decode(call: &Call) -> Result<Patch> {
    let builtin = matches!(call.resource.origin, Kind::Builtin(_));
    let content_type = call.content_type.as_deref().unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim();
    if media != APPLY && call.options.force.is_some() {
        let why = "may not be specified for non-apply patch";
        return Err(refused_options(FieldError::forbidden(
            FieldPath::new("force"),
            why,
        )));
    }
    let malformed = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
    let json = || wire::decode_json(&call.body).map(|decoded| (decoded.value, decoded.duplicates));
    match media {
        JSON => {
            let (operations, duplicates) = json().map_err(malformed)?;
            let operations = match operations {
                Value::Array(operations) => operations,
                Value::Null => vec![],
                other => return Err(malformed(wrong_type(&other, "[]handlers.jsonPatchOp"))),
            };
            if operations.len() > OPERATIONS {
                return Err(Status::too_large(format!(
                    "Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS}, got {}",
                    operations.len()
                )));
            }
            let strange = operations.iter().find(|one| !one.is_object() && !one.is_null());
            if let Some(strange) = strange {
                return Err(malformed(wrong_type(strange, "handlers.jsonPatchOp")));
            }
            let problems = strict_problems(&operations, &duplicates);
            serde_json::from_value(Value::Array(operations))
                .map(|patch| Patch::Json(patch, problems))
                .map_err(|_| rejected())
        }
        MERGE => match json().and_then(object_only).map_err(malformed)? {
            (Value::Null, _) => Err(Status::bad_request("Invalid JSON Patch")),
            (patch, duplicates) => Ok(Patch::Merge(patch, duplicates)),
        },
        STRATEGIC if builtin => match json().and_then(object_only).map_err(Status::bad_request)? {
            (Value::Null, _) => Ok(Patch::Strategic(json!({}), vec![])),
            (patch, duplicates) => Ok(Patch::Strategic(patch, duplicates)),
        },
        APPLY => {
            if call.options.field_manager.is_empty() {
                let why = "is required for apply patch";
                return Err(refused_options(FieldError::required(
                    FieldPath::new("fieldManager"),
                    why,
                )));
            }
            let mut object = yaml(call)?;
            identity::identify_applied(call, &object)?;
            if !builtin {
                cambium_pipeline::normalize_numbers(&mut object);
            }
            Ok(Patch::Apply(object))
        }
        _ => {
            let mut supported = vec![JSON, MERGE];
            if builtin {
                supported.push(STRATEGIC);
            }
            supported.push(APPLY);
            Err(Status::unsupported_media_type(&supported))
        }
    }
}

/// Decodes an apply configuration: YAML, usually JSON.
fn yaml(call: &Call) -> Result<Value> {
    let refuse = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
    let decoded = match wire::decode_json(&call.body) {
        Ok(decoded) => decoded,
        Err(_) => wire::decode_yaml(&call.body)
            .map_err(|why| refuse(format!("error converting YAML to JSON: {why}")))?,
    };
    refuse_repetition(call, &decoded.duplicates)?;
    object_only((decoded.value, vec![]))
        .map(|(value, _)| value)
        .map_err(|why| refuse(format!("error unmarshaling JSON: while decoding JSON: {why}")))
}

/// Reports duplicate keys according to `fieldValidation`.
fn refuse_repetition(call: &Call, duplicates: &[String]) -> Result<()> {
    if duplicates.is_empty() || call.options.field_validation == FieldValidation::Ignore {
        return Ok(());
    }
    let Some(why) = wire::repeated_key(&call.body) else {
        return Ok(());
    };
    match call.options.field_validation == FieldValidation::Strict {
        true => Err(Status::bad_request(format!("error strict decoding YAML: {why}"))),
        false => {
            call.warnings.add(why);
            Ok(())
        }
    }
}

/// Checks that a patch is an object or null.
fn object_only(decoded: (Value, Vec<String>)) -> Result<(Value, Vec<String>), String> {
    match decoded.0 {
        Value::Object(_) | Value::Null => Ok(decoded),
        other => Err(wrong_type(&other, "map[string]interface {}")),
    }
}

/// 422 for options that contradict the patch type.
fn refused_options(error: FieldError) -> Status {
    Status::invalid("meta.k8s.io", "PatchOptions", "", &[error])
}

/// The strict decoding errors of a JSON patch.
fn strict_problems(operations: &[Value], duplicates: &[String]) -> Vec<String> {
    let twice = duplicates
        .iter()
        .map(|path| format!("json patch duplicate field {path:?}"));
    let strange = operations.iter().enumerate().flat_map(|(index, operation)| {
        let fields = operation.as_object().into_iter().flatten();
        fields
            .filter(|(name, _)| !matches!(name.as_str(), "op" | "path" | "from" | "value"))
            .map(move |(name, _)| format!("json patch unknown field {:?}", format!("[{index}].{name}")))
    });
    twice.chain(strange).collect()
}

/// The error of Go's decoder for a value of the wrong type.
fn wrong_type(value: &Value, wanted: &str) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type {wanted}",
        identity::go_type(value)
    )
}

/// 422 for a JSON patch that cannot be applied; upstream gives no reason.
fn rejected() -> Status {
    Status::unprocessable("the server rejected our request due to an error in our request")
}

/// Applies a JSON patch. The total size of `copy` operations is limited to that of a request body: a few dozen of them
/// that double the object each would exhaust memory.
fn apply_json(object: &mut Value, patch: &json_patch::Patch) -> Result<()> {
    let mut copied = 0;
    for operation in &patch.0 {
        let operation = match operation {
            PatchOperation::Copy(copy) => {
                let value = object.pointer(copy.from.as_str()).cloned();
                // A missing field of an object counts as null.
                let value = match value {
                    None if has_parent(object, copy.from.as_str()) => Value::Null,
                    None => return Err(rejected()),
                    Some(value) => value,
                };
                copied += value.to_string().len();
                let path = copy.path.clone();
                PatchOperation::Add(AddOperation { path, value })
            }
            // As upstream's library, `replace` of a missing field of an object adds it.
            PatchOperation::Replace(replace) if has_parent(object, replace.path.as_str()) => {
                let (path, value) = (replace.path.clone(), replace.value.clone());
                PatchOperation::Add(AddOperation { path, value })
            }
            other => other.clone(),
        };
        if copied > wire::BODY_LIMIT || buries(&operation, object) {
            return Err(rejected());
        }
        json_patch::patch(object, &[operation]).map_err(|_| rejected())?;
    }
    Ok(())
}

/// Whether an operation would nest its value too deeply: repeated copies would soon exceed any stack that walks the
/// object.
fn buries(operation: &PatchOperation, object: &Value) -> bool {
    let (path, value) = match operation {
        PatchOperation::Add(add) => (&add.path, Some(&add.value)),
        PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value)),
        PatchOperation::Move(moved) => (&moved.path, object.pointer(moved.from.as_str())),
        _ => return false,
    };
    let above = path.as_str().matches('/').count();
    value.is_some_and(|value| {
        let levels = object::DEEPEST.checked_sub(above);
        levels.is_none_or(|levels| object::is_nested_deeper(value, levels))
    })
}

/// Whether the parent of a pointer exists and is an object.
fn has_parent(object: &Value, pointer: &str) -> bool {
    pointer
        .rsplit_once('/')
        .is_some_and(|(parent, _)| object.pointer(parent).is_some_and(Value::is_object))
}

/// The patched object.
pub(super) async fn compute(call: &Call, patch: &Patch, old: &Value) -> Result<(Value, managed::Origin)> {
    let mut new = old.clone();
    let (mut duplicates, mut problems): (&[String], &[String]) = (&[], &[]);
    match patch {
        Patch::Json(patch, said) => {
            apply_json(&mut new, patch)?;
            problems = said;
        }
        Patch::Merge(patch, twice) => {
            json_patch::merge(&mut new, patch);
            duplicates = twice;
        }
        Patch::Strategic(patch, twice) => {
            new = managed::strategic(call, old, patch)?;
            duplicates = twice;
        }
        Patch::Apply(config) => {
            let mut applied = managed::apply(call, Some(old), config).await?;
            identity::in_place(call, &mut applied)?;
            return Ok((applied, managed::Origin::Apply));
        }
    }
    identity::identify_patched(call, &mut new)?;
    intake::validate_fields(call, &mut new, duplicates, problems.to_vec())?;
    Ok((new, managed::Origin::Update))
}

/// The object that a server-side apply creates.
pub(super) async fn apply_to_nothing(call: &Call, patch: &Patch) -> Result<Value> {
    let Patch::Apply(config) = patch else {
        return Err(call.not_found());
    };
    let uid = object::meta_text(config, "uid");
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        let resource = &call.resource;
        return Err(Status::conflict(
            &resource.group,
            &resource.plural,
            &call.path.name,
            &why,
        ));
    }
    let mut object = managed::apply(call, None, config).await?;
    identity::in_place(call, &mut object)?;
    call.resource.default(&mut object);
    Ok(object)
}
