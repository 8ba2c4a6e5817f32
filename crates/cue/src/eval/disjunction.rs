//! Disjunctions: evaluates a node once per alternative, and collects those that do not fail.

use super::Machine;
use super::atom::Atom;
use super::budget::CONJUNCT;
use super::error::{Code, Error, Reason};
use super::node::{Conjunct, Disjunction, NodeId, Source, State};
use super::scalar::Scalar;
use super::unify::literal_scalar;
use crate::program::ir::{Expr, ExprKind, OrExpr, Presence};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Whether an alternative is a default. The order is how two combine: the greater wins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// Nothing in its disjunction is marked.
    #[default]
    Unmarked,
    Default,
    /// Others in its disjunction are marked, this one is not.
    Other,
}

/// An alternative that has not failed, and how it was marked on the way to it, outermost disjunction first.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    node: NodeId,
    marks: Vec<Marked>,
}

/// The mark of an alternative in a disjunction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marked {
    disjunction: usize,
    /// The outermost disjunction that it is nested in.
    root: usize,
    mark: Mark,
}

/// One mark for each alternative, from one for each disjunction that is unified with the others: the rule for what is a default.
///
/// A disjunction whose defaults have all failed marks nothing. If another one marks defaults, unmarked alternatives are no
/// defaults.
fn combine<T>(alternatives: Vec<(T, Vec<Mark>)>) -> Vec<(T, Mark)> {
    let disjunctions = alternatives.first().map_or(0, |(_, marks)| marks.len());
    let counts: Vec<bool> = (0..disjunctions)
        .map(|index| {
            alternatives
                .iter()
                .any(|(_, marks)| marks[index] == Mark::Default)
        })
        .collect();
    let decided = counts.contains(&true);
    let mark_of = |marks: Vec<Mark>| {
        let counted = marks.into_iter().zip(&counts).filter(|(_, counts)| **counts);
        match counted.map(|(mark, _)| mark).max().unwrap_or_default() {
            Mark::Unmarked if decided => Mark::Other,
            mark => mark,
        }
    };
    alternatives
        .into_iter()
        .map(|(alternative, marks)| (alternative, mark_of(marks)))
        .collect()
}

/// The same of alternatives that were reached through nested disjunctions. Of those, what an outer one does not mark is no default, whatever an
/// inner one says.
fn combine_nested(branches: &[Branch]) -> Vec<(NodeId, Mark)> {
    let marks = branches.iter().flat_map(|branch| &branch.marks);
    let with_default: HashSet<usize> = marks
        .clone()
        .filter(|marked| marked.mark == Mark::Default)
        .map(|marked| marked.disjunction)
        .collect();
    let mut roots: Vec<usize> = marks.map(|marked| marked.root).collect();
    roots.sort_unstable();
    roots.dedup();
    let nested = |branch: &Branch, root: usize| {
        let marks = branch.marks.iter().filter(|marked| marked.root == root);
        let counted = marks
            .enumerate()
            .filter(|(depth, marked)| *depth == 0 || with_default.contains(&marked.disjunction));
        counted.map(|(_, marked)| marked.mark).max().unwrap_or_default()
    };
    let by_root = |branch: &Branch| {
        let marks = roots.iter().map(|&root| nested(branch, root)).collect();
        (branch.node, marks)
    };
    combine(branches.iter().map(by_root).collect())
}

/// Above this many alternatives, not all products of disjunctions are enumerated.
const MANY: usize = 128;

/// Number of distinct values after which a default enumeration stops: the value is ambiguous.
const ENOUGH: usize = 8;

/// The extent of an enumeration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    /// All alternatives, up to this many that do not fail.
    AtMost(usize),
    /// Possible defaults only, until there are enough distinct ones.
    Defaults,
}

/// An enumeration of the alternatives of a node.
#[derive(Debug)]
pub(super) struct Enumeration {
    of: NodeId,
    extent: Extent,
    /// The number of alternatives that did not fail.
    leaves: usize,
    /// The distinct complete alternatives.
    there: Vec<NodeId>,
    /// Non-default alternatives were skipped.
    skipped: bool,
    /// The enumeration was stopped early.
    stopped: bool,
}

fn hash_scalar(scalar: &Scalar, into: &mut impl Hasher) {
    match scalar {
        Scalar::Null => {}
        Scalar::Bool(value) => value.hash(into),
        Scalar::Number(number) => number.hash(into),
        Scalar::String(text) => text.hash(into),
        Scalar::Bytes(bytes) => bytes.hash(into),
    }
}

/// The identity of a disjunction.
fn key(conjunct: &Conjunct<'_>) -> usize {
    match &conjunct.source {
        Source::Expr(expr) => std::ptr::from_ref::<Expr>(expr).addr(),
        Source::AnyOf(nodes) => nodes.as_ptr().addr(),
        _ => unreachable!("only disjunctions are kept as such"),
    }
}

/// The alternatives of a conjunct.
#[derive(Clone)]
enum Choice<'p> {
    Written(&'p OrExpr),
    /// The elements in a call of `or`.
    Nodes(Rc<[NodeId]>),
}

impl Disjunction<'_> {
    /// The number of alternatives.
    fn len(&self) -> usize {
        Choice::of(&self.conjunct).len()
    }
}

impl<'p> Choice<'p> {
    fn of(conjunct: &Conjunct<'p>) -> Self {
        match &conjunct.source {
            Source::Expr(Expr {
                kind: ExprKind::Or(or),
                ..
            }) => Self::Written(or),
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
    /// Defers a disjunction until all other conjuncts are unified.
    pub(super) fn add_disjunction(&mut self, id: NodeId, conjunct: Conjunct<'p>) {
        let is_same = |known: &Conjunct<'p>| {
            known.env == conjunct.env
                && match (&known.source, &conjunct.source) {
                    (Source::Expr(one), Source::Expr(other)) => std::ptr::eq(*one, *other),
                    _ => false,
                }
        };
        let same = self
            .known(id)
            .disjunctions
            .iter()
            .position(|known| is_same(&known.conjunct));
        if let Some(same) = same {
            self.known_mut(id).disjunctions[same]
                .copies
                .push(conjunct.clone());
            if same < self.known(id).chosen {
                let choice = self.node(id).choices[same] as usize;
                let source = Choice::of(&conjunct).source(choice);
                self.add(id, Conjunct { source, ..conjunct });
            }
            return;
        }
        let root = self.known(id).choosing.unwrap_or_else(|| key(&conjunct));
        let copies = Vec::new();
        self.known_mut(id).disjunctions.push(Disjunction {
            conjunct,
            root,
            copies,
        });
    }

    /// Unifies the chosen alternative of a disjunction.
    pub(super) fn choose(&mut self, id: NodeId, disjunction: usize) {
        let choice = self.node(id).choices[disjunction] as usize;
        let Disjunction {
            conjunct,
            root,
            copies,
        } = self.known(id).disjunctions[disjunction].clone();
        let source = Choice::of(&conjunct).source(choice);
        let before = self.known_mut(id).choosing.replace(root);
        for conjunct in std::iter::once(conjunct).chain(copies) {
            self.add(
                id,
                Conjunct {
                    source: source.clone(),
                    ..conjunct
                },
            );
        }
        self.known_mut(id).choosing = before;
    }

    /// Evaluates a node once for each alternative of the first disjunction that is not decided yet.
    pub(super) fn fork(&mut self, id: NodeId) {
        if self.fork_atoms(id) {
            return;
        }
        if self.node(id).origin.is_some() {
            let (branches, errors) = self.fork_choices(id);
            match branches.is_empty() {
                true => self.settle(id, Vec::new(), errors),
                false => self.known_mut(id).branches = branches,
            }
            return;
        }
        let offered: usize = self.known(id).disjunctions.iter().map(Disjunction::len).sum();
        let few = Extent::AtMost(MANY + 4 * offered);
        let (mut branches, mut errors, mut enumeration) = self.enumerate(id, few);
        if enumeration.stopped {
            // Disjunctions multiply. What is exported is the default, or that there are several: neither needs all products.
            (branches, errors, enumeration) = self.enumerate(id, Extent::Defaults);
            if enumeration.there.is_empty() && self.exhausted.is_none() {
                (branches, errors, enumeration) = self.enumerate(id, Extent::All);
            }
        }
        let survivors = self.distinct(combine_nested(&branches));
        self.known_mut(id).more = enumeration.stopped || enumeration.skipped;
        self.settle(id, survivors, errors);
    }

    /// All alternatives of a node, through all its disjunctions, to some extent.
    fn enumerate(&mut self, id: NodeId, extent: Extent) -> (Vec<Branch>, Vec<Error>, Enumeration) {
        self.enumerations.push(Enumeration {
            of: id,
            extent,
            leaves: 0,
            there: Vec::new(),
            skipped: false,
            stopped: false,
        });
        let (branches, errors) = self.fork_choices(id);
        let enumeration = self.enumerations.pop().expect("it was pushed above");
        (branches, errors, enumeration)
    }

    /// The enumeration that an alternative is looked at for.
    fn enumeration(&mut self, id: NodeId) -> Option<&mut Enumeration> {
        let of = self.node(id).origin.unwrap_or(id);
        let mut enumerations = self.enumerations.iter_mut().rev();
        enumerations.find(|enumeration| enumeration.of == of)
    }

    fn fork_choices(&mut self, id: NodeId) -> (Vec<Branch>, Vec<Error>) {
        let decided = self.node(id).choices.len();
        let Disjunction { conjunct, root, .. } = self.known(id).disjunctions[decided].clone();
        let choice = Choice::of(&conjunct);
        let mut branches: Vec<Branch> = Vec::new();
        let mut errors = Vec::new();
        for index in 0..choice.len() {
            let marked = Marked {
                disjunction: key(&conjunct),
                root,
                mark: choice.mark(index),
            };
            if let Some(enumeration) = self.enumeration(id) {
                if enumeration.stopped {
                    break;
                }
                if enumeration.extent == Extent::Defaults && marked.mark == Mark::Other {
                    enumeration.skipped = true;
                    continue;
                }
            }
            let alternative = self.alternative(id, u32::try_from(index).expect("the source is bounded"));
            self.collect(alternative, marked, &mut branches, &mut errors);
            if self.exhausted.is_some() {
                break;
            }
        }
        (branches, errors)
    }

    /// Records an alternative that has not failed; may stop the enumeration.
    fn record_leaf(&mut self, alternative: NodeId) {
        let Some(enumeration) = self.enumeration(alternative) else {
            return;
        };
        enumeration.leaves += 1;
        match enumeration.extent {
            Extent::All => {}
            Extent::AtMost(limit) => enumeration.stopped |= enumeration.leaves > limit,
            Extent::Defaults => {
                let known = enumeration.there.clone();
                if !self.is_there(alternative)
                    || known.iter().any(|known| self.same_value(*known, alternative))
                {
                    return;
                }
                if let Some(enumeration) = self.enumeration(alternative) {
                    enumeration.there.push(alternative);
                    enumeration.stopped |= enumeration.there.len() >= ENOUGH;
                }
            }
        }
    }

    /// Removes alternatives with equal values.
    fn distinct(&mut self, found: Vec<(NodeId, Mark)>) -> Vec<(NodeId, Mark)> {
        let mut survivors: Vec<(NodeId, Mark)> = Vec::with_capacity(found.len());
        // Only those that look the same from afar are compared.
        let mut alike: HashMap<u64, Vec<usize>> = HashMap::new();
        'found: for (node, mark) in found {
            let print = self.fingerprint(node);
            for &known in alike.get(&print).into_iter().flatten() {
                if self.same_value(survivors[known].0, node) {
                    if mark == Mark::Default {
                        survivors[known].1 = mark;
                    }
                    continue 'found;
                }
            }
            alike.entry(print).or_default().push(survivors.len());
            survivors.push((node, mark));
        }
        survivors
    }

    /// The same for values that are the same in the sense of [`Machine::same_value`].
    fn fingerprint(&mut self, node: NodeId) -> u64 {
        let node = self.expanded(node);
        let mut print = DefaultHasher::new();
        let known = self.known(node);
        let weight = known
            .atom
            .scalar
            .as_ref()
            .map_or(0, |(scalar, _)| scalar.weight());
        self.spend(weight + known.arcs.len() as u64 / 4).ok();
        let known = self.known(node);
        (known.is_struct, known.list.is_some(), known.arcs.len()).hash(&mut print);
        if let Some((scalar, _)) = &known.atom.scalar {
            hash_scalar(scalar, &mut print);
        }
        // Fields are in whatever order.
        let mut fields = 0_u64;
        for arc in known.arcs.clone() {
            let mut field = DefaultHasher::new();
            arc.label.hash(&mut field);
            if arc.presence == Presence::Member {
                let value = self.expanded(arc.node);
                if let Some((scalar, _)) = self.known(value).atom.scalar.clone() {
                    self.spend(scalar.weight()).ok();
                    hash_scalar(&scalar, &mut field);
                }
            }
            fields = fields.wrapping_add(field.finish());
        }
        fields.hash(&mut print);
        print.finish()
    }

    /// The same node with one more choice made.
    fn alternative(&mut self, id: NodeId, choice: u32) -> NodeId {
        let node = self.node(id);
        let (parent, label, conjuncts) = (node.parent, node.label, node.conjuncts.clone());
        let origin = node.origin.unwrap_or(id);
        let mut choices = node.choices.clone();
        choices.push(choice);
        self.meter.charge((conjuncts.len() + choices.len()) * CONJUNCT);
        let alternative = self.new_node(parent, label);
        let node = self.node_mut(alternative);
        node.conjuncts = conjuncts;
        node.origin = Some(origin);
        node.choices = choices;
        alternative
    }

    /// Adds what is left of an alternative to the branches.
    fn collect(
        &mut self,
        alternative: NodeId,
        marked: Marked,
        branches: &mut Vec<Branch>,
        errors: &mut Vec<Error>,
    ) {
        self.expand(alternative);
        let inner = std::mem::take(&mut self.known_mut(alternative).branches);
        for mut branch in inner.iter().cloned() {
            branch.marks.insert(0, marked);
            branches.push(branch);
        }
        if !inner.is_empty() {
            return;
        }
        match self.check(alternative) {
            Some(error) => errors.push(error),
            None => {
                branches.push(Branch {
                    node: alternative,
                    marks: vec![marked],
                });
                self.record_leaf(alternative);
            }
        }
    }

    /// Fast path for disjunctions of literals and types on a node without fields: needs no nodes.
    fn fork_atoms(&mut self, id: NodeId) -> bool {
        let known = self.known(id);
        if known.is_struct
            || known.list.is_some()
            || !known.structs.is_empty()
            || known
                .tasks
                .iter()
                .any(|task| !matches!(task.state, super::node::TaskState::Done))
            || !self.node(id).choices.is_empty()
        {
            return false;
        }
        let disjunctions: Vec<_> = known
            .disjunctions
            .iter()
            .map(|known| Choice::of(&known.conjunct))
            .collect();
        if !disjunctions
            .iter()
            .all(|choice| matches!(choice, Choice::Written(or) if or.simple))
        {
            return false;
        }
        let mut left: Vec<(Atom, Vec<Mark>)> = vec![(known.atom.clone(), Vec::new())];
        let mut errors = Vec::new();
        for choice in disjunctions {
            let mut next: Vec<(Atom, Vec<Mark>)> = Vec::new();
            for (atom, marks) in &left {
                for index in 0..choice.len() {
                    let Source::Expr(disjunct) = choice.source(index) else {
                        continue;
                    };
                    self.meter.charge(size_of::<(Atom, Vec<Mark>)>() + marks.len());
                    if let Err(error) = self.spend(1 + next.len() as u64 / 16) {
                        self.fail(id, error);
                        return true;
                    }
                    let mut combined = atom.clone();
                    if let Err(error) = self.meet_simple(&mut combined, disjunct) {
                        errors.push(error);
                        continue;
                    }
                    let mut marks = marks.clone();
                    marks.push(choice.mark(index));
                    let is_default = |marks: &[Mark]| !marks.contains(&Mark::Other);
                    match next.iter_mut().find(|(known, _)| known.same(&combined)) {
                        Some((_, known)) if is_default(&marks) && !is_default(known) => *known = marks,
                        Some(_) => {}
                        None => next.push((combined, marks)),
                    }
                }
            }
            left = next;
        }
        let left = combine(left);
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
        result
            .map_err(|conflict| self.bottom(Code::Fatal, Reason::Text(conflict.message), conflict.positions))
    }

    /// Whether a value and all its fields are complete.
    fn is_there(&mut self, node: NodeId) -> bool {
        if self.known(node).error.is_some() {
            return false;
        }
        let arcs = self.known(node).arcs.clone();
        let mut members = arcs.into_iter().filter(|arc| arc.presence == Presence::Member);
        members.all(|arc| {
            let node = self.expanded(arc.node);
            self.known(node).error.is_none()
        })
    }

    /// Sets a node's value to its remaining alternatives.
    fn settle(&mut self, id: NodeId, mut survivors: Vec<(NodeId, Mark)>, errors: Vec<Error>) {
        if let Some(error) = self.exhausted.clone() {
            self.known_mut(id).error = Some(error);
            return;
        }
        // What is not there, or has a field that is not, gives way to what is.
        let there: Vec<bool> = survivors.iter().map(|(node, _)| self.is_there(*node)).collect();
        if there.contains(&true) {
            let mut there = there.into_iter();
            survivors.retain(|_| there.next().unwrap_or(true));
        } else if let Some(error) = errors.iter().find(|error| error.asks_own_presence()) {
            self.known_mut(id).error = Some(error.clone());
            return;
        } else if let Some(error) = survivors
            .first()
            .and_then(|(node, _)| self.known(*node).error.clone())
        {
            self.known_mut(id).error = Some(error);
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
            [(only, _)] if !self.known(id).more => self.node_mut(id).forward = Some(*only),
            _ => {
                let (defaults, others): (Vec<_>, Vec<_>) = survivors
                    .into_iter()
                    .partition(|(_, mark)| *mark == Mark::Default);
                let known = self.known_mut(id);
                known.defaults = defaults.len();
                known.alternatives = defaults.into_iter().chain(others).map(|(node, _)| node).collect();
            }
        }
    }
}
