//! Composite resources: what is made of them, what they are told, and what they say.
//!
//! ```text
//!  Wish ─fetch─► Fetched ─┐
//!  what is there ─────────┼─► wanted ─► plan: collect, record, apply ─► conclude: record, status, secret, events
//!  kinds ─────────────────┘
//! ```

mod conclude;
mod object;
mod plan;
mod wanted;

pub(crate) use conclude::compact;
pub use conclude::{Concluded, Happened, Note, conclude, paused_status, refused_status};
pub use object::{Object, controller_of, is_within};
pub use plan::{Apply, Observed, Plan, Scopes, field_manager, plan};
pub use wanted::{Wanted, associate, wanted};
