//! Reports on a cluster: typed, serializable answers for the command line, the dashboard and tests.
//!
//! ```text
//!  list or watch ──put, remove──► Inventory ──► history   which revisions are there, and who uses each?
//!                                           ├─► resolve   what does each reference get, and why?
//!                                           ├─► outdated  who could move to something newer, and why don't they?
//!                                           ├─► diff      what changed between two revisions?
//!                                           ├─► gc        what would the manager delete?
//!                                           └─► verify    is a version the same in several clusters?
//! ```
//!
//! Answers are typed and serializable: `-o json` prints them as they are, so their field names are an interface and stay. Nothing in this
//! crate decides: it asks `definitions`, `compositions` and `lineage`, as the controllers do. It has no client, clock, or output.

mod error;
mod inventory;
mod subject;

pub mod diff;
pub mod gc;
pub mod history;
pub mod outdated;
pub mod resolve;
pub mod verify;

pub use error::Unanswered;
pub use inventory::{
    CompositeKind, Compositions, Definitions, Inventory, NotListed, ObjectName, Unreadable, Visibility,
};
pub use subject::{Asked, Followed, Kind, Subject};
