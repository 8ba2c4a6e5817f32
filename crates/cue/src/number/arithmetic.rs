//! Addition, multiplication, and the two kinds of division.

use super::decimal::{Decimal, MAXIMUM_EXPONENT, OutOfRange, PRECISION, count_of_digits, power_of_ten};
use super::{Number, NumberKind, Repr};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

/// An arithmetic error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    /// `1/0`.
    #[error("failed arithmetic: division by zero")]
    DivisionByZero,
    /// `0/0`.
    #[error("failed arithmetic: division undefined")]
    DivisionUndefined,
    /// `div(1, 0)` and its like.
    #[error("division by zero")]
    IntegerDivisionByZero,
    /// The result is too large or too close to zero.
    #[error("failed arithmetic: exponent out of range")]
    ExponentOutOfRange,
    /// An integer is asked for and there is none.
    #[error("{0} is not an integer")]
    NotAnInteger(&'static str),
}

impl From<OutOfRange> for ArithmeticError {
    fn from(_: OutOfRange) -> Self {
        Self::ExponentOutOfRange
    }
}

impl Number {
    /// `self + other`.
    pub fn add(&self, other: &Self) -> Result<Self, ArithmeticError> {
        if let (Repr::Small(left), Repr::Small(right)) = (&self.0, &other.0)
            && let Some(sum) = left.checked_add(*right)
        {
            return Ok(Self::from_i64(sum));
        }
        let sum = sum(&self.decimal(), &other.decimal())?;
        Ok(Self::from_decimal(sum, self.kind_with(other)))
    }

    /// `self - other`.
    pub fn subtract(&self, other: &Self) -> Result<Self, ArithmeticError> {
        if let (Repr::Small(left), Repr::Small(right)) = (&self.0, &other.0)
            && let Some(difference) = left.checked_sub(*right)
        {
            return Ok(Self::from_i64(difference));
        }
        let mut subtrahend = other.decimal().into_owned();
        subtrahend.negative = !subtrahend.negative;
        let difference = sum(&self.decimal(), &subtrahend)?;
        Ok(Self::from_decimal(difference, self.kind_with(other)))
    }

    /// `self * other`.
    pub fn multiply(&self, other: &Self) -> Result<Self, ArithmeticError> {
        if let (Repr::Small(left), Repr::Small(right)) = (&self.0, &other.0)
            && let Some(product) = left.checked_mul(*right).filter(|product| *product != 0)
        {
            return Ok(Self::from_i64(product));
        }
        let (left, right) = (self.decimal(), other.decimal());
        let product = Decimal {
            negative: left.negative != right.negative,
            coefficient: &left.coefficient * &right.coefficient,
            exponent: left.exponent.saturating_add(right.exponent),
        };
        Ok(Self::from_decimal(product.rounded()?, self.kind_with(other)))
    }

    /// `self / other`: a float, also of integers.
    pub fn divide(&self, other: &Self) -> Result<Self, ArithmeticError> {
        let quotient = quotient(&self.decimal(), &other.decimal())?;
        Ok(Self::from_decimal(quotient, NumberKind::Float))
    }

    /// `-self`.
    pub fn negate(&self) -> Self {
        if let Repr::Small(value) = self.0
            && let Some(negated) = value.checked_neg()
        {
            return Self::from_i64(negated);
        }
        let mut negated = self.decimal().into_owned();
        negated.negative = !negated.negative && !negated.is_zero();
        Self::from_decimal(negated, self.kind())
    }

    /// `|self|`.
    pub fn absolute(&self) -> Self {
        if self.is_negative() {
            self.negate()
        } else {
            self.clone()
        }
    }

    /// `div(self, other)`: rounded so that [`Self::modulo`] is never negative.
    pub fn euclidean_quotient(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.integer_division(other, |left, right| {
            let (quotient, remainder) = left.div_rem(right);
            match (remainder.is_negative(), right.is_positive()) {
                (false, _) => quotient,
                (true, true) => quotient - BigInt::one(),
                (true, false) => quotient + BigInt::one(),
            }
        })
    }

    /// `mod(self, other)`: the remainder of [`Self::euclidean_quotient`], from zero to less than `|other|`.
    pub fn modulo(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.integer_division(other, |left, right| left.mod_floor(&right.abs()))
    }

    /// `quo(self, other)`: rounded towards zero.
    pub fn truncated_quotient(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.integer_division(other, |left, right| left / right)
    }

    /// `rem(self, other)`: the remainder of [`Self::truncated_quotient`], with the sign of `self`.
    pub fn remainder(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.integer_division(other, |left, right| left % right)
    }

    fn integer_division(
        &self,
        other: &Self,
        divide: impl FnOnce(&BigInt, &BigInt) -> BigInt,
    ) -> Result<Self, ArithmeticError> {
        if other.is_zero() {
            return Err(ArithmeticError::IntegerDivisionByZero);
        }
        let left = self
            .to_bigint()
            .ok_or(ArithmeticError::NotAnInteger("dividend"))?;
        let right = other
            .to_bigint()
            .ok_or(ArithmeticError::NotAnInteger("divisor"))?;
        Ok(Self::integer(divide(&left, &right)))
    }

    /// The kind of a sum, difference or product.
    fn kind_with(&self, other: &Self) -> NumberKind {
        match (self.kind(), other.kind()) {
            (NumberKind::Int, NumberKind::Int) => NumberKind::Int,
            _ => NumberKind::Float,
        }
    }
}

fn sum(left: &Decimal, right: &Decimal) -> Result<Decimal, OutOfRange> {
    if (i64::from(left.exponent) - i64::from(right.exponent)).abs() > MAXIMUM_EXPONENT {
        return Err(OutOfRange);
    }
    let exponent = left.exponent.min(right.exponent);
    let (augend, addend) = (left.coefficient_at(exponent), right.coefficient_at(exponent));
    let (negative, coefficient) = match (left.negative == right.negative, augend >= addend) {
        (true, _) => (left.negative, augend + addend),
        (false, true) => (left.negative, augend - addend),
        (false, false) => (right.negative, addend - augend),
    };
    let cancelled = left.negative != right.negative && coefficient.is_zero();
    Decimal {
        negative: negative && !cancelled,
        coefficient,
        exponent,
    }
    .rounded()
}

/// The quotient without zeros at its end, except one that shows that it is a float: `4 / 2` is `2.0`.
fn quotient(dividend: &Decimal, divisor: &Decimal) -> Result<Decimal, ArithmeticError> {
    if divisor.is_zero() {
        return Err(match dividend.is_zero() {
            true => ArithmeticError::DivisionUndefined,
            false => ArithmeticError::DivisionByZero,
        });
    }
    let shift = i64::from(dividend.exponent) - i64::from(divisor.exponent);
    let negative = dividend.negative != divisor.negative;
    if dividend.is_zero() {
        let exponent = i32::try_from(shift).map_err(|_| OutOfRange)?;
        let zero = Decimal {
            negative: false,
            coefficient: dividend.coefficient.clone(),
            exponent,
        };
        return Ok(with_point(&zero.in_range()?));
    }
    // So many digits more than the divisor that the integer quotient has all that are kept, or one more.
    let digits = count_of_digits(&dividend.coefficient) - count_of_digits(&divisor.coefficient);
    let scale = PRECISION.cast_signed() - digits;
    let (mut numerator, mut denominator) = (dividend.coefficient.clone(), divisor.coefficient.clone());
    match u32::try_from(scale) {
        Ok(scale) => numerator *= power_of_ten(scale),
        Err(_) => denominator *= power_of_ten(u32::try_from(-scale).map_err(|_| OutOfRange)?),
    }
    let (mut coefficient, mut remainder) = numerator.div_rem(&denominator);
    let mut exponent = shift - scale;
    if count_of_digits(&coefficient) > PRECISION.cast_signed() {
        let (shorter, dropped) = coefficient.div_rem(&10u32.into());
        remainder += dropped * &denominator;
        denominator *= 10u32;
        coefficient = shorter;
        exponent += 1;
    }
    if remainder * 2u32 >= denominator {
        coefficient += 1u32;
    }
    let exponent = i32::try_from(exponent).map_err(|_| OutOfRange)?;
    Ok(with_point(
        &Decimal {
            negative,
            coefficient,
            exponent,
        }
        .in_range()?,
    ))
}

fn with_point(decimal: &Decimal) -> Decimal {
    let mut reduced = decimal.reduced();
    if decimal.exponent < 0 && reduced.exponent >= 0 {
        reduced.exponent -= 1;
        reduced.coefficient *= 10u32;
    }
    reduced
}
