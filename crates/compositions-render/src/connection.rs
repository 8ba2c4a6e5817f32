//! Connection details of composed resources.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::path::FieldPath;

/// Keys and values of a connection secret.
pub type ConnectionDetails = BTreeMap<String, Vec<u8>>;

/// One key of the composite resource's connection secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionDetail {
    /// The key.
    pub name: String,
    /// Where its value comes from.
    pub source: DetailSource,
}

/// Where a connection detail comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetailSource {
    /// A key of the composed resource's own connection secret.
    Key(String),
    /// A field of the composed resource: a text as it is, anything else as JSON.
    Field(FieldPath),
    /// A fixed value.
    Value(String),
}

/// The connection details that `object`, with its own `secret`, gives. What is not there yet is left out.
#[must_use]
pub fn connection_details(
    object: &Value,
    secret: &ConnectionDetails,
    details: &[ConnectionDetail],
) -> ConnectionDetails {
    let value = |source: &DetailSource| match source {
        DetailSource::Key(key) => secret.get(key).cloned(),
        DetailSource::Value(value) => Some(value.clone().into_bytes()),
        DetailSource::Field(path) => path.get(object).ok().map(|value| match value {
            Value::String(text) => text.clone().into_bytes(),
            other => cambium_go_text::json(other).into_bytes(),
        }),
    };
    details
        .iter()
        .filter_map(|detail| value(&detail.source).map(|value| (detail.name.clone(), value)))
        .collect()
}
