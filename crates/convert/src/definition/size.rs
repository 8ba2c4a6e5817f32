//! Checks that the versions of a definition fit into an annotation.

use cambium_api::v1beta1;
use serde_json::{Map, Value};

use super::convert;
use crate::ConvertError;

/// The limit of Kubernetes for all annotations of an object together, names included.
pub const ANNOTATIONS_LIMIT: usize = 256 << 10;

/// How many bytes of annotations the object will have when it is stored, or why it cannot be.
///
/// For admission: it says so before the API server refuses the result of a conversion.
pub fn check_size(object: &Value) -> Result<usize, ConvertError> {
    let stored = convert(object.clone(), v1beta1::API_VERSION)?;
    stored.as_object().map_or(Ok(0), check)
}

pub(super) fn check(object: &Map<String, Value>) -> Result<usize, ConvertError> {
    let annotations = object
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let bytes = annotations
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, value)| name.len() + value.as_str().unwrap_or_default().len())
        .sum();
    if bytes > ANNOTATIONS_LIMIT {
        return Err(ConvertError::TooLarge {
            bytes,
            limit: ANNOTATIONS_LIMIT,
        });
    }
    Ok(bytes)
}
