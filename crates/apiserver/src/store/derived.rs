//! Caches a value derived from the objects of a few buckets, recomputed when they change.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Bucket, Entry, Store};

/// A derived value. Reads always see the latest objects, so a policy or configuration takes effect as soon as it is
/// stored.
pub(crate) struct Derived<T, const N: usize> {
    buckets: [Arc<Bucket>; N],
    make: fn([Vec<Arc<Entry>>; N]) -> T,
    known: Mutex<Option<([u64; N], Arc<T>)>>,
}

impl<T, const N: usize> Derived<T, N> {
    /// `make` gets the objects of each bucket, in the order of their keys.
    pub(crate) fn new(store: &Store, buckets: [&str; N], make: fn([Vec<Arc<Entry>>; N]) -> T) -> Self {
        Self {
            buckets: buckets.map(|name| store.bucket(&name.into())),
            make,
            known: Mutex::new(None),
        }
    }

    /// The value for the current objects.
    pub(crate) fn get(&self) -> Arc<T> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((revisions, value)) = &*known
            && self
                .buckets
                .iter()
                .zip(revisions)
                .all(|(bucket, revision)| bucket.newest() == *revision)
        {
            return value.clone();
        }
        let mut revisions = [0; N];
        let mut listed = self.buckets.iter().zip(&mut revisions).map(|(bucket, revision)| {
            let (entries, newest) = bucket.list("");
            *revision = newest;
            entries
        });
        let entries = std::array::from_fn(|_| listed.next().unwrap_or_default());
        let value = Arc::new((self.make)(entries));
        *known = Some((revisions, value.clone()));
        value
    }
}
