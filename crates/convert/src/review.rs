//! `ConversionReview`: decodes the request of the API server and encodes the response.
//!
//! The answer has the review's own version, the request's `uid`, and either every object, in order, or none and a message. It is an answer
//! even if everything is wrong: the API server shows a failure's message, and hides an HTTP error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value, json};

use crate::{ConvertError, Registry};

const GROUP: &str = "apiextensions.k8s.io/";

/// The response to the body of a request, both as JSON. It is sent with status 200 in any case: failures are in the response's `result`.
pub fn answer_bytes(body: &[u8]) -> Vec<u8> {
    let answer = match serde_json::from_slice(body) {
        Ok(review) => answer(review),
        Err(error) => failure(
            "v1",
            json!(""),
            &format!("the request is not a ConversionReview: {error}"),
        ),
    };
    answer.to_string().into_bytes()
}

/// The answer to a review of Cambium's own kinds.
pub fn answer(review: Value) -> Value {
    let registry = Registry::of_cambium();
    answer_with(review, &|object, desired| registry.convert(object, desired))
}

/// The answer to a review of objects that `convert` can convert. Its panics are answers too.
pub fn answer_with(review: Value, convert: &dyn Fn(Value, &str) -> Result<Value, ConvertError>) -> Value {
    let version = review["apiVersion"]
        .as_str()
        .and_then(|version| version.strip_prefix(GROUP));
    let version = match version {
        Some(version @ ("v1" | "v1beta1")) if review["kind"] == "ConversionReview" => version.to_owned(),
        _ => {
            let (version, kind) = (&review["apiVersion"], &review["kind"]);
            let message =
                format!("apiVersion {version}, kind {kind} is not a ConversionReview of v1 or v1beta1");
            return failure("v1", review["request"]["uid"].clone(), &message);
        }
    };
    let Value::Object(mut review) = review else {
        return failure(&version, json!(""), "the request is not a ConversionReview");
    };
    let Some(Value::Object(mut request)) = review.remove("request") else {
        return failure(&version, json!(""), "the review has no request");
    };
    let uid = request.remove("uid").unwrap_or(json!(""));
    let Some(Value::String(desired)) = request.remove("desiredAPIVersion") else {
        return failure(&version, uid, "request.desiredAPIVersion is missing");
    };
    let objects = match request.remove("objects") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(objects)) => objects,
        Some(_) => return failure(&version, uid, "request.objects is not a list"),
    };
    let mut converted = Vec::with_capacity(objects.len());
    for (index, object) in objects.into_iter().enumerate() {
        let identity = Identity::of(&object);
        let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        match convert_one(object, &desired, &identity, convert) {
            Ok(object) => converted.push(object),
            Err(error) => {
                let message = format!("objects[{index}], {identity}, from {from:?} to {desired:?}: {error}");
                return failure(&version, uid, &message);
            }
        }
    }
    respond(&version, uid, json!({"status": "Success"}), converted)
}

fn convert_one(
    object: Value,
    desired: &str,
    identity: &Identity,
    convert: &dyn Fn(Value, &str) -> Result<Value, ConvertError>,
) -> Result<Value, ConvertError> {
    // The object is the converter's own, and gone if it panics; nothing half-changed is seen by anybody.
    let mut converted =
        catch_unwind(AssertUnwindSafe(|| convert(object, desired))).unwrap_or_else(|panic| {
            Err(ConvertError::Internal {
                message: said(panic.as_ref()),
            })
        })?;
    if let Some(fields) = converted.as_object_mut()
        && fields.get("metadata").is_none_or(Value::is_null)
    {
        fields.insert("metadata".to_owned(), json!({}));
    }
    for field in ["labels", "annotations"] {
        texts(&converted["metadata"][field], field)?;
    }
    let changed = |what: &str| ConvertError::Internal {
        message: format!("it changed {what}"),
    };
    if converted["apiVersion"] != desired {
        return Err(changed("nothing of the API version"));
    }
    if Identity::of(&converted) != *identity {
        return Err(changed("kind, name, namespace or uid"));
    }
    Ok(converted)
}

/// Labels and annotations are maps of texts, or the API server refuses them.
fn texts(map: &Value, field: &str) -> Result<(), ConvertError> {
    let invalid = |path, expected| Err(ConvertError::InvalidMetadata { path, expected });
    match map {
        Value::Null => Ok(()),
        Value::Object(map) => match map.iter().find(|(_, value)| !value.is_string()) {
            Some((name, _)) => invalid(format!("metadata.{field}[{name}]"), "a string"),
            None => Ok(()),
        },
        _ => invalid(format!("metadata.{field}"), "an object"),
    }
}

/// The fields that a conversion must not change; the API server checks them, too.
#[derive(PartialEq)]
struct Identity {
    kind: Value,
    name: Value,
    namespace: Value,
    uid: Value,
}

impl Identity {
    fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            kind: object["kind"].clone(),
            name: metadata["name"].clone(),
            namespace: metadata["namespace"].clone(),
            uid: metadata["uid"].clone(),
        }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = if self.kind.is_string() {
            text(&self.kind)
        } else {
            "object".to_owned()
        };
        match (text(&self.namespace), text(&self.name)) {
            (_, name) if name.is_empty() => write!(formatter, "{kind} without a name"),
            (namespace, name) if namespace.is_empty() => write!(formatter, "{kind} {name}"),
            (namespace, name) => write!(formatter, "{kind} {namespace}/{name}"),
        }
    }
}

/// The text of a panic.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown".to_owned())
}

fn failure(version: &str, uid: Value, message: &str) -> Value {
    respond(
        version,
        uid,
        json!({"status": "Failure", "message": message}),
        Vec::new(),
    )
}

fn respond(version: &str, uid: Value, result: Value, objects: Vec<Value>) -> Value {
    let uid = if uid.is_string() { uid } else { json!("") };
    let mut response = Map::new();
    response.insert("uid".to_owned(), uid);
    response.insert("result".to_owned(), result);
    response.insert("convertedObjects".to_owned(), Value::Array(objects));
    json!({"apiVersion": format!("{GROUP}{version}"), "kind": "ConversionReview", "response": response})
}
