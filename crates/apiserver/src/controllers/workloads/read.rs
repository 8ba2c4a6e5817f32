//! Reading the fields of workloads, with upstream's defaults where a field is missing.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::object;

/// A number; `default` when it is missing.
pub(super) fn number(value: &Value, path: &str, default: i64) -> i64 {
    object::at(value, path).and_then(Value::as_i64).unwrap_or(default)
}

/// A string; empty when it is missing.
pub(super) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    object::at(value, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A boolean; false when it is missing.
pub(super) fn is_true(value: &Value, path: &str) -> bool {
    object::at(value, path)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

/// A list; empty when it is missing.
pub(super) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    object::at(value, path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// A time.
pub(super) fn time(value: &Value, path: &str) -> Option<Timestamp> {
    text(value, path).parse().ok()
}

/// `creationTimestamp`.
pub(super) fn created(value: &Value) -> Timestamp {
    time(value, "metadata.creationTimestamp").unwrap_or(Timestamp::UNIX_EPOCH)
}

/// An IntOrString: a number, or a percentage of a total.
pub(super) fn int_or_percent(value: Option<&Value>, of: i64, default: &str, round: Round) -> i64 {
    let default = json!(default);
    match value.unwrap_or(&default) {
        Value::Number(number) => number.as_i64().unwrap_or_default(),
        Value::String(text) => match text.strip_suffix('%').and_then(|text| text.parse::<i64>().ok()) {
            Some(percent) => match round {
                Round::Up => (of * percent + 99).div_euclid(100),
                Round::Down => (of * percent).div_euclid(100),
            },
            None => text.parse().unwrap_or_default(),
        },
        _ => 0,
    }
}

/// The direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    Up,
    Down,
}

/// The time until `at`; `None` when it has passed.
pub(super) fn until(at: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(at.duration_since(now))
        .ok()
        .filter(|left| !left.is_zero())
}

/// The shorter of two delays.
pub(super) fn sooner(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A time plus a duration.
pub(super) fn later(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// A status without zero fields, as Go's `omitempty`; those in `always` are kept.
pub(super) fn status(fields: &[(&str, Value)], always: &[&str]) -> Map<String, Value> {
    let is_zero = |value: &Value| match value {
        Value::Null => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) => false,
    };
    let kept = fields
        .iter()
        .filter(|(name, value)| always.contains(name) || !is_zero(value));
    kept.map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_up_for_surge_and_down_for_unavailability() {
        let quarter = json!("25%");
        assert_eq!(int_or_percent(Some(&quarter), 10, "1", Round::Up), 3);
        assert_eq!(int_or_percent(Some(&quarter), 10, "1", Round::Down), 2);
        assert_eq!(int_or_percent(Some(&json!(4)), 10, "1", Round::Down), 4);
        assert_eq!(int_or_percent(None, 4, "25%", Round::Up), 1);
    }

    #[test]
    fn waits_are_never_negative() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(until(now, now), None);
        assert_eq!(
            until(later(now, Duration::from_secs(2)), now),
            Some(Duration::from_secs(2))
        );
        assert_eq!(until(now, later(now, Duration::from_secs(2))), None);
        assert_eq!(sooner(None, Some(Duration::ZERO)), Some(Duration::ZERO));
    }
}
