//! Objects of a cluster as JSON trees: which one, whose, whether it is as it should be, the patch between two, conditions that keep
//! their time, and what a server says of them, fit to be shown; names that were meant. What every decision about objects needs, whatever kind they are.

mod conditions;
mod object;
mod patch;
mod redact;
mod suggestion;
mod unknown;

pub use conditions::Conditions;
pub use object::{Object, controller_of, is_within};
pub use patch::{lay_over, merge_patch};
pub use redact::without_secret_values;
pub use suggestion::meant;
pub use unknown::{unknown_fields, without_fields};
