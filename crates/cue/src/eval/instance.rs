//! An evaluation of a program: injecting, looking up and exporting values.

use super::error::{Code, Error, Reason};
use super::node::{Conjunct, NodeId, Scope, Source};
use super::scalar::Scalar;
use super::{EvaluationOptions, Machine};
use crate::data::Data;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::program::Program;
use crate::program::ir::{Position, Presence};
use crate::program::symbols::Label;
use crate::syntax::ast::Comment;

/// One evaluation of a program.
pub struct Instance<'p> {
    pub(super) machine: Machine<'p>,
    root: NodeId,
}

/// The parent node of the program.
const ABOVE: NodeId = NodeId(0);

/// A value found by a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup(pub(super) NodeId);

impl Lookup {
    pub(super) fn node(self) -> NodeId {
        self.0
    }
}

impl Program {
    /// Starts an evaluation with values injected at top-level names. Values are computed lazily.
    pub fn evaluate(&self, inputs: &[(&str, &Data)], options: EvaluationOptions) -> Instance<'_> {
        let mut machine = Machine::new(self, options);
        // Environment 0 stands above the program: data needs no other.
        let above = machine.new_node(None, None);
        let env = machine.new_env(
            None,
            Scope::Frame {
                node: above,
                declared: above,
            },
        );
        let root = machine.new_node(None, None);
        machine
            .node_mut(root)
            .conjuncts
            .push(Machine::conjunct(env, &self.root));
        if !inputs.is_empty() {
            let mut fields = Vec::with_capacity(inputs.len());
            for (name, data) in inputs {
                let label = machine.symbols.identifier_label(name);
                let node = machine.data_node(data);
                fields.push((label, node));
            }
            let conjunct = machine.data_conjunct(Source::Fields(fields.into()));
            machine.node_mut(root).conjuncts.push(conjunct);
        }
        Instance { machine, root }
    }
}

impl<'p> Instance<'p> {
    /// The value at a path of field names; `None` when there is no such field.
    pub fn lookup(&mut self, path: &[&str]) -> Option<Lookup> {
        let mut node = self.root;
        for name in path {
            let label = self.machine.symbols.identifier_label(name);
            node = self.machine.lookup(node, label, Position::default()).ok()?;
        }
        Some(Lookup(node))
    }

    /// The whole program's value.
    pub fn root(&self) -> Lookup {
        Lookup(self.root)
    }

    /// A field of a value, an ordinary one or `#name` or `_name`; `None` when there is no such field.
    pub fn field(&mut self, at: Lookup, name: &str) -> Option<Lookup> {
        let label = self.machine.symbols.identifier_label(name);
        self.machine
            .lookup(at.0, label, Position::default())
            .ok()
            .map(Lookup)
    }

    /// The ordinary fields that a struct has, in order. None when the value is not a struct.
    pub fn fields(&mut self, at: Lookup) -> Option<Vec<(String, Lookup)>> {
        let node = self.machine.settled(at.0);
        let count = self.machine.known(node).arcs.len();
        self.machine.spend(1 + count as u64 / 4).ok()?;
        let known = self.machine.known(node);
        if !known.is_struct || self.machine.failed(node) {
            return None;
        }
        let name = |arc: &super::node::Arc_| match (arc.label, arc.presence) {
            (Label::Regular(symbol), Presence::Member) => {
                Some((self.machine.symbols.name(symbol).to_string(), Lookup(arc.node)))
            }
            _ => None,
        };
        let mut fields: Vec<(String, Lookup)> = known.arcs.iter().filter_map(name).collect();
        self.machine.put_in_order(node, &mut fields, |(name, _)| name);
        Some(fields)
    }

    /// The elements of a list. None when the value is not a list.
    pub fn elements(&mut self, at: Lookup) -> Option<Vec<Lookup>> {
        let node = self.machine.settled(at.0);
        self.machine.step().ok()?;
        let elements = self.machine.elements(&super::expression::Value::Node(node))?;
        Some(elements.into_iter().map(Lookup).collect())
    }

    /// Whether a list may have more elements than it has. False for everything else.
    pub fn is_open_list(&mut self, at: Lookup) -> bool {
        self.machine.is_open_list(at.0)
    }

    /// The comments of the field's declarations, in order.
    pub fn comments(&self, at: Lookup) -> Vec<Comment<'_>> {
        self.machine.comments_of(at.0)
    }

    /// All fatal errors of a value, at any level.
    pub fn errors(&mut self, at: Lookup) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        self.machine.report_all(at.0, &mut Vec::new(), &mut problems);
        match self.exhausted() {
            Some(problem) => vec![problem],
            None => problems,
        }
    }

    /// The error or incompleteness of a value at its own level, if any.
    pub fn problem(&mut self, at: Lookup) -> Option<Diagnostic> {
        let node = self.machine.settled(at.0);
        let error = self.machine.known(node).error.clone()?;
        Some(self.machine.diagnostic(&error, at.0))
    }

    /// Data as a value of this evaluation.
    pub fn inject(&mut self, data: &Data) -> Lookup {
        Lookup(self.machine.data_node(data))
    }

    /// A struct of values of this evaluation.
    pub fn record(&mut self, fields: &[(&str, Lookup)]) -> Lookup {
        let labelled =
            |(name, value): &(&str, Lookup)| (Label::Regular(self.machine.symbols.intern(name)), value.0);
        let fields: Vec<_> = fields.iter().map(labelled).collect();
        self.computed(Source::Fields(fields.into()))
    }

    /// A list of values of this evaluation.
    pub fn list(&mut self, elements: &[Lookup]) -> Lookup {
        self.computed(Source::List(elements.iter().map(|element| element.0).collect()))
    }

    /// The unification of values of this evaluation.
    pub fn unify(&mut self, values: &[Lookup]) -> Lookup {
        let nodes: Vec<_> = values.iter().map(|value| value.0).collect();
        Lookup(self.machine.unified(&nodes))
    }

    pub(super) fn machine_mut(&mut self) -> &mut Machine<'p> {
        &mut self.machine
    }

    fn computed(&mut self, source: Source<'p>) -> Lookup {
        let node = self.machine.new_node(None, None);
        let conjunct = self.machine.data_conjunct(source);
        self.machine.node_mut(node).conjuncts.push(conjunct);
        Lookup(node)
    }

    /// The steps taken so far, as [`Limits::steps`](super::Limits::steps) counts them.
    pub fn steps(&self) -> u64 {
        self.machine.meter.steps()
    }

    /// The memory taken so far, as [`Limits::bytes`](super::Limits::bytes) counts it.
    pub fn bytes(&self) -> u64 {
        self.machine.meter.bytes()
    }

    /// The exceeded limit and its position, if any; later results are meaningless.
    pub fn exhausted(&mut self) -> Option<Diagnostic> {
        // Memory that was taken without a step is noticed here.
        self.machine.spend(0).ok();
        let error = self.machine.exhausted.clone()?;
        Some(self.machine.diagnostic(&error, self.root))
    }

    /// Exports the whole value, or returns all problems.
    pub fn export(&mut self) -> Result<Data, Diagnostics> {
        self.export_at(Lookup(self.root))
    }

    /// Exports a value, or returns all problems.
    pub fn export_at(&mut self, at: Lookup) -> Result<Data, Diagnostics> {
        let mut problems = Vec::new();
        let data = self.machine.export(at.0, &mut Vec::new(), &mut problems);
        match (data, self.exhausted()) {
            (_, Some(problem)) => Err(Diagnostics(vec![problem])),
            (Some(data), _) if problems.is_empty() => Ok(data),
            _ => Err(Diagnostics(problems)),
        }
    }
}

impl<'p> Machine<'p> {
    /// The comments of a field's declarations, in order.
    pub(super) fn comments_of(&self, node: NodeId) -> Vec<Comment<'p>> {
        let conjuncts = self.node(node).conjuncts.iter();
        let comments = conjuncts.filter_map(|conjunct| conjunct.comments).flatten();
        comments
            .map(|comment| {
                let Position { source, span } = comment.position;
                let text = &self.program.sources[source as usize].text;
                Comment {
                    text: text
                        .get(span.start as usize..span.end as usize)
                        .unwrap_or_default(),
                    position: comment.stands,
                    span,
                }
            })
            .collect()
    }

    /// The elements of a list, its length if that is fixed, and what further elements must be.
    pub(super) fn list_parts(&mut self, node: NodeId) -> (Vec<NodeId>, Option<usize>, Option<NodeId>) {
        let elements = self
            .elements(&super::expression::Value::Node(node))
            .unwrap_or_default();
        let Some(list) = &self.known(node).list else {
            return (elements, None, None);
        };
        let (length, rests) = (list.length, list.rests.clone());
        if length.is_some() || rests.is_empty() {
            return (elements, length, None);
        }
        let rest = self.new_node(Some(node), None);
        self.node_mut(rest).conjuncts = rests.into_iter().map(|(_, rest)| rest).collect();
        (elements, None, Some(rest))
    }

    /// A node for the values that a pattern of a node demands.
    pub(super) fn pattern_value(&mut self, node: NodeId, pattern: NodeId) -> Option<NodeId> {
        let pattern = self
            .known(node)
            .patterns
            .iter()
            .find(|known| known.node == pattern)?
            .clone();
        let value = self.new_node(Some(node), None);
        let mut env = pattern.env;
        if pattern.value.frame {
            env = self.new_env(
                Some(env),
                Scope::Frame {
                    node: value,
                    declared: value,
                },
            );
        }
        let conjunct = Conjunct {
            env,
            group: pattern.group,
            ..Self::conjunct(env, &pattern.value.value)
        };
        self.node_mut(value).conjuncts.push(conjunct);
        Some(value)
    }

    /// Data as a tree of nodes.
    pub(crate) fn data_node(&mut self, data: &Data) -> NodeId {
        if self.is_exhausted() {
            return ABOVE;
        }
        let source = match data {
            Data::Null => Source::Scalar(Scalar::Null),
            Data::Bool(value) => Source::Scalar(Scalar::Bool(*value)),
            Data::Number(number) => Source::Scalar(Scalar::Number(number.clone())),
            Data::String(text) => {
                self.meter.charge(text.len());
                Source::Scalar(Scalar::String(text.as_str().into()))
            }
            Data::List(items) => {
                let elements = items.iter().map(|item| self.data_node_inside(item));
                Source::List(elements.collect())
            }
            Data::Struct(fields) => {
                let mut nodes = Vec::with_capacity(fields.len());
                for (name, value) in fields {
                    self.meter.charge(name.len());
                    nodes.push((
                        Label::Regular(self.symbols.intern(name)),
                        self.data_node_inside(value),
                    ));
                }
                Source::Fields(nodes.into())
            }
        };
        let node = self.new_node(None, None);
        let conjunct = self.data_conjunct(source);
        self.node_mut(node).conjuncts.push(conjunct);
        node
    }

    fn data_node_inside(&mut self, data: &Data) -> NodeId {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.data_node(data))
    }

    /// Exports a node. Problems are collected; values with problems are omitted.
    pub(crate) fn export(
        &mut self,
        id: NodeId,
        above: &mut Vec<NodeId>,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Data> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.export_inner(id, above, problems))
    }

    fn export_inner(
        &mut self,
        id: NodeId,
        above: &mut Vec<NodeId>,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Data> {
        self.visited = Some(id);
        // Small texts can stand for huge values: what is written out is counted, too.
        if let Err(error) = self.spend(1 + above.len() as u64 / 32) {
            self.report(&error, id, problems);
            return None;
        }
        if let Err(error) = self.within_depth(above.len()) {
            self.report(&error, id, problems);
            return None;
        }
        let node = self.settled(id);
        if above.contains(&node) {
            let error = self.bottom(Code::Fatal, Reason::StructuralCycle, Vec::new());
            self.report(&error, id, problems);
            return None;
        }
        if let Some(error) = self.known(node).error.clone() {
            self.report(&error, id, problems);
            if error.is_fatal() {
                return None;
            }
        }
        let known = self.known(node);
        if !known.alternatives.is_empty() {
            let message = format!("incomplete value {}", self.show(node));
            self.report_incomplete(id, message, problems);
            return None;
        }
        if let Some((scalar, _)) = known.atom.scalar.clone() {
            self.report_below(node, problems);
            if let Err(error) = self.claim(written_length(&scalar)) {
                self.report(&error, id, problems);
                return None;
            }
            return Some(match scalar {
                Scalar::Null => Data::Null,
                Scalar::Bool(value) => Data::Bool(value),
                Scalar::Number(number) => Data::Number(number),
                Scalar::String(text) => Data::String(text.to_string()),
                Scalar::Bytes(bytes) => Data::String(crate::packages::base64_text(&bytes)),
            });
        }
        let is_list = known.list.is_some();
        if !is_list && !known.is_struct {
            if known.error.is_none() {
                let message = format!("incomplete value {}", self.show(node));
                self.report_incomplete(id, message, problems);
            }
            return None;
        }
        above.push(node);
        self.meter
            .charge(self.known(node).arcs.len() * size_of::<(String, Data)>());
        let mut items = Vec::new();
        let mut fields = Vec::new();
        let mut index = 0;
        while index < self.known(node).arcs.len() {
            let arc = self.known(node).arcs[index];
            index += 1;
            match (arc.label, arc.presence) {
                (_, Presence::Optional | Presence::Pending) => {}
                (_, Presence::Required) => {
                    let path = self.path(arc.node);
                    let message = "field is required but not present".to_owned();
                    problems.push(Diagnostic {
                        severity: Severity::Incomplete,
                        path,
                        message,
                        places: Vec::new(),
                    });
                }
                (Label::Index(_), _) => items.extend(self.export(arc.node, above, problems)),
                (Label::Regular(symbol), _) => {
                    if let Some(data) = self.export(arc.node, above, problems) {
                        let length = self.symbols.name(symbol).len();
                        self.meter.charge(length);
                        fields.push((self.symbols.name(symbol).to_string(), data));
                    }
                }
                _ => self.report_fatal_below(arc.node, problems),
            }
        }
        above.pop();
        // Putting fields in the order of version 0.9 looks at every literal for each of them.
        let literals = self.known(node).structs.len();
        if self.options.legacy_field_order && self.spend((fields.len() * literals) as u64 / 64).is_err() {
            return None;
        }
        self.put_in_order(node, &mut fields, |(name, _)| name);
        Some(if is_list {
            Data::List(items)
        } else {
            Data::Struct(fields)
        })
    }

    fn report_below(&mut self, node: NodeId, problems: &mut Vec<Diagnostic>) {
        for index in 0..self.known(node).arcs.len() {
            let arc = self.known(node).arcs[index];
            if arc.presence == Presence::Member {
                self.report_fatal_below(arc.node, problems);
            }
        }
    }

    /// Definitions and hidden fields are not exported, but must not be wrong.
    fn report_fatal_below(&mut self, node: NodeId, problems: &mut Vec<Diagnostic>) {
        if let Some(error) = self.check(node) {
            self.report(&error, node, problems);
        }
    }

    fn report(&mut self, error: &Error, at: NodeId, problems: &mut Vec<Diagnostic>) {
        // Further problems would add nothing.
        if problems.len() >= MAXIMUM_PROBLEMS {
            return;
        }
        let diagnostic = self.diagnostic(error, at);
        let is_known = |known: &Diagnostic| {
            *known == diagnostic || (error.code == Code::Exhausted && known.message == diagnostic.message)
        };
        if !problems.iter().any(is_known) {
            problems.push(diagnostic);
        }
    }

    fn report_incomplete(&mut self, at: NodeId, message: String, problems: &mut Vec<Diagnostic>) {
        let written = |conjunct: &Conjunct<'p>| match conjunct.source {
            Source::Expr(expr) => Some(expr.position),
            _ => None,
        };
        let positions = self.node(at).conjuncts.iter().filter_map(written).collect();
        let error = self.bottom(Code::Incomplete, Reason::Text(message), positions);
        self.report(&error, at, problems);
    }

    /// Every fatal error at or below a node.
    fn report_all(&mut self, id: NodeId, above: &mut Vec<NodeId>, problems: &mut Vec<Diagnostic>) {
        self.visited = Some(id);
        let node = self.settled(id);
        let affordable = self
            .spend(1 + above.len() as u64 / 32)
            .and_then(|()| self.within_depth(above.len()));
        if affordable.is_err() || above.contains(&node) {
            return;
        }
        if let Some(error) = self.known(node).error.clone().filter(|error| error.is_fatal()) {
            self.report(&error, id, problems);
            return;
        }
        above.push(node);
        for arc in self.known(node).arcs.clone() {
            if arc.presence == Presence::Member {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                    self.report_all(arc.node, above, problems)
                });
            }
        }
        above.pop();
    }

    /// A node whose value is one of several others'.
    pub(super) fn disjunction_of(&mut self, alternatives: &[NodeId]) -> NodeId {
        let node = self.new_node(self.stack.last().copied(), None);
        let conjunct = self.data_conjunct(Source::AnyOf(alternatives.into()));
        self.node_mut(node).conjuncts.push(conjunct);
        node
    }
}

/// Maximum number of reported problems of a value.
const MAXIMUM_PROBLEMS: usize = 256;

/// The maximum length of a scalar as JSON.
fn written_length(scalar: &Scalar) -> usize {
    match scalar {
        Scalar::Null | Scalar::Bool(_) | Scalar::Number(_) => 0,
        Scalar::Bytes(bytes) => bytes.len() * 2,
        Scalar::String(text) => {
            let escaped = text.bytes().map(|byte| match byte {
                b'"' | b'\\' => 2,
                0..0x20 => 6,
                _ => 1,
            });
            escaped.sum()
        }
    }
}
