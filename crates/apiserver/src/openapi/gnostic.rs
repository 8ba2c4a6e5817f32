//! A v2 document in protobuf: the messages of gnostic, which clients in Go read.

use cambium_builtin::protobuf::{put_bytes, put_fixed64, put_varint};
use serde_json::Value;

/// Encodes a whole document.
pub(super) fn document(swagger: &Value) -> Vec<u8> {
    let mut out = Message::of(swagger);
    out.text(1, "swagger");
    out.message(2, "info", |out| {
        out.text(1, "title");
        out.text(2, "version");
    });
    let paths = Message::named(2, &swagger["paths"], path_item);
    put_bytes(&mut out.bytes, 8, &paths);
    let definitions = Message::named(1, &swagger["definitions"], schema);
    put_bytes(&mut out.bytes, 9, &definitions);
    out.bytes
}

/// A message that is made from an object, one field after the other.
struct Message<'a> {
    of: &'a Value,
    bytes: Vec<u8>,
}

impl<'a> Message<'a> {
    fn of(of: &'a Value) -> Self {
        Self {
            of,
            bytes: Vec::new(),
        }
    }

    /// Names and what they stand for, each in a field of this number.
    fn named(number: u32, map: &'a Value, encode: fn(&mut Self)) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, value) in map.as_object().into_iter().flatten() {
            let mut inner = Self::of(value);
            encode(&mut inner);
            put_bytes(&mut bytes, number, &pair(name, &inner.bytes));
        }
        bytes
    }

    fn text(&mut self, number: u32, field: &str) {
        if let Some(text) = self.of[field].as_str() {
            put_bytes(&mut self.bytes, number, text.as_bytes());
        }
    }

    fn truth(&mut self, number: u32, field: &str) {
        if self.of[field] == true {
            put_varint(&mut self.bytes, number, 1);
        }
    }

    fn integer(&mut self, number: u32, field: &str) {
        if let Some(integer) = self.of[field].as_i64() {
            put_varint(&mut self.bytes, number, integer.cast_unsigned());
        }
    }

    fn double(&mut self, number: u32, field: &str) {
        if let Some(float) = self.of[field].as_f64() {
            put_fixed64(&mut self.bytes, number, float.to_bits());
        }
    }

    fn texts(&mut self, number: u32, field: &str) {
        for text in self.of[field].as_array().into_iter().flatten() {
            put_bytes(
                &mut self.bytes,
                number,
                text.as_str().unwrap_or_default().as_bytes(),
            );
        }
    }

    fn any(&mut self, number: u32, field: &str) {
        if let Some(value) = self.of.get(field) {
            put_bytes(&mut self.bytes, number, &any(value));
        }
    }

    fn message(&mut self, number: u32, field: &str, encode: impl FnOnce(&mut Self)) {
        if let Some(value) = self.of.get(field) {
            let mut inner = Self::of(value);
            encode(&mut inner);
            put_bytes(&mut self.bytes, number, &inner.bytes);
        }
    }

    fn messages(&mut self, number: u32, field: &str, encode: fn(&mut Self)) {
        for value in self.of[field].as_array().into_iter().flatten() {
            let mut inner = Self::of(value);
            encode(&mut inner);
            put_bytes(&mut self.bytes, number, &inner.bytes);
        }
    }

    /// Words that only some clients know: `x-…`.
    fn extensions(&mut self, number: u32) {
        let fields = self.of.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| name.starts_with("x-")) {
            put_bytes(&mut self.bytes, number, &pair(name, &any(value)));
        }
    }
}

/// A name and a message.
fn pair(name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, 1, name.as_bytes());
    put_bytes(&mut bytes, 2, value);
    bytes
}

/// Any value, as YAML; JSON is YAML.
fn any(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, 2, format!("{value}\n").as_bytes());
    bytes
}

/// A message with one message in it.
fn wrapped(number: u32, inner: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, number, inner);
    bytes
}

fn path_item(out: &mut Message<'_>) {
    for (number, verb) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        out.message(number, verb, operation);
    }
    out.messages(9, "parameters", parameter);
    out.extensions(10);
}

fn operation(out: &mut Message<'_>) {
    out.text(3, "description");
    out.text(5, "operationId");
    out.texts(6, "produces");
    out.texts(7, "consumes");
    out.messages(8, "parameters", parameter);
    let responses = Message::named(1, &out.of["responses"], |out| {
        let mut response = Message::of(out.of);
        response.text(1, "description");
        response.message(2, "schema", |out| {
            let mut inner = Message::of(out.of);
            schema(&mut inner);
            out.bytes = wrapped(1, &inner.bytes);
        });
        out.bytes = wrapped(1, &response.bytes);
    });
    put_bytes(&mut out.bytes, 9, &responses);
    out.extensions(13);
}

/// A parameter of the body, of the query or of the path: each has numbers of its own.
fn parameter(out: &mut Message<'_>) {
    let mut inner = Message::of(out.of);
    let parameter = match out.of["in"].as_str() {
        Some("body") => {
            inner.text(1, "description");
            inner.text(2, "name");
            inner.text(3, "in");
            inner.truth(4, "required");
            inner.message(5, "schema", schema);
            wrapped(1, &inner.bytes)
        }
        place => {
            inner.truth(1, "required");
            inner.text(2, "in");
            inner.text(3, "description");
            inner.text(4, "name");
            let (number, type_, unique) = match place {
                Some("path") => (4, 5, 19),
                _ => (3, 6, 20),
            };
            inner.text(type_, "type");
            inner.truth(unique, "uniqueItems");
            wrapped(2, &wrapped(number, &inner.bytes))
        }
    };
    out.bytes = wrapped(1, &parameter);
}

fn schema(out: &mut Message<'_>) {
    out.text(1, "$ref");
    out.text(2, "format");
    out.text(3, "title");
    out.text(4, "description");
    out.any(5, "default");
    out.double(6, "multipleOf");
    out.double(7, "maximum");
    out.truth(8, "exclusiveMaximum");
    out.double(9, "minimum");
    out.truth(10, "exclusiveMinimum");
    out.integer(11, "maxLength");
    out.integer(12, "minLength");
    out.text(13, "pattern");
    out.integer(14, "maxItems");
    out.integer(15, "minItems");
    out.truth(16, "uniqueItems");
    out.integer(17, "maxProperties");
    out.integer(18, "minProperties");
    out.texts(19, "required");
    for value in out.of["enum"].as_array().into_iter().flatten() {
        put_bytes(&mut out.bytes, 20, &any(value));
    }
    match &out.of["additionalProperties"] {
        Value::Bool(allowed) => {
            let mut inner = Vec::new();
            put_varint(&mut inner, 2, u64::from(*allowed));
            put_bytes(&mut out.bytes, 21, &inner);
        }
        value @ Value::Object(_) => {
            let mut inner = Message::of(value);
            schema(&mut inner);
            put_bytes(&mut out.bytes, 21, &wrapped(1, &inner.bytes));
        }
        _ => {}
    }
    if let Some(kind) = out.of["type"].as_str() {
        put_bytes(&mut out.bytes, 22, &wrapped(1, kind.as_bytes()));
    }
    if let Some(items) = out.of.get("items") {
        let mut inner = Message::of(items);
        schema(&mut inner);
        put_bytes(&mut out.bytes, 23, &wrapped(1, &inner.bytes));
    }
    out.messages(24, "allOf", schema);
    if out.of.get("properties").is_some_and(Value::is_object) {
        let properties = Message::named(1, &out.of["properties"], schema);
        put_bytes(&mut out.bytes, 25, &properties);
    }
    out.any(30, "example");
    out.extensions(31);
}
