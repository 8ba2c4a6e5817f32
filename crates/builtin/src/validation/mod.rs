//! What the server refuses.

use cambium_schema::FieldError;
use serde_json::Value;

use crate::Resource;

/// What is wrong with an object, by itself and as a change of `old`.
pub fn validate(_resource: &Resource, _new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    vec![]
}
