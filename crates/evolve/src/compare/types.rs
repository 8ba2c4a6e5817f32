//! Types of values.

use cambium_schema::{JsonType, ListType, Schema};

use super::{Found, Wanted};
use crate::path::Path;

/// Compares the types of two schemas; whether they differ so much that nothing below them can be compared.
pub(super) fn changed(old: &Schema, new: &Schema, at: &Path, found: &mut Found) -> bool {
    use JsonType::{Any, Array, IntOrString, Integer, Number, String};
    if old.json_type == new.json_type {
        return false;
    }
    let what = format!("{} -> {}", text(old.json_type), text(new.json_type));
    match (old.json_type, new.json_type) {
        (Integer, Number) => found.add("R12", at, what),
        (Number, Integer) => found.break_with("R13", at, what, [Wanted::Value(0.5.into()), Wanted::Any]),
        (Integer | String, IntOrString) => found.add("R14", at, what),
        (_, Array)
            if new
                .items
                .as_ref()
                .is_some_and(|items| items.json_type == old.json_type) =>
        {
            found.break_with("R15", at, what, [Wanted::Any]);
        }
        (_, Any) if new.preserve_unknown_fields => found.add("R32", at, what),
        (Any, _) => found.break_with(
            "R11",
            at,
            what,
            [
                Wanted::Value("a".into()),
                Wanted::Value(1.into()),
                Wanted::Value(true.into()),
            ],
        ),
        _ => found.break_with("R11", at, what, [Wanted::Any]),
    }
    // Integers and numbers have the same limits.
    !matches!(
        (old.json_type, new.json_type),
        (Integer, Number) | (Number, Integer)
    )
}

pub(super) fn text(type_: JsonType) -> &'static str {
    match type_ {
        JsonType::Any => "any",
        JsonType::Object => "object",
        JsonType::Array => "array",
        JsonType::String => "string",
        JsonType::Integer => "integer",
        JsonType::Number => "number",
        JsonType::Boolean => "boolean",
        JsonType::IntOrString => "int-or-string",
    }
}

pub(super) fn list_text(list: &ListType) -> String {
    match list {
        ListType::Atomic => "atomic".to_owned(),
        ListType::Set => "set".to_owned(),
        ListType::Map(keys) => format!("map by {}", keys.join(", ")),
    }
}
