//! Definitions and applications.
//!
//! ```text
//!  definitions, DefinitionRevisions ──► Catalogue ─┐
//!  Applications, ApplicationRevisions ─► Consumers ─┼─► who is concerned ──► queues ──► reconcile
//!  what applications made ─────────────► Made ──────┘
//! ```

mod admission;
mod application;
mod definition;
mod state;

use crate::cluster::Cluster;
use crate::runtime::watch::Watching;
use crate::runtime::{Cache, Change, DynamicCaches, Key, Pool};
use crate::settings::Settings;
use cambium_api::names::label;
use cambium_api::v1beta1::{Application, ApplicationRevision, DefinitionRevision, DefinitionType};
use cambium_definitions::application::Recorded;
use cambium_definitions_render::ClusterVersion;
use kube::api::ApiResource;
use state::{State, consuming};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

pub(crate) use admission::{mutators, validators};

/// Everything that the reconcilers of definitions and Applications work with.
pub(crate) struct Context {
    pub(crate) cluster: Cluster,
    pub(crate) state: Arc<State>,
    caches: Caches,
    /// The objects that Applications made, by kind.
    pub(crate) children: DynamicCaches,
    cluster_version: ClusterVersion,
    /// Threads for templates: user input runs outside locks and async workers.
    rendering: Arc<Pool>,
    settings: Settings,
    watches: OnceLock<Vec<Watching>>,
}

/// Caches of definitions, Applications and their revisions.
struct Caches {
    definitions: BTreeMap<DefinitionType, Arc<Cache>>,
    revisions: Arc<Cache>,
    applications: Arc<Cache>,
    recorded: Arc<Cache>,
}

impl Caches {
    fn all(&self) -> impl Iterator<Item = &Arc<Cache>> {
        let definitions = self.definitions.values();
        definitions.chain([&self.revisions, &self.applications, &self.recorded])
    }

    fn definitions(&self, type_: DefinitionType) -> &Arc<Cache> {
        &self.definitions[&type_]
    }
}

impl Context {
    pub(crate) fn new(
        cluster: Cluster,
        cluster_version: ClusterVersion,
        rendering: Arc<Pool>,
        settings: Settings,
    ) -> Self {
        let state = Arc::new(State::new(settings.local_definitions));
        state.definitions.count(settings.metrics.queue("definition"));
        state.applications.count(settings.metrics.queue("application"));
        let children = {
            let state = state.clone();
            let selector = Some(label::APPLICATION.to_owned());
            cluster.children(selector, move |gvk, change| state.child_changed(gvk, &change))
        };
        Self {
            caches: caches(&state),
            state,
            children,
            cluster,
            cluster_version,
            rendering,
            settings,
            watches: OnceLock::new(),
        }
    }

    /// Starts the watches, unless they are started, and waits until all caches are synced.
    pub(crate) async fn synced(&self) {
        self.watches.get_or_init(|| {
            let all = self.caches.all();
            all.map(|cache| self.cluster.follow(cache)).collect()
        });
        for cache in self.caches.all() {
            cache.synced().await;
        }
        self.state.set_ready();
    }

    /// Runs the reconcilers until it is dropped.
    pub(crate) async fn run(self: &Arc<Self>) {
        self.synced().await;
        let (definitions, applications) = (self.clone(), self.clone());
        tokio::join!(
            self.state.definitions.work(4, move |artifact| {
                definition::reconcile(artifact, definitions.clone())
            }),
            self.state.applications.work(self.settings.workers, move |key| {
                application::reconcile(key, applications.clone())
            }),
        );
    }

    /// Whether all queues are empty.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.definitions.is_idle() && self.state.applications.is_idle()
    }

    /// The ApplicationRevisions of the Application with this key and UID. Those of a deleted Application of the same name are not among them.
    pub(crate) fn recorded(&self, key: &Key, uid: Option<&str>) -> Vec<Recorded> {
        let names = self.state.consumers().recorded(&consuming(key));
        let records = names
            .iter()
            .filter_map(|name| self.caches.recorded.get(&Key::new(&key.namespace, name)));
        let recorded = records.filter_map(|record| Recorded::read(&record.value()).ok());
        recorded.filter(|recorded| recorded.is_of(uid)).collect()
    }
}

fn caches(state: &Arc<State>) -> Caches {
    let cache = |resource: ApiResource, changed: fn(&State, &Change)| {
        let state = state.clone();
        Cache::new(resource, move |change| changed(&state, &change))
    };
    let definitions = DefinitionType::ALL.into_iter().map(|type_| {
        let state = state.clone();
        let cache = Cache::new(type_.resource(), move |change| {
            state.definition_changed(type_, &change);
        });
        (type_, cache)
    });
    Caches {
        definitions: definitions.collect(),
        revisions: cache(
            ApiResource::erase::<DefinitionRevision>(&()),
            State::revision_changed,
        ),
        applications: cache(ApiResource::erase::<Application>(&()), State::application_changed),
        recorded: cache(
            ApiResource::erase::<ApplicationRevision>(&()),
            State::recorded_changed,
        ),
    }
}
