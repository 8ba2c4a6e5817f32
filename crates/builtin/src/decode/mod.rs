//! Reading an object into its type.
//!
//! What a client sends is given the form that it has after Go has decoded it into its struct and encoded it
//! again: wrong types are refused in Go's words, empty fields that Go leaves out are gone, fields that Go always
//! writes are there, quantities, times and bytes are in their canonical form. Fields that the type does not have
//! are left for the caller to find.
//!
//! ```text
//! reader     the walk along the schema
//! go         what Go's types say beyond the schemas, from the generated go_types
//! scalar     texts with a meaning: times, bytes
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

/// Brings an object into the form that its type has in Go; the error says what does not fit.
///
/// # Errors
/// The first field whose JSON type is wrong, worded as Go words it.
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

/// `stringData` is for writing only: it ends up in `data`.
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
