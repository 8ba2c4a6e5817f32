//! Comprehensions: `for`, `if` and `let` clauses, in structs and lists.

use super::Machine;
use super::error::Error;
use super::expression::Value;
use super::node::{Conjunct, EnvId, NodeId, Scope, Source};
use super::scalar::Scalar;
use crate::number::Number;
use crate::program::ir::{Clause, ComprehensionExpr, ElementExpr, Expr, ListExpr, Presence};
use crate::program::symbols::Label;

/// The elements of a list literal, and what follows them.
type Elements<'p> = (Vec<Conjunct<'p>>, Option<Conjunct<'p>>);

impl<'p> Machine<'p> {
    /// The environments for each yield of a comprehension; all or none.
    pub(super) fn yields(
        &mut self,
        comprehension: &'p ComprehensionExpr,
        env: EnvId,
    ) -> Result<Vec<EnvId>, Error> {
        if self.options.whatever_is_given {
            return Err(self.incomplete("what is given decides", comprehension.position));
        }
        let mut environments = Vec::new();
        self.run_clauses(&comprehension.clauses, env, &mut environments)?;
        Ok(environments)
    }

    fn run_clauses(&mut self, clauses: &'p [Clause], env: EnvId, into: &mut Vec<EnvId>) -> Result<(), Error> {
        let Some((clause, rest)) = clauses.split_first() else {
            into.push(env);
            return Ok(());
        };
        self.step()?;
        match clause {
            Clause::If(condition) => match self.operand(env, condition)? {
                Value::Scalar(Scalar::Bool(true)) => self.run_clauses(rest, env, into),
                Value::Scalar(Scalar::Bool(false)) => Ok(()),
                other => {
                    let (shown, kind) = (self.show_value(&other), self.kind_of(&other));
                    let message = format!("cannot use {shown} (type {kind}) as type bool");
                    Err(self.fatal(message, condition.position))
                }
            },
            Clause::Let(value) => {
                let value = self.temporary(Self::conjunct(env, value));
                let env = self.new_env(Some(env), Scope::Clause { key: None, value });
                self.run_clauses(rest, env, into)
            }
            Clause::For { source } => {
                for (key, value) in self.range(env, source)? {
                    let env = self.new_env(
                        Some(env),
                        Scope::Clause {
                            key: Some(key),
                            value,
                        },
                    );
                    self.run_clauses(rest, env, into)?;
                }
                Ok(())
            }
        }
    }

    /// The keys and values that a `for` iterates over.
    fn range(&mut self, env: EnvId, source: &'p Expr) -> Result<Vec<(NodeId, NodeId)>, Error> {
        let node = match self.operand(env, source)? {
            Value::Node(node) => node,
            Value::Scalar(scalar) => {
                let shown = self.show_expr(source);
                let kind = scalar.kind();
                let message = format!("cannot range over {shown} (found {kind}, want list or struct)");
                return Err(self.fatal(message, source.position));
            }
        };
        let is_list = self.known(node).list.is_some();
        let arcs = self.known(node).arcs.clone();
        let mut pairs = Vec::with_capacity(arcs.len());
        for arc in arcs {
            self.step()?;
            let key = match arc.label {
                Label::Index(index) if is_list => Scalar::Number(Number::integer(index)),
                Label::Regular(symbol) if !is_list && arc.presence == Presence::Member => {
                    Scalar::String(self.symbols.name(symbol).clone())
                }
                _ => continue,
            };
            pairs.push((self.scalar_node(key), arc.node));
        }
        Ok(pairs)
    }

    /// The elements that a list literal has, once its comprehensions can be run.
    pub(super) fn list_elements(
        &mut self,
        list: &'p ListExpr,
        conjunct: &Conjunct<'p>,
    ) -> Result<Elements<'p>, Error> {
        let plain = |source, env| Conjunct {
            env,
            source,
            comments: None,
            ..conjunct.clone()
        };
        let mut elements = Vec::with_capacity(list.elements.len());
        for element in &list.elements {
            match element {
                ElementExpr::Value(value, comments) => {
                    let element = plain(Source::Expr(value), conjunct.env);
                    elements.push(Conjunct {
                        comments: Some(comments),
                        ..element
                    });
                }
                ElementExpr::Comprehension(comprehension) => {
                    let environments = self.yields(comprehension, conjunct.env)?;
                    let yielded = environments.into_iter();
                    elements.extend(yielded.map(|env| plain(Source::Expr(&comprehension.body), env)));
                }
            }
        }
        let rest = list
            .rest
            .as_ref()
            .map(|rest| plain(Source::Expr(rest), conjunct.env));
        Ok((elements, rest))
    }

    /// A node that holds a scalar.
    pub(super) fn scalar_node(&mut self, scalar: Scalar) -> NodeId {
        let conjunct = self.data_conjunct(Source::Scalar(scalar));
        self.temporary(conjunct)
    }
}
