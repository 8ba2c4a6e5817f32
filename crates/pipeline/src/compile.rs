//! Compiles a version of a CRD into a [`Pipeline`].

use cambium_schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use crate::pipeline::{Pipeline, UnknownFields};

/// A version of a CRD that cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// The CRD has no such version.
    #[error("there is no version {version:?}")]
    NoSuchVersion {
        /// The requested version.
        version: String,
    },
    /// The schema is invalid or not structural.
    #[error("the schema is invalid: {}", texts(.0))]
    InvalidSchema(Vec<FieldError>),
}

impl Pipeline {
    /// Compiles the `openAPIV3Schema` of a version. `at` is its path in the CRD, for messages. Rules that do not compile are
    /// reported as errors of every object.
    ///
    /// # Errors
    /// All errors that make the schema invalid or not structural.
    pub fn compile(schema: &Value, at: &FieldPath) -> Result<Self, Vec<FieldError>> {
        let schema = cambium_schema::parse(schema, at)?;
        Ok(Self::new(schema, UnknownFields::Prune))
    }

    /// Compiles one version of a whole CustomResourceDefinition.
    ///
    /// # Errors
    /// If the version does not exist, or its schema is invalid or not structural.
    pub fn of_version(crd: &Value, version: &str) -> Result<Self, CompileError> {
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        let found = versions
            .into_iter()
            .flatten()
            .enumerate()
            .find(|(_, known)| known["name"] == version);
        let Some((index, found)) = found else {
            let version = version.to_owned();
            return Err(CompileError::NoSuchVersion { version });
        };
        let schema = cambium_schema::parse(&schema_of_version(found), &FieldPath::new(place(index)))
            .map_err(CompileError::InvalidSchema)?;
        let preserve = crd.pointer("/spec/preserveUnknownFields") == Some(&json!(true));
        let unknown_fields = match preserve {
            true => UnknownFields::Preserve,
            false => UnknownFields::Prune,
        };
        Ok(Self::new(schema, unknown_fields))
    }
}

fn place(index: usize) -> String {
    format!("spec.versions[{index}].schema.openAPIV3Schema")
}

/// The schema of an entry of `spec.versions`; without one, any object is accepted and all its fields are pruned.
fn schema_of_version(version: &Value) -> Value {
    let schema = version.pointer("/schema/openAPIV3Schema").cloned();
    schema.unwrap_or_else(|| json!({"type": "object"}))
}

fn texts(errors: &[FieldError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
