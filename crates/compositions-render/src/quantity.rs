//! Kubernetes quantities (`1.5Gi`, `100m`, `2e3`) as approximate numbers.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

/// Why a text is no quantity; the texts are those of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It does not look like one.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// There is no number in it.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// The unit is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The finest unit: everything is rounded up to whole billionths.
const FINEST: i64 = 9;

/// No float has more digits in front of its point than this.
const MOST_DIGITS: i64 = 400;

enum Unit {
    Decimal(i64),
    Binary(u32),
}

/// The quantity as a float, with the rounding that Kubernetes gives it.
///
/// # Errors
/// When the text is no quantity.
pub(crate) fn approximate(text: &str) -> Result<f64, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let (negative, unsigned) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let unsigned = unsigned.trim_start_matches('0');
    let (whole, rest) = unsigned.split_at(digits(unsigned));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    check_suffix(suffix)?;
    let unit = unit(suffix).ok_or(QuantityError::Suffix)?;
    // Kubernetes takes a lone point for a zero, until the unit is too large for its short cut.
    if let (true, true, Unit::Binary(50..)) = (whole.is_empty(), fraction.is_empty(), &unit)
        && rest.starts_with('.')
    {
        return Err(QuantityError::Number);
    }
    let size = magnitude(if whole.is_empty() { "0" } else { whole }, fraction, &unit);
    Ok(if negative { -size } else { size })
}

/// A suffix is letters, a sign and digits; anything else is not even wrong.
fn check_suffix(suffix: &str) -> Result<(), QuantityError> {
    let rest = suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(())
    } else {
        Err(QuantityError::Format)
    }
}

fn unit(suffix: &str) -> Option<Unit> {
    Some(match suffix {
        "" => Unit::Decimal(0),
        "n" => Unit::Decimal(-9),
        "u" => Unit::Decimal(-6),
        "m" => Unit::Decimal(-3),
        "k" => Unit::Decimal(3),
        "M" => Unit::Decimal(6),
        "G" => Unit::Decimal(9),
        "T" => Unit::Decimal(12),
        "P" => Unit::Decimal(15),
        "E" => Unit::Decimal(18),
        "Ki" => Unit::Binary(10),
        "Mi" => Unit::Binary(20),
        "Gi" => Unit::Binary(30),
        "Ti" => Unit::Binary(40),
        "Pi" => Unit::Binary(50),
        "Ei" => Unit::Binary(60),
        _ => Unit::Decimal(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

fn magnitude(whole: &str, fraction: &str, unit: &Unit) -> f64 {
    let length = whole.len() + fraction.len();
    let exponent = match unit {
        Unit::Decimal(exponent) => *exponent - length_of(fraction),
        Unit::Binary(_) => -length_of(fraction),
    };
    // Most quantities are an integer and a power of ten.
    if let (Unit::Decimal(_), true) = (unit, length <= 18 && exponent >= -FINEST)
        && let Ok(value) = format!("{whole}{fraction}").parse::<i64>()
    {
        return scaled(value as f64, exponent);
    }
    let mut value = format!("{whole}{fraction}")
        .parse::<BigUint>()
        .unwrap_or_default();
    if let Unit::Binary(power) = unit {
        value <<= *power;
    }
    let Some(units) = in_finest_units(value, exponent) else {
        return f64::INFINITY;
    };
    if let Unit::Binary(_) = unit {
        let highest = BigUint::from(i64::MAX.unsigned_abs());
        if units > &highest * ten_to(FINEST) {
            return i64::MAX as f64;
        }
    }
    scaled(units.to_f64().unwrap_or(f64::INFINITY), -FINEST)
}

fn length_of(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// Counts in the finest unit, rounded up; nothing if there are too many of it for any float.
fn in_finest_units(value: BigUint, exponent: i64) -> Option<BigUint> {
    let surplus = -FINEST - exponent;
    if value.is_zero() {
        return Some(value);
    }
    if surplus > length_of(&value.to_string()) {
        return Some(BigUint::one());
    }
    if surplus < -MOST_DIGITS {
        return None;
    }
    if surplus <= 0 {
        return Some(value * ten_to(-surplus));
    }
    let divisor = ten_to(surplus);
    let up = !(&value % &divisor).is_zero();
    Some(value / divisor + u32::from(up))
}

fn ten_to(exponent: i64) -> BigUint {
    BigUint::from(10u32).pow(u32::try_from(exponent).unwrap_or_default())
}

fn scaled(value: f64, exponent: i64) -> f64 {
    if exponent == 0 {
        return value;
    }
    value * format!("1e{exponent}").parse::<f64>().unwrap_or(f64::INFINITY)
}
