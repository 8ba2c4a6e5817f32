//! The evaluator.
//!
//! A value is a *node* in an arena. A node holds *conjuncts*: expressions, each with the environment of its names. Evaluating
//! a node unifies its conjuncts ([`unify`]): a struct literal adds conjuncts to the node's fields, a reference copies the
//! conjuncts of its target (so that inside the copy, names refer to the copy's fields), other expressions are computed
//! ([`expression`]). Fields are nodes of their own, evaluated lazily.
//!
//! - A disjunction evaluates the node once per alternative ([`disjunction`]).
//! - Expressions that wait for other values (comprehensions, computed labels) are tasks, retried when more is known.
//! - The fields that a closed struct allows are tracked as a tree of groups ([`closed`]).
//! - A node that is referenced while it is being evaluated returns its state so far; the referring node is provisional then,
//!   and evaluated again later.

pub(crate) mod atom;
mod budget;
pub(crate) mod builtin;
mod call;
mod check;
mod closed;
mod comprehension;
mod disjunction;
pub(crate) mod error;
mod expression;
mod field;
mod instance;
pub(crate) mod kind;
mod list;
mod message;
pub(crate) mod node;
mod openapi;
mod operator;
mod order;
mod pattern;
mod presence;
mod reference;
pub(crate) mod scalar;
mod shape;
mod task;
mod unify;

pub use budget::Limits;
use budget::Meter;
use closed::{Group, GroupId};
use disjunction::Enumeration;
use error::{Bottom, Code, Error, Reason};
pub use instance::{Instance, Lookup};
pub(crate) use node::NodeId;
use node::{Conjunct, Env, EnvId, Known, Node, Scope, Source, State};
pub use openapi::{Inexpressible, OpenApi};
pub use shape::{Member, MemberKind, Shape};

use crate::packages::regexp::Pattern;
use crate::program::Program;
use crate::program::ir::{Expr, Position};
use crate::program::symbols::{Label, Symbols};
use std::collections::HashMap;

/// Options of an evaluation, which deviate from the current language version.
#[derive(Debug, Clone, Copy, Default)]
pub struct EvaluationOptions {
    /// The limits.
    pub limits: Limits,
    /// Whether `_` counts as present in `x != _|_`, as in language version 0.9, rather than as unknown.
    pub anything_is_present: bool,
    /// Whether fields are shown in the order of language version 0.9 rather than as declared.
    pub legacy_field_order: bool,
    /// Whether to report only what holds for all values that may still be unified: defaults and absence decide nothing,
    /// structs and open lists may grow, and operands whose types can never match are errors before they are concrete.
    pub whatever_is_given: bool,
    /// Whether `[1] + [2]` and `2 * [1]` are computed, as before language version 0.11.
    pub list_arithmetic: bool,
}

/// The state of one evaluation.
pub(crate) struct Machine<'p> {
    pub(crate) program: &'p Program,
    pub(crate) symbols: Symbols,
    pub(crate) options: EvaluationOptions,
    nodes: Vec<Node<'p>>,
    envs: Vec<Env<'p>>,
    groups: Vec<Group>,
    /// Nodes being evaluated, outermost first.
    stack: Vec<NodeId>,
    /// The lowest stack position that was referenced while being evaluated.
    lowest_touched: u32,
    /// The node being exported or checked.
    visited: Option<NodeId>,
    /// The final attempt: missing values count as missing.
    last_try: bool,
    /// The positions of running validators, which are ignored by values that they inspect.
    validating: Vec<Position>,
    /// The active enumerations of disjunctions, outermost first.
    enumerations: Vec<Enumeration>,
    /// Regular expressions in use.
    regexes: HashMap<String, Pattern>,
    /// The consumption so far.
    meter: Meter,
    exhausted: Option<Error>,
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program, options: EvaluationOptions) -> Self {
        Self {
            program,
            symbols: program.symbols.clone(),
            options,
            nodes: Vec::new(),
            envs: Vec::new(),
            groups: vec![Group::ROOT],
            stack: Vec::new(),
            lowest_touched: u32::MAX,
            visited: None,
            last_try: false,
            validating: Vec::new(),
            enumerations: Vec::new(),
            regexes: HashMap::new(),
            meter: Meter::new(options.limits),
            exhausted: None,
        }
    }

    fn node(&self, id: NodeId) -> &Node<'p> {
        &self.nodes[id.0 as usize]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node<'p> {
        &mut self.nodes[id.0 as usize]
    }

    fn known(&self, id: NodeId) -> &Known<'p> {
        &self.node(id).known
    }

    fn known_mut(&mut self, id: NodeId) -> &mut Known<'p> {
        &mut self.node_mut(id).known
    }

    fn new_node(&mut self, parent: Option<NodeId>, label: Option<Label>) -> NodeId {
        self.meter.charge(budget::NODE);
        let id = NodeId(u32::try_from(self.nodes.len()).expect("the budget bounds nodes"));
        self.nodes.push(Node {
            parent,
            label,
            conjuncts: Vec::new(),
            origin: None,
            choices: Vec::new(),
            state: State::Fresh,
            subscribers: Vec::new(),
            forward: None,
            known: Known::default(),
        });
        id
    }

    /// A node for the value of an expression that has no place of its own.
    fn temporary(&mut self, conjunct: Conjunct<'p>) -> NodeId {
        let parent = self.stack.last().copied();
        let node = self.new_node(parent, None);
        self.node_mut(node).conjuncts.push(conjunct);
        node
    }

    fn new_env(&mut self, up: Option<EnvId>, scope: Scope<'p>) -> EnvId {
        self.meter.charge(budget::ENV);
        let id = EnvId(u32::try_from(self.envs.len()).expect("the budget bounds environments"));
        self.envs.push(Env { up, scope });
        id
    }

    fn env(&self, id: EnvId) -> &Env<'p> {
        &self.envs[id.0 as usize]
    }

    /// The environment `up` levels out.
    fn env_up(&self, env: EnvId, up: u32) -> EnvId {
        let mut current = env;
        for _ in 0..up {
            current = self
                .env(current)
                .up
                .expect("resolved names stay inside the program");
        }
        current
    }

    /// A conjunct that stands for a plain expression.
    fn conjunct(env: EnvId, expr: &'p Expr) -> Conjunct<'p> {
        Conjunct {
            env,
            source: Source::Expr(expr),
            group: GroupId::ROOT,
            trail: None,
            cyclic: false,
            frame: None,
            comments: None,
        }
    }

    fn bottom(&self, code: Code, reason: Reason, positions: Vec<Position>) -> Error {
        // Many are kept: alternatives that failed, fields that are missing.
        let text = match &reason {
            Reason::Text(text) | Reason::Call(text) => text.len(),
            _ => 0,
        };
        self.meter.charge(size_of::<Bottom>() + text);
        Error::new(Bottom {
            code,
            reason,
            node: self.stack.last().copied(),
            positions,
        })
    }

    fn fatal(&self, message: impl Into<String>, position: Position) -> Error {
        self.bottom(Code::Fatal, Reason::Text(message.into()), vec![position])
    }

    fn incomplete(&self, message: impl Into<String>, position: Position) -> Error {
        self.bottom(Code::Incomplete, Reason::Text(message.into()), vec![position])
    }

    /// Evaluates a node as far as its own level: its scalar, its fields, its alternatives, but not the fields' values.
    fn expand(&mut self, id: NodeId) {
        match self.node(id).state {
            State::Done => return,
            State::Processing(height) => {
                self.lowest_touched = self.lowest_touched.min(height);
                return;
            }
            State::Provisional => self.reset(id),
            State::Fresh => {}
        }
        let height = u32::try_from(self.stack.len()).unwrap_or(u32::MAX);
        if height >= self.options.limits.depth {
            let message = format!(
                "evaluation is nested more than {} deep",
                self.options.limits.depth
            );
            let error = self.bottom(Code::Exhausted, Reason::Text(message), self.here());
            self.exhaust(error.clone());
            self.known_mut(id).error = Some(error);
            self.node_mut(id).state = State::Done;
            return;
        }
        let touched_before = std::mem::replace(&mut self.lowest_touched, u32::MAX);
        self.node_mut(id).state = State::Processing(height);
        self.stack.push(id);
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.unify(id));
        self.stack.pop();
        let provisional = self.lowest_touched < height && self.is_unfinished(id);
        self.node_mut(id).state = if provisional {
            State::Provisional
        } else {
            State::Done
        };
        let touched = if self.lowest_touched < height {
            self.lowest_touched
        } else {
            u32::MAX
        };
        self.lowest_touched = touched_before.min(touched);
    }

    /// Whether more information could still change the node.
    fn is_unfinished(&self, id: NodeId) -> bool {
        let known = self.known(id);
        known.error.as_ref().is_some_and(|error| !error.is_fatal())
            || known
                .tasks
                .iter()
                .any(|task| !matches!(task.state, node::TaskState::Done))
            || !known.alternatives.is_empty()
    }

    /// Clears the result of an evaluation, to evaluate again.
    fn reset(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        node.state = State::Fresh;
        node.forward = None;
        node.known = Known::default();
    }

    /// The node whose value this node has, evaluated to its own level.
    fn expanded(&mut self, id: NodeId) -> NodeId {
        let mut current = id;
        loop {
            self.expand(current);
            match self.node(current).forward {
                Some(next) if next != current => current = next,
                _ => return current,
            }
        }
    }

    /// Like [`Self::expanded`], and through a disjunction to its default.
    fn settled(&mut self, id: NodeId) -> NodeId {
        let mut current = self.expanded(id);
        while self.known(current).defaults == 1 && !self.options.whatever_is_given {
            let default = self.known(current).alternatives[0];
            current = self.expanded(default);
        }
        current
    }
}
