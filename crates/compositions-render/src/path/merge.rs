//! Merging a value into what a path already names.
//!
//! Crossplane leaves this to a Go library that has its own idea of *empty*: `false`, `0`, `""`, `[]` and `{}` count as absent, so
//! that keeping existing values never keeps those.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{FieldPath, PathError};
use crate::gofmt;

/// How a patched value meets the value that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeOptions {
    /// Existing fields of objects stay, unless they are empty.
    pub keep_map_values: bool,
    /// Arrays grow by the new elements instead of being replaced.
    pub append_slice: bool,
}

/// What happens when an array that is appended to, somewhere inside an object, already has an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// It is appended again. This is right where the result starts from a template each time.
    Append,
    /// It is left out. This is right where the result starts from its last result, which would grow without end otherwise.
    LeaveOut,
}

/// Why a value cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is no such place.
    #[error(transparent)]
    Path(#[from] PathError),
    /// An array cannot be appended to what is no array.
    #[error(
        "failed to merge values: cannot append two slices with different type ([]interface {{}}, {found})"
    )]
    NotAnArray {
        /// The Go type of what is there.
        found: &'static str,
    },
}

impl FieldPath {
    /// Puts `value` where the path says; with options, merged with what is there.
    ///
    /// # Errors
    /// When there is no such place, or the two values cannot be merged.
    pub fn merge(
        &self,
        object: &mut Value,
        value: Value,
        options: Option<MergeOptions>,
        repeats: Repeats,
    ) -> Result<(), MergeError> {
        let Some(options) = options else {
            return Ok(self.set(object, value)?);
        };
        let existing = match self.get(object) {
            Ok(existing) => existing.clone(),
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(error.into()),
        };
        let merged = merged(existing, value, options, repeats)?;
        Ok(self.set(object, merged)?)
    }
}

fn merged(
    existing: Value,
    mut value: Value,
    options: MergeOptions,
    repeats: Repeats,
) -> Result<Value, MergeError> {
    if existing.is_null() || value.is_null() {
        return Ok(value);
    }
    if let (true, Value::Array(existing), Value::Array(new)) = (options.append_slice, &existing, &mut value) {
        leave_out(new, existing);
    }
    // Both values are merged as the one field of two objects: that is what decides about scalars and arrays, too.
    let mut target = Map::from_iter([("value".to_owned(), existing)]);
    merge_field(&mut target, "value", value, options, repeats)?;
    Ok(target.remove("value").unwrap_or_default())
}

fn merge_objects(
    target: &mut Map<String, Value>,
    source: Map<String, Value>,
    options: MergeOptions,
    repeats: Repeats,
) -> Result<(), MergeError> {
    source
        .into_iter()
        .try_for_each(|(name, value)| merge_field(target, &name, value, options, repeats))
}

fn merge_field(
    target: &mut Map<String, Value>,
    name: &str,
    new: Value,
    options: MergeOptions,
    repeats: Repeats,
) -> Result<(), MergeError> {
    let overwrite = !options.keep_map_values;
    match (target.get_mut(name), new) {
        (_, Value::Null) if !overwrite => {}
        (Some(Value::Object(existing)), Value::Object(fields)) if !existing.is_empty() => {
            merge_objects(existing, fields, options, repeats)?;
        }
        (Some(Value::Array(existing)), Value::Array(mut elements)) if options.append_slice => {
            if repeats == Repeats::LeaveOut {
                leave_out(&mut elements, existing);
            }
            existing.append(&mut elements);
        }
        (Some(existing), Value::Array(_)) if options.append_slice && !existing.is_null() => {
            return Err(MergeError::NotAnArray {
                found: gofmt::type_name(&*existing),
            });
        }
        (Some(existing), new) if overwrite || is_empty(existing) => *existing = new,
        (Some(_), _) => {}
        (None, new) => {
            target.insert(name.to_owned(), new);
        }
    }
    Ok(())
}

fn leave_out(elements: &mut Vec<Value>, existing: &[Value]) {
    let existing: HashSet<&Value> = existing.iter().collect();
    elements.retain(|element| !existing.contains(element));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
