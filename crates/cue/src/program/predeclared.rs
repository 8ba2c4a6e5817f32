//! Predeclared types.

use super::ir::{BoundOperator, Expr, ExprKind, Position};
use crate::eval::kind::Kind;
use crate::number::Number;

/// `string`, `int8`, ….
pub(super) fn predeclared_type(name: &str) -> Option<ExprKind> {
    let kind = match name {
        "bool" => Kind::BOOL,
        "string" => Kind::STRING,
        "bytes" => Kind::BYTES,
        "int" => Kind::INT,
        "float" => Kind::FLOAT,
        "number" => Kind::NUMBER,
        // A hint to Go's evaluator, without meaning.
        "no_sharing" => Kind::TOP,
        _ => return sized_number(name),
    };
    Some(ExprKind::Kind(kind))
}

fn sized_number(name: &str) -> Option<ExprKind> {
    let power = |exponent: u32| num_bigint::BigInt::from(2).pow(exponent);
    let signed = |bits: u32| (Some(-power(bits - 1)), Some(power(bits - 1) - 1));
    let unsigned = |bits: u32| (Some(0.into()), Some(power(bits) - 1));
    let (low, high) = match name {
        "uint" => (Some(0.into()), None),
        "uint8" => unsigned(8),
        "uint16" => unsigned(16),
        "uint32" => unsigned(32),
        "uint64" => unsigned(64),
        "uint128" => unsigned(128),
        "int8" => signed(8),
        "int16" => signed(16),
        "int32" => signed(32),
        "int64" => signed(64),
        "int128" => signed(128),
        "rune" => (Some(0.into()), Some(0x0010_ffff.into())),
        "float32" => return Some(float("340282346638528859811704183484516925440")),
        "float64" => return Some(float("1.797693134862315708145274237317043567981e+308")),
        _ => return None,
    };
    let mut conjuncts = vec![plain(ExprKind::Kind(Kind::INT))];
    conjuncts.extend(low.map(|low| number_bound(BoundOperator::GreaterEqual, Number::integer(low))));
    conjuncts.extend(high.map(|high| number_bound(BoundOperator::LessEqual, Number::integer(high))));
    Some(ExprKind::And(conjuncts))
}

fn float(limit: &str) -> ExprKind {
    let limit = Number::from_literal(limit).expect("a literal of ours");
    ExprKind::And(vec![
        number_bound(BoundOperator::GreaterEqual, limit.negate()),
        number_bound(BoundOperator::LessEqual, limit),
    ])
}

fn number_bound(operator: BoundOperator, number: Number) -> Expr {
    plain(ExprKind::Bound {
        operator,
        operand: Box::new(plain(ExprKind::Number(number))),
    })
}

fn plain(kind: ExprKind) -> Expr {
    Expr {
        kind,
        position: Position::default(),
    }
}
