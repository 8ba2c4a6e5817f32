//! Package `math`.
//!
//! Functions that Go computes in decimals use decimals with the same 34 digits; a result without a fraction is an integer.
//! Functions on machine floats are in [`float`], by algorithms that are the same on every machine.

pub mod float;
mod transcendental;

pub use transcendental::{cbrt, exp, exp2, log, log2, log10, pow};

use super::CallError;
use crate::number::Number;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// The constants that are floats, as decimal text.
pub const CONSTANTS: [(&str, &str); 11] = [
    (
        "E",
        "2.71828182845904523536028747135266249775724709369995957496696763",
    ),
    (
        "Pi",
        "3.14159265358979323846264338327950288419716939937510582097494459",
    ),
    (
        "Phi",
        "1.61803398874989484820458683436563811772030917980576286213544861",
    ),
    (
        "Sqrt2",
        "1.41421356237309504880168872420969807856967187537694807317667974",
    ),
    (
        "SqrtE",
        "1.64872127070012814684865078781416357165377610071014801157507931",
    ),
    (
        "SqrtPi",
        "1.77245385090551602729816748334114518279754945612238712821380779",
    ),
    (
        "SqrtPhi",
        "1.27201964951406896425242246173749149171560804184009624861664038",
    ),
    (
        "Ln2",
        "0.693147180559945309417232121458176568075500134360255254120680009",
    ),
    (
        "Log2E",
        "1.442695040888963407359924681001892137426645954152985934135449408",
    ),
    (
        "Ln10",
        "2.3025850929940456840179914546843642076011014886287729760333278",
    ),
    (
        "Log10E",
        "0.43429448190325182765112891891660508229439700580366656611445378",
    ),
];

/// The constants that are integers.
pub const INTEGER_CONSTANTS: [(&str, i64); 13] = [
    ("MaxExp", 2_147_483_647),
    ("MinExp", -2_147_483_648),
    ("MaxPrec", 4_294_967_295),
    ("ToNearestEven", 0),
    ("ToNearestAway", 1),
    ("ToZero", 2),
    ("AwayFromZero", 3),
    ("ToNegativeInf", 4),
    ("ToPositiveInf", 5),
    ("Below", -1),
    ("Exact", 0),
    ("Above", 1),
    ("MaxBase", 62),
];

/// The magnitude.
pub fn abs(x: &Number) -> Number {
    result(&x.absolute())
}

/// The largest integer that is not larger.
pub fn floor(x: &Number) -> Number {
    x.floor()
}

/// The smallest integer that is not smaller.
pub fn ceil(x: &Number) -> Number {
    x.ceiling()
}

/// The integer part.
pub fn trunc(x: &Number) -> Number {
    x.truncated()
}

/// The nearest integer; half goes away from zero.
pub fn round(x: &Number) -> Number {
    x.round()
}

/// The nearest integer; half goes to the even one.
pub fn round_to_even(x: &Number) -> Number {
    x.round_to_even()
}

/// Whether `x` divided by `y` has no fraction.
pub fn multiple_of(x: &Number, y: &Number) -> Result<bool, CallError> {
    let quotient = x
        .divide(y)
        .map_err(|error| CallError::Failed(short(&error.to_string())))?;
    Ok(quotient.to_bigint().is_some())
}

/// The magnitude of `x` with the sign of `y`.
pub fn copysign(x: &Number, y: &Number) -> Number {
    let magnitude = x.absolute();
    result(&if y.is_negative() {
        magnitude.negate()
    } else {
        magnitude
    })
}

/// `x - y`, or zero when that is negative.
pub fn dim(x: &Number, y: &Number) -> Result<Number, CallError> {
    let difference = x
        .subtract(y)
        .map_err(|error| CallError::Failed(short(&error.to_string())))?;
    Ok(if difference.is_negative() {
        Number::from_i64(0)
    } else {
        result(&difference)
    })
}

/// Whether it is negative.
pub fn signbit(x: &Number) -> bool {
    x.is_negative()
}

/// Ten to a power.
pub fn pow10(power: i64) -> Result<Number, CallError> {
    let power = i32::try_from(power).ok().filter(|power| power.abs() <= 100_000);
    let power = power.ok_or_else(|| CallError::new("exponent out of range"))?;
    Ok(result(&Number::float(1, power)))
}

/// The Jacobi symbol of `x` over the odd number `y`: 1, -1 or 0.
pub fn jacobi(x: &BigInt, y: &BigInt) -> Result<i64, CallError> {
    if y.is_even() {
        let message = format!("big: invalid 2nd argument to Int.Jacobi: need odd integer but got {y}");
        return Err(CallError::Failed(message));
    }
    let mut sign = if y.is_negative() && x.is_negative() { -1 } else { 1 };
    let (mut a, mut b) = (x.clone(), y.abs());
    while !b.is_one() {
        a = a.mod_floor(&b);
        if a.is_zero() {
            return Ok(0);
        }
        let twos = a.trailing_zeros().unwrap_or(0);
        let by_eight = (&b % 8u32).to_u32().unwrap_or(1);
        if twos % 2 == 1 && matches!(by_eight, 3 | 5) {
            sign = -sign;
        }
        a >>= twos;
        if by_eight % 4 == 3 && (&a % 4u32).to_u32() == Some(3) {
            sign = -sign;
        }
        std::mem::swap(&mut a, &mut b);
    }
    Ok(sign)
}

/// A result without a fraction is an integer.
fn result(number: &Number) -> Number {
    match number.to_bigint() {
        Some(integer) => Number::integer(integer),
        None => number.to_float(),
    }
}

/// The message of an error without the context that the operators have.
fn short(message: &str) -> String {
    message.trim_start_matches("failed arithmetic: ").to_owned()
}

#[cfg(test)]
mod tests;
