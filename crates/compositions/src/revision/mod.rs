//! Compositions and their revisions: what a composition makes of them, and which may go.

mod names;
mod plan;
mod status;
mod stored;

pub use names::composition_label;
pub use plan::{Observed, Plan, check_revision, plan, retention};
pub use status::to_read;
pub use stored::{LabelEdits, Labels, Owner, Stored, StoredError};
