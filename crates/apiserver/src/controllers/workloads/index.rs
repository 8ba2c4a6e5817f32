//! Index of pods, owners and Service selectors, kept up to date by events.
//!
//! Children are indexed by owner UID, Services by namespace and selector. Pods are decoded once, when they change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::ObjectKey;
use super::{Kind, conditions, read};
use crate::object;
use crate::store::Entry;

/// A decoded pod with its most used fields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pod {
    pub(super) value: Arc<Value>,
    pub(super) key: Arc<str>,
    pub(super) uid: Box<str>,
    pub(super) phase: Phase,
    pub(super) ready: bool,
    /// `lastTransitionTime` of the condition `Ready`.
    pub(super) ready_since: Timestamp,
    pub(super) deleting: bool,
    pub(super) restarts: i64,
    pub(super) created: Timestamp,
    /// When it was scheduled.
    pub(super) started: Option<Timestamp>,
}

/// `status.phase`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Pod {
    pub(super) fn of(entry: &Entry) -> Self {
        Self::from_value(entry.value())
    }

    pub(super) fn from_value(value: Value) -> Self {
        let conditions = read::list(&value, "status.conditions");
        let phase = match read::text(&value, "status.phase") {
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            _ => Phase::Pending,
        };
        let ready = conditions::find(conditions, "Ready");
        let since = ready.and_then(|ready| conditions::field(ready, "lastTransitionTime").parse().ok());
        let restarts = read::list(&value, "status.containerStatuses").iter();
        Self {
            key: object::key(object::namespace(&value), object::name(&value)).into(),
            uid: object::meta_text(&value, "uid").into(),
            phase,
            ready: conditions::holds(conditions, "Ready"),
            ready_since: since.unwrap_or(Timestamp::UNIX_EPOCH),
            deleting: object::is_deleting(&value),
            restarts: restarts
                .map(|one| read::number(one, "restartCount", 0))
                .max()
                .unwrap_or_default(),
            created: read::created(&value),
            started: None,
            value: Arc::new(value),
        }
    }

    pub(super) fn node(&self) -> &str {
        read::text(&self.value, "spec.nodeName")
    }

    pub(super) fn label(&self, name: &str) -> &str {
        object::metadata(&self.value)
            .get("labels")
            .and_then(|labels| labels.get(name)?.as_str())
            .unwrap_or_default()
    }

    pub(super) fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Whether it counts as a replica: neither finished nor terminating.
    pub(super) fn is_active(&self) -> bool {
        !self.deleting && !self.is_finished()
    }

    /// When it becomes available: ready for `minReadySeconds`; `None` while it is not ready.
    pub(super) fn available_at(&self, min_ready_seconds: i64) -> Option<Timestamp> {
        let wait = std::time::Duration::from_secs(u64::try_from(min_ready_seconds).unwrap_or_default());
        self.ready.then(|| read::later(self.ready_since, wait))
    }

    pub(super) fn is_available(&self, min_ready_seconds: i64, now: Timestamp) -> bool {
        self.available_at(min_ready_seconds)
            .is_some_and(|at| at <= now || min_ready_seconds == 0)
    }
}

/// The controller owner reference of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
}

impl Owner {
    pub(super) fn of(value: &Value) -> Option<Self> {
        let owners = object::metadata(value)
            .get("ownerReferences")
            .and_then(Value::as_array)?;
        let owner = owners
            .iter()
            .find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
        let text = |field: &str| {
            owner
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Some(Self {
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
        })
    }
}

/// The selector of a Service.
type Labels = Vec<(String, String)>;

/// Pods, owners and Services.
#[derive(Debug, Default)]
pub(super) struct Index {
    pods: HashMap<Arc<str>, Arc<Pod>>,
    owners: HashMap<ObjectKey, Owner>,
    children: HashMap<String, BTreeSet<ObjectKey>>,
    /// Pods and ReplicaSets without a controller, by namespace.
    orphans: HashMap<String, BTreeSet<ObjectKey>>,
    /// Selectors of services, by namespace and key.
    services: HashMap<String, BTreeMap<Arc<str>, Labels>>,
}

impl Index {
    /// Adds or updates a pod; returns the previous state.
    pub(super) fn put_pod(&mut self, mut pod: Pod, now: Option<Timestamp>) -> Option<Arc<Pod>> {
        let before = self.pods.get(&pod.key).cloned();
        let same = before.as_ref().filter(|before| before.uid == pod.uid);
        pod.started = match same.and_then(|before| before.started) {
            _ if pod.node().is_empty() => None,
            Some(started) => Some(started),
            None => now
                .or_else(|| read::time(&pod.value, "status.startTime"))
                .or(Some(pod.created)),
        };
        self.pods.insert(pod.key.clone(), Arc::new(pod));
        before
    }

    pub(super) fn remove_pod(&mut self, key: &str) -> Option<Arc<Pod>> {
        self.pods.remove(key)
    }

    pub(super) fn pod(&self, key: &str) -> Option<&Arc<Pod>> {
        self.pods.get(key)
    }

    pub(super) fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values()
    }

    /// Sets the controller of an object; returns the previous one.
    pub(super) fn link(&mut self, object_key: &ObjectKey, owner: Option<Owner>) -> Option<Owner> {
        let before = self.owners.remove(object_key);
        if before != owner {
            self.detach(object_key, before.as_ref());
        }
        match &owner {
            Some(owner) => {
                self.children
                    .entry(owner.uid.clone())
                    .or_default()
                    .insert(object_key.clone());
                self.owners.insert(object_key.clone(), owner.clone());
            }
            None => {
                self.orphans
                    .entry(object_key.namespace().to_owned())
                    .or_default()
                    .insert(object_key.clone());
            }
        }
        before
    }

    /// Removes an object; returns its controller.
    pub(super) fn unlink(&mut self, object_key: &ObjectKey) -> Option<Owner> {
        let before = self.owners.remove(object_key);
        self.detach(object_key, before.as_ref());
        before
    }

    fn detach(&mut self, object_key: &ObjectKey, owner: Option<&Owner>) {
        let (map, key) = match owner {
            Some(owner) => (&mut self.children, owner.uid.as_str()),
            None => (&mut self.orphans, object_key.namespace()),
        };
        if let Some(object_keys) = map.get_mut(key) {
            object_keys.remove(object_key);
            if object_keys.is_empty() {
                map.remove(key);
            }
        }
    }

    /// The children of an owner of one kind.
    pub(super) fn children<'a>(
        &'a self,
        uid: &str,
        kind: Kind,
    ) -> impl Iterator<Item = &'a ObjectKey> + use<'a> {
        self.children
            .get(uid)
            .into_iter()
            .flatten()
            .filter(move |object_key| &*object_key.bucket == kind.bucket())
    }

    /// The pods of an owner, by name.
    pub(super) fn pods_of(&self, uid: &str) -> Vec<Arc<Pod>> {
        self.children(uid, Kind::Pod)
            .filter_map(|object_key| self.pods.get(&object_key.key).cloned())
            .collect()
    }

    /// Objects of one kind in a namespace without a controller.
    pub(super) fn orphans<'a>(
        &'a self,
        namespace: &str,
        kind: Kind,
    ) -> impl Iterator<Item = &'a ObjectKey> + use<'a> {
        self.orphans
            .get(namespace)
            .into_iter()
            .flatten()
            .filter(move |object_key| &*object_key.bucket == kind.bucket())
    }

    pub(super) fn put_service(&mut self, key: &Arc<str>, service: &Value) {
        let selector = object::at(service, "spec.selector").and_then(Value::as_object);
        let selector: Vec<_> = selector
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
        let services = self
            .services
            .entry(object::namespace(service).to_owned())
            .or_default();
        match selector.is_empty() {
            true => services.remove(key),
            false => services.insert(key.clone(), selector),
        };
    }

    pub(super) fn remove_service(&mut self, namespace: &str, key: &str) {
        if let Some(services) = self.services.get_mut(namespace) {
            services.remove(key);
        }
    }

    /// The services that select a pod.
    pub(super) fn services_of<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = &'a Arc<str>> + use<'a> {
        let namespace = object::namespace(&pod.value);
        let services = self.services.get(namespace).into_iter().flatten();
        services
            .filter(|(_, selector)| selector.iter().all(|(name, value)| pod.label(name) == value))
            .map(|(key, _)| key)
    }
}
