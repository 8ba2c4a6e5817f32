//! Which requests were made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::{Call, Verb};

/// The requests of a client, in the order in which they were made. Clones are the same recorder.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Call>>>);

impl Recorder {
    /// All requests so far.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().clone()
    }

    /// Forgets all requests so far.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// All requests so far, which it forgets.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.lock())
    }

    /// How many requests this is true of.
    pub fn count(&self, is: impl Fn(&Call) -> bool) -> usize {
        self.lock().iter().filter(|call| is(call)).count()
    }

    /// Every request that changes something.
    pub fn writes(&self) -> Vec<Call> {
        self.lock()
            .iter()
            .filter(|call| call.verb.is_write())
            .cloned()
            .collect()
    }

    /// How many requests read many objects at once.
    pub fn lists(&self) -> usize {
        self.count(|call| call.verb == Verb::List)
    }

    /// How often each verb was used on each resource: `patch applications/status` → 3.
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
