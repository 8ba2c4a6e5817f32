//! Recursive checks of values: errors below a node, equality.

use super::Machine;
use super::builtin::Validator;
use super::error::{Code, Error, Reason};
use super::kind::Kind;
use super::node::{Arc_, Conjunct, NodeId, Pattern, Source, State};
use super::scalar::Scalar;
use crate::program::ir::{ExprKind, Presence};
use crate::program::symbols::Label;
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// The first fatal error at or below a node.
    pub(crate) fn check(&mut self, id: NodeId) -> Option<Error> {
        let node = self.expanded(id);
        if let Some(result) = &self.known(node).checked {
            return result.clone();
        }
        if matches!(self.node(node).state, State::Processing(_)) {
            return None;
        }
        if let Some(error) = self.known(node).error.as_ref().filter(|error| error.is_fatal()) {
            return Some(error.clone());
        }
        if let Err(error) = self.step() {
            return Some(error);
        }
        // While its fields are looked at, the node itself counts as good.
        self.known_mut(node).checked = Some(None);
        let mut found = None;
        let mut index = 0;
        while index < self.known(node).arcs.len() {
            let arc = self.known(node).arcs[index];
            index += 1;
            if arc.presence != Presence::Member {
                continue;
            }
            found = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.check(arc.node));
            if found.is_some() {
                break;
            }
        }
        let final_ = self.stack.is_empty() || found.is_some() || self.node(node).state == State::Done;
        self.known_mut(node).checked = final_.then(|| found.clone());
        found
    }

    /// Whether two evaluated values are identical, so that one of two disjuncts is redundant.
    pub(super) fn same_value(&mut self, left: NodeId, right: NodeId) -> bool {
        let (left, right) = (self.expanded(left), self.expanded(right));
        if left == right || self.step().is_err() {
            return true;
        }
        let (a, b) = (self.known(left), self.known(right));
        if let (Some((one, _)), Some((other, _))) = (&a.atom.scalar, &b.atom.scalar) {
            let weight = one.weight().min(other.weight());
            if self.spend(weight).is_err() {
                return true;
            }
        }
        let (a, b) = (self.known(left), self.known(right));
        if a.error.is_some() != b.error.is_some()
            || a.error.is_some()
            || a.is_struct != b.is_struct
            || a.list.is_some() != b.list.is_some()
            || a.alternatives.len() != b.alternatives.len()
            || a.defaults != b.defaults
            || a.patterns.len() != b.patterns.len()
            || !a.atom.same(&b.atom)
            || a.arcs.len() != b.arcs.len()
        {
            return false;
        }
        if let (Some(one), Some(other)) = (&a.list, &b.list) {
            let same_rest =
                |((at, one), (other_at, other)): (&(usize, Conjunct<'p>), &(usize, Conjunct<'p>))| {
                    at == other_at && same_source(&one.source, &other.source)
                };
            let same_rests = one.rests.iter().zip(&other.rests).all(same_rest);
            if one.length != other.length
                || (one.length.is_none() && (one.rests.len() != other.rests.len() || !same_rests))
            {
                return false;
            }
        }
        let pairs: Vec<_> = a
            .patterns
            .iter()
            .cloned()
            .zip(b.patterns.iter().cloned())
            .collect();
        if self.is_closed(left) != self.is_closed(right)
            || !pairs.iter().all(|(one, other)| self.same_pattern(one, other))
        {
            return false;
        }
        let (a, b) = (self.known(left), self.known(right));
        if !a.alternatives.is_empty() {
            let pairs: Vec<_> = a
                .alternatives
                .iter()
                .copied()
                .zip(b.alternatives.iter().copied())
                .collect();
            return pairs.into_iter().all(|(one, other)| self.same_value(one, other));
        }
        let arcs = a.arcs.clone();
        arcs.iter().all(|arc| {
            let other = self.known(right).find_arc(arc.label);
            let other = other.map(|at| self.known(right).arcs[at]);
            other.is_some_and(|other| {
                other.presence == arc.presence
                    && stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.same_value(arc.node, other.node))
            })
        })
    }

    /// Whether two patterns admit the same names and demand the same of them, as far as is easily seen.
    fn same_pattern(&mut self, one: &Pattern<'p>, other: &Pattern<'p>) -> bool {
        let demands = |pattern: &Pattern<'p>| Source::Expr(&pattern.value.value);
        same_source(&demands(one), &demands(other))
            && (std::ptr::eq(one.pattern, other.pattern) || self.same_value(one.node, other.node))
    }

    /// Whether two concrete values are equal in the sense of `==`.
    pub(crate) fn equal(&mut self, left: NodeId, right: NodeId) -> Result<bool, Error> {
        self.step()?;
        let (left, right) = (self.concrete_node(left)?, self.concrete_node(right)?);
        let (a, b) = (self.known(left), self.known(right));
        if let (Some((one, _)), Some((other, _))) = (&a.atom.scalar, &b.atom.scalar) {
            let (weight, order) = (one.weight().min(other.weight()), one.compare(other));
            self.spend(weight)?;
            return Ok(order == Some(std::cmp::Ordering::Equal));
        }
        if a.list.is_some() != b.list.is_some() || a.is_struct != b.is_struct {
            return Ok(false);
        }
        let looked_at = (a.arcs.len() + b.arcs.len()) as u64;
        self.spend(looked_at / 64)?;
        let (a, b) = (self.known(left), self.known(right));
        let is_data = |arc: &Arc_| {
            arc.presence == Presence::Member && matches!(arc.label, Label::Regular(_) | Label::Index(_))
        };
        let ours: Vec<Arc_> = a.arcs.iter().copied().filter(is_data).collect();
        if ours.len() != b.arcs.iter().copied().filter(is_data).count() {
            return Ok(false);
        }
        self.claim(ours.len() * size_of::<Arc_>())?;
        for arc in ours {
            let other = self.known(right).find_arc(arc.label);
            let Some(other) = other.map(|at| self.known(right).arcs[at]).filter(is_data) else {
                return Ok(false);
            };
            if !stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.equal(arc.node, other.node))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the validators of a node.
    pub(super) fn validate(&mut self, id: NodeId) {
        if self.known(id).atom.validators.is_empty() || self.failed(id) {
            return;
        }
        let validators: Vec<Rc<Validator>> = self.known(id).atom.validators.clone();
        for validator in validators {
            let result = match self.known(id).atom.scalar.clone() {
                Some((scalar, _)) => self.validate_scalar(&validator, &scalar),
                None if self.options.whatever_is_given => continue,
                None if self.known(id).atom.kind == Kind::STRUCT || self.known(id).list.is_some() => {
                    self.validate_node(&validator, id)
                }
                None => continue,
            };
            match result {
                Ok(()) => {}
                Err(error) => self.fail(id, error),
            }
        }
    }

    pub(super) fn validate_scalar(&mut self, validator: &Validator, scalar: &Scalar) -> Result<(), Error> {
        let value = super::expression::Value::Scalar(scalar.clone());
        let shown = scalar.to_string();
        self.run_validator(validator, value, &shown)
    }

    fn validate_node(&mut self, validator: &Validator, id: NodeId) -> Result<(), Error> {
        let shown = self.show(id);
        self.run_validator(validator, super::expression::Value::Node(id), &shown)
    }

    pub(super) fn does_not_satisfy(&self, validator: &Validator, shown: &str) -> Error {
        let message = format!("invalid value {shown} (does not satisfy {validator})");
        self.bottom(Code::Fatal, Reason::Text(message), vec![validator.position])
    }
}

/// Whether two conjuncts were written at the same place.
fn same_source(one: &Source<'_>, other: &Source<'_>) -> bool {
    match (one, other) {
        (Source::Expr(one), Source::Expr(other)) => {
            let same_kind = match (&one.kind, &other.kind) {
                (ExprKind::Kind(one), ExprKind::Kind(other)) => one == other,
                _ => false,
            };
            same_kind || std::ptr::eq(*one, *other)
        }
        (Source::Node(one), Source::Node(other)) => one == other,
        _ => false,
    }
}
