//! The schema of a composite resource or a claim: that of the definition, merged with the standard fields.

use cambium_api::crossplane::DefinitionVersion;
use cambium_schema::{FieldError, FieldPath};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::{Value, json};

use super::parsed::{Definition, Schemas};
use super::problem::Problem;
use super::standard_fields;

/// Names become values of labels.
const MAX_NAME: u64 = 63;

/// The fields of the root that count.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// The keywords of the root that count.
const KEYWORDS: [&str; 5] = [
    "type",
    "description",
    "properties",
    "required",
    "x-kubernetes-validations",
];

/// The schemas of one version, and what in it does nothing.
pub(super) fn whole(
    definition: &Definition,
    version: &DefinitionVersion,
    path: &FieldPath,
) -> Result<(Schemas, Vec<String>), Vec<Problem>> {
    let given = version.schema.as_ref();
    let Some(given) = given.and_then(|schema| schema.open_api_v3_schema.as_ref()) else {
        return Err(vec![Problem::NoSchema { path: path.clone() }]);
    };
    let path = path.child("schema").child("openAPIV3Schema");
    let root = Value::Object(given.clone().into_iter().collect());
    let warnings = idle(&root, &path);
    let mut problems = Vec::new();
    let composite = one(
        &root,
        &path,
        standard_fields::composite(definition),
        &mut problems,
    );
    let fields = definition
        .claim_names()
        .map(|_| standard_fields::claim(definition));
    let claim = fields.map(|fields| one(&root, &path, fields, &mut problems));
    match (composite, claim) {
        (Some(composite), None) => Ok((
            Schemas {
                composite,
                claim: None,
            },
            warnings,
        )),
        (Some(composite), Some(claim @ Some(_))) => Ok((Schemas { composite, claim }, warnings)),
        _ => {
            // What is wrong with both is said once.
            let mut once: Vec<Problem> = Vec::new();
            for problem in problems {
                if !once.contains(&problem) {
                    once.push(problem);
                }
            }
            Err(once)
        }
    }
}

/// What the root says beside what counts. Crossplane ignores it as well, and does not tell.
fn idle(root: &Value, path: &FieldPath) -> Vec<String> {
    let unused = |schema: &Value, known: &[&str]| -> Vec<String> {
        let names = schema.as_object().into_iter().flat_map(|fields| fields.keys());
        names
            .filter(|name| !known.contains(&name.as_str()))
            .cloned()
            .collect()
    };
    let keywords = unused(root, &KEYWORDS).into_iter().map(|name| path.child(&name));
    let fields = unused(&root["properties"], &FIELDS);
    let fields = fields.into_iter().map(|name| path.child("properties").key(&name));
    let all = keywords.chain(fields);
    all.map(|path| format!("{path}: only spec and status are used"))
        .collect()
}

fn one(
    root: &Value,
    path: &FieldPath,
    machinery: standard_fields::Fields,
    problems: &mut Vec<Problem>,
) -> Option<JSONSchemaProps> {
    let before = problems.len();
    let properties = path.child("properties");
    object_type(root, path, problems);
    shape(&root["properties"], &properties, problems);
    let part = |name: &str| root["properties"][name].clone();
    let merged = json!({
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": name(&part("metadata"))}},
        "spec": merged(part("spec"), machinery.spec, &properties.key("spec"), problems),
        "status": merged(part("status"), machinery.status, &properties.key("status"), problems),
    });
    let mut whole = json!({"type": "object", "required": ["spec"], "properties": merged});
    for keyword in ["description", "x-kubernetes-validations"] {
        if let Some(value) = root.get(keyword) {
            whole[keyword] = value.clone();
        }
    }
    if problems.len() > before {
        return None;
    }
    if let Err(errors) = cambium_schema::parse(&whole, path) {
        problems.extend(errors.into_iter().map(Problem::Schema));
        return None;
    }
    match serde_json::from_value(whole) {
        Ok(schema) => Some(schema),
        Err(error) => {
            let error = FieldError::invalid(path.clone(), &Value::Null, error.to_string());
            problems.push(Problem::Schema(error));
            None
        }
    }
}

/// What was given, and over it what composition needs.
fn merged(given: Value, machinery: Value, path: &FieldPath, problems: &mut Vec<Problem>) -> Value {
    let fields = path.child("properties");
    shape(&given, path, problems);
    object_type(&given, path, problems);
    shape(&given["properties"], &fields, problems);
    let mut schema = if given.is_object() { given } else { json!({}) };
    schema["type"] = json!("object");
    let mut all = schema["properties"].as_object().cloned().unwrap_or_default();
    for (name, field) in machinery.as_object().into_iter().flatten() {
        let (wanted, found) = (type_of(field), all.get(name).map_or("", type_of));
        if !found.is_empty() && found != wanted {
            problems.push(Problem::Reserved {
                path: fields.key(name),
                wanted: wanted.to_owned(),
                found: found.to_owned(),
            });
        }
        all.insert(name.clone(), field.clone());
    }
    schema["properties"] = Value::Object(all);
    schema
}

fn object_type(schema: &Value, path: &FieldPath, problems: &mut Vec<Problem>) {
    let found = &schema["type"];
    if !found.is_null() && found != "object" {
        problems.push(Problem::NotAnObject {
            path: path.clone(),
            found: found.as_str().map_or_else(|| found.to_string(), str::to_owned),
        });
    }
}

/// What is replaced would not be seen by the check of the whole.
fn shape(part: &Value, path: &FieldPath, problems: &mut Vec<Problem>) {
    if !part.is_null() && !part.is_object() {
        let error = FieldError::type_invalid(path.clone(), part, "must be an object");
        problems.push(Problem::Schema(error));
    }
}

fn type_of(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or_default()
}

/// Of what is said about metadata, only a shorter name counts: Kubernetes checks the rest.
fn name(metadata: &Value) -> Value {
    let shorter = metadata
        .pointer("/properties/name/maxLength")
        .and_then(Value::as_u64);
    json!({"type": "string", "maxLength": shorter.map_or(MAX_NAME, |given| given.min(MAX_NAME))})
}
