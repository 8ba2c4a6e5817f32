//! Numbers of custom resources: `2.0` is stored as `2`, as Go writes it.

use serde_json::{Number, Value};

/// Integers below this fit an `i64`.
const BOUND: f64 = 9_223_372_036_854_775_808.0;

/// Converts integral floats to integers, as Go encodes them; those outside of `i64` are unchanged.
pub fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn whole(number: &Number) -> Option<i64> {
    let value = number.as_f64().filter(|_| number.is_f64())?;
    let fits = value.fract() == 0.0 && (-BOUND..BOUND).contains(&value);
    fits.then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_numbers_lose_their_fraction() {
        for (given, expected) in [
            ("2.0", "2"),
            ("1e3", "1000"),
            ("-0.0", "0"),
            ("-1e18", "-1000000000000000000"),
            ("1.5", "1.5"),
            ("1e-7", "1e-7"),
            ("9223372036854775807", "9223372036854775807"),
        ] {
            let mut value: Value = serde_json::from_str(given).unwrap();
            normalize_numbers(&mut value);
            assert_eq!(value.to_string(), expected);
        }
        let mut large = json!({"a": [1e300, 1e19]});
        normalize_numbers(&mut large);
        assert_eq!(large, json!({"a": [1e300, 1e19]}));
    }
}
