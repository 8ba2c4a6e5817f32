//! Definitions: declared versions, the publish gate, the plan for revisions, and the status.

mod candidate;
mod declared;
mod plan;
mod revision;
mod seen;
mod status;
mod template;

pub use candidate::{Candidate, Templates};
pub use declared::{Called, Declared, DeclaredVersion, Problem, declared, scheme_of};
pub use plan::{Observed, Plan, Renumber, Uses, plan};
pub use seen::Seen;
