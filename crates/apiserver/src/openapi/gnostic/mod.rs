//! OpenAPI in protobuf: gnostic's messages, which client-go reads.
//!
//! ```text
//! v2    a document of OpenAPI v2
//! v3    a document of OpenAPI v3
//! yaml  arbitrary values, which gnostic keeps as YAML text
//! ```

pub(super) mod v2;
pub(super) mod v3;
mod yaml;

#[cfg(test)]
mod reader;

use cambium_builtin::protobuf::{put_bytes, put_fixed64, put_varint};
use serde_json::Value;

/// A message under construction from a JSON object.
struct Message<'a> {
    of: &'a Value,
    bytes: Vec<u8>,
}

/// Writes the fields of a message.
type Encode = fn(&mut Message<'_>);

impl<'a> Message<'a> {
    fn of(of: &'a Value) -> Self {
        Self {
            of,
            bytes: Vec::new(),
        }
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
        let items = self.of[field].as_array().into_iter().flatten();
        for text in items.filter_map(Value::as_str) {
            put_bytes(&mut self.bytes, number, text.as_bytes());
        }
    }

    fn any(&mut self, number: u32, field: &str) {
        if let Some(value) = self.of.get(field) {
            put_bytes(&mut self.bytes, number, &any(value));
        }
    }

    fn anys(&mut self, number: u32, field: &str) {
        for value in self.of[field].as_array().into_iter().flatten() {
            put_bytes(&mut self.bytes, number, &any(value));
        }
    }

    fn message(&mut self, number: u32, field: &str, encode: Encode) {
        if let Some(value) = self.of.get(field) {
            self.nested(number, value, encode);
        }
    }

    fn messages(&mut self, number: u32, field: &str, encode: Encode) {
        for value in self.of[field].as_array().into_iter().flatten() {
            self.nested(number, value, encode);
        }
    }

    /// A message of named messages, one for each field of an object.
    fn names(&mut self, number: u32, field: &str, encode: Encode) {
        if let Some(Value::Object(map)) = self.of.get(field) {
            let mut bytes = Vec::new();
            for (name, value) in map {
                put_bytes(&mut bytes, 1, &pair(name, &encoded(value, encode)));
            }
            put_bytes(&mut self.bytes, number, &bytes);
        }
    }

    /// The same object as a nested message: a `oneof`.
    fn choice(&mut self, number: u32, encode: Encode) {
        self.nested(number, self.of, encode);
    }

    fn nested(&mut self, number: u32, value: &Value, encode: Encode) {
        put_bytes(&mut self.bytes, number, &encoded(value, encode));
    }

    /// The fields whose names match a filter, as name-value pairs.
    fn pairs(&mut self, number: u32, is_meant: fn(&str) -> bool, encode: Encode) {
        let fields = self.of.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| is_meant(name)) {
            put_bytes(&mut self.bytes, number, &pair(name, &encoded(value, encode)));
        }
    }

    /// Whether it is a `$ref`.
    fn is_reference(&self) -> bool {
        self.of["$ref"].is_string()
    }

    /// `additionalProperties`: a boolean or a schema.
    fn additional_properties(&mut self, number: u32, encode: Encode) {
        match &self.of["additionalProperties"] {
            Value::Bool(allowed) => {
                let mut inner = Vec::new();
                put_varint(&mut inner, 2, u64::from(*allowed));
                put_bytes(&mut self.bytes, number, &inner);
            }
            value @ Value::Object(_) => self.nested(number, value, encode),
            _ => {}
        }
    }

    /// Vendor extensions: `x-…`.
    fn extensions(&mut self, number: u32) {
        let encode = |out: &mut Message<'_>| out.bytes = any(out.of);
        self.pairs(number, is_extension, encode);
    }

    /// Validation keywords, which have consecutive field numbers in v2 and v3.
    fn bounds(&mut self, first: u32) {
        self.double(first, "multipleOf");
        self.double(first + 1, "maximum");
        self.truth(first + 2, "exclusiveMaximum");
        self.double(first + 3, "minimum");
        self.truth(first + 4, "exclusiveMinimum");
        self.integer(first + 5, "maxLength");
        self.integer(first + 6, "minLength");
        self.text(first + 7, "pattern");
        self.integer(first + 8, "maxItems");
        self.integer(first + 9, "minItems");
        self.truth(first + 10, "uniqueItems");
        self.integer(first + 11, "maxProperties");
        self.integer(first + 12, "minProperties");
        self.texts(first + 13, "required");
        self.anys(first + 14, "enum");
    }
}

/// `externalDocs`.
fn external_documents(out: &mut Message<'_>) {
    out.text(1, "description");
    out.text(2, "url");
    out.extensions(3);
}

fn is_extension(name: &str) -> bool {
    name.starts_with("x-")
}

fn encoded(value: &Value, encode: Encode) -> Vec<u8> {
    let mut message = Message::of(value);
    encode(&mut message);
    message.bytes
}

/// A name and a message.
fn pair(name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, 1, name.as_bytes());
    put_bytes(&mut bytes, 2, value);
    bytes
}

/// Any value, as YAML.
fn any(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, 2, yaml::document(value).as_bytes());
    bytes
}
