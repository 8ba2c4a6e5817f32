//! Formats values and errors for messages.

use super::Machine;
use super::error::{Bottom, Code, Error, Reason};
use super::expression::Value;
use super::node::NodeId;
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::program::ir::{Expr, Position, Presence};
use crate::program::symbols::Label;
use std::cell::Cell;

/// Maximum fields and levels of a value in a message.
const SHOWN: usize = 8;
const SHOWN_DEPTH: usize = 3;

/// Maximum alternatives in a message.
const SHOWN_ALTERNATIVES: usize = 64;

/// Maximum length of a value in a message.
const SHOWN_LENGTH: usize = 4096;

impl<'p> Machine<'p> {
    pub(crate) fn show_value(&self, value: &Value) -> String {
        match value {
            Value::Scalar(scalar) => scalar.to_string(),
            Value::Node(node) => self.show(*node),
        }
    }

    /// A short description of a node.
    pub(crate) fn show(&self, node: NodeId) -> String {
        let mut shown = self.show_to(node, SHOWN_DEPTH, &Cell::new(SHOWN_LENGTH));
        if shown.len() > SHOWN_LENGTH {
            shown.truncate(shown.floor_char_boundary(SHOWN_LENGTH));
            shown.push('…');
        }
        shown
    }

    /// `left` is how many values may still be shown: each takes a character at least.
    fn show_to(&self, node: NodeId, depth: usize, left: &Cell<usize>) -> String {
        if left.get() == 0 {
            return "…".to_owned();
        }
        left.set(left.get() - 1);
        let mut node = node;
        while let Some(next) = self.node(node).forward {
            node = next;
        }
        let known = self.known(node);
        if !known.alternatives.is_empty() {
            let show = |(index, alternative): (usize, &NodeId)| {
                let mark = if index < known.defaults { "*" } else { "" };
                format!("{mark}{}", self.show_to(*alternative, depth, left))
            };
            let mut shown: Vec<String> = known
                .alternatives
                .iter()
                .take(SHOWN_ALTERNATIVES)
                .enumerate()
                .map(show)
                .collect();
            if known.alternatives.len() > SHOWN_ALTERNATIVES || known.more {
                shown.push("…".to_owned());
            }
            return shown.join(" | ");
        }
        if known.error.is_some() {
            return "_|_".to_owned();
        }
        if known.atom.scalar.is_some() || (!known.is_struct && known.list.is_none()) {
            return known.atom.to_string();
        }
        let is_list = known.list.is_some();
        let (open, close) = if is_list { ('[', ']') } else { ('{', '}') };
        if depth == 0 {
            return format!("{open}…{close}");
        }
        let mut parts = Vec::new();
        for arc in known.arcs.iter().take(SHOWN) {
            let value = self.show_to(arc.node, depth - 1, left);
            let mark = match arc.presence {
                Presence::Member => "",
                Presence::Required => "!",
                Presence::Optional => "?",
                Presence::Pending => continue,
            };
            match arc.label {
                Label::Index(_) => parts.push(value),
                label => parts.push(format!("{}{mark}:{value}", self.label_text(label))),
            }
        }
        if known.arcs.len() > SHOWN || known.list.as_ref().is_some_and(|list| list.length.is_none()) {
            parts.push("...".to_owned());
        }
        format!("{open}{}{close}", parts.join(","))
    }

    /// An expression as it was written.
    pub(super) fn show_expr(&self, expr: &Expr) -> String {
        let Some(source) = self.program.sources.get(expr.position.source as usize) else {
            return "value".to_owned();
        };
        let (start, end) = (expr.position.span.start as usize, expr.position.span.end as usize);
        source
            .text
            .get(start..end)
            .filter(|text| !text.is_empty())
            .unwrap_or("value")
            .to_owned()
    }

    /// A label as it is written in a struct.
    pub(crate) fn label_text(&self, label: Label) -> String {
        match label {
            Label::Index(index) => index.to_string(),
            Label::Regular(symbol) => {
                let name = self.symbols.name(symbol);
                let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
                    && name.chars().next().is_some_and(|c| !c.is_numeric() && c != '_');
                if plain {
                    name.to_string()
                } else {
                    format!("{:?}", name.as_ref())
                }
            }
            Label::Definition(symbol) | Label::Hidden(symbol) | Label::HiddenDefinition(symbol) => {
                self.symbols.name(symbol).to_string()
            }
        }
    }

    /// The path of a node.
    pub(crate) fn path(&self, node: NodeId) -> String {
        let mut labels = Vec::new();
        let mut current = Some(node);
        while let Some(id) = current {
            labels.extend(self.node(id).label);
            current = self.node(id).parent;
        }
        let mut path = String::new();
        for label in labels.into_iter().rev() {
            match label {
                Label::Index(index) => path.push_str(&format!("[{index}]")),
                label => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&self.label_text(label));
                }
            }
        }
        path
    }

    pub(crate) fn message(&self, error: &Bottom) -> String {
        match &error.reason {
            Reason::Text(text) | Reason::Call(text) => text.clone(),
            Reason::UndefinedField(label) => format!("undefined field: {}", self.label_text(*label)),
            Reason::OptionalField(label) => {
                format!("cannot reference optional field: {}", self.label_text(*label))
            }
            Reason::Explicit => "explicit error (_|_ literal) in source".to_owned(),
            Reason::NotAllowed => "field not allowed".to_owned(),
            Reason::OwnPresence(label) => format!("cyclic reference to field {}", self.label_text(*label)),
            Reason::Cycle => "cycle error".to_owned(),
            Reason::StructuralCycle => "structural cycle".to_owned(),
            Reason::EmptyDisjunction(errors) => {
                let mut text = format!("{} errors in empty disjunction:", errors.len());
                for error in errors.iter().take(SHOWN) {
                    text.push_str(&format!(" {};", self.message(error)));
                }
                text.trim_end_matches(';').to_owned()
            }
        }
    }

    pub(crate) fn diagnostic(&self, error: &Error, at: NodeId) -> Diagnostic {
        let severity = match error.code {
            Code::Fatal => Severity::Error,
            Code::Exhausted => Severity::Exhausted,
            Code::Incomplete | Code::Cycle => Severity::Incomplete,
        };
        let mut positions: Vec<Position> = error.positions.clone();
        if let Reason::EmptyDisjunction(errors) = &error.reason {
            positions.extend(errors.iter().flat_map(|error| error.positions.iter().copied()));
        }
        let mut places: Vec<Place> = Vec::new();
        for position in positions {
            let Some(source) = self.program.sources.get(position.source as usize) else {
                continue;
            };
            let place = Place {
                source: source.clone(),
                span: position.span,
            };
            if position.span.end > 0 && !places.contains(&place) {
                places.push(place);
            }
        }
        let path = self.path(error.node.unwrap_or(at));
        Diagnostic {
            severity,
            path,
            message: self.message(error),
            places,
        }
    }
}
