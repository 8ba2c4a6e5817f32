//! The model of a composition: read once, used for every composite resource that follows its revision.

use serde_json::Value;

use crate::connection::ConnectionDetail;
use crate::patch::Patch;
use crate::problem::Problems;
use crate::read;
use crate::readiness::ReadinessCheck;

/// A composition in `mode: Resources`, checked and compiled: paths parsed, expressions compiled, patch sets put in place.
#[derive(Debug, Clone)]
pub struct Composition {
    pub(crate) templates: Vec<Template>,
    pub(crate) write_connection_secrets_to_namespace: Option<String>,
}

/// How one composed resource is made, and what is read from it.
#[derive(Debug, Clone)]
pub struct Template {
    /// Its name; templates of old compositions may have none.
    pub name: Option<String>,
    /// Its name, or `resource 1` by its place.
    pub label: String,
    /// What it starts from. Only in a pipeline may it start from what a function before it made.
    pub base: Option<Value>,
    /// Its patches, in order, those of patch sets in the place of the patch that named the set.
    pub patches: Vec<Patch>,
    /// What it gives to the connection secret of the composite resource.
    pub connection_details: Vec<ConnectionDetail>,
    /// When it is ready; none means a condition `Ready` that is true.
    pub readiness_checks: Vec<ReadinessCheck>,
}

impl Composition {
    /// Reads the spec of a Composition or CompositionRevision in `mode: Resources`.
    ///
    /// # Errors
    /// All problems that the spec has.
    pub fn read(spec: &Value) -> Result<Self, Problems> {
        read::composition(spec)
    }

    /// How each resource is made, in the order of the composition.
    #[must_use]
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Where connection secrets go, if the composition says so.
    #[must_use]
    pub fn write_connection_secrets_to_namespace(&self) -> Option<&str> {
        self.write_connection_secrets_to_namespace.as_deref()
    }
}

/// Everything that is wrong with the spec of a Composition, whatever its mode; nothing if it may be admitted.
///
/// In `mode: Pipeline` the inputs of functions that are built in are checked, too.
#[must_use]
pub fn validate(spec: &Value) -> Problems {
    read::validate(spec)
}
