//! Schema evolution: the changes between two versions of a platform API, whom each of them breaks, and the bump that it demands.
//!
//! ```text
//!   CRD before ─► Contract ─┐                ┌─► effect on writers, on stored objects, on readers
//!                           ├─► compare ─► Change ─► bump: patch, minor or major
//!   CRD after  ─► Contract ─┘                └─► Witness: an object that the one accepts, and the other refuses or changes
//! ```
//!
//! A change is judged for three audiences, because it differs for them: a new mandatory field breaks those who write objects and freezes stored ones,
//! and no reader notices. Under `status` the roles are swapped: the controller writes, and users read.
//!
//! Rules are data ([`RULES`]): each change names its rule, and each rule says why it matters and what to do. What cannot be told is an answer of its
//! own ([`Effect::Unknown`]) and demands a major bump.
//!
//! Schemas are compared in the form that the API server uses ([`cambium_schema::Schema`]), so that spellings of one schema are no changes. This crate is
//! pure: it knows no cluster, and no clock.

mod change;
mod compare;
mod contract;
mod pairing;
mod path;
mod report;
mod rules;
mod sample;
mod witness;

pub use change::{Change, Effect, Effects, Place};
pub use compare::compare;
pub use contract::{Contract, ContractError, ContractVersion, Names};
pub use report::{Comparison, KindComparison, compare_all};
pub use rules::{RULES, Rule, rule};
pub use witness::{Outcome, Witness};
