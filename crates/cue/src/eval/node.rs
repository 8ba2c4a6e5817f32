//! The arena of nodes and environments.

use crate::eval::atom::Atom;
use crate::eval::closed::GroupId;
use crate::eval::disjunction::Branch;
use crate::eval::error::Error;
use crate::eval::scalar::Scalar;
use crate::program::ir::{Comment, ComprehensionExpr, Expr, FieldExpr, ListExpr, Position, Presence};
use crate::program::symbols::Label;
use std::collections::HashMap;
use std::rc::Rc;

/// The ID of a node in the value tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub u32);

/// The ID of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EnvId(pub u32);

/// An environment: the bindings of a scope level.
#[derive(Debug)]
pub(crate) struct Env<'p> {
    pub up: Option<EnvId>,
    pub scope: Scope<'p>,
}

#[derive(Debug)]
pub(crate) enum Scope<'p> {
    /// The fields of a node; `lets` are evaluated when first used.
    Struct {
        node: NodeId,
        literal: Option<&'p crate::program::ir::StructExpr>,
        lets: Vec<Option<NodeId>>,
    },
    /// A field's own node, for its aliases.
    Frame {
        /// The node whose value the alias stands for.
        node: NodeId,
        /// The field that was declared, whose label the alias stands for.
        declared: NodeId,
    },
    /// The variables of a clause.
    Clause { key: Option<NodeId>, value: NodeId },
}

/// A conjunct of a node.
#[derive(Debug, Clone)]
pub(crate) struct Conjunct<'p> {
    pub env: EnvId,
    pub source: Source<'p>,
    pub group: GroupId,
    /// The references that were followed.
    pub trail: Option<Rc<Trail>>,
    /// From a reference to an enclosing value.
    pub cyclic: bool,
    /// The field that it was declared for, when its aliases need a scope level.
    pub frame: Option<NodeId>,
    pub comments: Option<&'p Vec<Comment>>,
}

#[derive(Debug, Clone)]
pub(crate) enum Source<'p> {
    Expr(&'p Expr),
    /// The same as another node.
    Node(NodeId),
    Scalar(Scalar),
    List(Rc<[NodeId]>),
    Fields(Rc<[(Label, NodeId)]>),
    /// One of several nodes.
    AnyOf(Rc<[NodeId]>),
}

impl Source<'_> {
    /// Whether both say the same, in whatever environment.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Expr(one), Self::Expr(other)) => std::ptr::eq(*one, *other),
            (Self::Expr(_), _) | (_, Self::Expr(_)) => false,
            // Computed values have no place in the text; the first of them stands for all.
            _ => true,
        }
    }
}

/// References that were followed, newest first, to find structures that contain themselves.
#[derive(Debug)]
pub(crate) struct Trail {
    pub target: NodeId,
    /// The node that the reference was followed for.
    pub at: NodeId,
    pub before: Option<Rc<Trail>>,
    pub length: u32,
}

impl Trail {
    /// A trail that is one reference longer.
    pub(crate) fn extend(before: Option<&Rc<Self>>, target: NodeId, at: NodeId) -> Rc<Self> {
        let length = before.map_or(0, |before| before.length) + 1;
        Rc::new(Self {
            target,
            at,
            before: before.cloned(),
            length,
        })
    }

    pub(crate) fn contains(trail: Option<&Rc<Self>>, target: NodeId) -> bool {
        Self::iter(trail).any(|trail| trail.target == target)
    }

    /// Whether the reference was followed for the very node that follows it again: a cycle that adds nothing.
    pub(crate) fn turns(trail: Option<&Rc<Self>>, target: NodeId, at: NodeId) -> bool {
        Self::iter(trail).any(|trail| trail.target == target && trail.at == at)
    }

    fn iter(trail: Option<&Rc<Self>>) -> impl Iterator<Item = &Rc<Self>> {
        std::iter::successors(trail, |trail| trail.before.as_ref())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    /// On the stack, at this height.
    Processing(u32),
    Done,
    /// Evaluated while something that it depends on was not; evaluated again when next asked.
    Provisional,
}

/// A node: its conjuncts and its evaluation state.
#[derive(Debug)]
pub(crate) struct Node<'p> {
    pub parent: Option<NodeId>,
    pub label: Option<Label>,
    pub conjuncts: Vec<Conjunct<'p>>,
    /// The node that this one is an alternative of.
    pub origin: Option<NodeId>,
    /// Which alternative to take of the first disjunctions met.
    pub choices: Vec<u32>,
    pub state: State,
    /// Nodes that brought in this one's conjuncts before all of them were known, and by which reference.
    pub subscribers: Vec<(NodeId, Conjunct<'p>)>,
    /// This node's value is another node's.
    pub forward: Option<NodeId>,
    pub known: Known<'p>,
}

/// The evaluation state of a node, dropped when it is evaluated again.
#[derive(Debug, Default)]
pub(crate) struct Known<'p> {
    pub atom: Atom,
    pub arcs: Vec<Arc_>,
    /// An index of fields, once there are many.
    arc_index: HashMap<Label, u32>,
    pub patterns: Vec<Pattern<'p>>,
    pub structs: Vec<StructInfo<'p>>,
    pub list: Option<List<'p>>,
    pub tasks: Vec<Task<'p>>,
    pub disjunctions: Vec<Disjunction<'p>>,
    /// The number of disjunctions whose choice was unified.
    pub chosen: usize,
    /// The outermost disjunction of which an alternative is being unified.
    pub choosing: Option<usize>,
    /// The remaining alternatives of an alternative.
    pub branches: Vec<Branch>,
    /// Alternatives when several are left; the first `defaults` are defaults.
    pub alternatives: Vec<NodeId>,
    pub defaults: usize,
    /// There may be further alternatives, which are irrelevant.
    pub more: bool,
    pub error: Option<Error>,
    /// The node has a conjunct that is not from an enclosing value.
    pub grounded: bool,
    /// References to what this node is part of; followed once it is grounded.
    pub returning: Vec<(NodeId, Conjunct<'p>)>,
    /// References to something deep inside this node, which may grow with it.
    pub inner: Vec<Inner<'p>>,
    /// Has ordinary fields, or is a literal without embeddings.
    pub is_struct: bool,
    /// The cached first fatal error at or below the node.
    pub checked: Option<Option<Error>>,
}

/// A reference to something deep inside the node that it is embedded in.
#[derive(Debug, Clone)]
pub(crate) struct Inner<'p> {
    /// The reference.
    pub conjunct: Conjunct<'p>,
    /// The conjuncts that it has added.
    pub sources: Vec<Source<'p>>,
}

/// The number of fields from which on they are indexed.
const MANY: usize = 24;

impl Known<'_> {
    /// The position of a field or element among the arcs.
    pub(crate) fn find_arc(&self, label: Label) -> Option<usize> {
        match label {
            // An element is never before its own index.
            Label::Index(index) => {
                let from = index as usize;
                let found = self.arcs.get(from..)?.iter().position(|arc| arc.label == label)?;
                Some(from + found)
            }
            _ if self.arcs.len() <= MANY => self.arcs.iter().position(|arc| arc.label == label),
            _ => self.arc_index.get(&label).map(|index| *index as usize),
        }
    }

    pub(crate) fn push_arc(&mut self, arc: Arc_) {
        let index = |at: usize| u32::try_from(at).expect("the step budget bounds fields");
        self.arcs.push(arc);
        if self.arcs.len() == MANY + 1 {
            let labels = self.arcs.iter().enumerate();
            self.arc_index = labels.map(|(at, arc)| (arc.label, index(at))).collect();
        } else if self.arcs.len() > MANY && !matches!(arc.label, Label::Index(_)) {
            self.arc_index.insert(arc.label, index(self.arcs.len() - 1));
        }
    }
}

/// A disjunction that a node must satisfy.
#[derive(Debug, Clone)]
pub(crate) struct Disjunction<'p> {
    pub conjunct: Conjunct<'p>,
    /// The key of the outermost disjunction that it is nested in.
    pub root: usize,
    /// The same disjunction, brought in again by other references: it takes the same choice.
    pub copies: Vec<Conjunct<'p>>,
}

/// From a node to one of its fields or elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arc_ {
    pub label: Label,
    pub node: NodeId,
    pub presence: Presence,
    pub position: Position,
}

/// `[pattern]: value`, seen at a node.
#[derive(Debug, Clone)]
pub(crate) struct Pattern<'p> {
    pub env: EnvId,
    pub pattern: &'p Expr,
    pub value: &'p FieldExpr,
    pub group: GroupId,
    pub trail: Option<Rc<Trail>>,
    pub cyclic: bool,
    /// The pattern's value, once known.
    pub node: NodeId,
}

/// A struct literal that was unified into a node.
#[derive(Debug, Clone)]
pub(crate) struct StructInfo<'p> {
    pub group: GroupId,
    pub open: bool,
    /// The source of its fields, for their order.
    pub declares: Declares<'p>,
}

/// The source of a struct's fields.
#[derive(Debug, Clone)]
pub(crate) enum Declares<'p> {
    Literal(&'p crate::program::ir::StructExpr),
    Data(Rc<[(Label, NodeId)]>),
}

/// The length of a list, and constraints on further elements.
#[derive(Debug, Default, Clone)]
pub(crate) struct List<'p> {
    /// The length, when some literal fixes it.
    pub length: Option<usize>,
    /// `...T`, from an index on.
    pub rests: Vec<(usize, Conjunct<'p>)>,
}

/// A task that may have to wait for other values.
#[derive(Debug)]
pub(crate) struct Task<'p> {
    pub kind: TaskKind<'p>,
    pub conjunct: Conjunct<'p>,
    pub state: TaskState,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum TaskKind<'p> {
    /// The conjunct's expression must be evaluated.
    Value,
    List(&'p ListExpr),
    Dynamic {
        label: &'p Expr,
        field: &'p FieldExpr,
    },
    Comprehension(&'p ComprehensionExpr),
}

#[derive(Debug, Clone)]
pub(crate) enum TaskState {
    Waiting(Option<Error>),
    Running,
    Done,
}
