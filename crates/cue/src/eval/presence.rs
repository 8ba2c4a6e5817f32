//! Presence tests: `x != _|_`.

use super::Machine;
use super::error::{Code, Error, Reason};
use super::expression::Value;
use super::node::{EnvId, NodeId, State};
use crate::program::ir::Expr;

impl<'p> Machine<'p> {
    /// Whether an expression has no value: what `== _|_` asks.
    pub(super) fn is_bottom(&mut self, env: EnvId, expr: &'p Expr) -> Result<bool, Error> {
        if self.options.whatever_is_given {
            return Err(self.incomplete("what is given decides", expr.position));
        }
        match self.evaluate(env, expr) {
            Err(error) if error.code == Code::Exhausted || error.asks_own_presence() => Err(error),
            Err(error) if error.code == Code::Cycle && !self.last_try => Err(error),
            Err(_) => Ok(true),
            Ok(Value::Scalar(_)) => Ok(false),
            Ok(Value::Node(node)) => {
                let node = self.expanded(node);
                if let Some(error) = self.known(node).error.clone() {
                    let waits = error.code == Code::Cycle && !self.last_try;
                    return if error.code == Code::Exhausted || error.asks_own_presence() || waits {
                        Err(error)
                    } else {
                        Ok(true)
                    };
                }
                if self.check(node).is_some() {
                    return Ok(true);
                }
                self.is_unknown(node, expr)
            }
        }
    }

    /// Whether nothing but a type or a bound is known of a value: then it counts as absent. Of `_`, not even that is known.
    pub(super) fn is_unknown(&mut self, node: NodeId, expr: &'p Expr) -> Result<bool, Error> {
        let node = self.settled(node);
        let known = self.known(node);
        let has_value = known.atom.scalar.is_some()
            || known.is_struct
            || known.list.is_some()
            || !known.alternatives.is_empty()
            || !known.structs.is_empty();
        if has_value {
            return Ok(false);
        }
        if matches!(self.node(node).state, State::Processing(_)) {
            return if self.last_try {
                Ok(false)
            } else {
                Err(self.bottom(Code::Cycle, Reason::Cycle, Vec::new()))
            };
        }
        if self.known(node).atom.is_top() {
            if self.options.anything_is_present {
                return Ok(false);
            }
            return Err(self.incomplete("invalid operand _ ('==' requires concrete value)", expr.position));
        }
        Ok(true)
    }
}
