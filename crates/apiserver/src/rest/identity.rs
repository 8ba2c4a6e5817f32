//! Checks that an object matches the kind, namespace and name of the URL.

use std::sync::Arc;

use cambium_schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::Call;
use crate::object;
use crate::registry::Origin;
use crate::status::{Result, Status};

/// Checks kind, namespace and name of the object against the URL, and fills in missing ones.
pub(super) fn identify(call: &Call, object: &mut Value) -> Result<()> {
    let custom = matches!(call.resource.origin, Origin::Custom(..));
    if object.is_null() && !custom {
        *object = json!({});
    }
    if let Some(why) = without_kind(object) {
        return Err(call.unrecognized(&why));
    }
    let kindless = object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty();
    if custom && kindless {
        let body = String::from_utf8_lossy(&call.body);
        return Err(call.unrecognized(&format!("Object 'Kind' is missing in '{}'", body.trim())));
    }
    of_this_kind(call, object)?;
    check_types(call, object)?;
    in_place(call, object)
}

/// The decoding error for an object without a readable `apiVersion` and `kind`.
fn without_kind(object: &Value) -> Option<String> {
    let parse = "couldn't get version/kind; json parse error: json: cannot unmarshal";
    let Some(map) = object.as_object() else {
        let what = go_type(object);
        return (what != "null").then(|| format!(
            "{parse} {what} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        ));
    };
    ["apiVersion", "kind"].into_iter().find_map(|field| {
        let value = map
            .get(field)
            .filter(|value| !value.is_string() && !value.is_null())?;
        Some(format!(
            "{parse} {} into Go struct field .{field} of type string",
            go_type(value)
        ))
    })
}

/// The type of a value in the error messages of Go's decoder.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Checks that a patched object still matches the URL.
pub(super) fn identify_patched(call: &Call, object: &mut Value) -> Result<()> {
    let refuse = |object: &Value, why: String| Status::invalid_patch(&object.to_string(), &why);
    if let Some(why) = without_kind(object) {
        return Err(refuse(object, why));
    }
    if let Err(status) = of_this_kind(call, object).and_then(|()| check_types(call, object)) {
        return Err(match status.reason == "BadRequest" {
            true => refuse(object, status.message),
            false => status,
        });
    }
    in_place(call, object)
}

/// Checks that an applied configuration has the resource's kind.
pub(super) fn identify_applied(call: &Call, object: &Value) -> Result<()> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if (api_version, kind) == (&*call.resource.api_version, &*call.resource.kind) {
        return Ok(());
    }
    let group_version = match api_version.matches('/').count() {
        0 => format!("/{api_version}"),
        1 => api_version.to_owned(),
        _ => "/".to_owned(),
    };
    Err(Status::bad_request(format!(
        "invalid object type: {group_version}, Kind={kind}"
    )))
}

fn of_this_kind(call: &Call, object: &mut Value) -> Result<()> {
    let resource = &call.resource;
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let custom = matches!(resource.origin, Origin::Custom(..));
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if custom && *api_version != *resource.api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        )));
    }
    if custom && *kind != *resource.kind {
        let why = format!("must be {}", resource.kind);
        let error = FieldError::invalid(FieldPath::new("kind"), &json!(kind), why);
        let name = object::name(object);
        return Err(Status::invalid(&resource.group, kind, name, &[error]));
    }
    let given = |text: &str, default: &Arc<str>| {
        if text.is_empty() {
            default.to_string()
        } else {
            text.to_owned()
        }
    };
    let (api_version, kind) = (
        given(api_version, &resource.api_version),
        given(kind, &resource.kind),
    );
    if *api_version != *resource.api_version {
        let message = format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        );
        return Err(Status::bad_request(message));
    }
    if *kind != *resource.kind {
        let (version, group) = (&resource.version, &resource.group);
        let message = format!(
            "{kind} in version {version:?} cannot be handled as a {}: no kind {kind:?} is registered for version {}",
            resource.kind,
            if group.is_empty() {
                version.to_string()
            } else {
                format!("{group}/{version}")
            }
        );
        return Err(Status::bad_request(message));
    }
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    Ok(())
}

/// Checks namespace and name of the object against the URL, and fills in missing ones.
pub(super) fn in_place(call: &Call, object: &mut Value) -> Result<()> {
    let namespace = call.namespace().to_owned();
    match (call.resource.namespaced, object::namespace(object)) {
        (true, "") => {
            object::metadata_mut(object).insert("namespace".to_owned(), json!(namespace));
        }
        (true, given) if given != namespace => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        _ => {}
    }
    let wanted = call.path.name.as_str();
    if !wanted.is_empty() {
        match object::name(object) {
            "" => {
                return Err(Status::bad_request(format!(
                    "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
                )));
            }
            given if given != wanted => {
                return Err(Status::bad_request(format!(
                    "the name of the object ({given}) does not match the name on the URL ({wanted})"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the types of a built-in object, and of any object's metadata. Upstream decodes those into Go structs, so a
/// wrong type is a bad request and not an invalid object.
fn check_types(call: &Call, object: &mut Value) -> Result<()> {
    let decoded = match &call.resource.origin {
        Origin::Builtin(row) => cambium_builtin::decode(row, object),
        Origin::Custom(..) => cambium_pipeline::decode_metadata(object).map_err(|why| why.to_string()),
    };
    let (kind, version) = (&call.resource.kind, &call.resource.version);
    decoded.map_err(|why| {
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })
}
