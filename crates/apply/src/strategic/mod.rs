//! Strategic merge patches: JSON merge patches that know how the lists of built-in types merge.
//!
//! The patch strategies and merge keys come from the schema ([`Property::patch`](cambium_schema::Property),
//! `patch_merge_key`); a patch may also carry directives:
//!
//! | directive | where | meaning |
//! |---|---|---|
//! | `$patch: replace` | object, list item | this object, or the whole list, replaces what is there |
//! | `$patch: delete` | object, list item | what is there goes away |
//! | `$retainKeys: […]` | object | keys that are not listed go away |
//! | `$deleteFromPrimitiveList/field: […]` | object | these values leave the list `field` |
//! | `$setElementOrder/field: […]` | object | the list `field` is in this order |

mod directives;
mod element_order;
mod errors;
mod merge_list;
mod merge_map;
mod patch_schema;

use cambium_schema::Schema;
use serde_json::Value;

pub use errors::{StrategicError, StrategicErrorClass};
use patch_schema::PatchSchema;

/// Applies a strategic merge patch to an object of a built-in type.
pub fn apply(schema: &Schema, original: &Value, patch: &Value) -> Result<Value, StrategicError> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        return Err(StrategicError::BadDocument);
    };
    merge_map::merge_map(original.clone(), patch.clone(), PatchSchema::of(schema)).map(Value::Object)
}

#[cfg(test)]
pub(crate) mod tests;
