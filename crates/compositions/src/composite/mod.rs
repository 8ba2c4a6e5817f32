//! Composite resources: the wanted resources, the plan, and the status.
//!
//! ```text
//!  Wish ─fetch─► Fetched ─┐
//!  what is there ─────────┼─► wanted ─► plan: collect, record, apply ─► report ─► conclude: record, status, secret, events
//!  kinds ─────────────────┘
//! ```
//!
//! Templates say what is wanted and report what is there; so does a [`crate::pipeline`]. The rest is the same for both.

mod function_conditions;
mod plan;
mod report;
mod status;
mod wanted;

pub use cambium_objects::Object;
pub use plan::{Apply, Became, Observed, Plan, Scopes, field_manager, plan, plan_selection, selection_patch};
pub use report::Report;
pub(crate) use status::compact;
pub use status::{
    Concluded, Happened, Note, conclude, failed_status, has_changed, paused_status, refused_status,
    too_expensive_status,
};
pub use wanted::{Called, Wanted, associate, wanted};

pub(crate) use wanted::name_it;
