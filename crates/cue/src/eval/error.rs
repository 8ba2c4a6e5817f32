//! Errors (bottom values).

use crate::eval::NodeId;
use crate::program::ir::Position;
use crate::program::symbols::Label;
use std::rc::Rc;

/// A bottom value with its reason. Cheap to create: most are only tested for existence.
#[derive(Debug)]
pub(crate) struct Bottom {
    pub code: Code,
    pub reason: Reason,
    /// The node that was being evaluated.
    pub node: Option<NodeId>,
    pub positions: Vec<Position>,
}

pub(crate) type Error = Rc<Bottom>;

/// The error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Permanent.
    Fatal,
    /// More information could resolve it.
    Incomplete,
    /// A reference cycle that may resolve once the rest is known.
    Cycle,
    /// The budget was exceeded. Never caught.
    Exhausted,
}

#[derive(Debug)]
pub(crate) enum Reason {
    Text(String),
    /// A built-in function failed; the caller adds its name.
    Call(String),
    UndefinedField(Label),
    OptionalField(Label),
    /// All alternatives failed.
    EmptyDisjunction(Vec<Error>),
    /// `_|_` was written.
    Explicit,
    NotAllowed,
    Cycle,
    /// A comprehension asks whether the field is there that it adds.
    OwnPresence(Label),
    StructuralCycle,
}

impl Bottom {
    /// Whether a comprehension asked for the field that it adds, here or in an alternative.
    pub(crate) fn asks_own_presence(&self) -> bool {
        match &self.reason {
            Reason::OwnPresence(_) => true,
            Reason::EmptyDisjunction(errors) => errors.iter().any(|error| error.asks_own_presence()),
            _ => false,
        }
    }

    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self.code, Code::Fatal | Code::Exhausted)
    }
}
