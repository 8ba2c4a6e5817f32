//! Converts JSON data to CUE data for templates.
//!
//! KubeVela decodes properties into Go maps and encodes them again. Field names come out sorted, and every number has
//! been a 64-bit float: `1.0` becomes the integer 1, and integers beyond 2^53 are rounded.

use cambium_cue::Data;
use cambium_cue::number::Number;
use num_bigint::BigInt;
use num_traits::FromPrimitive as _;
use serde_json::Value;

/// JSON as it arrives in a template.
pub(crate) fn through_go(value: &Value) -> Data {
    match value {
        Value::Null => Data::Null,
        Value::Bool(value) => Data::Bool(*value),
        Value::Number(number) => Data::Number(go_number(number)),
        Value::String(text) => Data::String(text.clone()),
        Value::Array(items) => Data::List(items.iter().map(through_go).collect()),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| (name.clone(), through_go(value)))
                .collect();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            Data::Struct(fields)
        }
    }
}

/// The data of one template, with fields sorted for the next.
pub(crate) fn sorted(data: &Data) -> Data {
    match data {
        Data::List(items) => Data::List(items.iter().map(sorted).collect()),
        Data::Struct(fields) => {
            let mut fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            Data::Struct(fields)
        }
        Data::Number(number) => Data::Number(match number.to_i64() {
            Some(small) if number.is_integer() && small.unsigned_abs() <= EXACT => number.clone(),
            _ => number.to_json().parse().map_or_else(|_| number.clone(), rounded),
        }),
        other => other.clone(),
    }
}

/// An object as it leaves: a float without a fraction is an integer again.
pub(crate) fn settle_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0)
                && let Some(integer) = num_traits::cast::<f64, i64>(float)
            {
                *number = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle_numbers),
        Value::Object(fields) => fields.values_mut().for_each(settle_numbers),
        _ => {}
    }
}

/// Integers up to here are exact as floats.
const EXACT: u64 = 1 << 53;

fn go_number(number: &serde_json::Number) -> Number {
    match number.as_i64() {
        Some(small) if small.unsigned_abs() <= EXACT => Number::from_i64(small),
        _ => number.as_f64().map_or_else(|| Number::from_i64(0), rounded),
    }
}

/// A float as Go writes it: without a point when it is integral and below 10^21.
fn rounded(value: f64) -> Number {
    if value.fract() == 0.0 && value.abs() < 1e21 {
        return BigInt::from_f64(value).map_or_else(|| Number::from_i64(0), Number::integer);
    }
    let magnitude = value.abs();
    let text = if !(1e-6..1e21).contains(&magnitude) {
        format!("{magnitude:e}")
    } else {
        format!("{magnitude}")
    };
    let number = Number::from_literal(&text).unwrap_or_else(|_| Number::from_i64(0));
    if value < 0.0 { number.negate() } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_sorted_and_numbers_are_floats() {
        let data = through_go(&json!({"b": 1.0, "a": [9007199254740993_i64, -0.5, 1e-7]}));
        assert_eq!(data.to_json(), r#"{"a":[9007199254740992,-0.5,1E-7],"b":1}"#);
    }
}
