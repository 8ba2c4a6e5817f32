//! Validates a backend's OpenAPI v2: clients reject the whole merged document for one malformed field.

use serde_json::Value;

/// Whether paths, definitions and parameters are well-formed.
pub(super) fn is_readable(part: &Value) -> bool {
    may_be(part, "paths", |map| all_of(map, is_path))
        && may_be(part, "definitions", |map| all_of(map, is_schema))
        && may_be(part, "parameters", |map| all_of(map, is_parameter))
}

fn is_path(path: &Value) -> bool {
    let methods = ["get", "put", "post", "delete", "options", "head", "patch"];
    path.is_object()
        && methods.iter().all(|method| may_be(path, method, is_operation))
        && may_be(path, "parameters", |list| each_of(list, is_parameter))
}

fn is_operation(operation: &Value) -> bool {
    operation.is_object()
        && texts(operation, &["summary", "description", "operationId"])
        && lists_of_texts(operation, &["tags", "produces", "consumes", "schemes"])
        && may_be(operation, "deprecated", Value::is_boolean)
        && may_be(operation, "parameters", |list| each_of(list, is_parameter))
        && may_be(operation, "responses", are_responses)
}

fn is_parameter(parameter: &Value) -> bool {
    let names_itself =
        parameter["$ref"].is_string() || parameter["name"].is_string() && parameter["in"].is_string();
    names_itself
        && texts(
            parameter,
            &["description", "type", "format", "pattern", "collectionFormat"],
        )
        && may_be(parameter, "required", Value::is_boolean)
        && may_be(parameter, "schema", is_schema)
        && has_bounds(parameter)
}

fn are_responses(responses: &Value) -> bool {
    let is_right = |(name, value): (&String, &Value)| name.starts_with("x-") || is_response(value);
    responses
        .as_object()
        .is_some_and(|fields| fields.iter().all(is_right))
}

fn is_response(response: &Value) -> bool {
    response.is_object() && texts(response, &["$ref", "description"]) && may_be(response, "schema", is_schema)
}

fn is_schema(schema: &Value) -> bool {
    let is_type = |kind: &Value| kind.is_string() || each_of(kind, Value::is_string);
    schema.is_object()
        && texts(
            schema,
            &[
                "$ref",
                "title",
                "description",
                "format",
                "pattern",
                "discriminator",
            ],
        )
        && lists_of_texts(schema, &["required"])
        && may_be(schema, "type", is_type)
        && may_be(schema, "readOnly", Value::is_boolean)
        && has_bounds(schema)
        && may_be(schema, "items", is_schema)
        && may_be(schema, "allOf", |list| each_of(list, is_schema))
        && may_be(schema, "properties", |map| all_of(map, is_schema))
        && may_be(schema, "additionalProperties", |value| {
            value.is_boolean() || is_schema(value)
        })
}

fn has_bounds(value: &Value) -> bool {
    let numbers = ["multipleOf", "maximum", "minimum"];
    let counts = [
        "maxLength",
        "minLength",
        "maxItems",
        "minItems",
        "maxProperties",
        "minProperties",
    ];
    let truths = ["exclusiveMaximum", "exclusiveMinimum", "uniqueItems"];
    numbers.iter().all(|field| may_be(value, field, Value::is_number))
        && counts.iter().all(|field| may_be(value, field, Value::is_i64))
        && truths.iter().all(|field| may_be(value, field, Value::is_boolean))
        && may_be(value, "enum", Value::is_array)
}

fn texts(value: &Value, fields: &[&str]) -> bool {
    fields.iter().all(|field| may_be(value, field, Value::is_string))
}

fn lists_of_texts(value: &Value, fields: &[&str]) -> bool {
    fields
        .iter()
        .all(|field| may_be(value, field, |list| each_of(list, Value::is_string)))
}

/// Whether a field is missing or valid.
fn may_be(value: &Value, field: &str, is_right: impl Fn(&Value) -> bool) -> bool {
    value.get(field).is_none_or(is_right)
}

/// Whether the value is a list of valid items.
fn each_of(list: &Value, is_right: impl Fn(&Value) -> bool) -> bool {
    list.as_array().is_some_and(|items| items.iter().all(is_right))
}

/// Whether the value is an object with valid fields.
fn all_of(map: &Value, is_right: impl Fn(&Value) -> bool) -> bool {
    map.as_object()
        .is_some_and(|fields| fields.values().all(is_right))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_must_have_the_type_that_clients_expect() {
        let good = json!({"type": "object", "required": ["a"], "x-anything": [1], "additionalProperties": true,
            "properties": {"a": {"type": ["string", "null"], "maxLength": 3, "enum": [1, null], "default": {"b": 1}}}});
        assert!(is_schema(&good));
        for bad in [
            json!(5),
            json!({"type": 5}),
            json!({"required": "a"}),
            json!({"properties": {"a": "string"}}),
            json!({"items": [{"type": "string"}]}),
            json!({"maxLength": 1.5}),
            json!({"allOf": {"type": "string"}}),
            json!({"additionalProperties": "yes"}),
        ] {
            assert!(!is_schema(&bad), "{bad}");
        }
        for bad in [
            json!({"get": []}),
            json!({"get": {"responses": {"200": "OK"}}}),
            json!({"get": {"operationId": 1}}),
            json!({"parameters": [{"name": "a"}]}),
        ] {
            assert!(!is_path(&bad), "{bad}");
        }
    }
}
