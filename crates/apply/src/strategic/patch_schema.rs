//! Patch strategies of a schema.

use cambium_schema::{Additional, JsonType, PatchStrategy, Property, Schema};

use super::errors::StrategicError;

/// The schema of a patched value.
#[derive(Clone, Copy)]
pub(super) struct PatchSchema<'s>(&'s Schema);

/// The patch strategy of a list field.
#[derive(Clone, Copy)]
pub(super) struct ListPatch<'s> {
    pub(super) item: PatchSchema<'s>,
    pub(super) merges: bool,
    /// Empty when there is none.
    pub(super) merge_key: &'s str,
}

impl<'s> PatchSchema<'s> {
    pub(super) fn of(schema: &'s Schema) -> Self {
        Self(schema)
    }

    /// The schema of an object field.
    pub(super) fn field(self, name: &str) -> Result<Self, StrategicError> {
        self.property(name).map(|property| Self(&property.schema))
    }

    /// The patch strategy of a list field.
    pub(super) fn list(self, name: &str) -> Result<ListPatch<'s>, StrategicError> {
        let property = self.property(name)?;
        let Some(items) = &property.schema.items else {
            let kind = Self(self.0).go_kind();
            return Err(StrategicError::Other(format!(
                "expected slice or array type, but got: {kind}"
            )));
        };
        if items.json_type == JsonType::Array {
            return Err(StrategicError::Other("unexpected slice of slice".to_owned()));
        }
        Ok(ListPatch {
            item: Self(items),
            merges: matches!(
                property.patch,
                PatchStrategy::Merge | PatchStrategy::MergeRetainKeys
            ),
            merge_key: property.patch_merge_key,
        })
    }

    /// The `reflect.Kind` of the Go type, for messages.
    pub(super) fn go_kind(self) -> &'static str {
        match self.0.json_type {
            JsonType::Object if self.is_map() => "map",
            JsonType::Object | JsonType::Any | JsonType::IntOrString => "struct",
            JsonType::Array => "slice",
            JsonType::String => "string",
            JsonType::Integer => "int32",
            JsonType::Number => "float64",
            JsonType::Boolean => "bool",
        }
    }

    fn is_map(self) -> bool {
        self.0.properties.is_empty() && !matches!(self.0.additional, Additional::None)
    }

    fn property(self, name: &str) -> Result<&'s Property, StrategicError> {
        let kind = self.go_kind();
        if kind != "struct" {
            return Err(StrategicError::Other(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            )));
        }
        let by_case = || {
            self.0
                .properties
                .iter()
                .find(|property| property.name.eq_ignore_ascii_case(name))
        };
        self.0.property(name).or_else(by_case).ok_or_else(|| {
            let go_name = self.0.name.rsplit('.').next().unwrap_or_default();
            let field = cambium_go_text::quote(name);
            StrategicError::Other(format!(
                "unable to find api field in struct {go_name} for the json field {field}"
            ))
        })
    }
}
