//! Unification of a node's conjuncts.

use super::Machine;
use super::atom::{Atom, Bound, Conflict};
use super::budget::CONJUNCT;
use super::error::{Code, Error, Reason};
use super::kind::Kind;
use super::node::{Conjunct, Declares, NodeId, Scope, Source, StructInfo, TaskKind};
use super::scalar::Scalar;
use crate::program::ir::{Expr, ExprKind, Position, Presence};
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// Evaluates a node to its own level; called by [`Machine::expand`] only.
    pub(super) fn unify(&mut self, id: NodeId) {
        if self.share(id) {
            return;
        }
        for index in 0..self.node(id).conjuncts.len() {
            let conjunct = self.node(id).conjuncts[index].clone();
            self.add(id, conjunct);
        }
        loop {
            self.run_tasks(id);
            self.follow_returning(id);
            if self.follow_inner(id) {
                continue;
            }
            let chosen = self.known(id).chosen;
            if self.failed(id) || chosen >= self.known(id).disjunctions.len() {
                break;
            }
            if chosen == self.node(id).choices.len() {
                if chosen > 0 && self.fails_already(id) {
                    return;
                }
                self.fork(id);
                return;
            }
            self.known_mut(id).chosen += 1;
            self.choose(id, chosen);
        }
        self.run_tasks_for_the_last_time(id);
        self.finish(id);
    }

    /// Whether the fields that are there rule an alternative out, whatever is chosen next.
    fn fails_already(&mut self, id: NodeId) -> bool {
        for index in 0..self.known(id).arcs.len() {
            let arc = self.known(id).arcs[index];
            if arc.presence == Presence::Member
                && let Some(error) = self.check(arc.node)
            {
                self.fail(id, error);
                return true;
            }
        }
        false
    }

    pub(super) fn failed(&self, id: NodeId) -> bool {
        self.known(id)
            .error
            .as_ref()
            .is_some_and(|error| error.is_fatal())
    }

    /// Records the first error of a node; a fatal one wins over an incomplete one.
    pub(super) fn fail(&mut self, id: NodeId, error: Error) {
        let slot = &mut self.known_mut(id).error;
        match slot {
            Some(known) if known.is_fatal() || !error.is_fatal() => {}
            _ => *slot = Some(error),
        }
    }

    fn conflict(&mut self, id: NodeId, conflict: Conflict) {
        let error = self.bottom(Code::Fatal, Reason::Text(conflict.message), conflict.positions);
        self.fail(id, error);
    }

    /// Adds to what is known of a node's kind, bounds and scalar.
    pub(super) fn with_atom(&mut self, id: NodeId, add: impl FnOnce(&mut Atom) -> Result<(), Conflict>) {
        if let Err(conflict) = add(&mut self.known_mut(id).atom) {
            self.conflict(id, conflict);
        }
    }

    /// Unifies one more conjunct into a node that is being evaluated.
    pub(super) fn add(&mut self, id: NodeId, conjunct: Conjunct<'p>) {
        self.meter.charge(CONJUNCT);
        if let Err(error) = self.step() {
            self.fail(id, error);
            return;
        }
        // Aliases stand for the node that is being evaluated, and for the label that was declared.
        let conjunct = match conjunct.frame {
            Some(declared) => {
                let env = self.new_env(Some(conjunct.env), Scope::Frame { node: id, declared });
                Conjunct {
                    env,
                    frame: None,
                    ..conjunct
                }
            }
            None => conjunct,
        };
        if !conjunct.cyclic && !self.known(id).grounded && !conjunct.is_reference() {
            self.known_mut(id).grounded = true;
        }
        match conjunct.source.clone() {
            Source::Expr(expr) => self.add_expr(id, expr, conjunct),
            Source::Node(target) => self.add_reference(id, target, &conjunct),
            Source::Scalar(scalar) => {
                self.with_atom(id, |atom| atom.add_scalar(&scalar, Position::default()));
            }
            Source::List(elements) => {
                let sources = elements.iter().map(|&element| Source::Node(element));
                let conjuncts = sources
                    .map(|source| Conjunct {
                        source,
                        ..conjunct.clone()
                    })
                    .collect();
                self.add_list(id, conjuncts, None);
            }
            Source::AnyOf(_) => self.add_disjunction(id, conjunct),
            Source::Fields(fields) => {
                self.known_mut(id).is_struct = true;
                self.known_mut(id).structs.push(StructInfo {
                    group: conjunct.group,
                    open: false,
                    declares: Declares::Data(Rc::clone(&fields)),
                });
                for &(label, node) in fields.iter() {
                    if self.is_exhausted() {
                        break;
                    }
                    let conjunct = Conjunct {
                        source: Source::Node(node),
                        ..conjunct.clone()
                    };
                    self.add_field(id, label, Presence::Member, conjunct, Position::default());
                }
            }
        }
    }

    fn add_expr(&mut self, id: NodeId, expr: &'p Expr, conjunct: Conjunct<'p>) {
        match &expr.kind {
            ExprKind::Bottom => {
                let error = self.bottom(Code::Fatal, Reason::Explicit, vec![expr.position]);
                self.fail(id, error);
            }
            ExprKind::Kind(kind) => self.with_atom(id, |atom| atom.add_kind(*kind, expr.position)),
            ExprKind::Struct(literal) => self.add_struct(id, literal, &conjunct),
            ExprKind::List(list) => self.add_task(id, TaskKind::List(list), conjunct),
            ExprKind::And(conjuncts) => {
                for expr in conjuncts {
                    self.add(
                        id,
                        Conjunct {
                            source: Source::Expr(expr),
                            ..conjunct.clone()
                        },
                    );
                }
            }
            ExprKind::Or(_) => self.add_disjunction(id, conjunct),
            ExprKind::Bound { operator, operand } => match literal_scalar(operand) {
                Some(value) => match self.bound(*operator, value, expr.position) {
                    Ok(bound) => self.with_atom(id, |atom| atom.add_bound(bound)),
                    Err(error) => self.fail(id, error),
                },
                None => self.add_task(id, TaskKind::Value, conjunct),
            },
            _ => match literal_scalar(expr) {
                Some(scalar) => self.with_atom(id, |atom| atom.add_scalar(&scalar, expr.position)),
                None => self.add_task(id, TaskKind::Value, conjunct),
            },
        }
    }

    /// Final checks after all conjuncts are unified.
    fn finish(&mut self, id: NodeId) {
        if self.failed(id) {
            return;
        }
        let known = self.known(id);
        let is_list = known.list.is_some();
        let is_struct = known.is_struct || (!known.structs.is_empty() && known.atom.is_top() && !is_list);
        self.known_mut(id).is_struct = is_struct;
        let kinds = [(is_list, Kind::LIST), (is_struct, Kind::STRUCT)];
        for (is, kind) in kinds {
            if is {
                self.with_atom(id, |atom| atom.add_kind(kind, Position::default()));
            }
        }
        if self.failed(id) {
            return;
        }
        self.check_patterns(id);
        self.check_closed(id);
        self.validate(id);
    }
}

/// The value of an expression that is a plain literal.
pub(super) fn literal_scalar(expr: &Expr) -> Option<Scalar> {
    Some(match &expr.kind {
        ExprKind::Null => Scalar::Null,
        ExprKind::Bool(value) => Scalar::Bool(*value),
        ExprKind::Number(number) => Scalar::Number(number.clone()),
        ExprKind::String(text) => Scalar::String(text.clone()),
        ExprKind::Bytes(bytes) => Scalar::Bytes(bytes.clone()),
        _ => return None,
    })
}

impl<'p> Machine<'p> {
    /// A bound with its regular expression compiled.
    pub(super) fn bound(
        &mut self,
        operator: crate::program::ir::BoundOperator,
        value: Scalar,
        position: Position,
    ) -> Result<Bound, Error> {
        use crate::program::ir::BoundOperator as Op;
        let regex = match (operator, &value) {
            (Op::Match | Op::NotMatch, Scalar::String(pattern)) => {
                Some(Rc::new(self.regex(pattern, position)?))
            }
            (Op::Match | Op::NotMatch, other) => {
                let message = format!(
                    "invalid value {other} for regular expression (type {})",
                    other.kind()
                );
                return Err(self.fatal(message, position));
            }
            (Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual, Scalar::Null | Scalar::Bool(_)) => {
                let message = format!("invalid bound of type {}", value.kind());
                return Err(self.fatal(message, position));
            }
            _ => None,
        };
        Ok(Bound {
            operator,
            value,
            position,
            regex,
        })
    }

    /// A compiled regular expression; each is compiled, and counted, once.
    pub(super) fn regex(
        &mut self,
        pattern: &str,
        position: Position,
    ) -> Result<crate::packages::regexp::Pattern, Error> {
        if let Some(regex) = self.regexes.get(pattern) {
            return Ok(regex.clone());
        }
        self.claim(pattern.len())?;
        match self.program.regex(pattern) {
            Ok(regex) => {
                self.meter.charge(regex.size());
                self.spend(regex.compilation())?;
                self.regexes.insert(pattern.to_owned(), regex.clone());
                Ok(regex)
            }
            Err(message) => {
                self.spend(UNCOMPILED)?;
                Err(self.fatal(message, position))
            }
        }
    }
}

/// Steps charged for a regular expression that failed to compile, possibly because it is too large.
pub(super) const UNCOMPILED: u64 = 20_000;
