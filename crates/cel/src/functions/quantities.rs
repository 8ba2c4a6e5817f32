//! The quantity library: `1.5Gi`, `100m`.

use std::cmp::Ordering;

use super::Implementation;
use crate::error::{Result, failed, no_such_overload};
use crate::value::Value;

/// An amount.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    /// In billionths, the precision of quantities.
    amount: i128,
    /// Whether it is written as a whole number: `1000m` is not.
    whole: bool,
}

const UNIT: i128 = 1_000_000_000;

impl Quantity {
    /// Which one is more.
    pub(crate) fn cmp(self, other: Self) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "quantity" => |arguments| match arguments {
            [Value::String(text)] => match parse(text) {
                Ok(quantity) => Ok(Value::Quantity(quantity)),
                Err(cause) => failed(cause),
            },
            _ => no_such_overload(),
        },
        "isQuantity" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(parse(text).is_ok())),
            _ => no_such_overload(),
        },
        "sign" => |arguments| match arguments {
            [Value::Quantity(quantity)] => Ok(Value::Int(quantity.amount.signum() as i64)),
            _ => no_such_overload(),
        },
        "asInteger" => |arguments| match arguments {
            [Value::Quantity(quantity)] => match integer(*quantity) {
                Some(value) => Ok(Value::Int(value)),
                None => failed("cannot convert value to integer"),
            },
            _ => no_such_overload(),
        },
        "isInteger" => |arguments| match arguments {
            [Value::Quantity(quantity)] => Ok(Value::Bool(integer(*quantity).is_some())),
            _ => no_such_overload(),
        },
        "asApproximateFloat" => |arguments| match arguments {
            [Value::Quantity(quantity)] => Ok(Value::Double(approximate(quantity.amount))),
            _ => no_such_overload(),
        },
        "add" => |arguments| combine(arguments, i128::saturating_add),
        "sub" => |arguments| combine(arguments, i128::saturating_sub),
        // Versions compare with the same names.
        "isGreaterThan" | "isLessThan" | "compareTo" => return None,
        _ => return None,
    };
    Some(found)
}

fn approximate(amount: i128) -> f64 {
    match amount % UNIT {
        0 => (amount / UNIT) as f64,
        _ => amount as f64 / UNIT as f64,
    }
}

fn integer(quantity: Quantity) -> Option<i64> {
    match quantity.whole {
        true => i64::try_from(quantity.amount / UNIT).ok(),
        false => None,
    }
}

fn combine<'a>(arguments: &[Value<'a>], operation: fn(i128, i128) -> i128) -> Result<Value<'a>> {
    let (a, b) = match arguments {
        [Value::Quantity(a), Value::Quantity(b)] => (*a, *b),
        [Value::Quantity(a), Value::Int(b)] => {
            let amount = i128::from(*b) * UNIT;
            (*a, Quantity { amount, whole: true })
        }
        _ => return no_such_overload(),
    };
    Ok(Value::Quantity(Quantity {
        amount: operation(a.amount, b.amount),
        whole: match (a.amount, b.amount) {
            (_, 0) => a.whole,
            (0, _) => b.whole,
            _ => a.whole && b.whole,
        },
    }))
}

fn parse(text: &str) -> std::result::Result<Quantity, &'static str> {
    const WRONG: &str =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    const SUFFIX: &str = "unable to parse quantity's suffix";
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let after = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let whole = &rest[..rest.len() - after.len()];
    let (fraction, suffix) = match after.strip_prefix('.') {
        Some(digits) => {
            let suffix = digits.trim_start_matches(|digit: char| digit.is_ascii_digit());
            (&digits[..digits.len() - suffix.len()], suffix)
        }
        None => ("", after),
    };
    let letters = suffix.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let letters = letters.strip_suffix(['-', '+']).unwrap_or(letters);
    // Kubernetes' parser wants digits after these letters, but does not check that there are any.
    if text.is_empty() || !letters.chars().all(|letter| "eEinumkKMGTP".contains(letter)) {
        return Err(WRONG);
    }
    let (factor, exponent) = scale(suffix).ok_or(SUFFIX)?;
    let digits = format!(
        "{}{}",
        whole.trim_start_matches('0'),
        &fraction[..fraction.len().min(20)]
    );
    let is_whole =
        digits.len() <= 18 && exponent >= fraction.len() as i32 && (factor == 1 || fraction.is_empty());
    let digits: i128 = if digits.is_empty() {
        0
    } else {
        digits.parse().unwrap_or(i128::MAX)
    };
    let power = exponent
        .saturating_sub(fraction.len().min(20) as i32)
        .saturating_add(9);
    let amount = match u32::try_from(power) {
        Ok(power) => 10_i128
            .checked_pow(power)
            .and_then(|power| digits.checked_mul(power))
            .and_then(|amount| amount.checked_mul(factor))
            .unwrap_or(if digits == 0 { 0 } else { i128::MAX }),
        Err(_) => {
            let amount = digits.saturating_mul(factor);
            match 10_i128.checked_pow(power.unsigned_abs()) {
                // What is less than a billionth counts as one.
                Some(divisor) => amount / divisor + i128::from(amount % divisor != 0),
                None => i128::from(amount != 0),
            }
        }
    };
    Ok(Quantity {
        amount: sign * amount,
        whole: is_whole,
    })
}

fn scale(suffix: &str) -> Option<(i128, i32)> {
    let scale = match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (1, exponent)
        }
    };
    Some(scale)
}
