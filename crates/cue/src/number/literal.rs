//! Literals of numbers.

use super::decimal::{Decimal, MAXIMUM_EXPONENT};
use super::{Number, NumberKind};
use num_bigint::{BigInt, BigUint};
use num_traits::{Num, Zero};

/// Why a text is not a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNumber {
    /// It does not look like one.
    #[error("invalid number {0:?}")]
    Syntax(String),
    /// `1.0001K` is not a whole number.
    #[error("number cannot be represented as int")]
    NotAnInteger,
    /// The first digit is too far from the point.
    #[error("number out of range: exponent beyond {MAXIMUM_EXPONENT}")]
    OutOfRange,
}

impl Number {
    /// The number that a literal of CUE stands for: `1_000`, `0x1f`, `1.5Ki`, `.5`, `1e-3`. A sign may stand before.
    pub fn from_literal(text: &str) -> Result<Self, InvalidNumber> {
        if let Some(small) = small(text) {
            return Ok(Self::from_i64(small));
        }
        let invalid = || InvalidNumber::Syntax(text.to_owned());
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits = unsigned.replace('_', "");
        if i64::try_from(digits.len()).map_or(true, |length| length > MAXIMUM_EXPONENT) {
            return Err(InvalidNumber::OutOfRange);
        }
        let number = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => Self::integer(in_base(&digits[2..], 16).ok_or_else(invalid)?),
            [b'0', b'o', ..] => Self::integer(in_base(&digits[2..], 8).ok_or_else(invalid)?),
            [b'0', b'b', ..] => Self::integer(in_base(&digits[2..], 2).ok_or_else(invalid)?),
            _ => decimal(&digits).map_err(|error| error.unwrap_or_else(invalid))?,
        };
        Ok(if negative { number.negate() } else { number })
    }
}

/// Fast path for literals of a few digits.
fn small(text: &str) -> Option<i64> {
    let digits = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

fn in_base(digits: &str, base: u32) -> Option<BigInt> {
    digits
        .chars()
        .all(|digit| digit.is_digit(base))
        .then(|| BigInt::from_str_radix(digits, base).ok())?
}

/// `Err(None)` when the text is not a number.
fn decimal(text: &str) -> Result<Number, Option<InvalidNumber>> {
    let (mantissa, multiplier) = multiplier(text);
    let (mantissa, exponent) = match mantissa.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(None);
            }
            (
                mantissa,
                Some(exponent.parse::<i32>().map_err(|_| InvalidNumber::OutOfRange)?),
            )
        }
        None => (mantissa, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(None);
    }
    let coefficient = BigUint::from_str_radix(&digits, 10).map_err(|_| None)?;
    let scale = i32::try_from(fraction.len()).map_err(|_| InvalidNumber::OutOfRange)?;
    let exponent_or_zero = exponent.unwrap_or(0);
    let exponent_of_last = exponent_or_zero
        .checked_sub(scale)
        .ok_or(InvalidNumber::OutOfRange)?;
    let value = Decimal {
        negative: false,
        coefficient,
        exponent: exponent_of_last,
    };
    match multiplier {
        Some(_) if exponent.is_some() => Err(None),
        Some(multiplier) => multiplied(value, multiplier).map_err(Some),
        None if exponent.is_none() && !mantissa.contains('.') => {
            Ok(Number::from_decimal(value, NumberKind::Int))
        }
        None => {
            let value = value.in_range().map_err(|_| InvalidNumber::OutOfRange)?;
            Ok(Number::from_decimal(value, NumberKind::Float))
        }
    }
}

/// The number without its multiplier, and that.
fn multiplier(text: &str) -> (&str, Option<u64>) {
    let (rest, base) = match text.strip_suffix('i') {
        Some(rest) => (rest, 1024u64),
        None => (text, 1000),
    };
    let power = match rest.as_bytes().last() {
        Some(b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(b'P') => 5,
        _ => return (text, None),
    };
    (&rest[..rest.len() - 1], Some(base.pow(power)))
}

fn multiplied(value: Decimal, multiplier: u64) -> Result<Number, InvalidNumber> {
    let product = Decimal {
        coefficient: value.coefficient * multiplier,
        ..value
    };
    let product = product.rounded().map_err(|_| InvalidNumber::OutOfRange)?;
    let exact = product.coefficient.is_zero() || product.reduced().exponent >= 0;
    let product = Number::from_decimal(product, NumberKind::Int)
        .to_bigint()
        .filter(|_| exact);
    product.map(Number::integer).ok_or(InvalidNumber::NotAnInteger)
}
