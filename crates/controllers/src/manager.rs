//! Everything together: what is watched, what is known, and who works.

use crate::cluster::Cluster;
use crate::runtime::watch::Watching;
use crate::runtime::{Cache, Change, Children, Key, Leadership, Pool, run_while_leader};
use crate::state::{State, consuming};
use crate::{application, composites, definition, gate, kinds};
use cambium_api::names::{SYSTEM_NAMESPACE, label};
use cambium_api::v1beta1::{Application, ApplicationRevision, DefinitionRevision, DefinitionType};
use cambium_compositions::revision::LabelEdits;
use cambium_definitions::LocalDefinitions;
use cambium_definitions::application::Recorded;
use cambium_definitions::identity::Identities;
use cambium_definitions_render::ClusterVersion;
use cambium_functions::Plain;
use cambium_lineage::Retention;
use cambium_webhooks::admission::Admission;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::ApiResource;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// How a manager works.
#[derive(Clone)]
pub struct Settings {
    /// Where the manager keeps objects of its own.
    pub namespace: String,
    /// How many revisions of a definition are kept besides the current one and those in use.
    pub definition_revision_limit: usize,
    /// How many revisions of an application are kept besides the current one.
    pub application_revision_limit: usize,
    /// How many revisions of a composition are kept besides the current one and those in use.
    pub composition_revision_limit: usize,
    /// How long a revision of a composition is kept after it was issued, whatever uses it.
    pub revision_grace: SignedDuration,
    /// Whether composite resources use revisions, and not compositions as they are.
    pub composition_revisions: bool,
    /// Whether edits of a composition's labels make revisions.
    pub label_edits: LabelEdits,
    /// How long a revision that nothing keeps is left alone before it is deleted.
    pub deletion_delay: SignedDuration,
    /// How long one piece of work that runs templates, patches or functions may take.
    pub template_time_limit: Duration,
    /// How many applications are worked on at the same time.
    pub workers: usize,
    /// How many composite resources of a kind follow what is published, in a second; as many as can without it.
    pub automatic_moves_per_second: Option<NonZeroU32>,
    /// How long one request may take.
    pub patience: Duration,
    /// Where functions answer, as `host:port`, by the names of functions. Their Function objects need not say so, and do not count if they do.
    pub functions: BTreeMap<String, String>,
    /// Where functions may be called without TLS.
    pub plain_functions: Plain,
    /// How long a function may take to answer.
    pub function_deadline: Duration,
    /// Whether the API server serves definitions at v2beta1, which needs the webhook.
    pub serves_v2beta1: bool,
    /// Whether applications use definitions of their own namespace.
    pub local_definitions: LocalDefinitions,
    /// Whose rights objects of applications are applied with.
    pub identities: Identities,
    /// What its events say it is.
    pub instance: String,
    /// What time it is.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: SYSTEM_NAMESPACE.to_owned(),
            definition_revision_limit: 20,
            application_revision_limit: 10,
            composition_revision_limit: 10,
            revision_grace: SignedDuration::from_secs(60),
            composition_revisions: true,
            label_edits: LabelEdits::default(),
            deletion_delay: SignedDuration::from_secs(30),
            template_time_limit: Duration::from_secs(3),
            workers: 8,
            automatic_moves_per_second: None,
            patience: Duration::from_secs(30),
            functions: BTreeMap::new(),
            plain_functions: Plain::default(),
            function_deadline: Duration::from_secs(20),
            serves_v2beta1: true,
            local_definitions: LocalDefinitions::Used,
            identities: Identities::default(),
            instance: "cambium".to_owned(),
            clock: Arc::new(Timestamp::now),
        }
    }
}

impl Settings {
    pub(crate) fn retention(&self) -> Retention {
        Retention {
            newest: self.definition_revision_limit,
            grace: SignedDuration::ZERO,
            delay: self.deletion_delay,
        }
    }
}

/// The controllers of definitions and applications, of compositions and composite resources.
pub struct Manager {
    context: Arc<Context>,
    composites: Arc<composites::Context>,
    watches: OnceLock<Vec<Watching>>,
}

/// What a reconciler needs.
pub(crate) struct Context {
    pub(crate) cluster: Cluster,
    pub(crate) state: Arc<State>,
    pub(crate) caches: Caches,
    /// What applications are made of, by kind.
    pub(crate) children: Children,
    pub(crate) cluster_version: ClusterVersion,
    /// Where templates are evaluated: outside locks and async workers.
    pub(crate) rendering: Arc<Pool>,
    pub(crate) settings: Settings,
}

/// The objects of our own kinds.
pub(crate) struct Caches {
    definitions: BTreeMap<DefinitionType, Arc<Cache>>,
    pub(crate) revisions: Arc<Cache>,
    pub(crate) applications: Arc<Cache>,
    pub(crate) recorded: Arc<Cache>,
}

impl Caches {
    fn all(&self) -> impl Iterator<Item = &Arc<Cache>> {
        let definitions = self.definitions.values();
        definitions.chain([&self.revisions, &self.applications, &self.recorded])
    }

    pub(crate) fn definitions(&self, type_: DefinitionType) -> &Arc<Cache> {
        &self.definitions[&type_]
    }
}

impl Context {
    /// Waits until everything has been seen once.
    pub(crate) async fn synced(&self) {
        for cache in self.caches.all() {
            cache.synced().await;
        }
    }

    /// The revisions of the application with this key and identity. Those of an earlier one of that name are not its own.
    pub(crate) fn recorded(&self, key: &Key, uid: Option<&str>) -> Vec<Recorded> {
        let names = self.state.consumers().recorded(&consuming(key));
        let records = names
            .iter()
            .filter_map(|name| self.caches.recorded.get(&Key::new(&key.namespace, name)));
        let recorded = records.filter_map(|record| Recorded::read(&record.value()).ok());
        recorded.filter(|recorded| recorded.is_of(uid)).collect()
    }
}

impl Manager {
    /// A manager that knows nothing yet, and does nothing.
    pub async fn new(client: Client, settings: Settings) -> kube::Result<Self> {
        let cluster = Cluster::new(&client, &settings);
        let version = cluster.version().await?;
        let state = Arc::new(State::new(settings.local_definitions));
        let caches = caches(&state);
        let children = {
            let state = state.clone();
            let selector = Some(label::APPLICATION.to_owned());
            cluster.children(selector, move |gvk, change| state.child_changed(gvk, &change))
        };
        let rendering = Arc::new(Pool::for_this_machine(settings.template_time_limit));
        Ok(Self {
            composites: Arc::new(composites::Context::new(
                cluster.clone(),
                rendering.clone(),
                settings.clone(),
            )),
            context: Arc::new(Context {
                cluster,
                cluster_version: ClusterVersion {
                    major: version.major,
                    minor: version.minor,
                    git_version: version.git_version,
                    platform: version.platform,
                },
                rendering,
                state,
                caches,
                children,
                settings,
            }),
            watches: OnceLock::new(),
        })
    }

    /// What is asked at admission.
    pub fn admission(&self) -> Admission {
        let mut validators = gate::validators(&self.context);
        validators.extend(composites::validators(&self.composites));
        Admission {
            mutators: gate::mutators(),
            validators,
        }
    }

    /// Begins to watch, unless it does already, and waits until everything has been seen once.
    pub async fn synced(&self) {
        let context = &self.context;
        self.watches.get_or_init(|| {
            let all = context.caches.all();
            all.map(|cache| context.cluster.follow(cache)).collect()
        });
        tokio::join!(context.synced(), self.composites.synced());
        self.context.state.set_ready();
    }

    /// Works until it is dropped.
    pub async fn run(&self) {
        self.synced().await;
        let (definitions, applications) = (self.context.clone(), self.context.clone());
        let state = &self.context.state;
        let kinds = kinds::follow(self.context.clone(), self.composites.clone());
        tokio::join!(
            kinds,
            self.composites.run(),
            state.definitions.work(4, move |artifact| {
                definition::reconcile(artifact, definitions.clone())
            }),
            state
                .applications
                .work(self.context.settings.workers, move |key| {
                    application::reconcile(key, applications.clone())
                }),
        );
    }

    /// Works whenever it leads, until the election is over.
    pub async fn run_while_leading(&self, leadership: watch::Receiver<Leadership>) {
        run_while_leader(leadership, || self.run()).await;
    }

    /// Whether there is nothing left to do, as far as it knows.
    pub fn is_idle(&self) -> bool {
        let state = &self.context.state;
        state.definitions.is_idle() && state.applications.is_idle() && self.composites.is_idle()
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
