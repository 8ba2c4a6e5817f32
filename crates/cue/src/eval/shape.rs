//! Shallow views of values, for callers that merge them by their own rules.

use super::instance::{Instance, Lookup};
use super::node::Source;
use super::scalar::Scalar;
use crate::data::Data;
use crate::diagnostic::{Diagnostic, Place};
use crate::program::ir::{Position, Presence};
use crate::program::symbols::Label;

/// The form of a value at its own level. Defaults are not taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An error, or incomplete.
    Failed(Diagnostic),
    /// Null, a boolean, a number or a string.
    Scalar(Data),
    /// Bytes.
    Bytes {
        /// As CUE text.
        text: String,
        /// As they are exported.
        exported: Data,
    },
    /// Fields in order: ordinary ones, those that may be absent, and definitions; not hidden ones.
    Struct(Vec<Member>),
    /// A list.
    List {
        /// The elements that there are.
        elements: Vec<Lookup>,
        /// The constraint on further elements; `None` for a closed list.
        rest: Option<Lookup>,
    },
    /// One of several values, the defaults first.
    Alternatives {
        /// The values.
        values: Vec<Lookup>,
        /// The number of defaults.
        defaults: usize,
    },
    /// A type, a bound or another constraint, as CUE text.
    Constraint(String),
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The kind of the field.
    pub kind: MemberKind,
    /// Its value.
    pub value: Lookup,
}

/// The kind of a [`Member`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// An ordinary field that is there, or must be.
    Ordinary,
    /// A constraint on an ordinary field that may be absent.
    Optional,
    /// A definition, whose name starts with `#`.
    Definition,
}

impl Instance<'_> {
    /// The form of a value.
    pub fn shape(&mut self, at: Lookup) -> Shape {
        let node = self.machine.expanded(at.0);
        if let Err(error) = self.machine.step() {
            return Shape::Failed(self.machine.diagnostic(&error, at.0));
        }
        if let Some(error) = self.machine.known(node).error.clone() {
            return Shape::Failed(self.machine.diagnostic(&error, at.0));
        }
        let known = self.machine.known(node);
        if !known.alternatives.is_empty() {
            let values = known
                .alternatives
                .iter()
                .map(|&alternative| Lookup(alternative))
                .collect();
            return Shape::Alternatives {
                values,
                defaults: known.defaults,
            };
        }
        if let Some((scalar, _)) = &known.atom.scalar {
            return match scalar {
                Scalar::Null => Shape::Scalar(Data::Null),
                Scalar::Bool(value) => Shape::Scalar(Data::Bool(*value)),
                Scalar::Number(number) => Shape::Scalar(Data::Number(number.clone())),
                Scalar::String(text) => Shape::Scalar(Data::String(text.to_string())),
                Scalar::Bytes(bytes) => {
                    let exported = Data::String(crate::packages::base64_text(bytes));
                    Shape::Bytes {
                        text: scalar.to_string(),
                        exported,
                    }
                }
            };
        }
        if let Some(list) = &known.list {
            let rests: Option<Vec<_>> = list
                .length
                .is_none()
                .then(|| list.rests.iter().map(|(_, rest)| rest.clone()).collect());
            let elements = known
                .arcs
                .iter()
                .filter(|arc| matches!(arc.label, Label::Index(_)));
            let elements = elements.map(|arc| Lookup(arc.node)).collect();
            let rest = rests.map(|rests| {
                let rest = self.machine.new_node(Some(node), None);
                self.machine.node_mut(rest).conjuncts = rests;
                Lookup(rest)
            });
            return Shape::List { elements, rest };
        }
        if !known.is_struct {
            return Shape::Constraint(known.atom.to_string());
        }
        let member = |arc: &super::node::Arc_| {
            let (symbol, kind) = match (arc.label, arc.presence) {
                (Label::Regular(symbol), Presence::Member | Presence::Required) => {
                    (symbol, MemberKind::Ordinary)
                }
                (Label::Regular(symbol), Presence::Optional) => (symbol, MemberKind::Optional),
                (Label::Definition(symbol), Presence::Member) => (symbol, MemberKind::Definition),
                _ => return None,
            };
            let name = self.machine.symbols.name(symbol).to_string();
            Some(Member {
                name,
                kind,
                value: Lookup(arc.node),
            })
        };
        let mut members: Vec<Member> = known.arcs.iter().filter_map(member).collect();
        self.machine
            .put_in_order(node, &mut members, |member| &member.name);
        Shape::Struct(members)
    }

    /// The source positions of a value's declarations.
    pub fn places(&self, at: Lookup) -> Vec<Place> {
        let declared =
            self.machine
                .node(at.0)
                .conjuncts
                .iter()
                .filter_map(|conjunct| match conjunct.source {
                    Source::Expr(expr) => Some(expr.position),
                    _ => None,
                });
        let place = |position: Position| {
            let source = self
                .machine
                .program
                .sources
                .get(position.source as usize)?
                .clone();
            Some(Place {
                source,
                span: position.span,
            })
        };
        declared.filter_map(place).collect()
    }
}
