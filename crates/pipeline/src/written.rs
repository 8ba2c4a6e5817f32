//! All stages, as a write runs them.

use serde_json::Value;

use crate::metadata::{Malformed, decode_metadata};
use crate::pipeline::Pipeline;
use cambium_schema::FieldError;

/// What becomes of an object that a client writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The object as it would be stored: pruned, and with defaults.
    pub object: Value,
    /// The paths of what was pruned: `spec.list[0].x`. Strict field validation refuses them, otherwise they are warned of.
    pub unknown_fields: Vec<String>,
    /// Why it is refused; empty if it is accepted.
    pub errors: Vec<FieldError>,
    /// What CEL rules say of parts that did not change, and that is therefore forgiven.
    pub warnings: Vec<FieldError>,
}

impl Written {
    /// Whether the object would be stored.
    pub fn is_accepted(&self) -> bool {
        self.errors.is_empty()
    }
}

impl Pipeline {
    /// What becomes of a new object.
    ///
    /// # Errors
    /// When its metadata, or that of an object inside of it, cannot be decoded.
    pub fn create(&self, object: Value) -> Result<Written, Malformed> {
        self.write(object, None)
    }

    /// What becomes of an object that replaces another one: `old` as it is read from the store ([`Pipeline::read`] of what is there).
    ///
    /// # Errors
    /// When its metadata, or that of an object inside of it, cannot be decoded.
    pub fn update(&self, new: Value, old: &Value) -> Result<Written, Malformed> {
        self.write(new, Some(old))
    }

    fn write(&self, mut object: Value, old: Option<&Value>) -> Result<Written, Malformed> {
        decode_metadata(&mut object)?;
        let unknown_fields = self.decode(&mut object)?;
        self.default(&mut object);
        let judgement = self.validate(&object, old);
        Ok(Written {
            object,
            unknown_fields,
            errors: judgement.errors,
            warnings: judgement.warnings,
        })
    }
}
