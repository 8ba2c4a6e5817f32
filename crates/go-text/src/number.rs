//! Numbers: shortest representation, with exponents as Go.

use serde_json::Number;

/// A number as `%v` prints an `int64` or a `float64`.
pub fn plain_number(number: &Number) -> String {
    whole_or(number, plain_float)
}

/// A number as `%#v` prints it.
pub fn syntax_number(number: &Number) -> String {
    whole_or(number, syntax_float)
}

/// A float as `%v` and `%g` print it: with an exponent from a million up.
pub fn plain_float(value: f64) -> String {
    float(value, -4, 6, 2)
}

/// A float as `%#v` prints it: with an exponent from 10^21 up.
pub fn syntax_float(value: f64) -> String {
    float(value, -4, 21, 2)
}

/// A float as `encoding/json` writes it: with an exponent only where it is needed.
pub fn json_float(value: f64) -> String {
    float(value, -6, 21, 1)
}

fn whole_or(number: &Number, float: fn(f64) -> String) -> String {
    match number.as_i64() {
        Some(whole) => whole.to_string(),
        None => float(number.as_f64().unwrap_or_default()),
    }
}

fn float(value: f64, lowest: i32, highest: i32, exponent_digits: usize) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value == 0.0 || (lowest..highest).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:0exponent_digits$}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_where_go_has_them() {
        for (value, plain, syntax, json) in [
            (0.0, "0", "0", "0"),
            (-0.0, "-0", "-0", "-0"),
            (1.0, "1", "1", "1"),
            (1.5, "1.5", "1.5", "1.5"),
            (123_456.0, "123456", "123456", "123456"),
            (1_234_567.5, "1.2345675e+06", "1234567.5", "1234567.5"),
            (1e20, "1e+20", "100000000000000000000", "100000000000000000000"),
            (1e21, "1e+21", "1e+21", "1e+21"),
            (-2.5e300, "-2.5e+300", "-2.5e+300", "-2.5e+300"),
            (0.0001, "0.0001", "0.0001", "0.0001"),
            (0.00001, "1e-05", "1e-05", "0.00001"),
            (1e-6, "1e-06", "1e-06", "0.000001"),
            (1e-7, "1e-07", "1e-07", "1e-7"),
            (f64::NAN, "NaN", "NaN", "NaN"),
            (f64::NEG_INFINITY, "-Inf", "-Inf", "-Inf"),
        ] {
            assert_eq!(plain_float(value), plain);
            assert_eq!(syntax_float(value), syntax);
            assert_eq!(json_float(value), json);
        }
    }

    #[test]
    fn what_does_not_fit_an_int64_is_a_float64() {
        assert_eq!(plain_number(&i64::MIN.into()), "-9223372036854775808");
        assert_eq!(plain_number(&u64::MAX.into()), "1.8446744073709552e+19");
        assert_eq!(syntax_number(&u64::MAX.into()), "18446744073709552000");
    }
}
