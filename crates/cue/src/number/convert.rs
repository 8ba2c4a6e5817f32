//! Conversion to and from Rust's numbers.

use super::decimal::{Decimal, power_of_ten};
use super::{Number, NumberKind, Repr};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::Zero;

impl Number {
    /// The integer that it is, when it has no fraction, whatever its kind: `2.0` is 2.
    pub fn to_bigint(&self) -> Option<BigInt> {
        let decimal = match &self.0 {
            Repr::Small(value) => return Some(BigInt::from(*value)),
            Repr::Integer(decimal) | Repr::Float(decimal) => decimal,
        };
        let magnitude = match u32::try_from(decimal.exponent) {
            Ok(exponent) => &decimal.coefficient * power_of_ten(exponent),
            Err(_) if decimal.is_zero() => return Some(BigInt::zero()),
            // Shorter than its fraction: certainly not an integer, and the power could be huge.
            Err(_) if decimal.adjusted() < 0 => return None,
            Err(_) => {
                let (quotient, remainder) = decimal
                    .coefficient
                    .div_rem(&power_of_ten(decimal.exponent.unsigned_abs()));
                if !remainder.is_zero() {
                    return None;
                }
                quotient
            }
        };
        let value = BigInt::from(magnitude);
        Some(if decimal.negative { -value } else { value })
    }

    /// The machine word that it is, when it has no fraction and fits.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small(value) => Some(*value),
            Repr::Integer(decimal) | Repr::Float(decimal) if decimal.adjusted() > 20 => None,
            _ => i64::try_from(self.to_bigint()?).ok(),
        }
    }

    /// The nearest float of the machine; infinite when it is too large.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Small(value) => *value as f64,
            Repr::Integer(_) | Repr::Float(_) => self
                .to_string()
                .parse()
                .expect("every number prints as a float can be written"),
        }
    }

    /// The shortest decimal that reads back as the same float; none for infinities and NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        if value == 0.0 {
            let zero = Decimal {
                negative: value.is_sign_negative(),
                ..Decimal::from(0)
            };
            return Some(Self::from_decimal(zero, NumberKind::Float));
        }
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e')?;
        let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let coefficient: BigInt = digits.replace('.', "").parse().ok()?;
        let exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction).ok()?;
        Some(Self::float(coefficient, exponent))
    }

    /// The integer part, towards zero, as an integer.
    pub fn truncated(&self) -> Self {
        self.rounded_with(|quotient, _| quotient)
    }

    /// The largest integer that is not larger.
    pub fn floor(&self) -> Self {
        let negative = self.is_negative();
        self.rounded_with(|quotient, fraction| {
            if negative && fraction > Fraction::Zero {
                quotient - 1
            } else {
                quotient
            }
        })
    }

    /// The smallest integer that is not smaller.
    pub fn ceiling(&self) -> Self {
        let negative = self.is_negative();
        self.rounded_with(|quotient, fraction| {
            if !negative && fraction > Fraction::Zero {
                quotient + 1
            } else {
                quotient
            }
        })
    }

    /// The nearest integer; half goes away from zero.
    pub fn round(&self) -> Self {
        let away = if self.is_negative() { -1 } else { 1 };
        self.rounded_with(|quotient, fraction| {
            if fraction >= Fraction::Half {
                quotient + away
            } else {
                quotient
            }
        })
    }

    /// The nearest integer; half goes to the even one.
    pub fn round_to_even(&self) -> Self {
        let away = if self.is_negative() { -1 } else { 1 };
        self.rounded_with(|quotient, fraction| match fraction {
            Fraction::Half if quotient.is_odd() => quotient + away,
            Fraction::More => quotient + away,
            _ => quotient,
        })
    }

    /// Cuts off the fraction and lets `adjust` see how much it was.
    fn rounded_with(&self, adjust: impl FnOnce(BigInt, Fraction) -> BigInt) -> Self {
        let decimal = match &self.0 {
            Repr::Small(_) => return self.clone(),
            Repr::Integer(decimal) | Repr::Float(decimal) => decimal,
        };
        if decimal.exponent >= 0 {
            return self.to_bigint().map_or_else(|| self.clone(), Self::integer);
        }
        let (quotient, fraction) = if decimal.adjusted() < -1 || decimal.is_zero() {
            let fraction = if decimal.is_zero() {
                Fraction::Zero
            } else {
                Fraction::Less
            };
            (BigInt::zero(), fraction)
        } else {
            let divisor = power_of_ten(decimal.exponent.unsigned_abs());
            let (quotient, remainder) = decimal.coefficient.div_rem(&divisor);
            let fraction = match (remainder.is_zero(), (remainder * 2u32).cmp(&divisor)) {
                (true, _) => Fraction::Zero,
                (false, std::cmp::Ordering::Less) => Fraction::Less,
                (false, std::cmp::Ordering::Equal) => Fraction::Half,
                (false, std::cmp::Ordering::Greater) => Fraction::More,
            };
            (BigInt::from(quotient), fraction)
        };
        Self::integer(adjust(
            if decimal.negative { -quotient } else { quotient },
            fraction,
        ))
    }

    /// The same value as a float: `2` becomes `2.0` where it is shown.
    pub fn to_float(&self) -> Self {
        Self::from_decimal(self.decimal().into_owned(), NumberKind::Float)
    }

    /// Its digits and the exponent of the last one.
    pub fn parts(&self) -> (BigInt, i32) {
        let decimal = self.decimal();
        (decimal.signed(), decimal.exponent)
    }
}

/// The truncated fraction compared to a half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fraction {
    Zero,
    Less,
    Half,
    More,
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::from_i64(value)
    }
}

impl From<BigInt> for Number {
    fn from(value: BigInt) -> Self {
        Self::integer(value)
    }
}
