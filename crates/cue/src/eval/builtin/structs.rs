//! `struct`.

use super::{Builtin, Function, bool_value};
use crate::eval::Machine;
use crate::eval::error::Error;
use crate::eval::expression::Value;
use crate::eval::kind::Kind;
use crate::program::ir::{Position, Presence};

pub(super) const BUILTINS: &[Builtin] = &[
    validator("MinFields", |machine, arguments, at| {
        let (found, limit) = counts(machine, arguments, at)?;
        if found < limit {
            let message = format!("len(fields) < MinFields({limit}) ({found} < {limit})");
            return Err(machine.incomplete(message, at));
        }
        Ok(bool_value(true))
    }),
    validator("MaxFields", |machine, arguments, at| {
        let (found, limit) = counts(machine, arguments, at)?;
        Ok(bool_value(found <= limit))
    }),
];

const fn validator(name: &'static str, call: Function) -> Builtin {
    Builtin::validator("struct", name, Kind::STRUCT, 2, call)
}

fn counts(machine: &mut Machine<'_>, arguments: &[Value], at: Position) -> Result<(i64, i64), Error> {
    let Value::Node(node) = arguments[0] else {
        return Err(machine.wrong_argument(&arguments[0], "struct", 0, at));
    };
    let is_field =
        |arc: &&crate::eval::node::Arc_| arc.label.is_regular() && arc.presence == Presence::Member;
    let found = machine.known(node).arcs.iter().filter(is_field).count();
    Ok((
        i64::try_from(found).unwrap_or(i64::MAX),
        machine.integer(arguments, 1, at)?,
    ))
}
