//! CEL as Kubernetes has it.
//!
//! An expression is compiled once and run often:
//!
//! ```text
//!   text ─▶ parse ─▶ check ─▶ plan ─▶ Program ─▶ evaluate
//!           macros   types    slots,    │        values borrow from the object,
//!           expand   errors   constants │        every step is paid for
//!                                       └─▶ estimate: what it can cost at most
//! ```
//!
//! Only parsing is left to the `cel` crate, whose grammar is the original one, so that even syntax errors read the same.
//! Its evaluator is not used: it has no types from schemas, no lists that are sets, no costs, and it copies objects.
//! Rules must be refused when a schema is written, and objects when they are, for the reasons and with the words that
//! the API server has; the cost of an expression is part of that, down to the last unit. So what is folded into a
//! constant, what is looked up rather than called, and what a failing argument costs, all follow the original, and a
//! table of expressions that a real API server has judged (`tests/judged.jsonl`) holds us to it.
//!
//! What uses it: [`rules`] for the rules of a CustomResourceDefinition, [`conditions`] for the match conditions of
//! webhooks, [`policies`] for admission policies. This crate is pure: schemas and JSON in, judgements out.

mod source;
mod types;

mod depth;
mod macros;
mod parse;

mod check;
mod declare;
mod escape;

mod charge;
mod compose;
mod error;
mod estimate;
mod evaluate;
mod functions;
mod limits;
mod mentions;
mod meter;
mod plan;
mod program;
mod value;

pub mod conditions;
pub mod policies;
pub mod rules;

#[cfg(test)]
mod judged;

pub use declare::Object;
pub use error::EvaluationError;
pub use functions::{Answer, Authorize, Question, Subject};
pub use limits::{CONDITIONS_BUDGET, MAX_MESSAGE_BYTES, PER_CALL_LIMIT, RULES_BUDGET};
pub use program::{Declarations, Program, compile};
pub use source::CompileError;
pub use types::{Param, Type};
