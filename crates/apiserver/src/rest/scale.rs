//! The `scale` subresource: `autoscaling/v1` Scale.

use http::StatusCode;
use serde_json::{Value, json};

use super::change::{self, Intent};
use super::{Call, patch};
use crate::registry::ScalePaths;
use crate::status::{Result, Status};
use crate::wire::{Response, value_response};
use crate::{convert, object};

/// Reads or writes the Scale.
pub(super) async fn serve(call: &Call, verb: &str) -> Result<Response> {
    let Some(paths) = call.resource.scale.clone() else {
        return Err(Status::no_such_path());
    };
    let bucket = call.server.store.bucket(&call.resource.bucket);
    let entry = bucket.get(&call.key()).ok_or_else(|| call.not_found())?;
    let current = convert::read(&call.server, &call.resource, &entry).await?;
    let scale = view(&current, &paths);
    let wanted = match verb {
        "get" => {
            return Ok(value_response(
                StatusCode::OK,
                call.representation.encoding,
                &scale,
            ));
        }
        "update" => call.decode()?.value,
        "patch" => patched(call, scale)?,
        _ => return Err(Status::verb_not_allowed()),
    };
    let change = to_patch(call, &wanted, &paths)?;
    let options = json!({"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"});
    let outcome = change::carry_out(call, &Intent::Patch(change), &options).await?;
    Ok(value_response(
        StatusCode::OK,
        call.representation.encoding,
        &view(&outcome.value, &paths),
    ))
}

/// The patched Scale. Only a patch with a resource version conflicts with concurrent writes.
fn patched(call: &Call, mut scale: Value) -> Result<Value> {
    let names_version = match patch::decode_plain(call)? {
        patch::Patch::Json(patch, _) => {
            json_patch::patch(&mut scale, &patch)
                .map_err(|error| Status::unprocessable(error.to_string()))?;
            let path = |operation: &json_patch::PatchOperation| operation.path().to_string();
            patch
                .0
                .iter()
                .any(|operation| path(operation) == "/metadata/resourceVersion")
        }
        patch::Patch::Merge(patch, _) | patch::Patch::Strategic(patch, _) | patch::Patch::Apply(patch) => {
            json_patch::merge(&mut scale, &patch);
            object::at(&patch, "metadata.resourceVersion").is_some()
        }
    };
    if !names_version && let Some(metadata) = scale["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    Ok(scale)
}

/// The merge patch of the object for a changed Scale.
fn to_patch(call: &Call, scale: &Value, paths: &ScalePaths) -> Result<patch::Patch> {
    let invalid = |why: &str, value: &Value| {
        let error =
            cambium_schema::FieldError::invalid(cambium_schema::FieldPath::new("spec.replicas"), value, why);
        Err(Status::invalid("autoscaling", "Scale", &call.path.name, &[error]))
    };
    let replicas = match object::at(scale, "spec.replicas") {
        None | Some(Value::Null) => 0,
        Some(value) => match value.as_i64() {
            Some(number) if number < 0 => return invalid("must be greater than or equal to 0", value),
            Some(number) => number,
            None => return invalid("must be an integer", value),
        },
    };
    let mut change = json!({});
    object::set_at(&mut change, &paths.spec_replicas, json!(replicas));
    for field in ["resourceVersion", "uid"] {
        let given = object::meta_text(scale, field);
        if !given.is_empty() {
            object::set_at(&mut change, &format!("metadata.{field}"), json!(given));
        }
    }
    Ok(patch::Patch::Merge(change, vec![]))
}

fn view(value: &Value, paths: &ScalePaths) -> Value {
    let number = |path: &str| {
        object::at(value, path)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    let metadata = object::metadata(value);
    let mut shown = serde_json::Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata.get(field) {
            shown.insert(field.to_owned(), value.clone());
        }
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": shown,
        "spec": {"replicas": number(&paths.spec_replicas)},
        "status": {"replicas": number(&paths.status_replicas)},
    });
    let selector = (!paths.selector.is_empty())
        .then(|| object::at(value, &paths.selector))
        .flatten();
    match selector {
        Some(Value::String(text)) => scale["status"]["selector"] = json!(text),
        Some(selector @ Value::Object(_)) => scale["status"]["selector"] = json!(selector_text(selector)),
        _ => {}
    }
    scale
}

/// A `metav1.LabelSelector` in query syntax.
fn selector_text(selector: &Value) -> String {
    let labels = selector.get("matchLabels");
    // ReplicationControllers select by a plain map.
    let plain = (selector.get("matchExpressions").is_none() && labels.is_none()).then_some(selector);
    let map = labels.or(plain).and_then(Value::as_object);
    let mut terms: Vec<String> = map
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let values = expression.get("values").and_then(Value::as_array);
        let mut values: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let (key, list) = (text("key"), values.join(","));
        terms.push(match text("operator") {
            "In" => format!("{key} in ({list})"),
            "NotIn" => format!("{key} notin ({list})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    terms.sort();
    terms.join(",")
}
