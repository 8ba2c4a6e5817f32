//! Removes defaults and titles from generated schemas.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Takes out defaults, which would add fields that nobody wrote to what is stored (and to digests), and titles, which repeat
/// the name of a Rust type.
pub(crate) fn tidy(schema: &mut JSONSchemaProps) {
    schema.default = None;
    schema.title = None;
    for field in schema
        .properties
        .iter_mut()
        .flat_map(|fields| fields.values_mut())
    {
        tidy(field);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        tidy(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
}
