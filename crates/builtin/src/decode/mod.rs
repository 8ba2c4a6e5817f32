//! Decodes an object as Go's typed decoder does.
//!
//! The result is the object after a round trip through Go's struct: wrong types are refused with Go's messages, empty
//! `omitempty` fields are dropped, fields that Go always writes are added, and quantities, times and bytes are
//! canonical. Unknown fields are left for the caller.
//!
//! ```text
//! reader     the walk along the schema
//! go         properties of Go struct fields, from the generated go_types
//! scalar     times and bytes
//! ```

mod go;
mod go_types;
mod reader;
mod scalar;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cambium_schema::Schema;
use serde_json::Value;

use crate::Resource;

/// Decodes an object in place.
///
/// # Errors
/// The first field with a wrong JSON type, with Go's message.
pub fn decode(resource: &Resource, object: &mut Value) -> Result<(), String> {
    reader::read(resource.schema, object)?;
    if resource.kind == "Secret" && resource.group.is_empty() {
        merge_string_data(object);
    }
    Ok(())
}

/// As [`decode`], for a part of an object.
pub(crate) fn decode_part(schema: &Schema, value: &mut Value) -> Result<(), String> {
    reader::read(schema, value)
}

/// Merges the write-only `stringData` of a Secret into `data`.
fn merge_string_data(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let data = fields
        .entry("data")
        .or_insert_with(|| Value::Object(Default::default()));
    if let Value::Object(data) = data {
        for (key, text) in texts {
            let bytes = text.as_str().unwrap_or_default().as_bytes();
            data.insert(key, Value::String(STANDARD.encode(bytes)));
        }
    }
}

#[cfg(test)]
mod tests;
