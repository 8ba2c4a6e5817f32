//! Simulation of the workload controllers, the scheduler and the kubelets, as far as the API shows them.
//!
//! ```text
//!  CronJob ─► Job ───────────┐
//!  Deployment ─► ReplicaSet ─┤
//!  ReplicationController ────┼─► Pod ─► scheduled ─► creating ─► ready ─► (ended │ deleted)
//!  StatefulSet, DaemonSet ───┘     │
//!                                  └─► Endpoints, EndpointSlices of the Services that select it
//! ```
//!
//! The controllers follow upstream's rules: the same steps, counts, conditions, reasons and messages. Only pods are
//! simulated: they run nothing, get an IP address, and become ready after a while; run-to-completion pods end when
//! their command would, as far as it is recognized ([`command`]). Annotations on a pod (usually on its template) change
//! that; see [`annotations`]. An invalid annotation is reported by an Event and by the pod condition
//! `SimulationScripted`, and the default applies.
//!
//! Every reconcile is a pure function (`plan`) of the observed objects of a key, and is repeated when one of them
//! changes. An unchanged state causes no writes.

pub mod annotations;
mod command;
mod conditions;
mod cron_job;
mod daemon_set;
mod deployment;
mod history;
mod index;
mod job;
mod kubelet;
mod node;
mod read;
mod replicas;
mod schedule;
mod services;
mod stateful_set;
mod template;
mod write;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::ObjectKey;
use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::{Loopback, Refused};
use crate::object;
use crate::selector::LabelSelector;
use crate::server::Server;
use crate::source::MonotonicClock;
use crate::store::{Entry, Event, EventKind};
use index::{Index, Owner, Pod};
use write::Plan;

/// Defaults of simulated pods, which annotations override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulation {
    /// How long after its start a pod becomes ready.
    pub ready_after: Duration,
    /// How long a pod takes to stop; at most its grace period.
    pub stop_after: Duration,
    /// How long the containers of run-to-completion pods run (`restartPolicy` other than `Always`).
    pub run_for: Duration,
    /// The node that is created if there is none; `None` creates none.
    pub node: Option<String>,
}

impl Default for Simulation {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self {
            ready_after: second,
            stop_after: second,
            run_for: second,
            node: Some("cambium-node".to_owned()),
        }
    }
}

/// The reconciled kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Pod,
    Node,
    ReplicaSet,
    ReplicationController,
    Deployment,
    StatefulSet,
    DaemonSet,
    ControllerRevision,
    Job,
    CronJob,
    Service,
}

impl Kind {
    const ALL: [Self; 11] = [
        Self::Node,
        Self::Service,
        Self::Pod,
        Self::ControllerRevision,
        Self::ReplicaSet,
        Self::ReplicationController,
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
    ];

    /// The bucket of its objects.
    const fn bucket(self) -> &'static str {
        match self {
            Self::Pod => "/pods",
            Self::Node => "/nodes",
            Self::ReplicaSet => "apps/replicasets",
            Self::ReplicationController => "/replicationcontrollers",
            Self::Deployment => "apps/deployments",
            Self::StatefulSet => "apps/statefulsets",
            Self::DaemonSet => "apps/daemonsets",
            Self::ControllerRevision => "apps/controllerrevisions",
            Self::Job => "batch/jobs",
            Self::CronJob => "batch/cronjobs",
            Self::Service => "/services",
        }
    }

    /// The user of its controller.
    const fn account(self) -> &'static str {
        match self {
            Self::Pod => "kubelet",
            Self::Node => "node-controller",
            Self::ReplicaSet => "replicaset-controller",
            Self::ReplicationController => "replication-controller",
            Self::Deployment => "deployment-controller",
            Self::StatefulSet | Self::ControllerRevision => "statefulset-controller",
            Self::DaemonSet => "daemonset-controller",
            Self::Job => "job-controller",
            Self::CronJob => "cronjob-controller",
            Self::Service => "endpointslice-controller",
        }
    }

    fn of_bucket(bucket: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.bucket() == bucket)
    }

    fn of_owner(kind: &str) -> Option<Self> {
        match kind {
            "ReplicaSet" => Some(Self::ReplicaSet),
            "ReplicationController" => Some(Self::ReplicationController),
            "Deployment" => Some(Self::Deployment),
            "StatefulSet" => Some(Self::StatefulSet),
            "DaemonSet" => Some(Self::DaemonSet),
            "Job" => Some(Self::Job),
            "CronJob" => Some(Self::CronJob),
            _ => None,
        }
    }

    /// Kinds that adopt orphaned pods.
    const ADOPTING: [Self; 2] = [Self::ReplicaSet, Self::ReplicationController];
}

const ENDPOINTS: &str = "/endpoints";
const SLICES: &str = "discovery.k8s.io/endpointslices";

/// The object to reconcile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    key: Arc<str>,
}

/// Starts the controllers: builds the index from the store, then follows events.
pub(super) fn start(server: &Arc<Server>, settings: Simulation) {
    let (known, feed) = (server.store.revision(), server.store.feed());
    let client = |kind: Kind| {
        let agent = if kind == Kind::Pod {
            "kubelet"
        } else {
            super::MANAGER
        };
        (kind, server.loopback(kind.account()).with_agent(agent))
    };
    let clients = Kind::ALL.into_iter().map(client).collect();
    let mut simulator = Simulator {
        server: server.clone(),
        settings,
        clients,
        index: Index::default(),
        refusals: HashMap::new(),
        time: MonotonicClock::default(),
    };
    let mut queue = WorkQueue::new();
    for kind in Kind::ALL {
        for entry in simulator.bucket(kind).list("").0 {
            simulator.put(kind, &entry, None, &mut queue);
        }
    }
    queue.add(Key {
        kind: Kind::Node,
        key: "".into(),
    });
    tokio::spawn(work_queue::run(server.clone(), feed, known, simulator, queue));
}

struct Simulator {
    server: Arc<Server>,
    settings: Simulation,
    clients: HashMap<Kind, Loopback>,
    index: Index,
    /// Errors of the last writes for a key.
    refusals: HashMap<Key, String>,
    time: MonotonicClock,
}

impl Controller for Simulator {
    type Key = Key;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Key>) {
        match &*event.bucket {
            ENDPOINTS => queue.add(Key {
                kind: Kind::Service,
                key: event.entry.key.clone(),
            }),
            SLICES => {
                let service = event.entry.label(services::SERVICE_NAME).unwrap_or_default();
                queue.add(Key {
                    kind: Kind::Service,
                    key: object::key(event.entry.namespace(), service).into(),
                });
            }
            _ => {}
        }
        let Some(kind) = Kind::of_bucket(&event.bucket) else {
            return;
        };
        match event.kind {
            EventKind::Put => {
                let now = self.now();
                self.put(kind, &event.entry, Some(now), queue);
            }
            EventKind::Delete => self.remove(kind, &event.entry, queue),
        }
    }

    fn decide(&mut self, key: &Key, _: &mut WorkQueue<Key>) -> Step {
        let now = self.now();
        let plan = self.plan(key, now).unwrap_or_default();
        if !plan.writes.is_empty() {
            tracing::debug!(?key, writes = plan.writes.len(), "reconciled workload");
        }
        plan.step(&self.server, &self.clients[&key.kind])
    }

    fn outcome(&mut self, key: &Key, refused: Option<&Refused>, queue: &mut WorkQueue<Key>) {
        match refused {
            // A conflict is resolved by the retry, which observes the concurrent write; AlreadyExists must reach the plan.
            Some(refused) if refused.reason() == "Conflict" || is_namespace_terminating(refused) => {}
            Some(refused) => {
                self.refusals.insert(key.clone(), refused.message().to_owned());
            }
            None => {
                if self.refusals.remove(key).is_some() {
                    queue.add(key.clone());
                }
            }
        }
    }
}

impl Simulator {
    /// The current time, monotonic: a wall clock that is set back must not delay starting or stopping of pods.
    fn now(&mut self) -> Timestamp {
        self.time.after(self.server.sources.now())
    }

    fn bucket(&self, kind: Kind) -> Arc<crate::store::Bucket> {
        self.server.store.bucket(&kind.bucket().into())
    }

    /// Updates the index with an object, and enqueues the keys that it concerns.
    fn put(&mut self, kind: Kind, entry: &Arc<Entry>, now: Option<Timestamp>, queue: &mut WorkQueue<Key>) {
        queue.add(Key {
            kind,
            key: entry.key.clone(),
        });
        match kind {
            Kind::Pod => {
                let pod = Pod::of(entry);
                self.own(kind, entry, &pod.value, queue);
                self.enqueue_services(&pod, queue);
                if let Some(before) = self.index.put_pod(pod, now) {
                    self.enqueue_services(&before, queue);
                }
            }
            Kind::Node => self.nodes_changed(queue),
            Kind::ReplicaSet | Kind::ControllerRevision | Kind::Job => {
                self.own(kind, entry, &entry.value(), queue)
            }
            Kind::Service => self.index.put_service(&entry.key, &entry.value()),
            Kind::ReplicationController
            | Kind::Deployment
            | Kind::StatefulSet
            | Kind::DaemonSet
            | Kind::CronJob => {}
        }
    }

    fn remove(&mut self, kind: Kind, entry: &Arc<Entry>, queue: &mut WorkQueue<Key>) {
        let key = Key {
            kind,
            key: entry.key.clone(),
        };
        self.refusals.remove(&key);
        let object_key = ObjectKey {
            bucket: kind.bucket().into(),
            key: entry.key.clone(),
        };
        match kind {
            Kind::Pod | Kind::ReplicaSet | Kind::ControllerRevision | Kind::Job => {
                let owner = self.index.unlink(&object_key);
                enqueue_owner(owner.as_ref(), entry.namespace(), queue);
                if kind == Kind::Pod
                    && let Some(pod) = self.index.remove_pod(&entry.key)
                {
                    self.enqueue_services(&pod, queue);
                }
            }
            Kind::Node => {
                self.nodes_changed(queue);
                queue.add(key);
            }
            Kind::Service => {
                self.index.remove_service(entry.namespace(), &entry.key);
                queue.add(key);
            }
            Kind::ReplicationController
            | Kind::Deployment
            | Kind::StatefulSet
            | Kind::DaemonSet
            | Kind::CronJob => {}
        }
    }

    /// Enqueues the old and the new controller of an object, or those that might adopt it.
    fn own(&mut self, kind: Kind, entry: &Arc<Entry>, value: &Value, queue: &mut WorkQueue<Key>) {
        let object_key = ObjectKey {
            bucket: kind.bucket().into(),
            key: entry.key.clone(),
        };
        let owner = Owner::of(value);
        let before = self.index.link(&object_key, owner.clone());
        enqueue_owner(owner.as_ref(), entry.namespace(), queue);
        if before != owner {
            enqueue_owner(before.as_ref(), entry.namespace(), queue);
        }
        if owner.is_none() && !object::is_deleting(value) {
            let adopting: &[Kind] = match kind {
                Kind::Pod => &Kind::ADOPTING,
                Kind::ReplicaSet => &[Kind::Deployment],
                _ => &[],
            };
            for kind in adopting {
                self.enqueue_adopters(*kind, entry, queue);
            }
        }
    }

    /// Enqueues the objects of a kind whose selector matches an orphan.
    fn enqueue_adopters(&self, kind: Kind, orphan: &Entry, queue: &mut WorkQueue<Key>) {
        for entry in self.bucket(kind).list(&format!("{}/", orphan.namespace())).0 {
            let selector = replicas::selector(&entry.value());
            if selector.is_some_and(|selector: LabelSelector| selector.matches(|label| orphan.label(label))) {
                queue.add(Key {
                    kind,
                    key: entry.key.clone(),
                });
            }
        }
    }

    fn nodes_changed(&self, queue: &mut WorkQueue<Key>) {
        for pod in self.index.pods().filter(|pod| pod.started.is_none()) {
            queue.add(Key {
                kind: Kind::Pod,
                key: pod.key.clone(),
            });
        }
        for entry in self.bucket(Kind::DaemonSet).list("").0 {
            queue.add(Key {
                kind: Kind::DaemonSet,
                key: entry.key.clone(),
            });
        }
    }

    fn enqueue_services(&self, pod: &Pod, queue: &mut WorkQueue<Key>) {
        for key in self.index.services_of(pod) {
            queue.add(Key {
                kind: Kind::Service,
                key: key.clone(),
            });
        }
    }

    /// Observes the objects of a key and plans the writes.
    fn plan(&self, key: &Key, now: Timestamp) -> Option<Plan> {
        match key.kind {
            Kind::Node => return Some(self.plan_node()),
            Kind::Pod => return self.plan_pod(&key.key, now),
            Kind::Service => return Some(self.plan_service(&key.key)),
            Kind::ControllerRevision => return None,
            _ => {}
        }
        let object = self.bucket(key.kind).get(&key.key)?.value();
        let refusal = self.refusals.get(key).cloned();
        let uid = object::meta_text(&object, "uid");
        Some(match key.kind {
            Kind::Node | Kind::Pod | Kind::Service | Kind::ControllerRevision => Plan::default(),
            Kind::ReplicaSet | Kind::ReplicationController => {
                let observed = replicas::Observed {
                    pods: self.index.pods_of(uid),
                    orphans: self.orphan_pods(object::namespace(&object)),
                    set: object,
                    refusal,
                };
                replicas::plan(&observed, now)
            }
            Kind::Deployment => deployment::plan(&self.observe_deployment(object, refusal), now),
            Kind::StatefulSet => {
                let (pods, revisions) = (self.index.pods_of(uid), self.revisions(uid));
                stateful_set::plan(
                    &stateful_set::Observed {
                        pods,
                        revisions,
                        set: object,
                    },
                    now,
                )
            }
            Kind::DaemonSet => {
                let (pods, revisions, nodes) = (self.index.pods_of(uid), self.revisions(uid), self.nodes());
                daemon_set::plan(
                    &daemon_set::Observed {
                        pods,
                        revisions,
                        nodes,
                        set: object,
                    },
                    now,
                )
            }
            Kind::Job => job::plan(
                &job::Observed {
                    pods: self.index.pods_of(uid),
                    job: object,
                },
                now,
            ),
            Kind::CronJob => {
                let jobs = self.values(self.index.children(uid, Kind::Job));
                cron_job::plan(&cron_job::Observed { jobs, cron: object }, now)
            }
        })
    }

    fn revisions(&self, uid: &str) -> Vec<Value> {
        self.values(self.index.children(uid, Kind::ControllerRevision))
    }

    fn plan_service(&self, key: &Arc<str>) -> Plan {
        let value = |bucket: &str, key: &str| {
            self.server
                .store
                .bucket(&bucket.into())
                .get(key)
                .map(|entry| entry.value())
        };
        let service = value(Kind::Service.bucket(), key);
        let slice = service.as_ref().and_then(|service| {
            value(
                SLICES,
                &object::key(object::namespace(service), &services::slice_name(service)),
            )
        });
        let pods = service
            .as_ref()
            .map(|service| self.selected_pods(service))
            .unwrap_or_default();
        services::plan(&services::Observed {
            endpoints: value(ENDPOINTS, key),
            service,
            pods,
            slice,
        })
    }

    /// The pods that a Service selects; labels are compared without decoding the pods.
    fn selected_pods(&self, service: &Value) -> Vec<Arc<Pod>> {
        let selector = object::at(service, "spec.selector").and_then(Value::as_object);
        let Some(selector) = selector.filter(|selector| !selector.is_empty()) else {
            return vec![];
        };
        let entries = self
            .bucket(Kind::Pod)
            .list(&format!("{}/", object::namespace(service)))
            .0;
        let matches = |entry: &&Arc<Entry>| {
            selector
                .iter()
                .all(|(name, value)| entry.label(name) == value.as_str())
        };
        entries
            .iter()
            .filter(matches)
            .filter_map(|entry| self.index.pod(&entry.key).cloned())
            .collect()
    }

    fn plan_pod(&self, key: &str, now: Timestamp) -> Option<Plan> {
        let pod = Pod::clone(self.index.pod(key)?);
        let (node, nodes) = match pod.started {
            Some(_) => (None, 0),
            None => node::choose(&pod, &self.nodes()),
        };
        Some(kubelet::plan(
            &kubelet::Observed { pod, node, nodes },
            &self.settings,
            now,
        ))
    }

    fn plan_node(&self) -> Plan {
        let name = self
            .settings
            .node
            .as_deref()
            .filter(|_| self.bucket(Kind::Node).is_empty());
        name.map(|name| node::make(name, self.server.sources.now()))
            .unwrap_or_default()
    }

    fn nodes(&self) -> Vec<Value> {
        self.bucket(Kind::Node)
            .list("")
            .0
            .iter()
            .map(|entry| entry.value())
            .collect()
    }

    fn orphan_pods(&self, namespace: &str) -> Vec<Arc<Pod>> {
        self.index
            .orphans(namespace, Kind::Pod)
            .filter_map(|object_key| self.index.pod(&object_key.key).cloned())
            .collect()
    }

    fn values<'a>(&self, object_keys: impl Iterator<Item = &'a ObjectKey>) -> Vec<Value> {
        object_keys
            .filter_map(|object_key| object_key.entry(&self.server))
            .map(|entry| entry.value())
            .collect()
    }

    fn observe_deployment(&self, deployment: Value, refusal: Option<String>) -> deployment::Observed {
        let (uid, namespace) = (
            object::meta_text(&deployment, "uid"),
            object::namespace(&deployment),
        );
        let sets = self.values(self.index.children(uid, Kind::ReplicaSet));
        let orphans = self.values(self.index.orphans(namespace, Kind::ReplicaSet));
        let living_pods = sets.iter().map(|set| {
            let uid = object::meta_text(set, "uid");
            (
                uid.to_owned(),
                self.index
                    .pods_of(uid)
                    .iter()
                    .filter(|pod| !pod.is_finished())
                    .count(),
            )
        });
        deployment::Observed {
            living_pods: living_pods.collect(),
            deployment,
            sets,
            orphans,
            refusal,
        }
    }
}

/// Whether a write failed because its namespace is terminating, which is not reported as a failure.
fn is_namespace_terminating(refused: &Refused) -> bool {
    let causes = object::at(&refused.status, "details.causes").and_then(Value::as_array);
    causes
        .into_iter()
        .flatten()
        .any(|cause| read::text(cause, "reason") == "NamespaceTerminating")
}

fn enqueue_owner(owner: Option<&Owner>, namespace: &str, queue: &mut WorkQueue<Key>) {
    let Some(owner) = owner else { return };
    if let Some(kind) = Kind::of_owner(&owner.kind) {
        queue.add(Key {
            kind,
            key: object::key(namespace, &owner.name).into(),
        });
    }
}
