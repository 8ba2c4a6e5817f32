//! Compositions and their CompositionRevisions: publishing, labels, retention, status.

pub(crate) mod candidate;
mod names;
mod plan;
mod status;
mod stored;

pub use candidate::Candidate;
pub use names::composition_label;
pub(crate) use names::copied;
pub use plan::{Observed, Plan, check_revision, plan, retention};
pub use status::{to_judge, to_read};
pub(crate) use stored::identity;
pub use stored::{LabelEdits, Labels, Owner, Stored, StoredError};
