//! What an evaluation may cost.
//!
//! Work is counted in steps and memory in bytes, where they are made; both are the same on every machine. Time is asked for now and
//! then, of whoever has a clock ([`crate::with_deadline`]). Whatever is used up first ends the evaluation with an error that nothing catches.

use super::Machine;
use super::error::{Code, Error, Reason};
use super::node::{Conjunct, Env, Node, Source};
use crate::deadline::{self, Expired};
use crate::packages::{Budget, CallError};
use crate::program::ir::Position;
use std::cell::Cell;

/// How much work an evaluation may do before it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Conjuncts unified, expressions computed, values compared or written out; longer texts and numbers count for more.
    pub steps: u64,
    /// What values and texts take in memory, roughly. Nothing is given back before the evaluation ends.
    pub bytes: u64,
    /// Values nested in the evaluation of one another.
    pub depth: u32,
}

impl Limits {
    /// A part of it, for something that must be cheap.
    pub fn divided_by(self, divisor: u64) -> Self {
        Self {
            steps: self.steps / divisor,
            bytes: self.bytes / divisor,
            depth: self.depth,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 1_000_000,
            bytes: 256 << 20,
            depth: 500,
        }
    }
}

/// How many steps are taken before the clock is looked at.
const LOOK: u64 = 256;

/// What has been used so far.
pub(super) struct Meter {
    limits: Limits,
    steps: u64,
    bytes: Cell<u64>,
    /// The step at which to look closer.
    look_at: u64,
    expired: Option<Expired>,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            steps: 0,
            bytes: Cell::new(0),
            look_at: LOOK.min(limits.steps),
            expired: deadline::current(),
        }
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Counts memory that is about to be taken.
    pub(super) fn charge(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_add(bytes as u64));
    }

    fn is_over(&self) -> bool {
        self.bytes.get() > self.limits.bytes
    }

    /// What is used up, if anything is.
    fn used_up(&self) -> Option<String> {
        let Limits { steps, bytes, .. } = self.limits;
        if self.steps > steps {
            return Some(format!("evaluation takes more than {steps} steps"));
        }
        if self.is_over() {
            return Some(format!("evaluation needs more than {bytes} bytes of memory"));
        }
        let expired = self.expired.as_ref().is_some_and(|expired| expired());
        expired.then(|| "evaluation takes too long".to_owned())
    }
}

/// Functions of packages count for themselves what their callers cannot know.
impl Budget for Machine<'_> {
    fn take(&mut self, steps: u64, bytes: usize) -> Result<(), CallError> {
        self.claim(bytes)
            .and_then(|()| self.spend(steps))
            .map_err(|_| CallError::Exhausted)
    }
}

/// What a node takes, with the first things that are known of it.
pub(super) const NODE: usize = size_of::<Node<'static>>() + 4 * CONJUNCT;
pub(super) const ENV: usize = size_of::<Env<'static>>();
pub(super) const CONJUNCT: usize = size_of::<Conjunct<'static>>();

impl<'p> Machine<'p> {
    /// Counts a step; an error once the budget is used up.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<(), Error> {
        self.spend(1)
    }

    /// Counts steps; an error once the budget is used up.
    #[inline]
    pub(crate) fn spend(&mut self, steps: u64) -> Result<(), Error> {
        self.meter.steps = self.meter.steps.saturating_add(steps);
        if self.meter.steps < self.meter.look_at && !self.meter.is_over() {
            return Ok(());
        }
        self.look()
    }

    /// Counts memory for something that grows with a program's data, and the work to fill it.
    pub(crate) fn claim(&mut self, bytes: usize) -> Result<(), Error> {
        self.meter.charge(bytes);
        self.spend(bytes as u64 / 256)
    }

    /// Whether the budget is used up: for loops in which nothing can fail.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted.is_some() || self.meter.is_over()
    }

    #[cold]
    fn look(&mut self) -> Result<(), Error> {
        if self.exhausted.is_none() {
            match self.meter.used_up() {
                Some(message) => {
                    let error = self.bottom(Code::Exhausted, Reason::Text(message), self.here());
                    self.exhaust(error);
                }
                None => {
                    self.meter.look_at = (self.meter.steps + LOOK).min(self.meter.limits.steps + 1);
                }
            }
        }
        self.exhausted.clone().map_or(Ok(()), Err)
    }

    /// Whether a value that is nested so deep in others may be looked at: whatever walks it goes as deep.
    pub(super) fn within_depth(&mut self, depth: usize) -> Result<(), Error> {
        let limit = self.options.limits.depth;
        if depth < limit as usize {
            return Ok(());
        }
        let message = format!("value is nested more than {limit} deep");
        let error = self.bottom(Code::Exhausted, Reason::Text(message), self.here());
        self.exhaust(error.clone());
        Err(error)
    }

    /// A value that is larger than any may be: as much as a budget that is used up.
    pub(crate) fn too_large(&mut self, message: String, position: Position) -> Error {
        let error = self.bottom(Code::Exhausted, Reason::Text(message), vec![position]);
        self.exhaust(error.clone());
        error
    }

    /// Nothing more is evaluated.
    pub(super) fn exhaust(&mut self, error: Error) {
        self.meter.look_at = 0;
        self.exhausted.get_or_insert(error);
    }

    /// Where in the text the evaluation is.
    pub(super) fn here(&self) -> Vec<Position> {
        let written = |conjunct: &Conjunct<'p>| match conjunct.source {
            Source::Expr(expr) if expr.position.span.end > 0 => Some(expr.position),
            _ => None,
        };
        // What is computed from data stands nowhere; what it is part of does.
        let above = std::iter::successors(self.visited, |node| self.node(*node).parent);
        let mut nodes = self.stack.iter().rev().copied().chain(above);
        let place = nodes.find_map(|node| self.node(node).conjuncts.iter().find_map(written));
        // Between two values, it was the last that was made.
        let latest = || {
            self.nodes
                .iter()
                .rev()
                .find_map(|node| node.conjuncts.iter().find_map(written))
        };
        place.or_else(latest).into_iter().collect()
    }
}
