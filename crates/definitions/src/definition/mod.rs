//! Definitions: what they declare, what that makes of their revisions, and what is refused.

mod declared;
mod plan;
mod revision;
mod seen;
mod status;
mod template;

pub use declared::{Called, Declared, DeclaredVersion, Problem, declared, scheme_of};
pub(crate) use plan::conflict_text;
pub use plan::{Observed, Plan, Renumber, Templates, Uses, plan};
pub use seen::Seen;
pub(crate) use template::check_template;
