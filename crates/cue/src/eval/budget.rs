//! The budget of an evaluation: steps, bytes, depth, and time.
//!
//! Work is counted in steps and memory in bytes; both are the same on every machine. The deadline
//! ([`crate::with_deadline`]) is checked now and then. Whichever is exceeded first ends the evaluation with an error that
//! no expression catches.

use super::Machine;
use super::error::{Code, Error, Reason};
use super::node::{Conjunct, Env, Node, Source};
use crate::deadline::{self, Expired};
use crate::packages::{Budget, CallError};
use crate::program::ir::Position;
use std::cell::Cell;

/// The limits of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Steps: conjuncts unified, expressions evaluated, values compared or exported; longer texts and numbers count more.
    pub steps: u64,
    /// Approximate memory of values and texts. Nothing is released before the evaluation ends.
    pub bytes: u64,
    /// Nesting of evaluations.
    pub depth: u32,
}

impl Limits {
    /// The limits divided by a number.
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

/// Steps between checks of the deadline.
const LOOK: u64 = 256;

/// The consumption so far.
pub(super) struct Meter {
    limits: Limits,
    steps: u64,
    bytes: Cell<u64>,
    /// The step of the next check.
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

    /// Counts memory.
    pub(super) fn charge(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_add(bytes as u64));
    }

    fn is_over(&self) -> bool {
        self.bytes.get() > self.limits.bytes
    }

    /// The exceeded limit, if any.
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

/// Package functions charge costs that their callers cannot know.
impl Budget for Machine<'_> {
    fn take(&mut self, steps: u64, bytes: usize) -> Result<(), CallError> {
        self.claim(bytes)
            .and_then(|()| self.spend(steps))
            .map_err(|_| CallError::Exhausted)
    }
}

/// The approximate memory of a node.
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

    /// Fails for a value nested beyond the depth limit, as every walk over it is recursive.
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

    /// The error for a value that exceeds the size limits, treated as an exceeded budget.
    pub(crate) fn too_large(&mut self, message: String, position: Position) -> Error {
        let error = self.bottom(Code::Exhausted, Reason::Text(message), vec![position]);
        self.exhaust(error.clone());
        error
    }

    /// Stops the evaluation.
    pub(super) fn exhaust(&mut self, error: Error) {
        self.meter.look_at = 0;
        self.exhausted.get_or_insert(error);
    }

    /// The current source positions.
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
