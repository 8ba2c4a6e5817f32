//! Reads what an Application has made and what exists under the names of its manifests.

use super::Reconciler;
use crate::impersonation::ImpersonatingClient;
use crate::kinds::{Kinds, PASSING, Unknown, find};
use crate::runtime::Record;
use cambium_definitions::Refused;
use cambium_definitions::application::{
    Draft, Object, Recorded, Scopes, Work, applied, ever_wanted, is_made_by,
};
use cambium_definitions::identity::identity;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is read about an Application before a plan is made, apart from the objects that exist.
pub(super) struct Observation {
    /// Its ApplicationRevisions.
    pub(super) recorded: Arc<Vec<Recorded>>,
    pub(super) draft: Arc<Draft>,
    /// The kinds of its manifests, and of everything that it may have made.
    pub(super) kinds: Kinds,
    pub(super) scopes: Arc<Scopes>,
    /// Whether a kind could not be discovered: it may have objects to prune.
    pub(super) undiscovered: bool,
    /// A client that impersonates the identity of the Application, or why it has none.
    pub(super) client: Result<ImpersonatingClient, Refused>,
}

impl Reconciler<'_> {
    /// Reads kinds and objects; nothing while discovery fails, which may pass.
    pub(super) async fn observe(
        &self,
        recorded: &Arc<Vec<Recorded>>,
        draft: &Arc<Draft>,
        work: &Work,
    ) -> kube::Result<Option<(Observation, BTreeMap<Object, Value>)>> {
        let mut wanted = work.kinds();
        wanted.extend(self.kinds_made(recorded));
        let kinds = self.kinds(wanted).await;
        let scopes = kinds.iter().map(|(kind, resource)| {
            let scope = resource.as_ref().map(|known| known.namespaced);
            (kind.clone(), scope.map_err(ToString::to_string))
        });
        let scopes: Scopes = scopes.collect();
        let undiscovered = kinds.values().any(|kind| matches!(kind, Err(Unknown::Unseen(_))));
        if undiscovered && self.context.state.applications.failures(&self.key) < PASSING {
            return Ok(None);
        }
        let client = self.impersonate(&work.snapshot)?;
        let live = self.live(work, &kinds, client.as_ref().ok()).await?;
        let observation = Observation {
            recorded: recorded.clone(),
            draft: draft.clone(),
            kinds,
            scopes: Arc::new(scopes),
            undiscovered,
            client,
        };
        Ok(Some((observation, live)))
    }

    /// The ApplicationRevisions of this Application.
    pub(super) fn recorded(&self) -> Vec<Recorded> {
        let uid = self.application["metadata"]["uid"].as_str();
        self.context.recorded(&self.key, uid)
    }

    /// The kinds of all objects that this Application may have made.
    pub(super) fn kinds_made(&self, recorded: &[Recorded]) -> BTreeSet<(String, String)> {
        let objects = ever_wanted(&self.application, recorded);
        objects
            .into_iter()
            .map(|object| (object.api_version, object.kind))
            .collect()
    }

    /// Discovers kinds, and begins to watch their objects. A kind that is missing requeues the Application when it is defined.
    pub(super) async fn kinds(&self, wanted: BTreeSet<(String, String)>) -> Kinds {
        let misses = |group: &str| self.context.state.misses(&self.key, group);
        find(
            &self.context.cluster.mapper,
            &self.context.children,
            wanted,
            misses,
        )
        .await
    }

    /// Every object that exists under the name of a manifest, and every other object that this Application made. An object of another owner is read as
    /// the identity of the Application: the status must not tell users about objects that they may not get.
    async fn live(
        &self,
        work: &Work,
        kinds: &Kinds,
        client: Option<&ImpersonatingClient>,
    ) -> kube::Result<BTreeMap<Object, Value>> {
        let mut live = self.made();
        let mut applied = applied(&self.application);
        applied.retain(|object| !live.keys().any(|known| known.is(object)));
        live.extend(self.unseen(applied, kinds).await?);
        let Some(client) = client else {
            return Ok(live);
        };
        for (_, manifest) in work.manifests() {
            let mut object = Object::of(&manifest.object);
            let kind = (object.api_version.clone(), object.kind.clone());
            let Some(Ok(resource)) = kinds.get(&kind) else {
                continue;
            };
            if !resource.namespaced {
                object.namespace = String::new();
            }
            if live.contains_key(&object) {
                continue;
            }
            // Own objects are watched: one that no cache has does not exist, or has another owner.
            if let Some(found) = client.visible(resource, &object).await? {
                // Not as a compact record: its managed fields tell whether this Application has applied it.
                live.insert(
                    object,
                    serde_json::to_value(found).map_err(kube::Error::SerdeError)?,
                );
            }
        }
        Ok(live)
    }

    /// Those of these objects, which no cache has, that this Application made and that exist all the same: a watch may be late, and an object that is
    /// taken for gone would never be pruned.
    pub(super) async fn unseen(
        &self,
        objects: impl IntoIterator<Item = Object>,
        kinds: &Kinds,
    ) -> kube::Result<BTreeMap<Object, Value>> {
        let mut unseen = BTreeMap::new();
        for object in objects {
            let kind = (object.api_version.clone(), object.kind.clone());
            let Some(Ok(resource)) = kinds.get(&kind) else {
                continue;
            };
            let api = self.context.cluster.objects(resource, &object.namespace);
            let Some(found) = api.get_opt(&object.name).await? else {
                continue;
            };
            let value = Record::new(found.clone().into(), &resource.api_resource).value();
            if !is_made_by(&value, &self.key.namespace, &self.key.name) {
                continue;
            }
            if let Some(cache) = self.context.children.get(&resource.gvk()) {
                cache.learn(found);
            }
            unseen.insert(Object::of(&value), value);
        }
        Ok(unseen)
    }

    /// The objects in caches that this Application made.
    pub(super) fn made(&self) -> BTreeMap<Object, Value> {
        let mut live = BTreeMap::new();
        for (gvk, key) in self.context.state.made_by(&self.key) {
            let cache = self.context.children.get(&gvk);
            if let Some(record) = cache.and_then(|cache| cache.get(&key)) {
                let value = record.value();
                live.insert(Object::of(&value), value);
            }
        }
        live
    }

    /// A client that impersonates the identity with whose rights the Application's objects are written, or why there is no such identity.
    pub(super) fn impersonate(&self, rendered: &Value) -> kube::Result<Result<ImpersonatingClient, Refused>> {
        let rules = &self.context.settings.identities;
        match identity(&self.application, rendered, rules) {
            Ok(identity) => self.context.cluster.impersonating(identity).map(Ok),
            Err(refused) => Ok(Err(refused)),
        }
    }
}
