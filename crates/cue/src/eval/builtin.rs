//! Built-in functions, validators and constants: lookup and calls.

mod core;
mod documents;
mod encoding;
mod list;
mod math;
mod regexp;
mod strconv;
mod strings;
mod structs;
mod time;

use super::Machine;
use super::error::{Code, Error, Reason};
use super::expression::Value;
use super::kind::Kind;
use super::node::{NodeId, Source};
use super::scalar::Scalar;
use super::unify::UNCOMPILED;
use crate::number::Number;
use crate::packages::{CallError, MAXIMUM_DEPTH};
use crate::program::ir::Position;
use crate::program::symbols::Label;
use std::fmt;
use std::sync::Arc;

/// A built-in.
pub(crate) struct Builtin {
    /// The import path; empty for the predeclared ones.
    pub package: &'static str,
    pub name: &'static str,
    /// The kinds that a validator accepts.
    pub operand: Kind,
    pub run: Run,
}

/// A function over evaluated arguments.
pub(crate) type Function = for<'a, 'p> fn(&'a mut Machine<'p>, &'a [Value], Position) -> Result<Value, Error>;

#[derive(Clone, Copy)]
pub(crate) enum Run {
    Function {
        /// Minimum and maximum number of arguments.
        arity: (u8, u8),
        call: Function,
        /// A validator of its first argument; called without it, it is a constraint.
        validates: bool,
    },
    Constant(fn() -> Scalar),
    /// A value written in CUE.
    Written(&'static str),
    Close,
    And,
    Or,
}

/// Conversion of a function's result to a value.
pub(crate) trait IntoValue {
    fn into_value(self, machine: &mut Machine<'_>, position: Position) -> Result<Value, Error>;
}

macro_rules! into_value {
    ($($from:ty: $self:ident => $scalar:expr),* $(,)?) => {
        $(impl IntoValue for $from {
            fn into_value($self, _: &mut Machine<'_>, _: Position) -> Result<Value, Error> {
                Ok(Value::Scalar($scalar))
            }
        })*
    };
}

into_value! {
    bool: self => Scalar::Bool(self),
    i64: self => Scalar::Number(Number::integer(self)),
    u64: self => Scalar::Number(Number::integer(self)),
    u8: self => Scalar::Number(Number::integer(self)),
    Number: self => Scalar::Number(self),
    &str: self => Scalar::String(self.into()),
    String: self => Scalar::String(self.into()),
    Vec<u8>: self => Scalar::Bytes(self.into()),
    &[u8]: self => Scalar::Bytes(self.into()),
}

impl IntoValue for Vec<&str> {
    fn into_value(self, machine: &mut Machine<'_>, _: Position) -> Result<Value, Error> {
        Ok(machine.string_list(self.into_iter()))
    }
}

impl<T: IntoValue> IntoValue for Result<T, CallError> {
    fn into_value(self, machine: &mut Machine<'_>, position: Position) -> Result<Value, Error> {
        match self {
            Ok(value) => value.into_value(machine, position),
            Err(error) => Err(machine.call_failed(error, position)),
        }
    }
}

impl Builtin {
    /// A function of a package.
    const fn function(package: &'static str, name: &'static str, arity: u8, call: Function) -> Self {
        let run = Run::Function {
            arity: (arity, arity),
            call,
            validates: false,
        };
        Self {
            package,
            name,
            operand: Kind::TOP,
            run,
        }
    }

    /// A value of a package.
    const fn constant(package: &'static str, name: &'static str, constant: fn() -> Scalar) -> Self {
        Self {
            package,
            name,
            operand: Kind::TOP,
            run: Run::Constant(constant),
        }
    }

    /// A validator of its first argument.
    const fn validator(
        package: &'static str,
        name: &'static str,
        operand: Kind,
        arity: u8,
        call: Function,
    ) -> Self {
        let run = Run::Function {
            arity: (arity, arity),
            call,
            validates: true,
        };
        Self {
            package,
            name,
            operand,
            run,
        }
    }

    /// Approximate bytes of memory per byte of arguments.
    fn growth(&self) -> usize {
        match (self.package, self.name) {
            ("strings", "Split" | "SplitN" | "SplitAfter" | "SplitAfterN" | "Fields" | "Runes") => 16,
            ("encoding/json" | "encoding/yaml", _) => 32,
            ("regexp", name) if name.starts_with("FindAll") => 64,
            _ => 2,
        }
    }

    /// Whether it looks for each character of its first text in the second.
    fn takes_set(&self) -> bool {
        matches!(
            self.name,
            "ContainsAny" | "IndexAny" | "LastIndexAny" | "Trim" | "TrimLeft" | "TrimRight"
        )
    }

    /// The additional cost factor of matches with groups.
    fn groups(&self) -> u64 {
        match self.name {
            name if name.starts_with("FindAll") || name.starts_with("ReplaceAll") => 8,
            _ => 1,
        }
    }

    /// Whether the arguments may be values that are not concrete.
    pub(crate) fn takes_any(&self) -> bool {
        let marshals = matches!(self.package, "encoding/json" | "encoding/yaml") && self.name != "Unmarshal";
        marshals
            || (self.package.is_empty() && matches!(self.name, "len" | "matchN" | "matchIf"))
            || (self.package == "list" && self.name == "MatchN")
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.package.rsplit('/').next() {
            Some(package) if !package.is_empty() => write!(out, "{package}.{}", self.name),
            _ => out.write_str(self.name),
        }
    }
}

impl fmt::Debug for Builtin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

/// A validator call, a constraint on a value.
#[derive(Debug)]
pub(crate) struct Validator {
    pub builtin: &'static Builtin,
    pub arguments: Vec<Value>,
    /// The arguments for messages.
    pub shown: Vec<String>,
    pub position: Position,
}

impl Validator {
    /// The same constraint.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let same = |(one, other): (&Value, &Value)| match (one, other) {
            (Value::Scalar(one), Value::Scalar(other)) => one.same(other),
            _ => true,
        };
        std::ptr::eq(self.builtin, other.builtin)
            && self.shown == other.shown
            && self.arguments.iter().zip(&other.arguments).all(same)
    }
}

impl fmt::Display for Validator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shown.is_empty() {
            return write!(out, "{}", self.builtin);
        }
        write!(out, "{}({})", self.builtin, self.shown.join(","))
    }
}

/// The tables of all packages.
const TABLES: &[&[Builtin]] = &[
    core::BUILTINS,
    list::BUILTINS,
    structs::BUILTINS,
    strings::BUILTINS,
    strconv::BUILTINS,
    regexp::BUILTINS,
    math::BUILTINS,
    time::BUILTINS,
    documents::JSON,
    documents::YAML,
    encoding::BASE64,
    encoding::HEX,
    encoding::MD5,
    encoding::SHA1,
    encoding::SHA256,
    encoding::SHA512,
    encoding::HMAC,
];

/// Whether a package of this path exists here.
pub(crate) fn has_package(path: &str) -> bool {
    !path.is_empty()
        && TABLES
            .iter()
            .any(|table| table.first().is_some_and(|first| first.package == path))
}

/// A built-in by package path and name.
pub(crate) fn find(package: &str, name: &str) -> Option<&'static Builtin> {
    let table = TABLES
        .iter()
        .find(|table| table.first().is_some_and(|first| first.package == package))?;
    table.iter().find(|builtin| builtin.name == name)
}

/// A truth value.
pub(crate) fn bool_value(value: bool) -> Value {
    Value::Scalar(Scalar::Bool(value))
}

/// Conversion of arguments to Rust types.
impl<'p> Machine<'p> {
    pub(super) fn run_validator(
        &mut self,
        validator: &Validator,
        value: Value,
        shown: &str,
    ) -> Result<(), Error> {
        let Run::Function { call, .. } = validator.builtin.run else {
            return Ok(());
        };
        let arguments: Vec<Value> = std::iter::once(value)
            .chain(validator.arguments.iter().cloned())
            .collect();
        self.validating.push(validator.position);
        let result = self.invoke(validator.builtin, call, &arguments, validator.position);
        self.validating.pop();
        match result? {
            Value::Scalar(Scalar::Bool(true)) => Ok(()),
            _ => Err(self.does_not_satisfy(validator, shown)),
        }
    }

    /// Calls a function, and charges its arguments and result.
    pub(super) fn invoke(
        &mut self,
        builtin: &'static Builtin,
        call: Function,
        arguments: &[Value],
        position: Position,
    ) -> Result<Value, Error> {
        if self.options.whatever_is_given && builtin.takes_any() {
            return Err(self.incomplete("what is given decides", position));
        }
        let mut length = 0;
        for argument in arguments {
            match argument {
                Value::Scalar(Scalar::String(text)) => length += text.len(),
                Value::Scalar(Scalar::Bytes(bytes)) => length += bytes.len(),
                Value::Scalar(Scalar::Number(number)) => self.spend(number.weight())?,
                _ => {}
            }
        }
        self.claim(length.saturating_mul(builtin.growth()))?;
        self.spend(length as u64 / 32)?;
        if let (
            "strings",
            [
                Value::Scalar(Scalar::String(text)),
                Value::Scalar(Scalar::String(set)),
                ..,
            ],
        ) = (builtin.package, arguments)
            && builtin.takes_set()
        {
            self.spend((text.len() as u64).saturating_mul(set.len() as u64) / 32)?;
        }
        if let ("regexp", [Value::Scalar(Scalar::String(pattern)), ..]) = (builtin.package, arguments)
            && builtin.name != "QuoteMeta"
        {
            match self.program.regex(pattern) {
                Ok(regex) => {
                    self.meter.charge(regex.size());
                    let again = regex.reading(length).saturating_mul(builtin.groups() - 1);
                    let matching = regex.weight(length).saturating_add(again);
                    self.spend(regex.compilation().saturating_add(matching))?;
                }
                Err(_) => self.spend(UNCOMPILED)?,
            }
        }
        let value = call(self, arguments, position)?;
        match &value {
            Value::Scalar(Scalar::String(text)) => self.text(text.len(), position)?,
            Value::Scalar(Scalar::Bytes(bytes)) => self.text(bytes.len(), position)?,
            _ => {}
        }
        Ok(value)
    }

    /// The error of a failed call.
    fn call_failed(&mut self, error: CallError, position: Position) -> Error {
        match error {
            CallError::Failed(message) => self.bottom(Code::Fatal, Reason::Call(message), vec![position]),
            CallError::TooLarge => self.text_too_long(position),
            CallError::TooDeep => self.too_large(
                format!("value is nested more than {MAXIMUM_DEPTH} deep"),
                position,
            ),
            CallError::Exhausted => {
                let ended = self.exhausted.clone();
                ended.unwrap_or_else(|| self.too_large("evaluation takes too much".to_owned(), position))
            }
        }
    }

    /// An argument of the wrong kind.
    pub(crate) fn wrong_argument(
        &mut self,
        value: &Value,
        wanted: &str,
        index: usize,
        position: Position,
    ) -> Error {
        let (shown, kind) = (self.show_value(value), self.kind_of(value));
        self.fatal(
            format!(
                "cannot use {shown} (type {kind}) as {wanted} in argument {}",
                index + 1
            ),
            position,
        )
    }

    pub(crate) fn string(
        &mut self,
        arguments: &[Value],
        index: usize,
        position: Position,
    ) -> Result<Arc<str>, Error> {
        match &arguments[index] {
            Value::Scalar(Scalar::String(text)) => Ok(text.clone()),
            Value::Scalar(Scalar::Bytes(bytes)) => Ok(String::from_utf8_lossy(bytes).as_ref().into()),
            other => Err(self.wrong_argument(other, "string", index, position)),
        }
    }

    pub(crate) fn bytes(
        &mut self,
        arguments: &[Value],
        index: usize,
        position: Position,
    ) -> Result<Arc<[u8]>, Error> {
        match &arguments[index] {
            Value::Scalar(Scalar::String(text)) => Ok(text.as_bytes().into()),
            Value::Scalar(Scalar::Bytes(bytes)) => Ok(bytes.clone()),
            other => Err(self.wrong_argument(other, "bytes", index, position)),
        }
    }

    pub(crate) fn number(
        &mut self,
        arguments: &[Value],
        index: usize,
        position: Position,
    ) -> Result<Number, Error> {
        match &arguments[index] {
            Value::Scalar(Scalar::Number(number)) => Ok(number.clone()),
            other => Err(self.wrong_argument(other, "number", index, position)),
        }
    }

    pub(crate) fn integer(
        &mut self,
        arguments: &[Value],
        index: usize,
        position: Position,
    ) -> Result<i64, Error> {
        let number = self.number(arguments, index, position)?;
        match number.to_i64() {
            Some(value) if number.is_integer() => Ok(value),
            _ => Err(self.wrong_argument(&arguments[index], "int", index, position)),
        }
    }

    pub(crate) fn list(
        &mut self,
        arguments: &[Value],
        index: usize,
        position: Position,
    ) -> Result<Vec<NodeId>, Error> {
        match self.elements(&arguments[index]) {
            Some(elements) => {
                self.spend(elements.len() as u64 / 4)?;
                Ok(elements)
            }
            None => Err(self.wrong_argument(&arguments[index], "list", index, position)),
        }
    }

    /// An argument that is a list of strings.
    pub(crate) fn strings(
        &mut self,
        arguments: &[Value],
        index: usize,
        position: Position,
    ) -> Result<Vec<Arc<str>>, Error> {
        let mut texts = Vec::new();
        for element in self.list(arguments, index, position)? {
            match self.concrete(Value::Node(element))? {
                Value::Scalar(Scalar::String(text)) => {
                    // One text may stand in a list many times.
                    self.spend(1 + text.len() as u64 / 256)?;
                    texts.push(text);
                }
                other => return Err(self.wrong_argument(&other, "string", index, position)),
            }
        }
        Ok(texts)
    }

    /// A list of strings.
    pub(crate) fn string_list<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> Value {
        let mut elements = Vec::new();
        for text in texts {
            if self.is_exhausted() {
                break;
            }
            self.meter.charge(text.len());
            elements.push(self.scalar_node(Scalar::String(text.into())));
        }
        self.list_value(&elements)
    }

    /// A node for a value.
    pub(crate) fn node_of(&mut self, value: &Value) -> NodeId {
        match value {
            Value::Node(node) => *node,
            Value::Scalar(scalar) => self.scalar_node(scalar.clone()),
        }
    }

    /// A struct of existing nodes.
    pub(crate) fn fields_node(&mut self, fields: Vec<(Label, NodeId)>) -> NodeId {
        let conjunct = self.data_conjunct(Source::Fields(fields.into()));
        self.temporary(conjunct)
    }

    /// The unification of existing nodes.
    pub(crate) fn unified(&mut self, nodes: &[NodeId]) -> NodeId {
        let node = self.new_node(self.stack.last().copied(), None);
        for &part in nodes {
            let conjunct = self.data_conjunct(Source::Node(part));
            self.node_mut(node).conjuncts.push(conjunct);
        }
        node
    }

    /// Whether a list may have more elements than it has.
    pub(crate) fn is_open_list(&mut self, node: NodeId) -> bool {
        let node = self.settled(node);
        self.known(node)
            .list
            .as_ref()
            .is_some_and(|list| list.length.is_none())
    }

    /// Whether two values can be unified.
    pub(crate) fn satisfies(&mut self, value: NodeId, schema: NodeId) -> bool {
        let both = self.unified(&[value, schema]);
        self.check(both).is_none()
    }
}
