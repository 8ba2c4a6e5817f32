//! Printer columns of custom resources.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::jsonpath::JsonPath;
use crate::object;

/// One column, its path parsed.
pub(super) struct Column {
    definition: Value,
    kind: String,
    path: Option<JsonPath>,
}

/// The `additionalPrinterColumns` of a version; the age when there are none.
pub(super) fn compile(declared: &[Value]) -> Vec<Column> {
    let age = [
        json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "When the object was created"}),
    ];
    let declared = if declared.is_empty() { &age[..] } else { declared };
    let compile = |column: &Value| {
        let text = |field: &str| column.get(field).and_then(Value::as_str).unwrap_or_default();
        let (name, kind, path) = (text("name"), text("type"), text("jsonPath"));
        let description = match text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            own => own.to_owned(),
        };
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or_default();
        Column {
            definition: json!({
                "name": name, "type": kind, "format": text("format"), "description": description, "priority": priority,
            }),
            kind: kind.to_owned(),
            path: JsonPath::parse(path),
        }
    };
    declared.iter().map(compile).collect()
}

/// The `columnDefinitions` of a Table.
pub(super) fn definitions(columns: &[Column]) -> Vec<Value> {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0,
        "description": "The name that nothing else of this kind has in its namespace",
    });
    std::iter::once(name)
        .chain(columns.iter().map(|column| column.definition.clone()))
        .collect()
}

/// The cells of one row.
pub(super) fn cells(columns: &[Column], value: &Value, now: Timestamp) -> Vec<Value> {
    let cell = |column: &Column| {
        let found = column
            .path
            .as_ref()
            .and_then(|path| path.find(value).first().copied());
        found.map_or(Value::Null, |value| shown(&column.kind, value, now))
    };
    std::iter::once(json!(object::name(value)))
        .chain(columns.iter().map(cell))
        .collect()
}

/// The cell for a value; null when it does not match the column's type.
fn shown(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        ("integer", Value::Number(number)) => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a float in an integer column is shown without its fraction"
            )]
            let whole = || number.as_f64().map(|float| float as i64);
            number.as_i64().or_else(whole).map_or(Value::Null, Value::from)
        }
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => match text.parse::<Timestamp>() {
            Ok(at) => json!(cambium_builtin::human_duration(now.as_second() - at.as_second())),
            Err(_) => json!("<invalid>"),
        },
        ("string", Value::String(_)) => value.clone(),
        ("string", other) => json!(other.to_string()),
        _ => Value::Null,
    }
}
