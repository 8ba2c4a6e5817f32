//! The stages of a create or update.

use serde_json::Value;

use crate::metadata::{Malformed, decode_metadata};
use crate::pipeline::Pipeline;
use cambium_schema::FieldError;

/// The result of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The object to be stored: pruned and defaulted.
    pub object: Value,
    /// The paths of pruned fields: `spec.list[0].x`. Strict field validation refuses them.
    pub unknown_fields: Vec<String>,
    /// The validation errors; empty if it is accepted.
    pub errors: Vec<FieldError>,
    /// Failures of CEL rules that were ratcheted.
    pub warnings: Vec<FieldError>,
}

impl Written {
    /// Whether there are no errors.
    pub fn is_accepted(&self) -> bool {
        self.errors.is_empty()
    }
}

impl Pipeline {
    /// Processes a new object.
    ///
    /// # Errors
    /// If its metadata, or that of an embedded object, cannot be decoded.
    pub fn create(&self, object: Value) -> Result<Written, Malformed> {
        self.write(object, None)
    }

    /// Processes an update of `old`, as read from the store ([`Pipeline::read`]).
    ///
    /// # Errors
    /// If its metadata, or that of an embedded object, cannot be decoded.
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
