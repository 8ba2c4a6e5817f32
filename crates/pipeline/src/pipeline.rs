//! The stages of a pipeline.

use std::sync::Arc;

use cambium_cel::rules::{CompiledRules, Judgement};
use cambium_schema::{ErrorKind, FieldError, FieldPath, Schema};
use serde_json::Value;

use crate::metadata::Malformed;
use crate::numbers::normalize_numbers;

/// A compiled version of a CRD.
#[derive(Debug)]
pub struct Pipeline {
    schema: Arc<Schema>,
    rules: CompiledRules,
    unknown_fields: UnknownFields,
}

/// The treatment of unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Prune,
    /// `spec.preserveUnknownFields: true` of former `apiextensions.k8s.io/v1beta1` CRDs.
    Preserve,
}

impl Pipeline {
    pub(crate) fn new(schema: Schema, unknown_fields: UnknownFields) -> Self {
        let schema = Arc::new(schema);
        Self {
            rules: CompiledRules::of(schema.clone()),
            schema,
            unknown_fields,
        }
    }

    /// The schema of its objects.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Decodes a request body: coerces the metadata of embedded objects, and prunes. Returns the paths of unknown fields, in
    /// the form of strict field validation.
    ///
    /// The object's own metadata is decoded by [`decode_metadata`](crate::decode_metadata), which needs no CRD.
    ///
    /// # Errors
    /// The first metadata field of the wrong type.
    pub fn decode(&self, object: &mut Value) -> Result<Vec<String>, Malformed> {
        let mut unknown = self.shape_embedded(object, cambium_schema::Malformed::Refuse)?;
        unknown.extend(self.prune_fields(object));
        Ok(unknown)
    }

    /// As [`Pipeline::decode`], for objects that can no longer be refused: stored ones, and those returned by webhooks.
    /// Metadata of the wrong type is dropped.
    ///
    /// The result of an apply is not decoded, so a container that it empties while another manager owns it is `null`, and
    /// invalid.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let embedded = self.shape_embedded(object, cambium_schema::Malformed::Drop);
        let mut unknown = embedded.unwrap_or_default();
        unknown.extend(self.prune_fields(object));
        unknown
    }

    /// Sets the schema's defaults.
    pub fn default(&self, object: &mut Value) {
        cambium_schema::default(&self.schema, object);
    }

    /// Prunes and defaults an object that was stored under another schema. Returns the paths of unknown fields.
    pub fn read(&self, object: &mut Value) -> Vec<String> {
        let unknown = self.prune(object);
        self.default(object);
        unknown
    }

    /// Validates an object against its schema, then its CEL rules. Errors in unchanged parts of an update are ratcheted:
    /// schema errors silently, rule failures with a warning.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Judgement {
        let mut judgement = Judgement {
            errors: cambium_schema::validate(&self.schema, new, old),
            warnings: Vec::new(),
        };
        if self.rules.is_empty() {
            return judgement;
        }
        if judgement.errors.iter().any(keeps_rules_from_running) {
            judgement.errors.push(rules_not_checked());
            return judgement;
        }
        let by_rules = self.rules.judge(new, old, &FieldPath::root());
        judgement.errors.extend(by_rules.errors);
        judgement.warnings = by_rules.warnings;
        judgement
    }

    /// Whether validating even a small object may take long, because of the cost of its rules.
    pub fn may_take_long(&self) -> bool {
        self.rules.may_take_long()
    }

    fn shape_embedded(
        &self,
        object: &mut Value,
        malformed: cambium_schema::Malformed,
    ) -> Result<Vec<String>, Malformed> {
        let shaped = cambium_schema::coerce_embedded(&self.schema, object, &FieldPath::root(), malformed);
        shaped.map_err(|why| Malformed(why.to_string()))
    }

    /// Prunes unknown fields, and nulls of fields that are not nullable.
    fn prune_fields(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        if self.unknown_fields == UnknownFields::Prune {
            unknown = cambium_schema::prune(&self.schema, object);
            cambium_schema::drop_nulls(&self.schema, object);
        }
        normalize_numbers(object);
        unknown
    }
}

/// Whether a schema error prevents CEL rules from running: rules rely on types that the schema guarantees.
fn keeps_rules_from_running(error: &FieldError) -> bool {
    matches!(
        error.kind,
        ErrorKind::NotSupported
            | ErrorKind::Required
            | ErrorKind::TooLong
            | ErrorKind::TooMany
            | ErrorKind::TypeInvalid
    )
}

fn rules_not_checked() -> FieldError {
    FieldError::invalid(
        FieldPath::root(),
        &Value::Null,
        "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    )
}
