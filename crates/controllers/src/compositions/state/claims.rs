//! Index of claims, and the kinds of composite resources and claims that webhooks match.

use super::{CompositeKey, State};
use cambium_compositions::definition::Definition;
use cambium_compositions::{Consumer, Consuming, Layout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use tokio::sync::watch;

impl State {
    /// Requeues the claim of a composite resource.
    pub(in crate::compositions) fn requeue_claim(&self, composite: &Value) {
        let Some(claim) = Layout::Legacy.claim_ref(composite) else {
            return;
        };
        let group = claim.api_version.split_once('/').map_or("", |(group, _)| group);
        let defined = self.claimed(group, claim.kind);
        if let Some(type_) = defined.and_then(|defined| defined.claim_type.clone()) {
            self.claims.add(Arc::new(Consuming {
                type_,
                namespace: claim.namespace.to_owned(),
                name: claim.name.to_owned(),
            }));
        }
    }

    /// Indexes the composition that a claim asks for.
    pub(in crate::compositions) fn index_claim(
        &self,
        key: &CompositeKey,
        definition: &Definition,
        claim: &Value,
    ) {
        let consumer = Consumer::claim(definition, claim);
        let changed = self.consumers_mut().put(key.clone(), consumer);
        self.uses_changed(&changed);
    }

    /// The plurals of composite resources and claims, by group.
    pub(in crate::compositions) fn kinds(&self) -> BTreeMap<String, Vec<String>> {
        let defined = self.defined.read().unwrap_or_else(PoisonError::into_inner);
        let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for defined in defined.values() {
            kinds
                .entry(defined.definition.group().to_owned())
                .or_default()
                .extend(defined.plurals());
        }
        kinds
    }

    /// Notified when [`State::kinds`] changes.
    pub(in crate::compositions) fn kinds_changed(&self) -> watch::Receiver<()> {
        self.kinds_changed.subscribe()
    }
}
