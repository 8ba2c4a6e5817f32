//! The API version that an object was written at.

use cambium_api::v2beta1;
use serde_json::{Map, Value};

use super::annotation;
use super::carrier::Carrier;
use super::marker::Marker;

/// The API version that an object was written at, whichever it is read at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenAt {
    /// One spec: a legacy definition, or one with `spec.version`.
    V1beta1,
    /// `spec.versions`.
    V2beta1,
}

/// The API version that a definition was written at. An object that is being created was written at the version it is at.
pub fn written_at(object: &Value) -> Option<WrittenAt> {
    let object = object.as_object()?;
    let at_v1beta1 = if is_v2beta1(object) {
        Marker::of(object).is_some()
    } else {
        annotation::get(object).and_then(Carrier::read).is_none()
    };
    Some(if at_v1beta1 {
        WrittenAt::V1beta1
    } else {
        WrittenAt::V2beta1
    })
}

/// Whether a definition written at v2beta1 has been edited through v1beta1 since. Only a v1beta1 object can tell.
pub fn edited_elsewhere(object: &Value) -> bool {
    let Some(object) = object.as_object().filter(|object| !is_v2beta1(object)) else {
        return false;
    };
    let carrier = annotation::get(object).and_then(Carrier::read);
    let spec = object.get("spec").and_then(Value::as_object);
    match (carrier, spec) {
        (Some(carrier), Some(spec)) => !carrier.belongs_to(spec),
        _ => false,
    }
}

fn is_v2beta1(object: &Map<String, Value>) -> bool {
    object
        .get("apiVersion")
        .is_some_and(|version| version == v2beta1::API_VERSION)
}
