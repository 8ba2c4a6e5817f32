//! A JSON parser that records duplicate fields.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses a JSON document, and returns the paths of duplicate fields (the last value counts).
pub(crate) fn parse(text: &str) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut reader = Reader {
        path: Vec::new(),
        duplicates: Vec::new(),
        fields: None,
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Tree(&mut reader).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, reader.duplicates))
}

/// The paths of all fields, in document order; of invalid JSON, those before the error.
pub(crate) fn fields(text: &str) -> Vec<String> {
    let mut reader = Reader {
        path: Vec::new(),
        duplicates: Vec::new(),
        fields: Some(Vec::new()),
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The caller has parsed the document before.
    let _ = Tree(&mut reader).deserialize(&mut deserializer);
    reader.fields.unwrap_or_default()
}

struct Reader {
    path: Vec<Step>,
    duplicates: Vec<String>,
    /// Collected only if requested.
    fields: Option<Vec<String>>,
}

enum Step {
    Field(String),
    Index(usize),
}

impl Reader {
    fn here(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match step {
                Step::Field(name) if text.is_empty() => text.push_str(name),
                Step::Field(name) => text.push_str(&format!(".{name}")),
                Step::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

struct Tree<'a>(&'a mut Reader);

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        self.0.path.push(Step::Index(0));
        while let Some(item) = items.next_element_seed(Tree(self.0))? {
            list.push(item);
            if let Some(step) = self.0.path.last_mut() {
                *step = Step::Index(list.len());
            }
        }
        self.0.path.pop();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            self.0.path.push(Step::Field(name.clone()));
            if self.0.fields.is_some() {
                let here = self.0.here();
                self.0.fields.get_or_insert_default().push(here);
            }
            if map.contains_key(&name) {
                let here = self.0.here();
                self.0.duplicates.push(here);
            }
            map.insert(name, fields.next_value_seed(Tree(self.0))?);
            self.0.path.pop();
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn duplicates_are_told_and_the_last_one_counts() {
        let (value, duplicates) = parse(r#"{"a":1,"l":[{"b":1},{"b":2,"b":3}],"a":{"c":0,"c":1}}"#).unwrap();
        assert_eq!(value, json!({"a": {"c": 1}, "l": [{"b": 1}, {"b": 3}]}));
        assert_eq!(duplicates, ["l[1].b", "a", "a.c"]);
    }

    #[test]
    fn fields_are_listed_as_they_come() {
        let text = r#"{"b":1,"a":[{"c":1}],"b":2}"#;
        assert_eq!(fields(text), ["b", "a", "a[0].c", "b"]);
    }

    #[test]
    fn broken_documents_are_refused() {
        for bad in ["", "{", "{}x", "[1,]", "{\"a\":}", "nul", "\u{0}"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_err());
    }
}
