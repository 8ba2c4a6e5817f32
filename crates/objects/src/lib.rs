//! Objects of a cluster as JSON trees: which one, whose, whether it is as it should be, the patch between two, and conditions that keep
//! their time. What every decision about objects needs, whatever kind they are.

mod conditions;
mod object;
mod patch;

pub use conditions::Conditions;
pub use object::{Object, controller_of, is_within};
pub use patch::merge_patch;
