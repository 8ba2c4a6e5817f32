//! OpenAPI v2 in protobuf.

use cambium_builtin::protobuf::put_bytes;
use serde_json::Value;

use super::{Message, external_documents, is_extension};

/// Encodes a whole document.
pub(in crate::openapi) fn document(swagger: &Value) -> Vec<u8> {
    let mut out = Message::of(swagger);
    out.text(1, "swagger");
    out.message(2, "info", |out| {
        out.text(1, "title");
        out.text(2, "version");
        out.text(3, "description");
    });
    out.message(8, "paths", |out| {
        out.extensions(1);
        out.pairs(2, |name| name.starts_with('/'), path_item);
    });
    out.names(9, "definitions", schema);
    out.names(10, "parameters", parameter);
    out.bytes
}

fn path_item(out: &mut Message<'_>) {
    for (number, verb) in [
        (2, "get"),
        (3, "put"),
        (4, "post"),
        (5, "delete"),
        (6, "options"),
        (7, "head"),
        (8, "patch"),
    ] {
        out.message(number, verb, operation);
    }
    out.messages(9, "parameters", parameter_or_reference);
    out.extensions(10);
}

fn operation(out: &mut Message<'_>) {
    out.texts(1, "tags");
    out.text(2, "summary");
    out.text(3, "description");
    out.message(4, "externalDocs", external_documents);
    out.text(5, "operationId");
    out.texts(6, "produces");
    out.texts(7, "consumes");
    out.messages(8, "parameters", parameter_or_reference);
    out.message(9, "responses", |out| {
        out.pairs(1, |name| !is_extension(name), response_or_reference);
        out.extensions(2);
    });
    out.texts(10, "schemes");
    out.truth(11, "deprecated");
    out.extensions(13);
}

fn response_or_reference(out: &mut Message<'_>) {
    match out.is_reference() {
        true => out.choice(2, reference),
        false => out.choice(1, response),
    }
}

fn response(out: &mut Message<'_>) {
    out.text(1, "description");
    out.message(2, "schema", |out| out.choice(1, schema));
    out.names(3, "headers", |out| {
        simple_type(out, 1);
        out.text(18, "description");
        out.extensions(19);
    });
    out.extensions(5);
}

fn parameter_or_reference(out: &mut Message<'_>) {
    match out.is_reference() {
        true => out.choice(2, reference),
        false => out.choice(1, parameter),
    }
}

fn reference(out: &mut Message<'_>) {
    out.text(1, "$ref");
    out.text(2, "description");
}

/// A body parameter or another one; both have their own field numbers.
fn parameter(out: &mut Message<'_>) {
    match out.of["in"] == "body" {
        true => out.choice(1, body_parameter),
        false => out.choice(2, simple_parameter),
    }
}

fn body_parameter(out: &mut Message<'_>) {
    out.text(1, "description");
    out.text(2, "name");
    out.text(3, "in");
    out.truth(4, "required");
    out.message(5, "schema", schema);
    out.extensions(6);
}

fn simple_parameter(out: &mut Message<'_>) {
    let may_be_empty: super::Encode = |out| {
        introduction(out);
        out.truth(5, "allowEmptyValue");
        simple_type(out, 6);
        out.extensions(23);
    };
    let must_be_there: super::Encode = |out| {
        introduction(out);
        simple_type(out, 5);
        out.extensions(22);
    };
    match out.of["in"].as_str() {
        Some("header") => out.choice(1, must_be_there),
        Some("formData") => out.choice(2, may_be_empty),
        Some("path") => out.choice(4, must_be_there),
        _ => out.choice(3, may_be_empty),
    }
}

/// The common fields of non-body parameters.
fn introduction(out: &mut Message<'_>) {
    out.truth(1, "required");
    out.text(2, "in");
    out.text(3, "description");
    out.text(4, "name");
}

/// A primitive type; its fields have consecutive numbers in every message.
fn simple_type(out: &mut Message<'_>, first: u32) {
    out.text(first, "type");
    out.text(first + 1, "format");
    out.message(first + 2, "items", |out| {
        simple_type(out, 1);
        out.extensions(18);
    });
    out.text(first + 3, "collectionFormat");
    out.any(first + 4, "default");
    out.double(first + 5, "maximum");
    out.truth(first + 6, "exclusiveMaximum");
    out.double(first + 7, "minimum");
    out.truth(first + 8, "exclusiveMinimum");
    out.integer(first + 9, "maxLength");
    out.integer(first + 10, "minLength");
    out.text(first + 11, "pattern");
    out.integer(first + 12, "maxItems");
    out.integer(first + 13, "minItems");
    out.truth(first + 14, "uniqueItems");
    out.anys(first + 15, "enum");
    out.double(first + 16, "multipleOf");
}

fn schema(out: &mut Message<'_>) {
    out.text(1, "$ref");
    out.text(2, "format");
    out.text(3, "title");
    out.text(4, "description");
    out.any(5, "default");
    out.bounds(6);
    out.additional_properties(21, |out| out.choice(1, schema));
    types(out);
    out.message(23, "items", |out| out.choice(1, schema));
    out.messages(24, "allOf", schema);
    out.names(25, "properties", schema);
    out.text(26, "discriminator");
    out.truth(27, "readOnly");
    out.message(29, "externalDocs", external_documents);
    out.any(30, "example");
    out.extensions(31);
}

/// `type`: a string or a list.
fn types(out: &mut Message<'_>) {
    let mut inner = Message::of(out.of);
    inner.text(1, "type");
    inner.texts(1, "type");
    if !inner.bytes.is_empty() {
        put_bytes(&mut out.bytes, 22, &inner.bytes);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::reader::Fields;
    use super::document;

    #[test]
    fn parameters_are_found_by_their_place_or_by_a_reference() {
        let parameters = json!([
            {"name": "pretty", "in": "query", "type": "string", "uniqueItems": true},
            {"name": "name", "in": "path", "required": true, "type": "string", "enum": ["yes", "it"]},
            {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/a.Thing"}},
            {"$ref": "#/parameters/dryRun"},
        ]);
        let bytes = document(&json!({
            "swagger": "2.0", "info": {"title": "a", "version": "b"},
            "paths": {"/apis": {"parameters": parameters}},
            "parameters": {"dryRun": {"name": "dryRun", "in": "query", "type": "string"}},
        }));
        let document = Fields::read(&bytes);
        assert_eq!(document.text(&[1]), "2.0");
        let path = document.message(&[8, 2]);
        assert_eq!(path.text(&[1]), "/apis");
        let parameters = path.all(&[2, 9]);
        assert_eq!(parameters.len(), 4);
        assert_eq!(parameters[0].text(&[1, 2, 3, 4]), "pretty");
        assert_eq!(parameters[0].number(&[1, 2, 3, 20]), 1);
        assert_eq!(parameters[1].text(&[1, 2, 4, 2]), "path");
        assert_eq!(parameters[1].text(&[1, 2, 4, 5]), "string");
        let words: Vec<_> = parameters[1].all(&[1, 2, 4, 20]);
        let words: Vec<_> = words.iter().map(|word| word.text(&[2])).collect();
        assert_eq!(words, ["yes\n", "it\n"]);
        assert_eq!(parameters[2].text(&[1, 1, 5, 1]), "#/definitions/a.Thing");
        assert_eq!(parameters[3].text(&[2, 1]), "#/parameters/dryRun");
        assert_eq!(document.text(&[10, 1, 2, 2, 3, 4]), "dryRun");
    }
}
