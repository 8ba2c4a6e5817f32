//! OpenAPI v3 in protobuf.

use cambium_builtin::protobuf::{put_bytes, put_fixed64, put_varint};
use serde_json::Value;

use super::{Message, external_documents, is_extension};

/// Encodes a whole document.
pub(in crate::openapi) fn document(document: &Value) -> Vec<u8> {
    let mut out = Message::of(document);
    out.text(1, "openapi");
    out.message(2, "info", |out| {
        out.text(1, "title");
        out.text(2, "description");
        out.text(6, "version");
    });
    out.message(4, "paths", |out| {
        out.pairs(1, |name| name.starts_with('/'), path_item);
        out.extensions(2);
    });
    out.message(5, "components", |out| {
        out.names(1, "schemas", schema_or_reference);
    });
    out.bytes
}

fn path_item(out: &mut Message<'_>) {
    for (number, verb) in [
        (4, "get"),
        (5, "put"),
        (6, "post"),
        (7, "delete"),
        (8, "options"),
        (9, "head"),
        (10, "patch"),
    ] {
        out.message(number, verb, operation);
    }
    out.messages(13, "parameters", |out| out.choice(1, parameter));
    out.extensions(14);
}

fn operation(out: &mut Message<'_>) {
    out.texts(1, "tags");
    out.text(3, "description");
    out.text(5, "operationId");
    out.messages(6, "parameters", |out| out.choice(1, parameter));
    out.message(7, "requestBody", |out| out.choice(1, request_body));
    out.message(8, "responses", |out| {
        out.message(1, "default", |out| out.choice(1, response));
        let is_code = |name: &str| name != "default" && !is_extension(name);
        out.pairs(2, is_code, |out| out.choice(1, response));
        out.extensions(3);
    });
    out.truth(10, "deprecated");
    out.extensions(13);
}

fn parameter(out: &mut Message<'_>) {
    out.text(1, "name");
    out.text(2, "in");
    out.text(3, "description");
    out.truth(4, "required");
    out.message(10, "schema", schema_or_reference);
    out.extensions(14);
}

fn request_body(out: &mut Message<'_>) {
    out.text(1, "description");
    out.names(2, "content", media_type);
    out.truth(3, "required");
    out.extensions(4);
}

fn response(out: &mut Message<'_>) {
    out.text(1, "description");
    out.names(3, "content", media_type);
    out.extensions(5);
}

fn media_type(out: &mut Message<'_>) {
    out.message(1, "schema", schema_or_reference);
    out.extensions(5);
}

fn schema_or_reference(out: &mut Message<'_>) {
    match out.is_reference() {
        true => out.choice(2, reference),
        false => out.choice(1, schema),
    }
}

fn reference(out: &mut Message<'_>) {
    out.text(1, "$ref");
    out.text(2, "summary");
    out.text(3, "description");
}

fn schema(out: &mut Message<'_>) {
    out.truth(1, "nullable");
    out.truth(3, "readOnly");
    out.truth(4, "writeOnly");
    out.message(6, "externalDocs", external_documents);
    out.any(7, "example");
    out.truth(8, "deprecated");
    out.text(9, "title");
    out.bounds(10);
    out.text(25, "type");
    out.messages(26, "allOf", schema_or_reference);
    out.messages(27, "oneOf", schema_or_reference);
    out.messages(28, "anyOf", schema_or_reference);
    out.message(29, "not", schema);
    out.message(30, "items", |out| out.choice(1, schema_or_reference));
    out.names(31, "properties", schema_or_reference);
    out.additional_properties(32, |out| out.choice(1, schema_or_reference));
    out.message(33, "default", default);
    out.text(34, "description");
    out.text(35, "format");
    out.extensions(36);
}

/// A default: number, boolean or string. Gnostic leaves lists and objects empty.
fn default(out: &mut Message<'_>) {
    match out.of {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            put_fixed64(&mut out.bytes, 1, number.to_bits());
        }
        Value::Bool(truth) => put_varint(&mut out.bytes, 2, u64::from(*truth)),
        Value::String(text) => put_bytes(&mut out.bytes, 3, text.as_bytes()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::reader::Fields;
    use super::document;

    /// The path of the only schema in a document: components, schemas, first value, not a reference.
    const SCHEMA: [u32; 5] = [5, 1, 1, 2, 1];

    fn schema(schema: &Value) -> Fields {
        let bytes = document(&json!({"openapi": "3.0.0", "components": {"schemas": {"a.Thing": schema}}}));
        Fields::read(&bytes).message(&SCHEMA)
    }

    #[test]
    fn a_schema_says_what_values_may_be() {
        let read = schema(&json!({
            "type": "integer", "format": "int64", "description": "How many.", "nullable": true, "title": "Count",
            "minimum": -1.5, "maximum": 9, "exclusiveMaximum": true, "multipleOf": 0.5,
            "minLength": 1, "maxLength": 300, "pattern": "^a", "minItems": 2, "maxItems": 3, "uniqueItems": true,
            "minProperties": 4, "maxProperties": 5, "required": ["a", "b"], "enum": [1, "1", null],
        }));
        assert_eq!(read.number(&[1]), 1, "nullable");
        assert_eq!(read.text(&[9]), "Count");
        assert_eq!(
            (read.double(&[10]), read.double(&[11]), read.double(&[13])),
            (0.5, 9.0, -1.5)
        );
        assert_eq!(read.number(&[12]), 1, "exclusiveMaximum");
        let lengths = [15, 16, 18, 19, 20, 21, 22].map(|number| read.number(&[number]));
        assert_eq!(lengths, [300, 1, 3, 2, 1, 5, 4]);
        assert_eq!(read.text(&[17]), "^a");
        assert_eq!(read.texts(&[23]), ["a", "b"]);
        assert_eq!(read.texts(&[24, 2]), ["1\n", "\"1\"\n", "null\n"]);
        assert_eq!(read.text(&[25]), "integer");
        assert_eq!(
            (read.text(&[34]), read.text(&[35])),
            ("How many.".to_owned(), "int64".to_owned())
        );
    }

    #[test]
    fn schemas_inside_a_schema_are_schemas_or_references() {
        let read = schema(&json!({
            "allOf": [{"$ref": "#/components/schemas/b.Other", "description": "beside"}],
            "oneOf": [{"type": "string"}, {"type": "integer"}], "anyOf": [{"format": "date"}],
            "not": {"type": "boolean"}, "items": {"type": "number"},
            "properties": {"one": {"type": "array"}, "two": {"$ref": "#/components/schemas/b.Two"}},
            "additionalProperties": {"type": "object"},
        }));
        assert_eq!(read.text(&[26, 2, 1]), "#/components/schemas/b.Other");
        assert_eq!(read.text(&[26, 2, 3]), "beside");
        assert_eq!(read.texts(&[27, 1, 25]), ["string", "integer"]);
        assert_eq!(read.text(&[28, 1, 35]), "date");
        assert_eq!(read.text(&[29, 25]), "boolean", "no reference may stand here");
        assert_eq!(read.text(&[30, 1, 1, 25]), "number");
        assert_eq!(read.texts(&[31, 1, 1]), ["one", "two"]);
        assert_eq!(read.texts(&[31, 1, 2, 1, 25]), ["array"]);
        assert_eq!(read.texts(&[31, 1, 2, 2, 1]), ["#/components/schemas/b.Two"]);
        assert_eq!(read.text(&[32, 1, 1, 25]), "object");
        let closed = schema(&json!({"additionalProperties": false}));
        assert_eq!(closed.number(&[32, 2]), 0);
    }

    #[test]
    fn a_default_keeps_its_type_and_one_with_parts_is_only_there() {
        assert_eq!(schema(&json!({"default": 3})).double(&[33, 1]), 3.0);
        assert_eq!(schema(&json!({"default": false})).number(&[33, 2]), 0);
        assert_eq!(schema(&json!({"default": ""})).text(&[33, 3]), "");
        for parts in [json!({"a": 1}), json!([]), json!(null)] {
            assert!(schema(&json!({"default": parts})).message(&[33]).is_empty());
        }
    }

    #[test]
    fn extensions_are_kept_as_yaml() {
        let kind = json!([{"group": "", "kind": "Thing", "version": "v1"}]);
        let read =
            schema(&json!({"x-kubernetes-group-version-kind": kind, "x-kubernetes-int-or-string": true}));
        let names = ["x-kubernetes-group-version-kind", "x-kubernetes-int-or-string"];
        assert_eq!(read.texts(&[36, 1]), names);
        let kind = "- group: \"\"\n  kind: Thing\n  version: v1\n";
        assert_eq!(read.texts(&[36, 2, 2]), [kind, "true\n"]);
    }

    #[test]
    fn an_operation_says_what_it_takes_and_answers() {
        let content = json!({"*/*": {"schema": {"$ref": "#/components/schemas/a.Thing"}}});
        let post = json!({
            "operationId": "createThing", "x-kubernetes-action": "post",
            "parameters": [{"name": "dryRun", "in": "query", "schema": {"type": "string", "uniqueItems": true}}],
            "requestBody": {"content": content, "required": true},
            "responses": {"200": {"description": "OK", "content": content}},
        });
        let bytes = document(
            &json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1"},
            "paths": {"/apis/a/v1/things": {"post": post}}}),
        );
        let read = Fields::read(&bytes);
        assert_eq!(
            (read.text(&[1]), read.text(&[2, 6])),
            ("3.0.0".to_owned(), "v1".to_owned())
        );
        assert_eq!(read.text(&[4, 1, 1]), "/apis/a/v1/things");
        let operation = read.message(&[4, 1, 2, 6]);
        assert_eq!(operation.text(&[5]), "createThing");
        assert_eq!(operation.text(&[6, 1, 1]), "dryRun");
        assert_eq!(operation.number(&[6, 1, 10, 1, 20]), 1);
        assert_eq!(operation.text(&[7, 1, 2, 1, 1]), "*/*");
        assert_eq!(operation.number(&[7, 1, 3]), 1);
        assert_eq!(operation.text(&[8, 2, 1]), "200");
        let answer = operation.text(&[8, 2, 2, 1, 3, 1, 2, 1, 2, 1]);
        assert_eq!(answer, "#/components/schemas/a.Thing");
        assert_eq!(operation.text(&[13, 2, 2]), "post\n");
    }
}
