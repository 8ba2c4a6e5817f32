//! `patch`: JSON patch, merge patch, strategic merge patch, server-side apply.

use serde_json::{Value, json};

use super::change::{self, Intent};
use super::{Call, managed, present};
use crate::registry::Origin as Kind;
use crate::status::{Result, Status};
use crate::wire::{self, Response};

/// JSON patches have at most this many operations.
const OPERATIONS: usize = 10_000;

/// A patch, decoded.
pub(super) enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    Strategic(Value),
    Apply(Value),
}

impl Patch {
    pub(super) fn is_apply(&self) -> bool {
        matches!(self, Self::Apply(_))
    }
}

/// Answers with the object as it is after the patch.
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

/// Decodes a patch that is to be applied to another kind than the resource's own (its Scale).
pub(super) fn decode_plain(call: &Call) -> Result<Patch> {
    let content_type = call.content_type.as_deref().unwrap_or_default();
    match content_type.split(';').next().unwrap_or_default().trim() {
        APPLY => wire::decode(wire::Media::Yaml, &call.body).map(|decoded| Patch::Apply(decoded.value)),
        _ => decode(call),
    }
}

fn decode(call: &Call) -> Result<Patch> {
    let builtin = matches!(call.resource.origin, Kind::Builtin(_));
    let content_type = call.content_type.as_deref().unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim();
    if media != APPLY && call.options.force.is_some() {
        return Err(Status::unprocessable(
            "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch",
        ));
    }
    let json = || wire::decode(wire::Media::Json, &call.body).map(|decoded| decoded.value);
    let malformed = |error: serde_json::Error| Status::bad_request(format!("error decoding patch: {error}"));
    match media {
        JSON => {
            let patch: json_patch::Patch = serde_json::from_slice(&call.body).map_err(malformed)?;
            match patch.len() > OPERATIONS {
                true => Err(Status::too_large(format!(
                    "The allowed maximum operations in a JSON patch is {OPERATIONS}, got {}",
                    patch.len()
                ))),
                false => Ok(Patch::Json(patch)),
            }
        }
        MERGE => object_only(json()?).map(Patch::Merge),
        STRATEGIC if builtin => object_only(json()?).map(Patch::Strategic),
        APPLY => {
            if call.options.field_manager.is_empty() {
                return Err(Status::unprocessable(
                    "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
                ));
            }
            let decoded = match json() {
                Ok(value) => value,
                Err(_) => wire::decode(wire::Media::Yaml, &call.body)?.value,
            };
            let mut object = object_only(decoded)?;
            change::identify(call, &mut object)?;
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

fn object_only(value: Value) -> Result<Value> {
    match value.is_object() {
        true => Ok(value),
        false => Err(Status::bad_request(
            "error decoding patch: the patch is not an object",
        )),
    }
}

/// The object that the patch makes of what is there.
pub(super) async fn compute(call: &Call, patch: &Patch, old: &Value) -> Result<(Value, managed::Origin)> {
    let mut new = old.clone();
    match patch {
        Patch::Json(patch) => json_patch::patch(&mut new, patch).map_err(|error| {
            Status::unprocessable(format!(
                "the server rejected our request due to an error in our request: {error}"
            ))
        })?,
        Patch::Merge(patch) => json_patch::merge(&mut new, patch),
        Patch::Strategic(patch) => new = managed::strategic(call, old, patch)?,
        Patch::Apply(config) => {
            let applied = managed::apply(call, Some(old), config).await?;
            return Ok((applied, managed::Origin::Apply));
        }
    }
    change::identify(call, &mut new)?;
    change::validate_fields(call, &mut new, &[])?;
    Ok((new, managed::Origin::Update))
}

/// The object that an apply makes where there is none.
pub(super) async fn apply_to_nothing(call: &Call, patch: &Patch) -> Result<Value> {
    let Patch::Apply(config) = patch else {
        return Err(call.not_found());
    };
    let mut object = managed::apply(call, None, config).await?;
    call.resource.default(&mut object);
    Ok(object)
}
