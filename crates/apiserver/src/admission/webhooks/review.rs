//! AdmissionReview: the request that a webhook gets, and the reading of its response.

use base64::Engine as _;
use http::StatusCode;
use serde_json::{Value, json};

use super::hooks::Hook;
use crate::admission::Attributes;
use crate::admission::matching::Invocation;
use crate::server::Server;
use crate::status::{Result, Status};

/// The outcome of a webhook call.
pub(super) enum Verdict {
    /// Allowed, perhaps with a patch.
    Allowed { patch: Option<Vec<u8>> },
    /// The call failed, and `failurePolicy` is `Ignore`.
    Ignored,
}

/// Calls one webhook. A denial is an error, and so is a failed call with `failurePolicy: Fail`.
pub(super) async fn call(
    server: &Server,
    attributes: &Attributes<'_>,
    hook: &Hook,
    invocation: &Invocation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Verdict> {
    // As upstream, the dry run is refused rather than the webhook skipped: its answer would be missing from the result.
    if attributes.dry_run && hook.has_side_effects {
        return Err(Status::bad_request(format!(
            "admission webhook {:?} does not support dry run",
            hook.name
        )));
    }
    let known = hook
        .review_versions
        .iter()
        .find(|version| matches!(version.as_str(), "v1" | "v1beta1"));
    let version = known.map_or("v1", String::as_str);
    let uid = server.sources.uid();
    let request = request(attributes, invocation, &uid, object, old);
    let api_version = format!("admission.k8s.io/{version}");
    let review = json!({"kind": "AdmissionReview", "apiVersion": api_version, "request": request});
    let answer = match server
        .webhooks
        .call(server, &hook.client_config, &review, hook.timeout)
        .await
    {
        Ok(answer) => {
            read(&answer, version, &uid).map_err(|why| format!("received invalid webhook response: {why}"))
        }
        Err(error) => Err(error.to_string()),
    };
    let response = match answer {
        Ok(response) => response,
        Err(why) if !hook.fails_closed => {
            tracing::warn!(
                webhook = hook.name,
                why,
                "failed calling webhook; ignored because of failurePolicy: Ignore"
            );
            return Ok(Verdict::Ignored);
        }
        Err(why) => {
            let name = &hook.name;
            return Err(Status::internal(format!(
                "failed calling webhook {name:?}: failed to call webhook: {why}"
            )));
        }
    };
    for warning in response["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        attributes.warnings.add(warning);
    }
    match response["allowed"] == true {
        true => Ok(Verdict::Allowed {
            patch: patch(hook, &response)?,
        }),
        false => Err(refusal(hook, response.get("status"))),
    }
}

/// The `AdmissionRequest` of a request.
pub(in crate::admission) fn request(
    attributes: &Attributes<'_>,
    invocation: &Invocation,
    uid: &str,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Value {
    let resource = attributes.resource;
    let user = attributes.user.to_json();
    let mut request = json!({
        "uid": uid,
        "kind": {"group": invocation.group, "version": invocation.version, "kind": invocation.kind},
        "resource": {"group": invocation.group, "version": invocation.version, "resource": invocation.resource},
        "requestKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "requestResource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
        "operation": attributes.operation.name(),
        "userInfo": user,
        "object": object,
        "oldObject": old,
        "dryRun": attributes.dry_run,
        "options": given(attributes.options),
    });
    for (field, text) in [("name", attributes.name), ("namespace", attributes.namespace)] {
        if !text.is_empty() {
            request[field] = json!(text);
        }
    }
    if !attributes.subresource.is_empty() {
        request["subResource"] = json!(attributes.subresource);
        request["requestSubResource"] = json!(attributes.subresource);
    }
    request
}

/// The options of the request without unset fields.
fn given(options: &Value) -> Value {
    let mut options = options.clone();
    if let Some(fields) = options.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && value != "");
    }
    options
}

/// Checks an AdmissionReview response as upstream does.
fn read(answer: &Value, version: &str, uid: &str) -> Result<Value, String> {
    let response = answer.get("response").filter(|response| response.is_object());
    let response = response.ok_or("webhook response was absent")?;
    if version == "v1beta1" {
        return Ok(response.clone());
    }
    let expected = format!("admission.k8s.io/{version}");
    let (api, kind) = (
        answer["apiVersion"].as_str().unwrap_or_default(),
        answer["kind"].as_str().unwrap_or_default(),
    );
    if api != expected || kind != "AdmissionReview" {
        return Err(format!(
            "expected webhook response of {expected}, Kind=AdmissionReview, got {api}, Kind={kind}"
        ));
    }
    let answered = response["uid"].as_str().unwrap_or_default();
    if answered != uid {
        return Err(format!("expected response.uid={uid:?}, got {answered:?}"));
    }
    Ok(response.clone())
}

fn patch(hook: &Hook, response: &Value) -> Result<Option<Vec<u8>>> {
    let Some(patch) = response["patch"].as_str().filter(|patch| !patch.is_empty()) else {
        return Ok(None);
    };
    let kind = response["patchType"].as_str().unwrap_or("JSONPatch");
    if kind != "JSONPatch" {
        let name = &hook.name;
        return Err(Status::internal(format!(
            "webhook {name:?}: unsupported patch type {kind:?}"
        )));
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(patch);
    bytes.map(Some).map_err(|error| {
        Status::internal(format!(
            "webhook {:?}: the patch is not base64: {error}",
            hook.name
        ))
    })
}

/// Applies a webhook's patch to the object.
pub(super) fn patched(hook: &Hook, mut object: Value, patch: &[u8]) -> Result<Value> {
    let broken = |why: String| {
        Status::internal(format!(
            "failed to apply the patch of webhook {:?}: {why}",
            hook.name
        ))
    };
    let patch: json_patch::Patch =
        serde_json::from_slice(patch).map_err(|error| broken(error.to_string()))?;
    json_patch::patch(&mut object, &patch).map_err(|error| broken(error.to_string()))?;
    Ok(object)
}

fn refusal(hook: &Hook, status: Option<&Value>) -> Status {
    let text = |field: &str| {
        status
            .and_then(|status| status.get(field))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let message = match (text("message"), text("reason")) {
        ("", "") => format!(
            "admission webhook {:?} denied the request without explanation",
            hook.name
        ),
        ("", reason) => format!("admission webhook {:?} denied the request: {reason}", hook.name),
        (message, _) => format!("admission webhook {:?} denied the request: {message}", hook.name),
    };
    let code = status
        .and_then(|status| status.get("code"))
        .and_then(Value::as_u64);
    let code = code.and_then(|code| StatusCode::from_u16(u16::try_from(code).ok()?).ok());
    // A success would not be a refusal.
    let code = code
        .filter(|code| code.as_u16() >= 400)
        .unwrap_or(StatusCode::FORBIDDEN);
    Status::dictated(code, text("reason"), message)
}
