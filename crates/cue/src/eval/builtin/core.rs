//! Predeclared functions: `len`, `close`, `and`, `or`, and integer division.

use super::{Builtin, Function, Run, bool_value};
use crate::eval::Machine;
use crate::eval::error::Error;
use crate::eval::expression::Value;
use crate::eval::kind::Kind;
use crate::eval::scalar::Scalar;
use crate::number::{ArithmeticError, Number};
use crate::program::ir::{Position, Presence};

pub(super) const BUILTINS: &[Builtin] = &[
    function("len", 1, len),
    special("close", Run::Close),
    special("and", Run::And),
    special("or", Run::Or),
    function("div", 2, |machine, arguments, position| {
        divide(machine, arguments, position, Number::euclidean_quotient)
    }),
    function("mod", 2, |machine, arguments, position| {
        divide(machine, arguments, position, Number::modulo)
    }),
    function("quo", 2, |machine, arguments, position| {
        divide(machine, arguments, position, Number::truncated_quotient)
    }),
    function("rem", 2, |machine, arguments, position| {
        divide(machine, arguments, position, Number::remainder)
    }),
    function("error", 1, |machine, arguments, position| {
        let message = machine.string(arguments, 0, position)?;
        Err(machine.fatal(message.as_ref(), position))
    }),
    validator("matchN", 3, match_n),
    validator("matchIf", 4, match_if),
];

const fn validator(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::validator("", name, Kind::TOP, arity, call)
}

/// Whether the value satisfies as many of the others as the number says.
fn match_n(machine: &mut Machine<'_>, arguments: &[Value], position: Position) -> Result<Value, Error> {
    let value = machine.node_of(&arguments[0]);
    let list = machine.concrete(arguments[2].clone())?;
    let mut matched = 0;
    for schema in machine.list(&[list], 0, position)? {
        matched += i64::from(machine.satisfies(value, schema));
    }
    let count = machine.node_of(&arguments[1]);
    let matched = machine.scalar_node(Scalar::Number(Number::integer(matched)));
    Ok(bool_value(machine.satisfies(matched, count)))
}

/// Whether the value satisfies the second of three if it satisfies the first, and the third otherwise.
fn match_if(machine: &mut Machine<'_>, arguments: &[Value], _: Position) -> Result<Value, Error> {
    let [value, condition, then, otherwise] = [0, 1, 2, 3].map(|index| machine.node_of(&arguments[index]));
    let wanted = if machine.satisfies(value, condition) {
        then
    } else {
        otherwise
    };
    Ok(bool_value(machine.satisfies(value, wanted)))
}

const fn function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("", name, arity, call)
}

const fn special(name: &'static str, run: Run) -> Builtin {
    Builtin {
        package: "",
        name,
        operand: Kind::TOP,
        run,
    }
}

fn len<'p>(machine: &mut Machine<'p>, arguments: &[Value], position: Position) -> Result<Value, Error> {
    let value = machine.concrete(arguments[0].clone())?;
    let length = match &value {
        Value::Scalar(Scalar::String(text)) => text.len(),
        Value::Scalar(Scalar::Bytes(bytes)) => bytes.len(),
        Value::Node(node) => {
            machine.spend(machine.known(*node).arcs.len() as u64 / 64)?;
            let is_list = machine.known(*node).list.is_some();
            let counts = |arc: &&crate::eval::node::Arc_| {
                is_list || (arc.label.is_regular() && arc.presence == Presence::Member)
            };
            machine.known(*node).arcs.iter().filter(counts).count()
        }
        Value::Scalar(scalar) => {
            let message = format!("invalid argument type {}", scalar.kind());
            return Err(machine.fatal(message, position));
        }
    };
    Ok(Value::Scalar(Scalar::Number(Number::integer(length))))
}

fn divide<'p>(
    machine: &mut Machine<'p>,
    arguments: &[Value],
    position: Position,
    divide: fn(&Number, &Number) -> Result<Number, ArithmeticError>,
) -> Result<Value, Error> {
    let (left, right) = (
        machine.number(arguments, 0, position)?,
        machine.number(arguments, 1, position)?,
    );
    if !left.is_integer() || !right.is_integer() {
        return Err(machine.fatal("operands of integer division must be integers", position));
    }
    match divide(&left, &right) {
        Ok(number) => Ok(Value::Scalar(Scalar::Number(number))),
        Err(error) => Err(machine.fatal(error.to_string(), position)),
    }
}
