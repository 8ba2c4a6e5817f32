//! What the server fills in.

use serde_json::Value;

use crate::Resource;

/// Fills in what was left out.
pub fn default(_resource: &Resource, _object: &mut Value) {}

/// The status that a new object begins with.
pub fn initial_status(_resource: &Resource, _object: &mut Value) {}
