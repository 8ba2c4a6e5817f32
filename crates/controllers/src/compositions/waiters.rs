//! Composite resources that wait for something missing: a kind that is not defined, or a Function.

use super::CompositeKey;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// Composite resources, by the name of what they wait for.
#[derive(Default)]
pub(super) struct Waiters(Mutex<HashMap<String, HashSet<CompositeKey>>>);

impl Waiters {
    /// Adds a composite resource that waits for this name.
    pub(super) fn add(&self, missing: &str, key: &CompositeKey) {
        let mut waiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiters.entry(missing.to_owned()).or_default().insert(key.clone());
    }

    /// Removes and returns the composite resources that wait for this name. Those that still miss it wait again after their next reconcile.
    pub(super) fn take(&self, missing: &str) -> HashSet<CompositeKey> {
        let mut waiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiters.remove(missing).unwrap_or_default()
    }
}
