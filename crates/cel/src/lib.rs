//! CEL as Kubernetes implements it: parser, type checker, cost, libraries.
//!
//! An expression is compiled once and run often:
//!
//! ```text
//!   text ─▶ parse ─▶ check ─▶ plan ─▶ Program ─▶ evaluate
//!           macros   types    slots,    │        values borrow from the object,
//!           expand   errors   constants │        every step is charged
//!                                       └─▶ estimate: the maximum cost
//! ```
//!
//! Parsing is done by the `cel` crate, whose grammar is the original one, so that even syntax errors are equal. Its
//! evaluator is not used: it has no types from schemas, no list sets, no cost, and it copies objects. Schemas and objects
//! must be refused in the same cases and with the same messages as by the API server, and the cost of an expression is
//! part of that, to the unit. So constant folding, map lookups instead of calls, and the cost of failing arguments all
//! follow the original, checked by a table of expressions evaluated by a real API server (`tests/judged.jsonl`).
//!
//! Entry points: [`rules`] for the rules of a CustomResourceDefinition, [`conditions`] for the match conditions of
//! webhooks, [`policies`] for admission policies. This crate is pure.

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
