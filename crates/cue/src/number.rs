//! Numbers of any size: integers, and decimals with the precision that CUE has.

use num_bigint::BigInt;

/// An integer or a decimal: `coefficient * 10^exponent`.
///
/// `1` and `1.0` are different values of different kinds; `1.0` and `1.00` are equal but print as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    coefficient: BigInt,
    exponent: i32,
    integer: bool,
}

impl Number {
    /// An integer.
    pub fn integer(value: impl Into<BigInt>) -> Self {
        Self { coefficient: value.into(), exponent: 0, integer: true }
    }

    /// Whether it is of kind `int`.
    pub fn is_integer(&self) -> bool {
        self.integer
    }
}
