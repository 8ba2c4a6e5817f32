//! Numbers: arbitrary-precision integers, and decimals with CUE's precision.
//!
//! Literals are exact. Arithmetic rounds to 34 digits, half away from zero, integers too.

mod arithmetic;
mod convert;
mod decimal;
mod format;
mod literal;

pub use arithmetic::ArithmeticError;
pub use literal::InvalidNumber;

use decimal::Decimal;
use num_bigint::BigInt;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// An integer or a decimal: `coefficient * 10^exponent`.
///
/// `1` and `1.0` are different values of different kinds; `1.0` and `1.00` are equal but print as written. So does
/// `==` here: it tells whether unification finds one value. [`Number::compare`] is what the operators of CUE use.
#[derive(Debug, Clone)]
pub struct Number(Repr);

/// Almost every number of a program is a small integer.
#[derive(Debug, Clone)]
enum Repr {
    Small(i64),
    Integer(Box<Decimal>),
    Float(Box<Decimal>),
}

/// The kind of a [`Number`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumberKind {
    /// Written without point and exponent, or computed from integers.
    Int,
    /// Everything else.
    Float,
}

impl Number {
    /// An integer.
    pub fn integer(value: impl Into<BigInt>) -> Self {
        let value = value.into();
        match i64::try_from(&value) {
            Ok(small) => Self::from_i64(small),
            Err(_) => Self(Repr::Integer(Box::new(Decimal::new(value, 0)))),
        }
    }

    /// An integer that fits a machine word.
    pub fn from_i64(value: i64) -> Self {
        Self(Repr::Small(value))
    }

    /// The float `coefficient * 10^exponent`.
    pub fn float(coefficient: impl Into<BigInt>, exponent: i32) -> Self {
        Self(Repr::Float(Box::new(Decimal::new(coefficient.into(), exponent))))
    }

    /// Whether it is of kind `int`. `1.0` is not.
    pub fn is_integer(&self) -> bool {
        self.kind() == NumberKind::Int
    }

    /// Its kind.
    pub fn kind(&self) -> NumberKind {
        match self.0 {
            Repr::Small(_) | Repr::Integer(_) => NumberKind::Int,
            Repr::Float(_) => NumberKind::Float,
        }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small(value) => *value == 0,
            Repr::Integer(value) | Repr::Float(value) => value.is_zero(),
        }
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small(value) => *value < 0,
            Repr::Integer(value) | Repr::Float(value) => value.negative && !value.is_zero(),
        }
    }

    /// The order of the values, whatever their kinds: `1` and `1.0` compare equal, as `==` of CUE finds them.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small(left), Repr::Small(right)) => left.cmp(right),
            _ => self.decimal().compare(&other.decimal()),
        }
    }

    /// The evaluation steps that computing with it counts for: few, unless it has thousands of digits.
    pub(crate) fn weight(&self) -> u64 {
        match &self.0 {
            Repr::Small(_) => 0,
            Repr::Integer(value) | Repr::Float(value) => {
                let digits = value.coefficient.bits() / 3 + u64::from(value.exponent.unsigned_abs());
                digits / 64 + digits * digits / 500_000
            }
        }
    }

    fn decimal(&self) -> std::borrow::Cow<'_, Decimal> {
        use std::borrow::Cow;
        match &self.0 {
            Repr::Small(value) => Cow::Owned(Decimal::from(*value)),
            Repr::Integer(value) | Repr::Float(value) => Cow::Borrowed(value),
        }
    }

    fn from_decimal(decimal: Decimal, kind: NumberKind) -> Self {
        match kind {
            NumberKind::Float => Self(Repr::Float(Box::new(decimal))),
            NumberKind::Int => match decimal.to_small() {
                Some(small) => Self::from_i64(small),
                None => Self(Repr::Integer(Box::new(decimal))),
            },
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.compare(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind().hash(state);
        let reduced = self.decimal().reduced();
        (reduced.negative && !reduced.is_zero()).hash(state);
        reduced.coefficient.hash(state);
        reduced.exponent.hash(state);
    }
}

#[cfg(test)]
mod tests;
