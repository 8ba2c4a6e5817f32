//! `[pattern]: value`: fields that a struct may have.

use super::Machine;
use super::error::{Code, Reason};
use super::kind::Kind;
use super::node::{Conjunct, NodeId, Pattern, Source};
use super::scalar::Scalar;
use crate::program::ir::{Expr, ExprKind, FieldExpr, Position};
use crate::program::symbols::Label;

impl<'p> Machine<'p> {
    pub(super) fn add_pattern(
        &mut self,
        id: NodeId,
        pattern: &'p Expr,
        value: &'p FieldExpr,
        conjunct: &Conjunct<'p>,
    ) {
        let node = self.temporary(Self::conjunct(conjunct.env, pattern));
        let (env, group, trail) = (conjunct.env, conjunct.group, conjunct.trail.clone());
        let cyclic = conjunct.cyclic;
        let pattern = Pattern {
            env,
            pattern,
            value,
            group,
            trail,
            cyclic,
            node,
        };
        self.known_mut(id).patterns.push(pattern.clone());
        for index in 0..self.known(id).arcs.len() {
            let arc = self.known(id).arcs[index];
            self.apply_pattern(&pattern, arc.label, arc.node);
        }
    }

    pub(super) fn apply_pattern(&mut self, pattern: &Pattern<'p>, label: Label, node: NodeId) {
        if !self.pattern_matches(pattern, label) {
            return;
        }
        let conjunct = Conjunct {
            env: pattern.env,
            source: Source::Expr(&pattern.value.value),
            group: pattern.group,
            trail: pattern.trail.clone(),
            cyclic: pattern.cyclic,
            frame: pattern.value.frame.then_some(node),
            comments: Some(&pattern.value.comments),
        };
        self.add_late(node, conjunct);
    }

    /// Whether a field's name satisfies a pattern.
    pub(super) fn pattern_matches(&mut self, pattern: &Pattern<'p>, label: Label) -> bool {
        let Label::Regular(symbol) = label else {
            return false;
        };
        match &pattern.pattern.kind {
            ExprKind::Kind(kind) => kind.contains(Kind::STRING),
            _ => {
                let name = Scalar::String(self.symbols.name(symbol).clone());
                self.admits(pattern.node, &name)
            }
        }
    }

    /// Whether a scalar unifies with what is known of a node.
    pub(super) fn admits(&mut self, node: NodeId, scalar: &Scalar) -> bool {
        let node = self.expanded(node);
        let known = self.known(node);
        if known.error.is_some() {
            return false;
        }
        if known.more {
            // Nobody knows what they all admit.
            let message = "a pattern has too many alternatives".to_owned();
            let error = self.bottom(Code::Exhausted, Reason::Text(message), self.here());
            self.exhaust(error);
            return false;
        }
        if !known.alternatives.is_empty() {
            let alternatives = known.alternatives.clone();
            return alternatives
                .into_iter()
                .any(|alternative| self.admits(alternative, scalar));
        }
        let mut atom = known.atom.clone();
        if known.is_struct || known.list.is_some() || atom.add_scalar(scalar, Position::default()).is_err() {
            return false;
        }
        let validators = atom.validators.clone();
        validators
            .iter()
            .all(|validator| self.validate_scalar(validator, scalar).is_ok())
    }

    /// A pattern must not be wrong, even if no field is there to match it.
    pub(super) fn check_patterns(&mut self, id: NodeId) {
        for index in 0..self.known(id).patterns.len() {
            let pattern = self.known(id).patterns[index].clone();
            if matches!(pattern.pattern.kind, ExprKind::Kind(_)) {
                continue;
            }
            let node = self.expanded(pattern.node);
            if let Some(error) = self.known(node).error.clone().filter(|error| error.is_fatal()) {
                self.fail(id, error);
            }
        }
    }
}
