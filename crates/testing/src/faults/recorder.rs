//! Records requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::{Call, Verb};

/// The requests of a client, in order. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Call>>>);

impl Recorder {
    /// All requests so far.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().clone()
    }

    /// Clears the record.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Returns and clears the record.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.lock())
    }

    /// The number of requests that satisfy a predicate.
    pub fn count(&self, is: impl Fn(&Call) -> bool) -> usize {
        self.lock().iter().filter(|call| is(call)).count()
    }

    /// All write requests.
    pub fn writes(&self) -> Vec<Call> {
        self.lock()
            .iter()
            .filter(|call| call.verb.is_write())
            .cloned()
            .collect()
    }

    /// The number of list requests.
    pub fn lists(&self) -> usize {
        self.count(|call| call.verb == Verb::List)
    }

    /// Counts by verb and resource: `patch applications/status` → 3.
    pub fn summary(&self) -> BTreeMap<String, usize> {
        let mut summary = BTreeMap::new();
        for call in self.lock().iter() {
            let what = if call.resource.is_empty() {
                &call.path
            } else {
                &call.resource
            };
            *summary.entry(format!("{} {what}", call.verb)).or_default() += 1;
        }
        summary
    }

    pub(super) fn record(&self, call: Call) {
        self.lock().push(call);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
