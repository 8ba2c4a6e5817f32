//! Adds the declarations of struct literals as fields, patterns and tasks.

use super::Machine;
use super::closed::{Closing, Link};
use super::error::Error;
use super::node::{Arc_, Conjunct, Declares, EnvId, NodeId, Scope, Source, State, StructInfo, TaskKind};
use super::scalar::Scalar;
use crate::program::ir::{
    Adds, Declaration, DynamicExpr, Expr, ExprKind, FieldExpr, Position, Presence, StructExpr,
};
use crate::program::symbols::Label;

impl<'p> Machine<'p> {
    pub(super) fn add_struct(&mut self, id: NodeId, literal: &'p StructExpr, conjunct: &Conjunct<'p>) {
        let lets = vec![None; literal.lets.len()];
        let scope = Scope::Struct {
            node: id,
            literal: Some(literal),
            lets,
        };
        let env = self.new_env(Some(conjunct.env), scope);
        self.add_declarations(id, literal, env, conjunct);
    }

    pub(super) fn add_declarations(
        &mut self,
        id: NodeId,
        literal: &'p StructExpr,
        env: EnvId,
        conjunct: &Conjunct<'p>,
    ) {
        let group = if literal.embeds {
            self.new_group(conjunct.group, Link::Unified, Closing::Open)
        } else {
            conjunct.group
        };
        let known = self.known_mut(id);
        known.structs.push(StructInfo {
            group,
            open: literal.open,
            declares: Declares::Literal(literal),
        });
        let only_plain = !literal.declarations.iter().any(|declaration| {
            matches!(
                declaration,
                Declaration::Embedding(_) | Declaration::Comprehension(_)
            )
        });
        known.is_struct |= only_plain;
        let inner = Conjunct {
            env,
            group,
            comments: None,
            ..conjunct.clone()
        };
        for declaration in &literal.declarations {
            match declaration {
                Declaration::Field(field) => {
                    let conjunct = Conjunct {
                        source: Source::Expr(&field.value),
                        comments: Some(&field.comments),
                        ..inner.clone()
                    };
                    self.add_framed_field(id, field.label, field, conjunct);
                }
                Declaration::Dynamic(dynamic) => {
                    self.known_mut(id).is_struct = true;
                    let DynamicExpr { label, field } = &**dynamic;
                    self.add_task(id, TaskKind::Dynamic { label, field }, inner.clone());
                }
                Declaration::Pattern { pattern, value } => {
                    self.known_mut(id).is_struct = true;
                    self.add_pattern(id, pattern, value, &inner);
                }
                Declaration::Embedding(value) => {
                    let group = self.new_group(group, Link::Embedded, Closing::Open);
                    self.add(
                        id,
                        Conjunct {
                            source: Source::Expr(value),
                            group,
                            ..inner.clone()
                        },
                    );
                }
                Declaration::Comprehension(comprehension) => {
                    if let Adds::Only(labels) = &comprehension.adds {
                        for &label in labels {
                            self.arc(id, label, Presence::Pending, comprehension.position);
                        }
                    }
                    self.add_task(id, TaskKind::Comprehension(comprehension), inner.clone());
                }
            }
        }
    }

    /// Unifies what a comprehension yields: its body is part of the literal around it.
    pub(super) fn add_yield(&mut self, id: NodeId, body: &'p Expr, env: EnvId, conjunct: &Conjunct<'p>) {
        let mut yielded = Conjunct {
            env,
            source: Source::Expr(body),
            ..conjunct.clone()
        };
        match &body.kind {
            ExprKind::Struct(literal) => {
                if literal.embeds {
                    yielded.group = self.new_group(conjunct.group, Link::Embedded, Closing::Open);
                }
                self.add_struct(id, literal, &yielded);
            }
            _ => self.add(id, yielded),
        }
    }

    /// Adds a field whose value may see a scope level of its own.
    pub(super) fn add_framed_field(
        &mut self,
        id: NodeId,
        label: Label,
        field: &'p FieldExpr,
        mut conjunct: Conjunct<'p>,
    ) {
        if field.frame {
            let node = self.arc(id, label, field.presence, field.position);
            conjunct.frame = Some(node);
        }
        self.add_field(id, label, field.presence, conjunct, field.position);
    }

    pub(super) fn add_field(
        &mut self,
        id: NodeId,
        label: Label,
        presence: Presence,
        conjunct: Conjunct<'p>,
        position: Position,
    ) {
        if label.is_regular() {
            self.known_mut(id).is_struct = true;
        }
        let node = self.arc(id, label, presence, position);
        self.add_late(node, conjunct);
    }

    /// Adds a conjunct to a node that may have been evaluated already.
    pub(super) fn add_late(&mut self, node: NodeId, conjunct: Conjunct<'p>) {
        self.node_mut(node).conjuncts.push(conjunct.clone());
        match self.node(node).state {
            State::Fresh => {}
            State::Processing(_) => self.add(node, conjunct.clone()),
            State::Done | State::Provisional => self.reset(node),
        }
        for index in 0..self.node(node).subscribers.len() {
            let (subscriber, reference) = self.node(node).subscribers[index].clone();
            match self.node(subscriber).state {
                State::Processing(_) => self.add_referenced(subscriber, node, &reference, conjunct.clone()),
                State::Done | State::Provisional => self.reset(subscriber),
                State::Fresh => {}
            }
        }
    }

    /// The node of a field, created if necessary.
    pub(super) fn arc(&mut self, id: NodeId, label: Label, presence: Presence, position: Position) -> NodeId {
        if let Some(at) = self.known(id).find_arc(label) {
            let arc = &mut self.known_mut(id).arcs[at];
            if presence < arc.presence {
                arc.presence = presence;
                arc.position = position;
            }
            return arc.node;
        }
        let node = self.new_node(Some(id), Some(label));
        self.known_mut(id).push_arc(Arc_ {
            label,
            node,
            presence,
            position,
        });
        for index in 0..self.known(id).patterns.len() {
            let pattern = self.known(id).patterns[index].clone();
            self.apply_pattern(&pattern, label, node);
        }
        node
    }

    pub(super) fn add_dynamic(
        &mut self,
        id: NodeId,
        label: &'p Expr,
        field: &'p FieldExpr,
        conjunct: &Conjunct<'p>,
    ) -> Result<(), Error> {
        let name = match self.operand(conjunct.env, label)? {
            super::expression::Value::Scalar(Scalar::String(name)) => name,
            other => {
                let kind = self.kind_of(&other);
                return Err(self.fatal(format!("invalid index (invalid type {kind})"), label.position));
            }
        };
        let label = Label::Regular(self.symbols.intern(&name));
        let conjunct = Conjunct {
            source: Source::Expr(&field.value),
            comments: Some(&field.comments),
            ..conjunct.clone()
        };
        self.add_framed_field(id, label, field, conjunct);
        Ok(())
    }
}
