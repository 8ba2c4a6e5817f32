//! Who owns which field of an object.
//!
//! Every write names a manager. A plain write (create, update, patch) takes the fields that it changes away from
//! everybody else. An apply owns exactly the fields of its configuration; changing a field that somebody else owns is a
//! [conflict](Conflicts) unless forced, and fields that it no longer mentions and nobody else owns are removed.
//!
//! [`FieldManager`] is the door: [`update`](FieldManager::update) after a plain write was merged,
//! [`apply`](FieldManager::apply) for server-side apply. Both read `metadata.managedFields` and write it back.
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
