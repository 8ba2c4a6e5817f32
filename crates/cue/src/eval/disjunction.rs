//! Disjunctions: one evaluation for each alternative, and what is left of them.

use super::Machine;
use super::atom::Atom;
use super::error::{Code, Error, Reason};
use super::node::{Conjunct, NodeId, Source, State};
use super::unify::literal_scalar;
use crate::program::ir::{Expr, ExprKind, OrExpr};
use std::rc::Rc;

/// Whether an alternative is a default. The order is how two combine: the greater wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// Nothing in its disjunction is marked.
    Unmarked,
    Default,
    /// Others in its disjunction are marked, this one is not.
    Other,
}

/// What a conjunct offers to choose from.
#[derive(Clone)]
enum Choice<'p> {
    Written(&'p OrExpr),
    /// The elements in a call of `or`.
    Nodes(Rc<[NodeId]>),
}

impl<'p> Choice<'p> {
    fn of(conjunct: &Conjunct<'p>) -> Self {
        match &conjunct.source {
            Source::Expr(Expr { kind: ExprKind::Or(or), .. }) => Self::Written(or),
            Source::AnyOf(nodes) => Self::Nodes(nodes.clone()),
            _ => unreachable!("only disjunctions are kept as such"),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Written(or) => or.disjuncts.len(),
            Self::Nodes(nodes) => nodes.len(),
        }
    }

    fn source(&self, index: usize) -> Source<'p> {
        match self {
            Self::Written(or) => Source::Expr(&or.disjuncts[index].value),
            Self::Nodes(nodes) => Source::Node(nodes[index]),
        }
    }

    fn mark(&self, index: usize) -> Mark {
        match self {
            Self::Written(or) if or.disjuncts[index].default => Mark::Default,
            Self::Written(or) if or.disjuncts.iter().any(|disjunct| disjunct.default) => Mark::Other,
            _ => Mark::Unmarked,
        }
    }
}

impl<'p> Machine<'p> {
    /// Unifies the alternative that this node was made for.
    pub(super) fn choose(&mut self, id: NodeId, disjunction: usize) {
        let choice = self.node(id).choices[disjunction] as usize;
        let conjunct = self.known(id).disjunctions[disjunction].clone();
        let source = Choice::of(&conjunct).source(choice);
        self.add(id, Conjunct { source, ..conjunct });
    }

    /// Evaluates a node once for each alternative of the first disjunction that is not decided yet.
    pub(super) fn fork(&mut self, id: NodeId) {
        if self.fork_atoms(id) {
            return;
        }
        let decided = self.node(id).choices.len();
        let conjunct = self.known(id).disjunctions[decided].clone();
        let choice = Choice::of(&conjunct);
        let mut survivors = Vec::new();
        let mut errors = Vec::new();
        for index in 0..choice.len() {
            let alternative = self.alternative(id, u32::try_from(index).expect("the source is bounded"));
            self.collect(alternative, choice.mark(index), &mut survivors, &mut errors);
            if self.exhausted.is_some() {
                break;
            }
        }
        self.settle(id, survivors, errors);
    }

    /// The same node with one more choice made.
    fn alternative(&mut self, id: NodeId, choice: u32) -> NodeId {
        let node = self.node(id);
        let (parent, label, conjuncts) = (node.parent, node.label, node.conjuncts.clone());
        let mut choices = node.choices.clone();
        choices.push(choice);
        let alternative = self.new_node(parent, label);
        let node = self.node_mut(alternative);
        node.conjuncts = conjuncts;
        node.choices = choices;
        alternative
    }

    /// Adds what is left of an alternative to the survivors.
    fn collect(
        &mut self,
        alternative: NodeId,
        mark: Mark,
        survivors: &mut Vec<(NodeId, Mark)>,
        errors: &mut Vec<Error>,
    ) {
        let node = self.expanded(alternative);
        if !self.known(node).alternatives.is_empty() {
            let (inner, defaults) = (self.known(node).alternatives.clone(), self.known(node).defaults);
            for (index, inner) in inner.into_iter().enumerate() {
                let inner_mark = match defaults {
                    0 => Mark::Unmarked,
                    _ if index < defaults => Mark::Default,
                    _ => Mark::Other,
                };
                self.collect(inner, mark.max(inner_mark), survivors, errors);
            }
            return;
        }
        if let Some(error) = self.check(node) {
            errors.push(error);
            return;
        }
        for (known, known_mark) in survivors.iter_mut() {
            if self.same_value(*known, node) {
                if mark == Mark::Default {
                    *known_mark = mark;
                }
                return;
            }
        }
        survivors.push((node, mark));
    }

    /// A disjunction of plain literals and types, on a node without fields: no nodes are needed to know what is left.
    fn fork_atoms(&mut self, id: NodeId) -> bool {
        let known = self.known(id);
        if known.is_struct
            || known.list.is_some()
            || !known.structs.is_empty()
            || known.tasks.iter().any(|task| !matches!(task.state, super::node::TaskState::Done))
            || !self.node(id).choices.is_empty()
        {
            return false;
        }
        let disjunctions: Vec<_> = known.disjunctions.iter().map(Choice::of).collect();
        if !disjunctions.iter().all(|choice| matches!(choice, Choice::Written(or) if or.simple)) {
            return false;
        }
        let mut left = vec![(known.atom.clone(), Mark::Unmarked)];
        let mut errors = Vec::new();
        for choice in disjunctions {
            let mut next: Vec<(Atom, Mark)> = Vec::new();
            for (atom, mark) in &left {
                for index in 0..choice.len() {
                    let Source::Expr(disjunct) = choice.source(index) else { continue };
                    let mut combined = atom.clone();
                    if let Err(error) = self.meet_simple(&mut combined, disjunct) {
                        errors.push(error);
                        continue;
                    }
                    let mark = (*mark).max(choice.mark(index));
                    match next.iter_mut().find(|(known, _)| known.same(&combined)) {
                        Some((_, known_mark)) if mark == Mark::Default => *known_mark = mark,
                        Some(_) => {}
                        None => next.push((combined, mark)),
                    }
                }
            }
            left = next;
        }
        if let [(atom, _)] = left.as_slice() {
            self.known_mut(id).atom = atom.clone();
            self.validate(id);
            return true;
        }
        let (parent, label) = (self.node(id).parent, self.node(id).label);
        let mut survivors = Vec::with_capacity(left.len());
        for (atom, mark) in left {
            let node = self.new_node(parent, label);
            self.node_mut(node).state = State::Done;
            self.known_mut(node).atom = atom;
            self.validate(node);
            match self.known(node).error.clone() {
                Some(error) => errors.push(error),
                None => survivors.push((node, mark)),
            }
        }
        self.settle(id, survivors, errors);
        true
    }

    fn meet_simple(&mut self, atom: &mut Atom, expr: &'p Expr) -> Result<(), Error> {
        let position = expr.position;
        let result = match &expr.kind {
            ExprKind::Kind(kind) => atom.add_kind(*kind, position),
            ExprKind::Bound { operator, operand } => {
                let value = literal_scalar(operand).expect("a simple bound has a literal");
                let bound = self.bound(*operator, value, position)?;
                atom.add_bound(bound)
            }
            ExprKind::And(conjuncts) => {
                for conjunct in conjuncts {
                    self.meet_simple(atom, conjunct)?;
                }
                Ok(())
            }
            _ => match literal_scalar(expr) {
                Some(scalar) => atom.add_scalar(&scalar, position),
                None => unreachable!("a simple disjunct is a literal"),
            },
        };
        result.map_err(|conflict| self.bottom(Code::Fatal, Reason::Text(conflict.message), conflict.positions))
    }

    /// Makes the node what is left of its alternatives.
    fn settle(&mut self, id: NodeId, mut survivors: Vec<(NodeId, Mark)>, errors: Vec<Error>) {
        if let Some(error) = self.exhausted.clone() {
            self.known_mut(id).error = Some(error);
            return;
        }
        // What is not there at all gives way to what is.
        let is_there = |machine: &Self, node: NodeId| machine.known(node).error.is_none();
        if survivors.iter().any(|(node, _)| is_there(self, *node)) {
            survivors.retain(|(node, _)| is_there(self, *node));
        } else if let Some((node, _)) = survivors.first() {
            let error = self.known(*node).error.clone();
            self.known_mut(id).error = error;
            return;
        }
        match survivors.as_slice() {
            [] => {
                let error = match errors.as_slice() {
                    [only] => only.clone(),
                    _ => self.bottom(Code::Fatal, Reason::EmptyDisjunction(errors), Vec::new()),
                };
                self.known_mut(id).error = Some(error);
            }
            [(only, _)] => self.node_mut(id).forward = Some(*only),
            _ => {
                let (defaults, others): (Vec<_>, Vec<_>) =
                    survivors.into_iter().partition(|(_, mark)| *mark == Mark::Default);
                let known = self.known_mut(id);
                known.defaults = defaults.len();
                known.alternatives = defaults.into_iter().chain(others).map(|(node, _)| node).collect();
            }
        }
    }
}
