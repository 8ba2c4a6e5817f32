//! The stages.

use std::sync::Arc;

use cambium_cel::rules::{CompiledRules, Judgement};
use cambium_schema::{ErrorKind, FieldError, FieldPath, Schema};
use serde_json::Value;

use crate::metadata::Malformed;
use crate::numbers::normalize_numbers;

/// One version of a CRD, compiled: what an API server does with its objects.
#[derive(Debug)]
pub struct Pipeline {
    schema: Arc<Schema>,
    rules: CompiledRules,
    unknown_fields: UnknownFields,
}

/// What becomes of fields that the schema does not specify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Prune,
    /// `spec.preserveUnknownFields: true`, which CRDs of `apiextensions.k8s.io/v1beta1` could say.
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

    /// The shape of its objects.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Reads what a client sends: gives metadata inside of the object its shape, and prunes. The answer is the paths of unknown fields, as
    /// strict field validation names them.
    ///
    /// The object's own metadata is [`decode_metadata`](crate::decode_metadata)'s, which needs no CRD.
    ///
    /// # Errors
    /// The first field of metadata that has the wrong type.
    pub fn decode(&self, object: &mut Value) -> Result<Vec<String>, Malformed> {
        let mut unknown = self.shape_embedded(object, cambium_schema::Malformed::Refuse)?;
        unknown.extend(self.prune_fields(object));
        Ok(unknown)
    }

    /// As [`Pipeline::decode`], of what nobody can refuse any more: what is stored, or what a webhook answers. Metadata of the wrong type is dropped.
    ///
    /// What an apply leaves is not decoded, so a container that it empties while somebody else owns it is `null`, and refused.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let embedded = self.shape_embedded(object, cambium_schema::Malformed::Drop);
        let mut unknown = embedded.unwrap_or_default();
        unknown.extend(self.prune_fields(object));
        unknown
    }

    /// Fills in the schema's defaults.
    pub fn default(&self, object: &mut Value) {
        cambium_schema::default(&self.schema, object);
    }

    /// What an object that was stored under another schema is today: pruned, and with today's defaults. The answer is the paths of unknown fields.
    pub fn read(&self, object: &mut Value) -> Vec<String> {
        let unknown = self.prune(object);
        self.default(object);
        unknown
    }

    /// What is wrong with an object, by its schema and then by its CEL rules. Of an update, what is wrong with parts that did not change is
    /// forgiven (ratcheting): silently where the schema says so, with a warning where a rule does.
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

    /// Whether validating even a small object may take long, because of what its rules may cost.
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

    /// Removes what the schema does not have, and every `null` that it does not allow.
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

/// Rules may rely on the shape that the schema promises.
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
