//! Types with special protobuf encodings.

use cambium_schema::Schema;

/// A type with a special encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    /// Seconds and nanoseconds; JSON has whole seconds.
    Time,
    /// Seconds and nanoseconds; JSON has microseconds.
    MicroTime,
    /// A message around the text.
    Quantity,
    /// Discriminator, integer, string.
    IntOrString,
    /// A message around the JSON.
    RawJson,
    /// A schema or a list of schemas.
    SchemaOrArray,
    /// A schema or a boolean.
    SchemaOrBool,
    /// A schema or a list of field names.
    SchemaOrStrings,
}

impl Special {
    /// Which special type a schema is, if it is one.
    pub(super) fn of(schema: &Schema) -> Option<Self> {
        // All of them have a name and no fields.
        if schema.name.is_empty() || !schema.properties.is_empty() {
            return None;
        }
        let name = schema.name.rsplit('.').next().unwrap_or_default();
        Some(match name {
            "Time" => Self::Time,
            "MicroTime" => Self::MicroTime,
            "Quantity" => Self::Quantity,
            "IntOrString" => Self::IntOrString,
            "RawExtension" | "FieldsV1" | "JSON" => Self::RawJson,
            "JSONSchemaPropsOrArray" => Self::SchemaOrArray,
            "JSONSchemaPropsOrBool" => Self::SchemaOrBool,
            "JSONSchemaPropsOrStringArray" => Self::SchemaOrStrings,
            _ => return None,
        })
    }
}
