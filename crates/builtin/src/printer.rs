//! The cells of the built-in Tables.

use serde_json::Value;

/// Name and time of creation.
pub(crate) fn name_created_at(object: &Value, _now: jiff::Timestamp) -> Vec<Value> {
    vec![
        object["metadata"]["name"].clone(),
        object["metadata"]["creationTimestamp"].clone(),
    ]
}
