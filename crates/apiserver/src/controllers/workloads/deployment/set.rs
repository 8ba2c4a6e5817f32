//! A ReplicaSet of a Deployment, with pending changes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::read;
use super::super::write::Write;
use super::Limits;
use crate::object;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
pub(super) const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// A ReplicaSet and the changes that its Deployment makes to it.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Set {
    /// The desired object.
    pub(super) value: Value,
    /// The stored object; `None` if it is to be created.
    before: Option<Value>,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) created: Timestamp,
    pub(super) deleting: bool,
    pub(super) delete: bool,
    pub(super) replicas: i64,
    pub(super) replicas_before: i64,
    pub(super) status_replicas: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) terminating: i64,
}

impl Set {
    pub(in super::super) fn of(value: &Value) -> Self {
        let replicas = read::number(value, "spec.replicas", 1);
        Self {
            name: object::name(value).to_owned(),
            uid: object::meta_text(value, "uid").to_owned(),
            created: read::created(value),
            deleting: object::is_deleting(value),
            delete: false,
            replicas,
            replicas_before: replicas,
            status_replicas: read::number(value, "status.replicas", 0),
            ready: read::number(value, "status.readyReplicas", 0),
            available: read::number(value, "status.availableReplicas", 0),
            terminating: read::number(value, "status.terminatingReplicas", 0),
            before: Some(value.clone()),
            value: value.clone(),
        }
    }

    /// A ReplicaSet to be created.
    pub(super) fn new(value: Value) -> Self {
        Self {
            before: None,
            replicas_before: 0,
            ..Self::of(&value)
        }
    }

    pub(super) fn template(&self) -> &Value {
        object::at(&self.value, "spec.template").unwrap_or(&Value::Null)
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        object::annotation(&self.value, name)
    }

    pub(super) fn annotate(&mut self, name: &str, value: &str) {
        let metadata = object::metadata_mut(&mut self.value);
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[name] = json!(value);
    }

    pub(super) fn revision(&self) -> i64 {
        self.annotation(REVISION)
            .and_then(|revision| revision.parse().ok())
            .unwrap_or_default()
    }

    /// The annotation `desired-replicas`: the Deployment's replicas when it last scaled this ReplicaSet.
    pub(super) fn desired(&self) -> Option<i64> {
        self.annotation(DESIRED)?
            .parse()
            .ok()
            .filter(|desired| *desired >= 0)
    }

    /// Sets the number of replicas, and the annotations `desired-replicas` and `max-replicas`.
    pub(super) fn scale(&mut self, replicas: i64, limits: &Limits) {
        if self.replicas != replicas {
            self.scale_and_note(replicas, limits);
        }
    }

    /// The same, even if only the annotations change.
    pub(super) fn scale_and_note(&mut self, replicas: i64, limits: &Limits) {
        self.replicas = replicas;
        object::set_at(&mut self.value, "spec.replicas", json!(replicas));
        self.annotate(DESIRED, &limits.replicas.to_string());
        self.annotate(MOST, &limits.most().to_string());
    }

    pub(super) fn is_scaled(&self) -> bool {
        self.replicas != self.replicas_before
    }

    /// Whether it has no replicas left and may be deleted.
    pub(super) fn is_idle(&self) -> bool {
        let observed = read::number(&self.value, "status.observedGeneration", 0);
        self.status_replicas == 0
            && self.replicas == 0
            && object::generation(&self.value) <= observed
            && !self.deleting
    }

    /// The write that creates or updates it, if anything changed.
    pub(super) fn write(&self) -> Option<Write> {
        match &self.before {
            Some(before) if self.delete => Some(Write::Delete(before.clone())),
            Some(before) if *before != self.value => Some(Write::Replace(self.value.clone())),
            Some(_) => None,
            None => Some(Write::Create(self.value.clone())),
        }
    }

    pub(super) fn is_new(&self) -> bool {
        self.before.is_none()
    }
}
