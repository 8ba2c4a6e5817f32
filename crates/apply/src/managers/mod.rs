//! Field ownership: managers, conflicts, server-side apply.
//!
//! Every write has a field manager. An update (create, update, patch) takes ownership of the fields that it changes from
//! all other managers. An applier owns exactly the fields of its configuration; changing a field of another manager is a
//! [conflict](Conflicts) unless forced, and fields that it no longer applies and nobody else owns are removed.
//!
//! The entry point is [`FieldManager`]: [`update`](FieldManager::update) after an update was merged,
//! [`apply`](FieldManager::apply) for server-side apply. Both read and write `metadata.managedFields`.
//!
//! ```text
//!  field_manager ─▶ last_applied ─▶ apply_config ─▶ ownership ─▶ typed::*
//!         │                              └─▶ prune
//!         └─▶ cap, managed_fields (decode, encode)
//! ```

mod apply_config;
mod cap;
mod conflicts;
mod entry;
mod field_manager;
mod last_applied;
mod managed_fields;
mod ownership;
mod prune;
mod stripped;
mod timestamp;
mod versions;

pub use conflicts::{Cause, Conflict, Conflicts, FIELD_MANAGER_CONFLICT};
pub use entry::{Entry, ManagerId, Operation};
pub use field_manager::{ApplyError, FieldManager, UpdateError};
pub use last_applied::LAST_APPLIED_ANNOTATION;
pub use managed_fields::{ManagedFields, ManagedFieldsError};
pub use ownership::Force;
pub use timestamp::{Timestamp, TimestampError};
pub use versions::{ByVersion, OneVersion, Versions};

#[cfg(test)]
mod apply_tests;
#[cfg(test)]
mod update_tests;
