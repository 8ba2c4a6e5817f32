//! A cluster: clients, watches and events for reconcilers.
//!
//! ```text
//!  Cluster ─► kind(cache) ─► Kind: create, change, write the status, delete, each with what it teaches the cache
//!     │ └───► all, namespaced, objects: what is asked for and not watched
//!     └─────► mapper, events, watches, requests as an identity
//! ```
//!
//! Several clusters are several of these values. What they have in common (queues, catalogues, threads for templates) is not here.

use crate::impersonation::ImpersonatingClient;
use crate::runtime::events::{Event, Severity};
use crate::runtime::watch::Watching;
use crate::runtime::{
    Cache, Change, DynamicCaches, Events, Key, Mapper, MetadataEvent, MetadataWatches, Resource, Watch,
    with_timeouts,
};
use crate::settings::Settings;
use crate::write::{conflict, not_found, only, reference};
use cambium_api::names::FIELD_MANAGER;
use cambium_definitions::identity::Identity;
use cambium_objects::merge_patch;
use jiff::Timestamp;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, ObjectMeta};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::sync::Arc;

/// A cluster, as controllers see it.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// With timeouts for requests, and for the start of watches.
    client: Client,
    pub(crate) mapper: Mapper,
    pub(crate) events: Events,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Cluster {
    pub(crate) fn new(client: &Client, settings: &Settings) -> Self {
        let client = with_timeouts(client, settings.request_timeout, &settings.metrics);
        Self {
            mapper: Mapper::new(client.clone()),
            events: Events::start(client.clone(), "cambium", settings.instance.clone())
                .counted(settings.metrics.clone()),
            clock: settings.clock.clone(),
            client,
        }
    }

    /// The time in whole seconds, as objects have it: a time that is written and read back compares equal.
    pub(crate) fn now(&self) -> Timestamp {
        let now = (self.clock)();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    pub(crate) async fn version(&self) -> kube::Result<k8s_openapi::apimachinery::pkg::version::Info> {
        self.client.apiserver_version().await
    }

    /// Cluster-scoped objects of a kind that is not cached.
    pub(crate) fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = ClusterResourceScope, DynamicType = ()>,
    {
        Api::all(self.client.clone())
    }

    /// Namespaced objects of a kind that is not cached.
    pub(crate) fn namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Objects of a kind that is known at run time only, in a namespace if it is namespaced.
    pub(crate) fn objects(&self, kind: &Resource, namespace: &str) -> Api<DynamicObject> {
        kind.api(self.client.clone(), namespace)
    }

    /// All objects of a kind, in every namespace.
    pub(crate) fn everywhere(&self, kind: &ApiResource) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), kind)
    }

    /// Cluster-scoped objects of a cached kind.
    pub(crate) fn kind<'a>(&self, cache: &'a Cache) -> Kind<'a> {
        Kind::new(self.everywhere(cache.resource()), cache, "")
    }

    /// Objects of a cached kind, in a namespace; cluster-scoped if it is empty.
    pub(crate) fn kind_in<'a>(&self, cache: &'a Cache, namespace: &'a str) -> Kind<'a> {
        self.served_as(cache.resource(), cache, namespace)
    }

    /// The same, written at another API version than the cached one. The cache does not learn these writes: it has objects at its own version only.
    pub(crate) fn served_as<'a>(
        &self,
        resource: &ApiResource,
        cache: &'a Cache,
        namespace: &'a str,
    ) -> Kind<'a> {
        let api = match namespace {
            "" => self.everywhere(resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, resource),
        };
        let mut kind = Kind::new(api, cache, namespace);
        if resource.api_version != cache.resource().api_version {
            kind.learn = |_, _| {};
        }
        kind
    }

    /// A client that impersonates an identity.
    pub(crate) fn impersonating(&self, identity: Identity) -> kube::Result<ImpersonatingClient> {
        ImpersonatingClient::new(self.client.clone(), identity)
    }

    /// A watch that is not started yet.
    pub(crate) fn watch(&self) -> Watch {
        Watch::new(self.client.clone())
    }

    /// Starts to watch all objects of a cache.
    pub(crate) fn follow(&self, cache: &Arc<Cache>) -> Watching {
        self.watch().spawn(cache.clone())
    }

    /// Caches of kinds, each filled from its first use on.
    pub(crate) fn children(
        &self,
        selector: Option<String>,
        changed: impl Fn(&GroupVersionKind, Change) + Send + Sync + 'static,
    ) -> DynamicCaches {
        DynamicCaches::new(self.client.clone(), selector, changed)
    }

    /// Metadata watches of kinds, of which only changes are told and nothing is cached.
    pub(crate) fn metadata_watches(
        &self,
        heard: impl Fn(&GroupVersionKind, MetadataEvent) + Send + Sync + 'static,
    ) -> MetadataWatches {
        MetadataWatches::new(self.client.clone(), heard)
    }

    /// Emits an event about an object.
    pub(crate) fn emit(
        &self,
        object: &Value,
        severity: Severity,
        reason: impl Into<String>,
        action: &str,
        note: impl Into<String>,
    ) {
        self.events.record(Event {
            regarding: reference(object),
            severity,
            reason: reason.into(),
            action: action.to_owned(),
            note: note.into(),
        });
    }
}

/// The cached objects of a kind, in one namespace or cluster-scoped. The cache learns the answer to each write at once, so that the next reconcile
/// does not depend on how late the watch is.
pub(crate) struct Kind<'a> {
    api: Api<DynamicObject>,
    cache: &'a Cache,
    namespace: &'a str,
    params: PatchParams,
    learn: fn(&Cache, DynamicObject),
}

impl<'a> Kind<'a> {
    fn new(api: Api<DynamicObject>, cache: &'a Cache, namespace: &'a str) -> Self {
        Self {
            api,
            cache,
            namespace,
            params: PatchParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PatchParams::default()
            },
            learn: |cache, written| cache.learn(written),
        }
    }

    /// Sets the field manager of writes.
    pub(crate) fn managed_by(mut self, manager: &str) -> Self {
        self.params.field_manager = Some(manager.to_owned());
        self
    }

    /// For writes with a resource version: the answer holds nothing but this write, so it does not requeue the object.
    pub(crate) fn alone(mut self) -> Self {
        self.learn = |cache, written| cache.learn_alone(written);
        self
    }

    fn key(&self, name: &str) -> Key {
        Key::new(self.namespace, name)
    }

    /// Creates an object. If an object of its name exists, the cache learns that one and the error is a conflict: an earlier answer was lost, the
    /// watch is late, or the name belongs to another owner. The next reconcile decides by its owner.
    pub(crate) async fn create(&self, object: Value) -> kube::Result<()> {
        let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        let params = PostParams {
            field_manager: self.params.field_manager.clone(),
            ..PostParams::default()
        };
        match self.api.create(&params, &object).await {
            Ok(created) => {
                (self.learn)(self.cache, created);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                self.ask(&object.metadata.name.unwrap_or_default()).await?;
                Err(kube::Error::Api(status))
            }
            Err(error) => Err(error),
        }
    }

    /// Gets an object from the API server into the cache; whether it exists.
    pub(crate) async fn ask(&self, name: &str) -> kube::Result<bool> {
        let found = self.api.get_opt(name).await?;
        let is_there = found.is_some();
        found.into_iter().for_each(|found| self.cache.learn(found));
        Ok(is_there)
    }

    /// Patches an object, at whatever resource version it has unless the patch names one.
    pub(crate) async fn patch(&self, name: &str, patch: Value) -> kube::Result<()> {
        let written = self.api.patch(name, &self.params, &Patch::Merge(patch)).await;
        self.written(name, written)
    }

    /// Patches the object that was judged, by UID and resource version: a conflict if it has changed.
    pub(crate) async fn change(&self, judged: &ObjectMeta, mut patch: Value) -> kube::Result<()> {
        if patch["metadata"].is_null() {
            patch["metadata"] = json!({});
        }
        patch["metadata"]["resourceVersion"] = json!(judged.resource_version);
        patch["metadata"]["uid"] = json!(judged.uid);
        self.patch(judged.name.as_deref().unwrap_or_default(), patch)
            .await
    }

    /// Adds missing finalizers to the object that was judged; a conflict if that is gone.
    pub(crate) async fn add_finalizers(&self, judged: &ObjectMeta, finalizers: &[&str]) -> kube::Result<()> {
        let mut held = judged.finalizers.clone().unwrap_or_default();
        let before = held.len();
        for name in finalizers {
            if !held.iter().any(|held| held == name) {
                held.push((*name).to_owned());
            }
        }
        if held.len() == before {
            return Ok(());
        }
        let name = judged.name.as_deref().unwrap_or_default();
        let patch = json!({"metadata": {
            "finalizers": held, "resourceVersion": judged.resource_version, "uid": judged.uid,
        }});
        match self.api.patch(name, &self.params, &Patch::Merge(patch)).await {
            // Even if the cache says so, too: what the caller is about to create would never be pruned.
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                Err(conflict(format!("{name} is gone")))
            }
            written => self.written(name, written),
        }
    }

    /// Removes finalizers from the object that was judged. Without its last finalizer a deleted object is gone.
    pub(crate) async fn remove_finalizers(
        &self,
        judged: &ObjectMeta,
        finalizers: &[&str],
    ) -> kube::Result<()> {
        let name = judged.name.as_deref().unwrap_or_default();
        let held = judged.finalizers.iter().flatten();
        let rest: Vec<&String> = held.filter(|name| !finalizers.contains(&name.as_str())).collect();
        let patch = json!({"metadata": {
            "finalizers": rest, "resourceVersion": judged.resource_version, "uid": judged.uid,
        }});
        let params = PatchParams::default();
        match self.api.patch(name, &params, &Patch::Merge(patch)).await {
            Ok(_) if rest.is_empty() => {
                let uid = judged.uid.as_deref().unwrap_or_default();
                self.cache.learn_gone(&self.key(name), uid);
                Ok(())
            }
            written => self.written(name, written),
        }
    }

    /// Writes the status of the object that was judged, if it has changed.
    pub(crate) async fn write_status(&self, judged: &Value, status: &Value) -> kube::Result<()> {
        let Some(change) = merge_patch(&judged["status"], status) else {
            return Ok(());
        };
        let metadata = json!({"uid": judged["metadata"]["uid"]});
        let name = judged["metadata"]["name"].as_str().unwrap_or_default();
        self.patch_status(name, json!({"metadata": metadata, "status": change}))
            .await
    }

    /// Patches the status subresource of an object.
    pub(crate) async fn patch_status(&self, name: &str, patch: Value) -> kube::Result<()> {
        let patch = Patch::Merge(patch);
        let written = self.api.patch_status(name, &self.params, &patch).await;
        self.written(name, written)
    }

    /// Deletes the object that was judged, by UID. One with finalizers gets a deletion timestamp, and stays in the cache.
    pub(crate) async fn delete(&self, name: &str, uid: &str) -> kube::Result<()> {
        let key = self.key(name);
        match self.api.delete(name, &only(uid)).await {
            Ok(answer) => match answer.left() {
                Some(marked) if marked.metadata.deletion_timestamp.is_some() => self.cache.learn(marked),
                _ => self.cache.learn_gone(&key, uid),
            },
            Err(kube::Error::Api(status)) if status.code == 404 => return not_found(self.cache, &key),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Fails with a conflict unless the API server still has the owner at the resource version that was judged, before something is created for it: a
    /// watch may be late, and the store of the server may have been restored from a backup. An object that is created for a deleted owner would be
    /// garbage collected, and created again. The cache is not told of a 404: only the watch says that an object is deleted, since a kind that is not
    /// served at the moment answers with 404, too.
    pub(crate) async fn still_there(&self, judged: &Value) -> kube::Result<()> {
        let name = judged["metadata"]["name"].as_str().unwrap_or_default();
        let Some(found) = self.api.get_opt(name).await? else {
            return Err(conflict(format!("{name} is gone")));
        };
        // Not the generation: another change of a restored object has the same one.
        let version = judged["metadata"]["resourceVersion"].as_str();
        if found.metadata.resource_version.as_deref() == version {
            return Ok(());
        }
        self.cache.learn(found);
        Err(conflict(format!("{name} has changed since it was cached")))
    }

    fn written(&self, name: &str, written: kube::Result<DynamicObject>) -> kube::Result<()> {
        match written {
            Ok(written) => {
                (self.learn)(self.cache, written);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => not_found(self.cache, &self.key(name)),
            Err(error) => Err(error),
        }
    }
}
