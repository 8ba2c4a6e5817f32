//! Sign, coefficient and exponent.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};
use std::cmp::Ordering;

/// Digits that arithmetic keeps.
pub(super) const PRECISION: u64 = 34;

/// The largest exponent of the first digit; its negative is the smallest.
pub(super) const MAXIMUM_EXPONENT: i64 = 100_000;

/// `coefficient * 10^exponent`, with a sign that zero can have too: `0 * -1` is `-0`.
#[derive(Debug, Clone)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    pub(super) coefficient: BigUint,
    pub(super) exponent: i32,
}

/// A result whose first digit is further from the point than numbers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfRange;

impl Decimal {
    pub(super) fn new(coefficient: BigInt, exponent: i32) -> Self {
        let (sign, coefficient) = coefficient.into_parts();
        Self {
            negative: sign == Sign::Minus,
            coefficient,
            exponent,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.coefficient.is_zero()
    }

    /// The integer, when it fits a machine word and prints the same.
    pub(super) fn to_small(&self) -> Option<i64> {
        if self.exponent != 0 || self.negative && self.is_zero() {
            return None;
        }
        let magnitude = i128::from(self.coefficient.to_u64()?);
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The coefficient with its sign.
    pub(super) fn signed(&self) -> BigInt {
        let sign = if self.negative { Sign::Minus } else { Sign::Plus };
        BigInt::from_biguint(sign, self.coefficient.clone())
    }

    /// The exponent of the first digit.
    pub(super) fn adjusted(&self) -> i64 {
        i64::from(self.exponent) + count_of_digits(&self.coefficient) - 1
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => {
                return if other.negative {
                    Ordering::Greater
                } else {
                    Ordering::Less
                };
            }
            (false, true) => {
                return if self.negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
            }
            (false, false) => {}
        }
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
        }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        self.adjusted().cmp(&other.adjusted()).then_with(|| {
            let exponent = self.exponent.min(other.exponent);
            self.coefficient_at(exponent).cmp(&other.coefficient_at(exponent))
        })
    }

    /// The coefficient that goes with a smaller exponent.
    pub(super) fn coefficient_at(&self, exponent: i32) -> BigUint {
        let difference = self.exponent.saturating_sub(exponent).max(0);
        if difference == 0 {
            return self.coefficient.clone();
        }
        &self.coefficient * power_of_ten(difference.unsigned_abs())
    }

    /// The same value without zeros at the end of the coefficient.
    pub(super) fn reduced(&self) -> Self {
        if self.is_zero() {
            return Self {
                negative: self.negative,
                coefficient: BigUint::zero(),
                exponent: 0,
            };
        }
        let mut reduced = self.clone();
        // Big steps first, so that a number with many zeros does not cost many divisions.
        for step in [1024, 128, 16, 4, 1] {
            let divisor = power_of_ten(step);
            loop {
                let (quotient, remainder) = reduced.coefficient.div_rem(&divisor);
                if !remainder.is_zero() {
                    break;
                }
                reduced.coefficient = quotient;
                reduced.exponent = reduced.exponent.saturating_add_unsigned(step);
            }
        }
        reduced
    }

    /// The nearest value with no more digits than arithmetic keeps; half goes away from zero.
    pub(super) fn rounded(mut self) -> Result<Self, OutOfRange> {
        let excess = count_of_digits(&self.coefficient) - PRECISION.cast_signed();
        if let Some(excess) = u32::try_from(excess).ok().filter(|excess| *excess > 0) {
            let divisor = power_of_ten(excess);
            let (mut quotient, remainder) = self.coefficient.div_rem(&divisor);
            let mut dropped = excess;
            if remainder * 2u32 >= divisor {
                quotient += BigUint::one();
                if count_of_digits(&quotient) > PRECISION.cast_signed() {
                    quotient /= 10u32;
                    dropped += 1;
                }
            }
            self.coefficient = quotient;
            self.exponent = self.exponent.saturating_add_unsigned(dropped);
        }
        self.in_range()
    }

    /// Itself, unless it is too large or too small to be a number.
    pub(super) fn in_range(self) -> Result<Self, OutOfRange> {
        let range = -MAXIMUM_EXPONENT..=MAXIMUM_EXPONENT;
        let fits = range.contains(&i64::from(self.exponent)) && range.contains(&self.adjusted());
        if fits { Ok(self) } else { Err(OutOfRange) }
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self {
            negative: value < 0,
            coefficient: BigUint::from(value.unsigned_abs()),
            exponent: 0,
        }
    }
}

/// The number of digits of a coefficient; zero has one.
pub(super) fn count_of_digits(coefficient: &BigUint) -> i64 {
    if let Some(small) = coefficient.to_u128() {
        return i64::from(small.checked_ilog10().unwrap_or(0)) + 1;
    }
    // The logarithm from the bits is right or one too small.
    let bits = coefficient.bits();
    let estimate = (u128::from(bits - 1) * 30_103 / 100_000) as u64;
    let mut digits = estimate;
    let mut power = power_of_ten(u32::try_from(digits).unwrap_or(u32::MAX));
    while &power <= coefficient {
        digits += 1;
        power *= 10u32;
    }
    i64::try_from(digits).unwrap_or(i64::MAX)
}

pub(super) fn power_of_ten(exponent: u32) -> BigUint {
    BigUint::from(10u32).pow(exponent)
}
