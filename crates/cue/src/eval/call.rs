//! Calls of built-ins: as values, as constraints, and the few that unify their arguments.

use super::Machine;
use super::closed::{Closing, Link};
use super::error::{Error, Reason};
use super::expression::Value;
use super::kind::Kind;
use super::node::{Conjunct, EnvId, NodeId, Source};
use crate::eval::builtin::{Builtin, Run, Validator};
use crate::program::ir::{Expr, Position};
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// A built-in named without a call: a constant, or a validator such as `time.Time`.
    pub(super) fn add_builtin(
        &mut self,
        id: NodeId,
        builtin: &'static Builtin,
        position: Position,
    ) -> Result<(), Error> {
        match builtin.run {
            Run::Constant(constant) => {
                let scalar = constant();
                self.with_atom(id, |atom| atom.add_scalar(&scalar, position));
                Ok(())
            }
            Run::Function {
                validates: true,
                arity: (_, 1),
                ..
            } => {
                self.add_validator(
                    id,
                    Validator {
                        builtin,
                        arguments: Vec::new(),
                        shown: Vec::new(),
                        position,
                    },
                );
                Ok(())
            }
            _ => Err(self.fatal(format!("{builtin} is a function and must be called"), position)),
        }
    }

    pub(super) fn add_validator(&mut self, id: NodeId, validator: Validator) {
        let kind = validator.builtin.operand;
        let position = validator.position;
        if self.validating.contains(&position) {
            return;
        }
        self.with_atom(id, |atom| atom.add_kind(kind, position));
        let validators = &mut self.known_mut(id).atom.validators;
        if !validators.iter().any(|known| known.same(&validator)) {
            validators.push(Rc::new(validator));
        }
    }

    pub(super) fn add_call(
        &mut self,
        id: NodeId,
        builtin: &'static Builtin,
        arguments: &'p [Expr],
        position: Position,
        conjunct: &Conjunct<'p>,
    ) -> Result<(), Error> {
        match builtin.run {
            Run::Close => {
                let [argument] = arguments else {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                };
                self.with_atom(id, |atom| atom.add_kind(Kind::STRUCT, position));
                let group = self.new_group(conjunct.group, Link::Unified, Closing::At(id));
                self.add(
                    id,
                    Conjunct {
                        source: Source::Expr(argument),
                        group,
                        ..conjunct.clone()
                    },
                );
                Ok(())
            }
            Run::And => {
                let [argument] = arguments else {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                };
                for element in self.list_argument(conjunct.env, argument)? {
                    self.add(
                        id,
                        Conjunct {
                            source: Source::Node(element),
                            ..conjunct.clone()
                        },
                    );
                }
                Ok(())
            }
            Run::Function {
                arity,
                validates: true,
                ..
            } if arguments.len() + 1 == usize::from(arity.1) => {
                let values = self.arguments(conjunct.env, builtin, arguments)?;
                let shown = values.iter().map(|value| self.show_value(value)).collect();
                self.add_validator(
                    id,
                    Validator {
                        builtin,
                        arguments: values,
                        shown,
                        position,
                    },
                );
                Ok(())
            }
            _ => {
                let value = self.call(conjunct.env, builtin, arguments, position)?;
                self.add_result(id, value, position, conjunct);
                Ok(())
            }
        }
    }

    /// The elements of an argument that must be a list.
    pub(super) fn list_argument(&mut self, env: EnvId, argument: &'p Expr) -> Result<Vec<NodeId>, Error> {
        let value = self.operand(env, argument)?;
        match self.elements(&value) {
            Some(elements) => Ok(elements),
            None => {
                let (shown, kind) = (self.show_value(&value), self.kind_of(&value));
                Err(self.fatal(
                    format!("cannot use {shown} (type {kind}) as list"),
                    argument.position,
                ))
            }
        }
    }

    pub(super) fn wrong_arity(&self, builtin: &Builtin, found: usize, position: Position) -> Error {
        let message = format!("wrong number of arguments in call to {builtin} (found {found})");
        self.fatal(message, position)
    }

    pub(super) fn arguments(
        &mut self,
        env: EnvId,
        builtin: &'static Builtin,
        arguments: &'p [Expr],
    ) -> Result<Vec<Value>, Error> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(if builtin.takes_any() {
                self.evaluate(env, argument)?
            } else {
                self.operand(env, argument)?
            });
        }
        Ok(values)
    }

    pub(super) fn call(
        &mut self,
        env: EnvId,
        builtin: &'static Builtin,
        arguments: &'p [Expr],
        position: Position,
    ) -> Result<Value, Error> {
        match builtin.run {
            Run::Function {
                arity: (least, most),
                call,
                ..
            } => {
                if arguments.len() < usize::from(least) || arguments.len() > usize::from(most) {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                }
                let values = self.arguments(env, builtin, arguments)?;
                self.invoke(builtin, call, &values, position)
                    .map_err(|error| match &error.reason {
                        Reason::Call(text) => {
                            let message = format!("error in call to {builtin}: {text}");
                            self.bottom(error.code, Reason::Text(message), error.positions.clone())
                        }
                        _ => error,
                    })
            }
            Run::Or => {
                let [argument] = arguments else {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                };
                let elements = self.list_argument(env, argument)?;
                self.or_node(&elements, position)
            }
            Run::Close | Run::And => {
                unreachable!("evaluated as a conjunct")
            }
            Run::Constant(_) | Run::Written(_) => {
                Err(self.fatal(format!("cannot call non-function {builtin}"), position))
            }
        }
    }

    /// The disjunction of a list's elements.
    pub(super) fn or_node(&mut self, elements: &[NodeId], position: Position) -> Result<Value, Error> {
        if elements.is_empty() {
            return Err(self.incomplete("empty list in call to or", position));
        }
        Ok(Value::Node(self.disjunction_of(elements)))
    }
}
