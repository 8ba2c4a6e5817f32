//! Numbers as Go reads and writes them in JSON: an integer that fits is an `int64`, everything else a `float64`.

use serde_json::{Number, Value};

/// A JSON number by its Go type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GoNumber {
    Int(i64),
    Float(f64),
}

pub(crate) fn of(number: &Number) -> GoNumber {
    match number.as_i64() {
        Some(value) => GoNumber::Int(value),
        None => GoNumber::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Numbers after a round trip through JSON text: `5.0` is written `5` and read back as an integer.
pub(crate) fn settle(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let GoNumber::Float(float) = of(number) {
                // An integer that does not fit is a float, and loses what that cannot hold.
                let float = Number::from_f64(float);
                if let Some(settled) = number.as_f64().and_then(integer).map(Number::from).or(float) {
                    *number = settled;
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(settle),
        Value::Object(fields) => fields.values_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Numbers as Go's plain JSON decoder gives them: every one is a `float64`.
pub(crate) fn loosen(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let GoNumber::Int(integer) = of(number)
                && let Some(float) = Number::from_f64(integer as f64)
            {
                *number = float;
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(loosen),
        Value::Object(fields) => fields.values_mut().for_each(loosen),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Go's conversion of a `float64` to an `int64` on amd64: towards zero, and the lowest integer for whatever does not fit.
pub(crate) fn truncate(value: f64) -> i64 {
    // NaN is within no range.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

/// Go writes a float with the fewest digits that name it and fills up with zeros: above 2^53 that is another integer.
fn integer(value: f64) -> Option<i64> {
    if value.fract() != 0.0 || value.abs() > 1e19 {
        return None;
    }
    if value.abs() < 9_007_199_254_740_992.0 {
        Some(value as i64)
    } else {
        value.to_string().parse().ok()
    }
}
