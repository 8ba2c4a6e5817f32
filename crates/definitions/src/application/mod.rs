//! Applications: draft, plan, revisions and status.
//!
//! ```text
//!  draft(observed) ──► resolved, rendered, an ApplicationRevision to record     (or why not: then nothing is touched)
//!  plan(draft, live) ──► what to apply, what to prune, what belongs to others
//!  status(draft, plan, what happened) ──► the status, written once
//! ```

mod blocked_deletion;
mod direction;
mod draft;
mod events;
mod object;
mod order;
mod plan;
mod previous;
mod recorded;
mod references;
mod revision;
mod status;
mod unsupported;
mod work;

pub use blocked_deletion::stuck_status;
pub use cambium_objects::Object;
pub use direction::Direction;
pub use draft::{Answers, Draft, Observed, Step, ToRender, answers, draft, resolved, restore};
pub use events::{Events, events};
pub use object::is_made_by;
pub use plan::{
    Applied, Plan, Scopes, applied, ever_wanted, is_orphaning, kinds_with_ignored_fields, not_ours, plan,
    plan_deletion, revisions_to_delete, without_ignored_fields,
};
pub use recorded::{Record, Recorded, snapshot};
pub use revision::{Naming, RenderedRevision, render_revision};
pub use status::{Happened, deleting_status, status};
pub use work::Work;
