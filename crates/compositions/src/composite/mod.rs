//! Composite resources: what is made of them, what they are told, and what they say.
//!
//! ```text
//!  Wish ─fetch─► Fetched ─┐
//!  what is there ─────────┼─► wanted ─► plan: collect, record, apply ─► report ─► conclude: record, status, secret, events
//!  kinds ─────────────────┘
//! ```
//!
//! Templates say what is wanted and report what is there; so does a [`crate::pipeline`]. The rest is the same for both.

mod conclude;
mod custom;
mod plan;
mod report;
mod wanted;

pub use cambium_objects::Object;
pub(crate) use conclude::compact;
pub use conclude::{
    Concluded, Happened, Note, conclude, failed_status, has_changed, paused_status, refused_status,
    too_expensive_status,
};
pub use plan::{Apply, Became, Observed, Plan, Scopes, field_manager, hold, plan, selection};
pub use report::Report;
pub use wanted::{Called, Wanted, associate, wanted};

pub(crate) use wanted::name_it;
