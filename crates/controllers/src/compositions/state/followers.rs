//! Requeues composite resources that follow a published revision, within the rate limit.

use super::{CompositeKey, State};
use cambium_api::crossplane::TypeReference;
use std::collections::BTreeSet;
use std::sync::PoisonError;
use tokio::time::Instant;

impl State {
    /// Requeues the composite resources that would get another revision now.
    pub(super) fn requeue_concerned(&self, composition: &str, types: &BTreeSet<TypeReference>) {
        if !self.is_ready() {
            return;
        }
        let concerned = {
            let catalogue = self.catalogue();
            self.consumers()
                .concerned(&catalogue, self.fetcher(), composition, types)
        };
        self.requeue_rate_limited(concerned);
    }

    /// Whether a composite resource has not moved yet when a manager starts: it was waiting for its turn when the last one stopped.
    pub(super) fn is_behind(&self, key: &CompositeKey) -> bool {
        if self.rate_limit.is_none() || self.is_ready() {
            return false;
        }
        let catalogue = self.catalogue();
        self.consumers().is_concerned(&catalogue, self.fetcher(), key)
    }

    /// Requeues composite resources within the rate limit of their kinds. Those without a revision are requeued at once, since they do not move; so
    /// are those that another change requeues.
    pub(super) fn requeue_rate_limited(&self, keys: impl IntoIterator<Item = CompositeKey>) {
        let Some(rate_limit) = &self.rate_limit else {
            return self.composites.add_all(keys);
        };
        let (moving, new): (Vec<_>, Vec<_>) = {
            let consumers = self.consumers();
            keys.into_iter()
                .partition(|key| consumers.revision(key).is_some())
        };
        self.composites.add_all(new);
        let mut rate_limit = rate_limit.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now().into_std();
        self.composites.add_each_at(moving, |key, anyway| {
            let turn = rate_limit.turn(&key.type_, now, anyway.map(Instant::into_std))?;
            Some(Instant::from_std(turn))
        });
    }
}

#[cfg(test)]
mod tests;
