//! A document of OpenAPI v3 out of one of v2, for backends that have only the latter.

use serde_json::{Map, Value, json};

use super::part::target;

/// What a parameter says of itself in v3; everything else is said of its values.
const ABOUT_PARAMETERS: [&str; 5] = ["name", "in", "description", "required", "allowEmptyValue"];
/// What v3 says in another way, or not at all.
const ONLY_IN_V2: [&str; 6] = [
    "consumes",
    "produces",
    "schemes",
    "parameters",
    "responses",
    "security",
];

/// Makes the document; `part` has paths, definitions and parameters.
pub(super) fn to_v3(part: &Value) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": crate::health::KUBERNETES_VERSION},
        "paths": each(&part["paths"], |item| path_item(item, part)),
        "components": {"schemas": each(&part["definitions"], schema)},
    })
}

/// An object with every field made into something else.
fn each(map: &Value, convert: impl Fn(&Value) -> Value) -> Map<String, Value> {
    let fields = map.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (name.clone(), convert(value)))
        .collect()
}

fn path_item(item: &Value, part: &Value) -> Value {
    let fields = item.as_object().into_iter().flatten();
    let converted = fields.map(|(name, value)| {
        let value = match name.as_str() {
            "parameters" => parameters(value, part)
                .filter(|parameter| !is_body(parameter))
                .map(parameter)
                .collect(),
            _ if name.starts_with("x-") => value.clone(),
            _ => operation(value, part),
        };
        (name.clone(), value)
    });
    converted.collect()
}

/// The parameters of a list, those that it only refers to included.
fn parameters<'a>(list: &'a Value, part: &'a Value) -> impl Iterator<Item = &'a Value> {
    let resolve = |parameter: &'a Value| {
        let shared = parameter["$ref"].as_str().and_then(target);
        shared.map_or(parameter, |(section, name)| &part[section][name])
    };
    list.as_array().into_iter().flatten().map(resolve)
}

fn operation(operation: &Value, part: &Value) -> Value {
    let fields = operation.as_object().into_iter().flatten();
    let mut converted: Map<String, Value> = fields
        .filter(|(name, _)| !ONLY_IN_V2.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let (body, others): (Vec<_>, Vec<_>) =
        parameters(&operation["parameters"], part).partition(|parameter| is_body(parameter));
    if let Some(body) = body.first() {
        let mut request = json!({"content": content(&operation["consumes"], &body["schema"])});
        if body["required"] == true {
            request["required"] = json!(true);
        }
        converted.insert("requestBody".to_owned(), request);
    }
    if !others.is_empty() {
        let others = others.into_iter().map(parameter).collect();
        converted.insert("parameters".to_owned(), others);
    }
    let media = &operation["produces"];
    let mut responses = each(&operation["responses"], |answer| response(answer, media));
    responses.retain(|name, _| !name.starts_with("x-"));
    converted.insert("responses".to_owned(), responses.into());
    converted.into()
}

fn response(response: &Value, media: &Value) -> Value {
    let mut converted = json!({"description": response["description"].as_str().unwrap_or_default()});
    if response["schema"].is_object() {
        converted["content"] = json!(content(media, &response["schema"]));
    }
    converted
}

fn is_body(parameter: &Value) -> bool {
    parameter["in"] == "body"
}

/// A schema in each of these media types; in all of them, if none is named.
fn content(media: &Value, of: &Value) -> Map<String, Value> {
    let media = media.as_array().cloned().unwrap_or_else(|| vec![json!("*/*")]);
    let named = media.iter().filter_map(Value::as_str);
    named
        .map(|media| (media.to_owned(), json!({"schema": schema(of)})))
        .collect()
}

fn parameter(parameter: &Value) -> Value {
    let fields = parameter.as_object().into_iter().flatten();
    let (mut own, mut of_values) = (Map::new(), Map::new());
    for (name, value) in fields {
        let is_own = ABOUT_PARAMETERS.contains(&name.as_str()) || name.starts_with("x-");
        match is_own {
            true => own.insert(name.clone(), value.clone()),
            false if name == "collectionFormat" => None,
            false => of_values.insert(name.clone(), value.clone()),
        };
    }
    own.insert("schema".to_owned(), schema(&of_values.into()));
    own.into()
}

/// A schema with its references to where v3 has definitions.
fn schema(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(schema).collect(),
        Value::Object(_) => {
            let mut fields = each(value, schema);
            let name = value["$ref"].as_str().and_then(target).map(|(_, name)| name);
            if let Some(name) = name {
                fields.remove("$ref");
                let reference = json!({"$ref": format!("#/components/schemas/{name}")});
                if fields.is_empty() {
                    return reference;
                }
                // v3 ignores what is beside a plain reference.
                fields.insert("allOf".to_owned(), json!([reference]));
            }
            fields.into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_answers_and_references_are_said_as_v3_says_them() {
        let part = json!({
            "paths": {"/apis/a/v1/things": {
                "parameters": [{"$ref": "#/parameters/pretty"}],
                "post": {
                    "operationId": "createThing", "consumes": ["application/json"], "produces": ["application/json"],
                    "x-kubernetes-action": "post",
                    "parameters": [{"name": "body", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Thing"}}],
                    "responses": {"201": {"description": "Created", "schema": {"$ref": "#/definitions/Thing"}}},
                },
            }},
            "definitions": {
                "Thing": {"properties": {"meta": {"description": "about", "$ref": "#/definitions/Meta"}}},
                "Meta": {"type": "object"},
            },
            "parameters": {"pretty": {"name": "pretty", "in": "query", "type": "string", "uniqueItems": true}},
        });
        let content = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}});
        let converted = to_v3(&part);
        assert_eq!(
            converted["paths"]["/apis/a/v1/things"],
            json!({
                "parameters": [{"name": "pretty", "in": "query", "schema": {"type": "string", "uniqueItems": true}}],
                "post": {
                    "operationId": "createThing", "x-kubernetes-action": "post",
                    "requestBody": {"content": content, "required": true},
                    "responses": {"201": {"description": "Created", "content": content}},
                },
            })
        );
        let meta = json!({"description": "about", "allOf": [{"$ref": "#/components/schemas/Meta"}]});
        let schemas = json!({"Thing": {"properties": {"meta": meta}}, "Meta": {"type": "object"}});
        assert_eq!(converted["components"]["schemas"], schemas);
    }
}
