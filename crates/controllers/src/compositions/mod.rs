//! Compositions and composite resources.
//!
//! ```text
//!  CompositeResourceDefinitions ─► what defines a kind, its CRDs ─┐
//!  Compositions, CompositionRevisions ─────────────► Catalogue ───┼─► who is concerned ──► queues ──► reconcile
//!  composite resources, claims ────────────────────► Consumers ───┤
//!  what composite resources are composed of ───────► owners ──────┤
//!  what functions ask to see besides ──────────────► Required ────┤
//!  Functions ──────────────────────────────────────► who waits ───┘
//! ```

mod admission;
mod claim;
mod composite;
mod composition;
mod definition;
mod deletion_checks;
mod emitted_events;
mod function_calls;
mod required_resources;
mod state;
mod waiters;

use crate::cluster::Cluster;
use crate::kinds::PASSING;
use crate::runtime::watch::Watching;
use crate::runtime::{Cache, DynamicCaches, Key, MetadataWatches, Pool, Resource};
use crate::settings::Settings;
use cambium_api::crossplane::{Composition, CompositionRevision, Function, TypeReference};
use cambium_api::names::label;
use cambium_compositions::definition::crd_state;
use cambium_compositions::{ByRevision, CompositionFetcher, FromComposition, RateLimit, Refusal};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, ListParams};
use serde_json::Value;
use state::{Defined, Served, State};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) use admission::validators;
pub(crate) use state::CompositeKey;

/// The label of the ConfigMap with the highest revision numbers that were issued.
const ISSUED_NUMBERS_LABEL: &str = "composition.cambium.dev/high-water-marks";
/// The name of that ConfigMap, in the manager's namespace.
const ISSUED_NUMBERS_NAME: &str = "cambium-composition-numbers";

/// The pause between attempts to read a CRD.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Everything that the reconcilers of compositions work with.
pub(crate) struct Context {
    pub(crate) cluster: Cluster,
    pub(crate) state: Arc<State>,
    definitions: Arc<Cache>,
    compositions: Arc<Cache>,
    revisions: Arc<Cache>,
    /// The ConfigMap with the highest revision number of each Composition. Only the reconciler of Compositions writes it.
    issued_numbers: Arc<Cache>,
    /// Function objects, with the endpoints of functions.
    functions: Arc<Cache>,
    /// The gRPC clients of functions. Only the reconciler of composite resources calls them.
    calls: function_calls::Calls,
    /// Composite resources and claims, by kind: watched by the reconciler of CompositeResourceDefinitions, read by all.
    kinds: DynamicCaches,
    /// Composed resources, by kind: watched and applied by the reconciler of composite resources.
    composed: DynamicCaches,
    /// Metadata watches of the kinds that functions require besides composed resources.
    required: MetadataWatches,
    /// Threads for patches and functions: user input runs outside locks and async workers.
    rendering: Arc<Pool>,
    settings: Settings,
    watches: OnceLock<Vec<Watching>>,
}

impl Context {
    pub(crate) fn new(cluster: Cluster, rendering: Arc<Pool>, settings: Settings) -> Self {
        let fetcher: Box<dyn CompositionFetcher + Send + Sync> = match settings.composition_revisions {
            true => Box::new(ByRevision),
            false => Box::new(FromComposition),
        };
        let rate_limit = settings.automatic_moves_per_second.map(RateLimit::new);
        let state = Arc::new(State::new(fetcher, settings.label_edits, rate_limit));
        let metrics = &settings.metrics;
        state
            .definitions
            .count(metrics.queue("compositeresourcedefinition"));
        state.compositions.count(metrics.queue("composition"));
        state.composites.count(metrics.queue("composite"));
        state.claims.count(metrics.queue("claim"));
        let cache = |resource: ApiResource, changed: fn(&State, &crate::runtime::Change)| {
            let state = state.clone();
            Cache::new(resource, move |change| changed(&state, &change))
        };
        let children = |selector: Option<String>, changed: state::ChildChanged| {
            let state = state.clone();
            cluster.children(selector, move |gvk, change| changed(&state, gvk, &change))
        };
        Self {
            definitions: cache(definition::resource(), State::definition_changed),
            compositions: cache(ApiResource::erase::<Composition>(&()), State::composition_changed),
            revisions: cache(
                ApiResource::erase::<CompositionRevision>(&()),
                State::revision_changed,
            ),
            issued_numbers: cache(
                ApiResource::erase::<ConfigMap>(&()),
                State::issued_numbers_changed,
            ),
            functions: cache(ApiResource::erase::<Function>(&()), State::function_changed),
            calls: function_calls::Calls::default(),
            kinds: children(None, State::composite_changed),
            composed: children(Some(label::COMPOSITE.to_owned()), State::composed_changed),
            required: {
                let state = state.clone();
                cluster.metadata_watches(move |gvk, heard| state.required_changed(gvk, &heard))
            },
            state,
            cluster,
            rendering,
            settings,
            watches: OnceLock::new(),
        }
    }

    /// Starts the watches, unless they are started, and waits until all caches are synced: definitions first, then the kinds that they define.
    pub(crate) async fn synced(&self) {
        if self.state.is_ready() {
            return;
        }
        self.watches.get_or_init(|| {
            let marks = self.cluster.watch().labels(ISSUED_NUMBERS_LABEL);
            let marks = marks.spawn(self.issued_numbers.clone());
            let all = [
                &self.definitions,
                &self.compositions,
                &self.revisions,
                &self.functions,
            ];
            let mut watches: Vec<Watching> = all.map(|cache| self.cluster.follow(cache)).into();
            watches.push(marks);
            watches
        });
        for cache in [
            &self.definitions,
            &self.compositions,
            &self.revisions,
            &self.functions,
            &self.issued_numbers,
        ] {
            cache.synced().await;
        }
        for defined in self.state.all_defined() {
            for (crd, resource) in defined.kinds() {
                if let Some(served) = self.find_served(&crd, &defined.uid).await {
                    self.see(&defined, &crd, &resource, served).await;
                }
            }
        }
        self.state.set_ready();
    }

    /// Whether the API server serves the CRD of the definition with this UID, whatever the status of the definition says. A CRD that cannot be read
    /// is read again when the definition is reconciled.
    async fn find_served(&self, crd: &str, uid: &str) -> Option<Served> {
        let api: Api<CustomResourceDefinition> = self.cluster.all();
        for _ in 0..PASSING {
            match api.get_opt(crd).await {
                Ok(live) => return Some(Served::by(&crd_state(uid, live.as_ref()))),
                Err(error) => tracing::warn!(crd, %error, "failed to get CustomResourceDefinition"),
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        None
    }

    /// Watches the composite resources or claims of a kind, if it is served; whether that has worked.
    async fn see(&self, defined: &Defined, crd: &str, resource: &Resource, served: Served) -> bool {
        if matches!(served, Served::No | Served::Foreign) {
            self.state.set_served(defined, crd, served);
            return true;
        }
        // Before its cache is filled: events of its objects are dispatched by the definition that serves the kind.
        if self.composites(resource).is_none() {
            self.state.set_served(defined, crd, Served::Unseen);
        }
        match self.kinds.ensure(resource).await {
            Ok(_) => {
                self.state.set_served(defined, crd, Served::Seen);
                true
            }
            Err(error) => {
                tracing::warn!(crd, %error, "failed to list the objects of the CustomResourceDefinition; requeued with back-off");
                false
            }
        }
    }

    /// The schema of a kind that is defined by a CRD; nothing for built-in kinds.
    async fn schema(&self, api_version: &str, kind: &str) -> Result<Option<Value>, String> {
        let resource = self.cluster.mapper.resolve(api_version, kind).await;
        let resource = resource.map_err(|error| error.to_string())?.api_resource;
        let api: Api<CustomResourceDefinition> = self.cluster.all();
        let name = format!("{}.{}", resource.plural, resource.group);
        let found = api.get_opt(&name).await.map_err(|error| error.to_string())?;
        let versions = found.into_iter().flat_map(|found| found.spec.versions);
        let version = versions
            .into_iter()
            .find(|version| version.name == resource.version);
        let schema = version.and_then(|version| version.schema?.open_api_v3_schema);
        Ok(schema.map(|schema| serde_json::json!(schema)))
    }

    /// Whether a kind whose objects may use Compositions for this kind is not cached.
    fn has_unseen(&self, type_: &TypeReference) -> bool {
        let kinds = self.state.kinds_for(type_);
        let unseen = kinds
            .iter()
            .any(|(_, crd, resource)| match self.state.served(crd) {
                Some(Served::No) => false,
                Some(Served::Seen) => self.composites(resource).is_none(),
                Some(Served::Unseen | Served::Foreign) | None => true,
            });
        unseen || !self.state.unread_for(type_).is_empty()
    }

    /// Runs the reconcilers until it is dropped.
    pub(crate) async fn run(self: &Arc<Self>) {
        self.synced().await;
        let state = &self.state;
        let (definitions, compositions) = (self.clone(), self.clone());
        let (composites, claims) = (self.clone(), self.clone());
        tokio::join!(
            state
                .definitions
                .work(2, move |name| definition::reconcile(name, definitions.clone())),
            state
                .compositions
                .work(2, move |name| composition::reconcile(name, compositions.clone())),
            state
                .composites
                .work(self.settings.workers, move |key| composite::reconcile(
                    key,
                    composites.clone()
                )),
            state
                .claims
                .work(self.settings.workers, move |key| claim::reconcile(
                    key,
                    claims.clone()
                )),
        );
    }

    /// Handles a CRD that was created, changed or deleted.
    pub(crate) fn kind_changed(&self, crd: &str, group: &str, gone: bool) {
        if gone {
            self.composed.forget(group);
            self.required.forget(group);
        }
        self.state.kind_changed(crd, group);
    }

    /// Gets a missing Composition or revision from the API server before its absence is reported: watches are not ordered, and may be late. Whether
    /// it exists.
    async fn look_for_missing(&self, refusal: &Refusal) -> kube::Result<bool> {
        let (cache, name) = match refusal {
            Refusal::MissingComposition(name) => (&self.compositions, name),
            Refusal::MissingRevision(name) => (&self.revisions, name),
            _ => return Ok(false),
        };
        if cache.get(&Key::cluster(name)).is_some() {
            return Ok(false);
        }
        self.cluster.kind(cache).ask(name).await
    }

    /// Gets the Compositions that a selector matches and that are not cached at their latest version, before it is reported that none matches: the
    /// watch of Compositions may be behind that of composite resources. Whether there are any.
    async fn look_for_selected(&self, refusal: &Refusal) -> kube::Result<bool> {
        let Refusal::NoComposition(selector) = refusal else {
            return Ok(false);
        };
        let cache = &self.compositions;
        let api = self.cluster.everywhere(cache.resource());
        let labels = selector.as_ref().map(ToString::to_string).unwrap_or_default();
        let listed = api.list_metadata(&ListParams::default().labels(&labels)).await?;
        let version = |key: &Key| cache.get(key)?.metadata().resource_version;
        let mut is_there = false;
        for listed in listed {
            let key = Key::of(&listed.metadata);
            let seen = version(&key);
            if seen == listed.metadata.resource_version {
                continue;
            }
            if let Some(found) = api.get_opt(&key.name).await? {
                cache.learn(found);
                is_there |= version(&key) != seen;
            }
        }
        Ok(is_there)
    }

    /// Whether all queues are empty.
    pub(crate) fn is_idle(&self) -> bool {
        let state = &self.state;
        let makers = state.definitions.is_idle() && state.compositions.is_idle();
        makers && state.composites.is_idle() && state.claims.is_idle()
    }

    /// The cache of composite resources or claims of a kind.
    fn composites(&self, resource: &Resource) -> Option<Arc<Cache>> {
        self.kinds.get(&resource.gvk())
    }
}
