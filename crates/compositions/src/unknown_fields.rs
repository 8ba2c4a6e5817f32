//! Finds unknown fields in Compositions. Their CRD preserves unknown fields, so the API server would store a misspelt one, and it would have no
//! effect.

use cambium_api::crds;
use cambium_objects::meant;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};
use serde_json::Value;
use std::sync::LazyLock;

/// The schema of a Composition's spec.
static SCHEMA: LazyLock<Option<JSONSchemaProps>> = LazyLock::new(|| {
    let mut kinds = crds::each();
    let crd = kinds.find(|crd| crd.spec.names.kind == "Composition")?;
    let version = crd.spec.versions.into_iter().next()?;
    let mut schema = version.schema?.open_api_v3_schema?;
    schema.properties.as_mut()?.remove("spec")
});

/// The fields of a Composition's spec that it does not have, each with its path and with what was probably meant. Where anything may be
/// written, nothing is looked at.
pub(crate) fn find(spec: &Value) -> Vec<(String, Option<&'static str>)> {
    let mut found = Vec::new();
    if let Some(schema) = &*SCHEMA {
        find_in(schema, spec, "spec", &mut found);
    }
    // Which is told apart.
    found.retain(|(path, _)| path != "spec.revision");
    found
}

fn find_in(
    schema: &'static JSONSchemaProps,
    value: &Value,
    path: &str,
    found: &mut Vec<(String, Option<&'static str>)>,
) {
    match value {
        Value::Object(fields) => {
            let Some(known) = &schema.properties else {
                return;
            };
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                match known.get(name) {
                    Some(schema) if schema.x_kubernetes_preserve_unknown_fields == Some(true) => {}
                    Some(schema) => find_in(schema, value, &path, found),
                    None => found.push((path, meant(name, known.keys().map(String::as_str)))),
                }
            }
        }
        Value::Array(items) => {
            let Some(JSONSchemaPropsOrArray::Schema(schema)) = &schema.items else {
                return;
            };
            for (at, item) in items.iter().enumerate() {
                find_in(schema, item, &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}
