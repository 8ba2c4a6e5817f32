//! An element of a field path.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::value_order::{compare_values, show_value};

/// A path element: a field, or a list item by key, value or index.
///
/// Cloning is cheap: names and values are shared.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of an object, or an entry of a map.
    Field(Arc<str>),
    /// The item of a list map with these keys.
    Key(Arc<Key>),
    /// The item of a set with this value.
    Value(Arc<Value>),
    /// The item of a list at this position.
    Index(i64),
}

/// The key fields of a list item with their values, sorted by name.
#[derive(Debug, Clone)]
pub struct Key(Vec<(String, Value)>);

impl Key {
    /// A key of these fields, in any order.
    pub fn new(fields: impl IntoIterator<Item = (String, Value)>) -> Self {
        let mut fields: Vec<_> = fields.into_iter().collect();
        fields.sort_by(|(left, _), (right, _)| left.cmp(right));
        Self(fields)
    }

    /// The fields, sorted by name.
    pub fn fields(&self) -> &[(String, Value)] {
        &self.0
    }
}

impl PathElement {
    /// The step into the field `name`.
    pub fn field(name: &str) -> Self {
        Self::Field(Arc::from(name))
    }

    /// The step to the item with these key fields.
    pub fn key(fields: impl IntoIterator<Item = (String, Value)>) -> Self {
        Self::Key(Arc::new(Key::new(fields)))
    }

    /// The step to the item of a set that is `value`.
    pub fn value(value: Value) -> Self {
        Self::Value(Arc::new(value))
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => left.cmp(right),
            (Self::Value(left), Self::Value(right)) => compare_values(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_field = self
            .0
            .iter()
            .zip(&other.0)
            .map(|((left_name, left), (right_name, right))| {
                left_name
                    .cmp(right_name)
                    .then_with(|| compare_values(left, right))
            });
        by_field
            .into_iter()
            .find(|order| order.is_ne())
            .unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(key) => {
                f.write_str("[")?;
                for (index, (name, value)) in key.fields().iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", show_value(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", show_value(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_elements_as_conflicts_do() {
        for (element, expected) in [
            (PathElement::field("replicas"), ".replicas"),
            (PathElement::key([("name".into(), json!("x"))]), r#"[name="x"]"#),
            (
                PathElement::key([
                    ("protocol".into(), json!("TCP")),
                    ("containerPort".into(), json!(80)),
                ]),
                r#"[containerPort=80,protocol="TCP"]"#,
            ),
            (PathElement::value(json!("a\"b")), r#"[="a\"b"]"#),
            (PathElement::value(json!(1.5)), "[=1.5]"),
            (PathElement::Index(3), "[3]"),
        ] {
            assert_eq!(element.to_string(), expected);
        }
    }

    #[test]
    fn orders_fields_keys_values_indexes() {
        let elements = [
            PathElement::field("a"),
            PathElement::field("b"),
            PathElement::key([("name".into(), json!("a"))]),
            PathElement::key([("name".into(), json!("a")), ("z".into(), json!(1))]),
            PathElement::key([("name".into(), json!("b"))]),
            PathElement::value(json!(1)),
            PathElement::value(json!("a")),
            PathElement::Index(0),
            PathElement::Index(1),
        ];
        assert!(elements.is_sorted());
        assert_eq!(PathElement::value(json!(1)), PathElement::value(json!(1.0)));
    }
}
