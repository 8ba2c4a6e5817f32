//! Integers.

use super::{CallError, failed, range, syntax, underscores_separate};
use crate::number::Number;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};

/// The integer of a text, in a base from 2 to 36 or the one that its prefix says when that is 0, of at most so many bits.
pub fn parse_int(text: &str, base: i64, bits: i64) -> Result<i64, CallError> {
    const FUNCTION: &str = "ParseInt";
    if text.is_empty() {
        return Err(syntax(FUNCTION, text));
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = i128::from(match magnitude(FUNCTION, text, digits, base, bits) {
        Err(Failed::Overflow) => u64::MAX,
        other => other?,
    });
    let value = if negative { -magnitude } else { magnitude };
    let limit = 1i128 << (if bits == 0 { 64 } else { bits } - 1).clamp(0, 63);
    i64::try_from(value)
        .ok()
        .filter(|_| (-limit..limit).contains(&value))
        .ok_or_else(|| range(FUNCTION, text))
}

/// Like [`parse_int`], without a sign.
pub fn parse_uint(text: &str, base: i64, bits: i64) -> Result<u64, CallError> {
    const FUNCTION: &str = "ParseUint";
    let value = magnitude(FUNCTION, text, text, base, bits)?;
    match bits {
        1..=63 if value >> bits != 0 => Err(range(FUNCTION, text)),
        _ => Ok(value),
    }
}

/// The decimal integer of a text.
pub fn atoi(text: &str) -> Result<i64, CallError> {
    parse_int(text, 10, 0)
        .map_err(|error| CallError::Failed(error.to_string().replacen("ParseInt", "Atoi", 1)))
}

/// An integer in a base from 2 to 62; digits beyond 9 are `a` to `z`, then `A` to `Z`.
pub fn format_int(number: &Number, base: i64) -> Result<String, CallError> {
    const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let Some(base) = u32::try_from(base).ok().filter(|base| (2..=62).contains(base)) else {
        return Err(CallError::new("invalid base"));
    };
    let value = number
        .to_bigint()
        .ok_or_else(|| CallError::new("not an integer"))?;
    if base <= 36 {
        return Ok(value.to_str_radix(base));
    }
    let mut rest = value.abs();
    let mut digits = Vec::new();
    let divisor = BigInt::from(base);
    loop {
        let (quotient, digit) = rest.div_rem(&divisor);
        digits.push(char::from(
            DIGITS[digit.to_usize().expect("a digit is less than the base")],
        ));
        rest = quotient;
        if rest.is_zero() {
            break;
        }
    }
    if value.is_negative() {
        digits.push('-');
    }
    Ok(digits.iter().rev().collect())
}

enum Failed {
    Overflow,
    Because(CallError),
}

impl From<Failed> for CallError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Overflow => CallError::new("value out of range"),
            Failed::Because(error) => error,
        }
    }
}

fn magnitude(function: &str, text: &str, digits: &str, base: i64, bits: i64) -> Result<u64, Failed> {
    let because = |error| Err(Failed::Because(error));
    if digits.is_empty() {
        return because(syntax(function, text));
    }
    let (radix, digits, implied) = match base {
        2..=36 => (base.unsigned_abs(), digits, false),
        0 => match digits.as_bytes() {
            [b'0', b'b' | b'B', _, ..] => (2, &digits[2..], true),
            [b'0', b'o' | b'O', _, ..] => (8, &digits[2..], true),
            [b'0', b'x' | b'X', _, ..] => (16, &digits[2..], true),
            [b'0', ..] => (8, &digits[1..], true),
            _ => (10, digits, true),
        },
        _ => return because(failed(function, text, &format!("invalid base {base}"))),
    };
    if !(0..=64).contains(&bits) {
        return because(failed(function, text, &format!("invalid bit size {bits}")));
    }
    let mut value = 0u64;
    let mut overflow = false;
    for character in digits.chars() {
        if character == '_' && implied {
            continue;
        }
        let digit = character
            .to_digit(36)
            .map(u64::from)
            .filter(|digit| *digit < radix);
        let Some(digit) = digit else {
            return because(syntax(function, text));
        };
        match value
            .checked_mul(radix)
            .and_then(|value| value.checked_add(digit))
        {
            Some(next) => value = next,
            None => overflow = true,
        }
        if overflow {
            break;
        }
    }
    if implied && text.contains('_') && !underscores_separate(text) {
        return because(syntax(function, text));
    }
    match overflow {
        true if function == "ParseUint" => because(range(function, text)),
        true => Err(Failed::Overflow),
        false => Ok(value),
    }
}
