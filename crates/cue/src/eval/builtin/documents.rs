//! `encoding/json` and `encoding/yaml`.

use super::{Builtin, Function, IntoValue, bool_value};
use crate::data::Data;
use crate::diagnostic::Severity;
use crate::eval::Machine;
use crate::eval::error::{Code, Error, Reason};
use crate::eval::expression::Value;
use crate::eval::kind::Kind;
use crate::packages::{Budget, CallError, json, yaml};
use crate::program::ir::Position;

const fn json_function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("encoding/json", name, arity, call)
}

const fn yaml_function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("encoding/yaml", name, arity, call)
}

const TEXT: Kind = Kind::STRING.or(Kind::BYTES);

#[rustfmt::skip]
pub(super) const JSON: &[Builtin] = &[
    json_function("Marshal", 1, |m, a, at| json::marshal(&data(m, &a[0], at)?).into_value(m, at)),
    json_function("MarshalStream", 1, |m, a, at| json::marshal_stream(&stream(m, a, at)?).into_value(m, at)),
    json_function("Unmarshal", 1, |m, a, at| document(m, a, at, json::unmarshal)),
    json_function("UnmarshalStream", 1, |m, a, at| documents(m, a, at, json::unmarshal_stream)),
    json_function("Compact", 1, |m, a, at| json::compact(&m.bytes(a, 0, at)?).into_value(m, at)),
    json_function("Indent", 3, |m, a, at| json::indent(&m.bytes(a, 0, at)?, &m.string(a, 1, at)?, &m.string(a, 2, at)?).into_value(m, at)),
    json_function("HTMLEscape", 1, |m, a, at| json::html_escape(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::validator("encoding/json", "Valid", TEXT, 1, |m, a, at| json::valid(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::validator("encoding/json", "Validate", TEXT, 2, |m, a, at| validate(m, a, at, |text, budget| json::unmarshal(text, budget).map(|data| vec![data]))),
];

#[rustfmt::skip]
pub(super) const YAML: &[Builtin] = &[
    yaml_function("Marshal", 1, |m, a, at| yaml::marshal(&data(m, &a[0], at)?).into_value(m, at)),
    yaml_function("MarshalStream", 1, |m, a, at| yaml::marshal_stream(&stream(m, a, at)?).into_value(m, at)),
    yaml_function("Unmarshal", 1, |m, a, at| document(m, a, at, yaml::unmarshal)),
    yaml_function("UnmarshalStream", 1, |m, a, at| documents(m, a, at, yaml::unmarshal_stream)),
    Builtin::validator("encoding/yaml", "Validate", TEXT, 2, |m, a, at| validate(m, a, at, yaml::unmarshal_stream)),
];

/// An argument as data, if it is concrete throughout.
fn data(machine: &mut Machine<'_>, value: &Value, at: Position) -> Result<Data, Error> {
    let node = machine.node_of(value);
    let mut problems = Vec::new();
    let data = machine.export(node, &mut Vec::new(), &mut problems);
    match (data, problems.first()) {
        (Some(data), None) => Ok(data),
        (_, problem) => {
            let incomplete = problem.is_none_or(|problem| problem.severity == Severity::Incomplete);
            let code = if incomplete { Code::Incomplete } else { Code::Fatal };
            let message = problem.map_or_else(
                || "value is not concrete".to_owned(),
                |problem| problem.message.clone(),
            );
            Err(machine.bottom(code, Reason::Call(message), vec![at]))
        }
    }
}

fn stream(machine: &mut Machine<'_>, arguments: &[Value], at: Position) -> Result<Vec<Data>, Error> {
    let list = machine.concrete(arguments[0].clone())?;
    let elements = machine.list(&[list], 0, at)?;
    elements
        .into_iter()
        .map(|element| data(machine, &Value::Node(element), at))
        .collect()
}

type Parse<T> = fn(&[u8], &mut dyn Budget) -> Result<T, CallError>;

fn parsed<T>(
    machine: &mut Machine<'_>,
    arguments: &[Value],
    at: Position,
    parse: Parse<T>,
) -> Result<T, Error> {
    let text = machine.bytes(arguments, 0, at)?;
    parse(&text, machine).map_err(|error| machine.call_failed(error, at))
}

fn document(
    machine: &mut Machine<'_>,
    arguments: &[Value],
    at: Position,
    parse: Parse<Data>,
) -> Result<Value, Error> {
    let data = parsed(machine, arguments, at, parse)?;
    let node = machine.data_node(&data);
    machine.concrete(Value::Node(node))
}

fn documents(
    machine: &mut Machine<'_>,
    arguments: &[Value],
    at: Position,
    parse: Parse<Vec<Data>>,
) -> Result<Value, Error> {
    let documents = parsed(machine, arguments, at, parse)?;
    let nodes: Vec<_> = documents
        .iter()
        .map(|document| machine.data_node(document))
        .collect();
    Ok(machine.list_value(&nodes))
}

/// Whether every document in a text satisfies a value.
fn validate(
    machine: &mut Machine<'_>,
    arguments: &[Value],
    at: Position,
    parse: Parse<Vec<Data>>,
) -> Result<Value, Error> {
    let documents = parsed(machine, arguments, at, parse)?;
    let schema = machine.node_of(&arguments[1]);
    for document in documents {
        let document = machine.data_node(&document);
        let both = machine.unified(&[schema, document]);
        let mut problems = Vec::new();
        let exported = machine.export(both, &mut Vec::new(), &mut problems);
        if let Some(problem) = problems.first() {
            let message = format!("{}: {}", problem.path, problem.message);
            return Err(machine.bottom(Code::Fatal, Reason::Call(message), vec![at]));
        }
        if exported.is_none() {
            return Ok(bool_value(false));
        }
    }
    Ok(bool_value(true))
}
