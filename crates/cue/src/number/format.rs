//! Numbers as text.

use super::decimal::Decimal;
use super::{Number, NumberKind, Repr};
use num_traits::Zero;
use std::fmt;

/// Zeros after the point are written out up to here, as zero has no digit that would show its scale.
const SMALLEST_WRITTEN_ZERO: i32 = -2_000;

impl Number {
    /// The text in JSON, which is also that in a string.
    pub fn to_json(&self) -> String {
        self.to_string()
    }

    /// The text in CUE: a float has a point or an exponent.
    pub fn to_cue(&self) -> String {
        let text = self.to_string();
        match self.kind() {
            NumberKind::Float if !text.contains(['.', 'E']) => text + ".0",
            _ => text.replace('E', "e"),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(value) => write!(out, "{value}"),
            Repr::Integer(decimal) | Repr::Float(decimal) => write!(out, "{decimal}"),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.coefficient.to_string();
        if self.negative {
            out.write_str("-")?;
        }
        let zeros = match self.coefficient.is_zero() {
            true if (SMALLEST_WRITTEN_ZERO..0).contains(&self.exponent) => -i64::from(self.exponent),
            _ => 0,
        };
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let adjusted = i64::from(self.exponent) + length - 1;
        if self.exponent <= 0 && adjusted + zeros >= -6 {
            return plain(out, &digits, self.exponent.unsigned_abs() as usize);
        }
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        write!(out, "{first}{point}{rest}E{adjusted:+}")
    }
}

/// All digits, the last `fraction` of them after the point.
fn plain(out: &mut fmt::Formatter<'_>, digits: &str, fraction: usize) -> fmt::Result {
    if fraction == 0 {
        return out.write_str(digits);
    }
    match digits.len().checked_sub(fraction).filter(|whole| *whole > 0) {
        Some(whole) => write!(out, "{}.{}", &digits[..whole], &digits[whole..]),
        None => write!(out, "0.{digits:0>fraction$}"),
    }
}
