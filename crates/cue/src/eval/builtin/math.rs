//! `math`.

use super::{Builtin, Function, IntoValue};
use crate::eval::Machine;
use crate::eval::error::{Code, Error, Reason};
use crate::eval::expression::Value;
use crate::eval::kind::Kind;
use crate::eval::scalar::Scalar;
use crate::number::Number;
use crate::packages::math::{self, float};
use crate::program::ir::Position;

const fn function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("math", name, arity, call)
}

const fn constant(name: &'static str, constant: fn() -> Scalar) -> Builtin {
    Builtin::constant("math", name, constant)
}

fn decimal(text: &str) -> Scalar {
    Scalar::Number(Number::from_literal(text).expect("a literal of ours"))
}

fn integer(value: i64) -> Scalar {
    Scalar::Number(Number::integer(value))
}

/// The result of a function on floats, if it is a number.
fn float_value(machine: &mut Machine<'_>, result: f64, at: Position) -> Result<Value, Error> {
    match Number::from_f64(result) {
        Some(number) => number.into_value(machine, at),
        None => Err(machine.bottom(
            Code::Fatal,
            Reason::Call("result is not a number".to_owned()),
            vec![at],
        )),
    }
}

fn float1(
    machine: &mut Machine<'_>,
    a: &[Value],
    at: Position,
    function: float::Unary,
) -> Result<Value, Error> {
    let x = machine.number(a, 0, at)?.to_f64();
    float_value(machine, function(x), at)
}

fn float2(
    machine: &mut Machine<'_>,
    a: &[Value],
    at: Position,
    function: float::Binary,
) -> Result<Value, Error> {
    let (x, y) = (
        machine.number(a, 0, at)?.to_f64(),
        machine.number(a, 1, at)?.to_f64(),
    );
    float_value(machine, function(x, y), at)
}

/// A Bessel function of an order, which is found from those of all lower orders.
fn bessel(
    machine: &mut Machine<'_>,
    a: &[Value],
    at: Position,
    function: fn(i64, f64) -> f64,
) -> Result<Value, Error> {
    let (order, x) = (machine.integer(a, 0, at)?, machine.number(a, 1, at)?.to_f64());
    machine.spend(order.unsigned_abs().min(1 << 31) / ORDERS)?;
    float_value(machine, function(order, x), at)
}

/// Orders of a Bessel function computed per evaluation step.
const ORDERS: u64 = 64;

#[rustfmt::skip]
pub(super) const BUILTINS: &[Builtin] = &[
    function("Abs", 1, |m, a, at| math::abs(&m.number(a, 0, at)?).into_value(m, at)),
    function("Floor", 1, |m, a, at| math::floor(&m.number(a, 0, at)?).into_value(m, at)),
    function("Ceil", 1, |m, a, at| math::ceil(&m.number(a, 0, at)?).into_value(m, at)),
    function("Trunc", 1, |m, a, at| math::trunc(&m.number(a, 0, at)?).into_value(m, at)),
    function("Round", 1, |m, a, at| math::round(&m.number(a, 0, at)?).into_value(m, at)),
    function("RoundToEven", 1, |m, a, at| math::round_to_even(&m.number(a, 0, at)?).into_value(m, at)),
    function("Copysign", 2, |m, a, at| math::copysign(&m.number(a, 0, at)?, &m.number(a, 1, at)?).into_value(m, at)),
    function("Dim", 2, |m, a, at| math::dim(&m.number(a, 0, at)?, &m.number(a, 1, at)?).into_value(m, at)),
    function("Signbit", 1, |m, a, at| math::signbit(&m.number(a, 0, at)?).into_value(m, at)),
    function("Log", 1, |m, a, at| math::log(&m.number(a, 0, at)?).into_value(m, at)),
    function("Log10", 1, |m, a, at| math::log10(&m.number(a, 0, at)?).into_value(m, at)),
    function("Log2", 1, |m, a, at| math::log2(&m.number(a, 0, at)?).into_value(m, at)),
    function("Exp", 1, |m, a, at| math::exp(&m.number(a, 0, at)?).into_value(m, at)),
    function("Exp2", 1, |m, a, at| math::exp2(&m.number(a, 0, at)?).into_value(m, at)),
    function("Pow", 2, |m, a, at| math::pow(&m.number(a, 0, at)?, &m.number(a, 1, at)?).into_value(m, at)),
    function("Cbrt", 1, |m, a, at| math::cbrt(&m.number(a, 0, at)?).into_value(m, at)),
    Builtin::validator("math", "MultipleOf", Kind::NUMBER, 2, |m, a, at| math::multiple_of(&m.number(a, 0, at)?, &m.number(a, 1, at)?).into_value(m, at)),
    function("Pow10", 1, |m, a, at| math::pow10(m.integer(a, 0, at)?).into_value(m, at)),
    function("Jacobi", 2, |m, a, at| math::jacobi(&m.integer(a, 0, at)?.into(), &m.integer(a, 1, at)?.into()).into_value(m, at)),
    function("Ilogb", 1, |m, a, at| float::ilogb(m.number(a, 0, at)?.to_f64()).into_value(m, at)),
    function("Ldexp", 2, |m, a, at| { let result = float::ldexp(m.number(a, 0, at)?.to_f64(), m.integer(a, 1, at)?); float_value(m, result, at) }),
    function("Jn", 2, |m, a, at| bessel(m, a, at, float::jn)),
    function("Yn", 2, |m, a, at| bessel(m, a, at, float::yn)),
    function("Acos", 1, |m, a, at| float1(m, a, at, float::UNARY[0].1)),
    function("Acosh", 1, |m, a, at| float1(m, a, at, float::UNARY[1].1)),
    function("Asin", 1, |m, a, at| float1(m, a, at, float::UNARY[2].1)),
    function("Asinh", 1, |m, a, at| float1(m, a, at, float::UNARY[3].1)),
    function("Atan", 1, |m, a, at| float1(m, a, at, float::UNARY[4].1)),
    function("Atanh", 1, |m, a, at| float1(m, a, at, float::UNARY[5].1)),
    function("Cos", 1, |m, a, at| float1(m, a, at, float::UNARY[6].1)),
    function("Cosh", 1, |m, a, at| float1(m, a, at, float::UNARY[7].1)),
    function("Erf", 1, |m, a, at| float1(m, a, at, float::UNARY[8].1)),
    function("Erfc", 1, |m, a, at| float1(m, a, at, float::UNARY[9].1)),
    function("Erfcinv", 1, |m, a, at| float1(m, a, at, float::UNARY[10].1)),
    function("Erfinv", 1, |m, a, at| float1(m, a, at, float::UNARY[11].1)),
    function("Expm1", 1, |m, a, at| float1(m, a, at, float::UNARY[12].1)),
    function("Gamma", 1, |m, a, at| float1(m, a, at, float::UNARY[13].1)),
    function("J0", 1, |m, a, at| float1(m, a, at, float::UNARY[14].1)),
    function("J1", 1, |m, a, at| float1(m, a, at, float::UNARY[15].1)),
    function("Log1p", 1, |m, a, at| float1(m, a, at, float::UNARY[16].1)),
    function("Logb", 1, |m, a, at| float1(m, a, at, float::UNARY[17].1)),
    function("Sin", 1, |m, a, at| float1(m, a, at, float::UNARY[18].1)),
    function("Sinh", 1, |m, a, at| float1(m, a, at, float::UNARY[19].1)),
    function("Sqrt", 1, |m, a, at| float1(m, a, at, float::UNARY[20].1)),
    function("Tan", 1, |m, a, at| float1(m, a, at, float::UNARY[21].1)),
    function("Tanh", 1, |m, a, at| float1(m, a, at, float::UNARY[22].1)),
    function("Y0", 1, |m, a, at| float1(m, a, at, float::UNARY[23].1)),
    function("Y1", 1, |m, a, at| float1(m, a, at, float::UNARY[24].1)),
    function("Atan2", 2, |m, a, at| float2(m, a, at, float::BINARY[0].1)),
    function("Hypot", 2, |m, a, at| float2(m, a, at, float::BINARY[1].1)),
    function("Mod", 2, |m, a, at| float2(m, a, at, float::BINARY[2].1)),
    function("Remainder", 2, |m, a, at| float2(m, a, at, float::BINARY[3].1)),
    constant("E", || decimal(math::CONSTANTS[0].1)),
    constant("Pi", || decimal(math::CONSTANTS[1].1)),
    constant("Phi", || decimal(math::CONSTANTS[2].1)),
    constant("Sqrt2", || decimal(math::CONSTANTS[3].1)),
    constant("SqrtE", || decimal(math::CONSTANTS[4].1)),
    constant("SqrtPi", || decimal(math::CONSTANTS[5].1)),
    constant("SqrtPhi", || decimal(math::CONSTANTS[6].1)),
    constant("Ln2", || decimal(math::CONSTANTS[7].1)),
    constant("Log2E", || decimal(math::CONSTANTS[8].1)),
    constant("Ln10", || decimal(math::CONSTANTS[9].1)),
    constant("Log10E", || decimal(math::CONSTANTS[10].1)),
    constant("MaxExp", || integer(math::INTEGER_CONSTANTS[0].1)),
    constant("MinExp", || integer(math::INTEGER_CONSTANTS[1].1)),
    constant("MaxPrec", || integer(math::INTEGER_CONSTANTS[2].1)),
    constant("ToNearestEven", || integer(math::INTEGER_CONSTANTS[3].1)),
    constant("ToNearestAway", || integer(math::INTEGER_CONSTANTS[4].1)),
    constant("ToZero", || integer(math::INTEGER_CONSTANTS[5].1)),
    constant("AwayFromZero", || integer(math::INTEGER_CONSTANTS[6].1)),
    constant("ToNegativeInf", || integer(math::INTEGER_CONSTANTS[7].1)),
    constant("ToPositiveInf", || integer(math::INTEGER_CONSTANTS[8].1)),
    constant("Below", || integer(math::INTEGER_CONSTANTS[9].1)),
    constant("Exact", || integer(math::INTEGER_CONSTANTS[10].1)),
    constant("Above", || integer(math::INTEGER_CONSTANTS[11].1)),
    constant("MaxBase", || integer(math::INTEGER_CONSTANTS[12].1)),
];
