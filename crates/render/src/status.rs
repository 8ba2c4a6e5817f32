//! Status blocks: what a definition says of the live objects.

use crate::Template;
use cambium_cue::Diagnostics;
use serde_json::Value;
use std::collections::BTreeMap;

/// The live objects of a component or a trait, and whom they belong to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// The component's name.
    pub name: String,
    /// The application's name.
    pub app_name: String,
    /// The application revision's name.
    pub app_revision: String,
    /// The workload; a trait has none.
    pub output: Option<Value>,
    /// The other objects by their names in `outputs`.
    pub outputs: BTreeMap<String, Value>,
    /// The properties.
    pub properties: Option<Value>,
}

/// What the status blocks say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether the objects are as they should be; without a health policy they are.
    pub healthy: bool,
    /// What to tell the user.
    pub message: String,
    /// Details by name.
    pub details: BTreeMap<String, String>,
    /// What is wrong with the status blocks themselves, block by block.
    pub problems: Vec<Diagnostics>,
}

impl Template {
    /// Evaluates the status blocks against live objects.
    pub fn status(&self, _live: &Live) -> Status {
        Status::default()
    }
}
