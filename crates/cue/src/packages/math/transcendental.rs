//! Logarithms, powers and roots with 34 digits.
//!
//! Numbers are integers that count units of `10^-scale`, with many more digits than are kept, so that the last of the
//! 34 is right.

use super::result;
use crate::number::Number;
use crate::packages::CallError;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Digits of a result.
const PRECISION: usize = 34;

/// Digits that are computed beyond those.
const GUARD: usize = 46;

/// The largest power of ten of a result.
const MAXIMUM_EXPONENT: i64 = 100_000;

/// The natural logarithm.
pub fn log(x: &Number) -> Result<Number, CallError> {
    check_logarithm(x)?;
    let scale = scale_for(x);
    Ok(rounded(&ln(x, scale), scale)?.integer_if_whole())
}

/// The logarithm to the base 10.
pub fn log10(x: &Number) -> Result<Number, CallError> {
    check_logarithm(x)?;
    let scale = scale_for(x);
    let quotient = ln(x, scale) * ten_to(scale) / ln_ten(scale);
    Ok(rounded(&quotient, scale)?.integer_if_whole())
}

/// The logarithm to the base 2.
pub fn log2(x: &Number) -> Result<Number, CallError> {
    let two = log(&Number::from_i64(2))?;
    let quotient = log(x)?
        .divide(&two)
        .map_err(|error| CallError::Failed(super::short(&error.to_string())))?;
    Ok(result(&quotient))
}

/// The power of Euler's number.
pub fn exp(x: &Number) -> Result<Number, CallError> {
    // Beyond this, Go's cue gives up too.
    let largest = Number::from_i64(23_000);
    if x.absolute().compare(&largest).is_ge() {
        return Err(CallError::new(if x.is_negative() {
            "underflow, subnormal"
        } else {
            "overflow"
        }));
    }
    let scale = PRECISION + GUARD;
    Ok(exp_of(&fixed(x, scale), scale)?.integer_if_whole())
}

/// A power of two.
pub fn exp2(x: &Number) -> Result<Number, CallError> {
    pow(&Number::from_i64(2), x)
}

/// `x` to the power of `y`.
pub fn pow(x: &Number, y: &Number) -> Result<Number, CallError> {
    let invalid = || CallError::new("invalid operation");
    match (x.is_zero(), y.is_zero()) {
        (true, true) => return Err(invalid()),
        (true, false) if y.is_negative() => return Err(CallError::new("division by zero")),
        (true, false) => return Ok(Number::from_i64(0)),
        (false, true) => return Ok(Number::from_i64(1)),
        (false, false) => {}
    }
    if let Some(power) = y.to_bigint() {
        return integer_power(x, &power);
    }
    if x.is_negative() {
        return Err(invalid());
    }
    let scale = scale_for(x).max(scale_for(y));
    let exponent = ln(x, scale) * fixed(y, scale) / ten_to(scale);
    Ok(exp_of(&exponent, scale)?.integer_if_whole())
}

/// The cube root.
pub fn cbrt(x: &Number) -> Result<Number, CallError> {
    let (coefficient, exponent) = x.parts();
    // The root of 10^(3n) is exact, and the root has a third of the digits.
    let digits = 3 * (PRECISION + GUARD);
    let shift = digits + usize::try_from((exponent - digits as i32).rem_euclid(3)).unwrap_or(0);
    let root = (coefficient * ten_to(shift)).cbrt();
    let exponent = (exponent - i32::try_from(shift).unwrap_or(0)).div_euclid(3);
    Ok(Rounded::of(&root, i64::from(exponent))?.integer_if_whole())
}

fn check_logarithm(x: &Number) -> Result<(), CallError> {
    match (x.is_zero(), x.is_negative()) {
        (true, _) => Err(CallError::new("logarithm of zero")),
        (false, true) => Err(CallError::new("invalid operation")),
        (false, false) => Ok(()),
    }
}

/// A scale with enough digits for the logarithm of a number close to one, too.
fn scale_for(x: &Number) -> usize {
    let (coefficient, _) = x.parts();
    PRECISION + GUARD + coefficient.to_string().len().min(1_000)
}

/// A power by repeated squaring, exact as long as it is short.
fn integer_power(x: &Number, power: &BigInt) -> Result<Number, CallError> {
    let out_of_range = || CallError::new("exponent out of range");
    let negative = power.is_negative();
    let mut rest = power.magnitude().to_u64().ok_or_else(out_of_range)?;
    let (mut base, mut total) = (Rounded::exact(x), Rounded::exact(&Number::from_i64(1)));
    loop {
        if rest & 1 == 1 {
            total = total.times(&base).ok_or_else(out_of_range)?;
        }
        rest >>= 1;
        if rest == 0 {
            break;
        }
        base = base.times(&base).ok_or_else(out_of_range)?;
    }
    if negative {
        let digits = 2 * (PRECISION + GUARD) + total.digits();
        let inverse = ten_to(digits) / &total.coefficient;
        return Ok(Rounded::of(&inverse, -total.exponent - digits as i64)?.integer_if_whole());
    }
    Ok(total.shortened()?.integer_if_whole())
}

/// A number as units of `10^-scale`.
fn fixed(x: &Number, scale: usize) -> BigInt {
    let (coefficient, exponent) = x.parts();
    let shift = i64::from(exponent) + scale as i64;
    match usize::try_from(shift) {
        Ok(shift) => coefficient * ten_to(shift),
        Err(_) => coefficient / ten_to(usize::try_from(-shift).unwrap_or(usize::MAX).min(200_000)),
    }
}

/// The logarithm of a positive number in units of `10^-scale`.
fn ln(x: &Number, scale: usize) -> BigInt {
    let (coefficient, exponent) = x.parts();
    let digits = coefficient.to_string().len() as i64;
    let power = i64::from(exponent) + digits - 1;
    let one = ten_to(scale);
    // From 1 to 10, then from 3/4 to 3/2 by powers of two.
    let mut mantissa = fixed(&Number::float(coefficient, 1 - digits as i32), scale);
    let mut twos = 0;
    while &mantissa * 2u32 > &one * 3u32 {
        mantissa = half(&mantissa);
        twos += 1;
    }
    let argument = (&mantissa - &one) * &one / (&mantissa + &one);
    twice_atanh(&argument, scale) + ln_two(scale) * twos + ln_ten(scale) * power
}

fn ln_two(scale: usize) -> BigInt {
    twice_atanh(&(ten_to(scale) / 3u32), scale)
}

/// ln 10 = 3 ln 2 + ln(5/4).
fn ln_ten(scale: usize) -> BigInt {
    ln_two(scale) * 3u32 + twice_atanh(&(ten_to(scale) / 9u32), scale)
}

/// 2 atanh(y) = ln((1 + y) / (1 - y)), by its series.
fn twice_atanh(y: &BigInt, scale: usize) -> BigInt {
    let one = ten_to(scale);
    let square = y * y / &one;
    let (mut sum, mut power, mut odd) = (BigInt::zero(), y.clone(), 1u32);
    while !power.is_zero() {
        sum += &power / odd;
        power = power * &square / &one;
        odd += 2;
    }
    sum * 2u32
}

/// The exponential of units of `10^-scale`: a power of ten, and the series for the rest, which is small.
fn exp_of(x: &BigInt, scale: usize) -> Result<Rounded, CallError> {
    const SQUARINGS: u32 = 16;
    let one = ten_to(scale);
    let power = x
        .div_floor(&ln_ten(scale))
        .to_i64()
        .filter(|power| power.abs() <= MAXIMUM_EXPONENT);
    let power = power.ok_or_else(|| CallError::new("exponent out of range"))?;
    let rest = (x - ln_ten(scale) * power) >> SQUARINGS;
    let (mut sum, mut term, mut count) = (one.clone(), one.clone(), 1u32);
    while !term.is_zero() {
        term = term * &rest / &one / count;
        sum += &term;
        count += 1;
    }
    for _ in 0..SQUARINGS {
        sum = &sum * &sum / &one;
    }
    Rounded::of(&sum, power - scale as i64)
}

fn rounded(value: &BigInt, scale: usize) -> Result<Rounded, CallError> {
    Rounded::of(value, -(scale as i64))
}

fn half(value: &BigInt) -> BigInt {
    value / 2u32
}

fn ten_to(power: usize) -> BigInt {
    BigInt::from(10u32).pow(u32::try_from(power).unwrap_or(u32::MAX))
}

/// A coefficient and an exponent.
#[derive(Debug, Clone)]
struct Rounded {
    coefficient: BigInt,
    exponent: i64,
}

impl Rounded {
    fn exact(x: &Number) -> Self {
        let (coefficient, exponent) = x.parts();
        Self {
            coefficient,
            exponent: i64::from(exponent),
        }
    }

    /// The nearest number with exactly as many digits as are kept.
    fn of(coefficient: &BigInt, exponent: i64) -> Result<Self, CallError> {
        let value = Self {
            coefficient: coefficient.clone(),
            exponent,
        };
        if coefficient.is_zero() {
            return Ok(Self { exponent: 0, ..value });
        }
        let missing = PRECISION as i64 - value.digits() as i64;
        match usize::try_from(missing) {
            Ok(missing) => {
                let coefficient = value.coefficient * ten_to(missing);
                Self {
                    coefficient,
                    exponent: exponent - missing as i64,
                }
                .in_range()
            }
            Err(_) => value.shortened(),
        }
    }

    fn digits(&self) -> usize {
        self.coefficient.magnitude().to_string().len()
    }

    /// The nearest number with no more digits than are kept; half goes away from zero.
    fn shortened(self) -> Result<Self, CallError> {
        let Some(excess) = self.digits().checked_sub(PRECISION).filter(|excess| *excess > 0) else {
            return self.in_range();
        };
        let divisor = ten_to(excess);
        let (mut quotient, remainder) = self.coefficient.div_rem(&divisor);
        if remainder.abs() * 2u32 >= divisor {
            quotient += if self.coefficient.is_negative() {
                -BigInt::one()
            } else {
                BigInt::one()
            };
        }
        let shorter = Self {
            coefficient: quotient,
            exponent: self.exponent + excess as i64,
        };
        if shorter.digits() > PRECISION {
            shorter.shortened()
        } else {
            shorter.in_range()
        }
    }

    /// The product, cut where more digits do not matter any more; none when it is out of range.
    fn times(&self, other: &Self) -> Option<Self> {
        let mut product = Self {
            coefficient: &self.coefficient * &other.coefficient,
            exponent: self.exponent.checked_add(other.exponent)?,
        };
        if let Some(excess) = product
            .digits()
            .checked_sub(2 * (PRECISION + GUARD))
            .filter(|excess| *excess > 0)
        {
            product.coefficient /= ten_to(excess);
            product.exponent += excess as i64;
        }
        product.in_range().ok()
    }

    fn in_range(self) -> Result<Self, CallError> {
        let first = self.exponent + self.digits() as i64 - 1;
        match first.abs() <= MAXIMUM_EXPONENT + PRECISION as i64 {
            true => Ok(self),
            false => Err(CallError::new("exponent out of range")),
        }
    }

    fn integer_if_whole(self) -> Number {
        let exponent = i32::try_from(self.exponent).unwrap_or(0);
        result(&Number::float(self.coefficient, exponent))
    }
}
