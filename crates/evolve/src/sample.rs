//! Samples: small objects that a schema allows, with a chosen value at a chosen path.

use cambium_schema::{Additional, Constraints, JsonType, Schema};
use serde_json::{Map, Value};

use crate::path::Step;

/// How deep samples go: a schema that demands more is left out.
const DEEPEST: usize = 32;

/// A small object of a schema with this value at the path, or any value that the schema allows there; none if the path leads nowhere.
pub(crate) fn object(schema: &Schema, path: &[Step], wanted: Option<&Value>) -> Option<Value> {
    let Some((step, rest)) = path.split_first() else {
        return Some(wanted.cloned().unwrap_or_else(|| sample(schema, 0)));
    };
    let mut value = sample(schema, 0);
    match step {
        Step::Field(name) => {
            let inner = match (schema.field(name), wanted) {
                (Some(field), _) => object(field, rest, wanted)?,
                // A field that the schema does not name, where it keeps such fields.
                (None, Some(wanted)) if rest.is_empty() => wanted.clone(),
                (None, _) => return None,
            };
            value.as_object_mut()?.insert(name.clone(), inner);
        }
        Step::Items => {
            let inner = object(schema.items.as_ref()?, rest, wanted)?;
            value = Value::Array(vec![inner]);
        }
        Step::Values => {
            let Additional::Schema(values) = &schema.additional else {
                return None;
            };
            value
                .as_object_mut()?
                .insert("key".to_owned(), object(values, rest, wanted)?);
        }
    }
    Some(value)
}

/// A small value of a schema: required fields only, the least that limits allow.
fn sample(schema: &Schema, depth: usize) -> Value {
    let none = Constraints::default();
    let limits = schema.constraints.as_deref().unwrap_or(&none);
    if let Some(first) = limits.enumeration.as_ref().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(default) = &schema.default {
        return default.clone();
    }
    if depth > DEEPEST {
        return Value::Null;
    }
    match schema.json_type {
        JsonType::Object => {
            let mut fields = Map::new();
            for name in &limits.required {
                if let Some(field) = schema.field(name) {
                    fields.insert(name.clone(), sample(field, depth + 1));
                }
            }
            if let Additional::Schema(values) = &schema.additional {
                for index in 0..limits.min_properties.unwrap_or(0).min(16) {
                    fields.insert(format!("key-{index}"), sample(values, depth + 1));
                }
            }
            Value::Object(fields)
        }
        JsonType::Array => {
            let count = limits.min_items.unwrap_or(0).min(16);
            let items = schema.items.as_ref();
            (0..count)
                .filter_map(|_| Some(sample(items?, depth + 1)))
                .collect()
        }
        JsonType::String | JsonType::Any => text(schema, limits).into(),
        JsonType::Integer | JsonType::Number | JsonType::IntOrString => number(schema, limits),
        JsonType::Boolean => true.into(),
    }
}

fn text(schema: &Schema, limits: &Constraints) -> String {
    let by_format = match &*schema.format {
        "date-time" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "duration" => "1s",
        "byte" => "YQ==",
        "uuid" => "7f000001-0000-4000-8000-000000000000",
        "uri" => "https://example.org/",
        "ipv4" => "127.0.0.1",
        "ipv6" => "::1",
        "email" => "a@example.org",
        _ => "",
    };
    if !by_format.is_empty() {
        return by_format.to_owned();
    }
    let least = usize::try_from(limits.min_length.unwrap_or(0))
        .unwrap_or(0)
        .min(4096);
    let candidates = [
        "a",
        "a1",
        "A",
        "1",
        "1Gi",
        "1s",
        "10.0.0.0/8",
        "example.org",
        "https://example.org",
        "v1",
        "a-b",
        "a/b",
        "",
    ];
    let fits = |text: &str| match &limits.pattern {
        Some(pattern) => limits.matcher.is_match(pattern, text),
        None => true,
    };
    let padded = |text: &str| match text.chars().next() {
        Some(first) => {
            text.to_owned()
                + &first
                    .to_string()
                    .repeat(least.saturating_sub(text.chars().count()))
        }
        None => text.to_owned(),
    };
    let longest = usize::try_from(limits.max_length.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let found = candidates
        .iter()
        .map(|text| padded(text))
        .find(|text| text.chars().count() <= longest && fits(text));
    found.unwrap_or_else(|| padded("a"))
}

fn number(schema: &Schema, limits: &Constraints) -> Value {
    let at = |bound: &Option<(serde_json::Number, bool)>, step: i64| {
        let (limit, excluded) = bound.as_ref()?;
        let limit = limit
            .as_i64()
            .or_else(|| limit.as_f64().map(|limit| limit as i64))?;
        Some(if *excluded { limit + step } else { limit })
    };
    let value = at(&limits.minimum, 1)
        .or_else(|| at(&limits.maximum, -1))
        .unwrap_or(1);
    match (schema.json_type, limits.multiple_of) {
        (_, Some(of)) if value % 2 != 0 || of > 1.0 => serde_json::json!(of as i64),
        _ => value.into(),
    }
}
