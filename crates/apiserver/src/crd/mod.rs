//! CustomResourceDefinitions and the resources that they define.
//!
//! ```text
//! CRD written ─► validation (at the door) ─► controller: names, conditions, clean-up
//!                                               │
//!                                        definition: compiled versions ─► registry
//!                                               ├─ columns      what `kubectl get` shows
//!                                               └─ conversion   between versions, by webhook or by name only
//! ```

mod columns;
mod controller;
mod conversion;
mod definition;
mod jsonpath;
mod names;
mod validation;

pub(crate) use controller::{load, run};
pub(crate) use definition::{Definition, Version};
pub(crate) use names::mark_deleted;
pub(crate) use validation::{record_stored_versions, validate};

/// The finalizer that keeps a CRD until its objects are deleted.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
