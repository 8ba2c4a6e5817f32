//! StatefulSet controller: pods with ordinals, created and replaced in order.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::history::{self, REVISION_HASH};
use super::index::{Phase, Pod};
use super::read::{self, Round};
use super::template;
use super::write::{Level, Plan, Write};
use crate::object;

/// A StatefulSet, its pods and its revisions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) set: Value,
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) revisions: Vec<Value>,
}

/// Decides the next step: create missing pods, then scale down, then replace outdated pods.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let set = &observed.set;
    let mut plan = Plan::default();
    let update = history::current(set, &observed.revisions, &mut plan);
    let current_name = read::text(set, "status.currentRevision");
    let current = observed
        .revisions
        .iter()
        .find(|one| object::name(one) == current_name)
        .unwrap_or(&update)
        .clone();
    let row = Row::new(observed, object::name(&current), object::name(&update), now);
    row.status(&mut plan);
    plan.after = row.becomes_available_in();
    let live = |one: &Value| {
        let name = object::name(one);
        name == object::name(&current)
            || name == object::name(&update)
            || row.pods.iter().any(|pod| pod.label(REVISION_HASH) == name)
    };
    history::clean_up(set, &observed.revisions, live, &mut plan);
    if !object::is_deleting(set) {
        row.step(&current, &update, &mut plan);
    }
    plan
}

struct Row<'a> {
    set: &'a Value,
    pods: &'a [Arc<Pod>],
    start: i64,
    replicas: i64,
    min_ready: i64,
    current: &'a str,
    update: &'a str,
    now: Timestamp,
}

impl<'a> Row<'a> {
    fn new(observed: &'a Observed, current: &'a str, update: &'a str, now: Timestamp) -> Self {
        let set = &observed.set;
        Self {
            set,
            pods: &observed.pods,
            start: read::number(set, "spec.ordinals.start", 0),
            replicas: read::number(set, "spec.replicas", 1),
            min_ready: read::number(set, "spec.minReadySeconds", 0),
            current,
            update,
            now,
        }
    }

    /// The ordinal of a pod; `None` for a pod with another name.
    fn ordinal(&self, pod: &Pod) -> Option<i64> {
        let name = object::name(&pod.value).strip_prefix(object::name(self.set))?;
        name.strip_prefix('-')?.parse().ok()
    }

    fn pod(&self, ordinal: i64) -> Option<&Arc<Pod>> {
        self.pods.iter().find(|pod| self.ordinal(pod) == Some(ordinal))
    }

    fn is_ready(pod: &Pod) -> bool {
        pod.phase == Phase::Running && pod.ready
    }

    fn is_available(&self, pod: &Pod) -> bool {
        Self::is_ready(pod) && pod.is_available(self.min_ready, self.now)
    }

    fn becomes_available_in(&self) -> Option<std::time::Duration> {
        let waits = self
            .pods
            .iter()
            .filter_map(|pod| read::until(pod.available_at(self.min_ready)?, self.now));
        if self.min_ready > 0 { waits.min() } else { None }
    }

    fn step(&self, current: &Value, update: &Value, plan: &mut Plan) {
        let parallel = read::text(self.set, "spec.podManagementPolicy") == "Parallel";
        let ordinals = || self.start..self.start + self.replicas;
        for ordinal in ordinals() {
            match self.pod(ordinal) {
                Some(pod) if pod.is_finished() => {
                    if !pod.deleting {
                        self.delete(pod, plan);
                    }
                    if !parallel {
                        return;
                    }
                }
                None => {
                    self.create(ordinal, current, update, plan);
                    if !parallel {
                        return;
                    }
                }
                Some(pod) if !parallel && (pod.deleting || !self.is_available(pod)) => return,
                Some(_) => {}
            }
        }
        let mut condemned: Vec<(i64, &Arc<Pod>)> = self
            .pods
            .iter()
            .filter_map(|pod| Some((self.ordinal(pod)?, pod)))
            .filter(|(ordinal, _)| !ordinals().contains(ordinal))
            .collect();
        condemned.sort_by_key(|(ordinal, _)| std::cmp::Reverse(*ordinal));
        let first_unavailable = ordinals()
            .filter_map(|ordinal| self.pod(ordinal))
            .chain(condemned.iter().rev().map(|(_, pod)| *pod))
            .find(|pod| !self.is_available(pod))
            .map(|pod| pod.uid.clone());
        for (_, pod) in &condemned {
            match pod.deleting {
                true if parallel => continue,
                true => return,
                false => {}
            }
            if !parallel && !self.is_available(pod) && first_unavailable.as_ref() != Some(&pod.uid) {
                return;
            }
            self.delete(pod, plan);
            if !parallel {
                return;
            }
        }
        if read::text(self.set, "spec.updateStrategy.type") != "OnDelete" {
            self.replace(plan);
        }
    }

    /// Deletes outdated pods from the highest ordinal down, within `maxUnavailable`.
    fn replace(&self, plan: &mut Plan) {
        let strategy =
            |field: &str| object::at(self.set, &format!("spec.updateStrategy.rollingUpdate.{field}"));
        let partition = strategy("partition").and_then(Value::as_i64).unwrap_or_default();
        let most = read::int_or_percent(strategy("maxUnavailable"), self.replicas, "1", Round::Up).max(1);
        let ordinals = self.start..self.start + self.replicas;
        let unavailable = ordinals
            .clone()
            .filter(|ordinal| {
                self.pod(*ordinal)
                    .is_none_or(|pod| pod.deleting || !self.is_available(pod))
            })
            .count();
        let mut room = most - i64::try_from(unavailable).unwrap_or(i64::MAX);
        for ordinal in ordinals
            .rev()
            .take_while(|ordinal| *ordinal >= self.start + partition)
        {
            let Some(pod) = self.pod(ordinal) else { continue };
            if room <= 0 {
                return;
            }
            if pod.label(REVISION_HASH) != self.update && !pod.deleting {
                self.delete(pod, plan);
                room -= 1;
            }
        }
    }

    fn delete(&self, pod: &Pod, plan: &mut Plan) {
        let message = format!(
            "delete Pod {} in StatefulSet {} successful",
            object::name(&pod.value),
            object::name(self.set)
        );
        plan.writes.push(Write::Delete((*pod.value).clone()));
        plan.emit(self.set, Level::Normal, "SuccessfulDelete", message);
    }

    fn create(&self, ordinal: i64, current: &Value, update: &Value, plan: &mut Plan) {
        let partition = read::number(self.set, "spec.updateStrategy.rollingUpdate.partition", 0);
        let revision = if ordinal < self.start + partition {
            current
        } else {
            update
        };
        let set_name = object::name(self.set);
        let name = format!("{set_name}-{ordinal}");
        let mut pod = template::pod(self.set, &history::template_of(revision));
        let labels = [
            ("statefulset.kubernetes.io/pod-name", name.clone()),
            ("apps.kubernetes.io/pod-index", ordinal.to_string()),
            (REVISION_HASH, object::name(revision).to_owned()),
        ];
        let metadata = object::metadata_mut(&mut pod);
        metadata.insert("name".to_owned(), json!(name));
        metadata.insert(
            "generateName".to_owned(),
            json!(template::generate_name(set_name)),
        );
        let place = metadata.entry("labels").or_insert_with(|| json!({}));
        for (label, value) in labels {
            place[label] = json!(value);
        }
        pod["spec"]["hostname"] = json!(name);
        let service = read::text(self.set, "spec.serviceName");
        if !service.is_empty() {
            pod["spec"]["subdomain"] = json!(service);
        }
        self.claims(&name, &mut pod, plan);
        plan.writes.push(Write::Ensure(pod));
        plan.emit(
            self.set,
            Level::Normal,
            "SuccessfulCreate",
            format!("create Pod {name} in StatefulSet {set_name} successful"),
        );
    }

    /// Creates the PersistentVolumeClaims of a pod, which outlive it.
    fn claims(&self, pod_name: &str, pod: &mut Value, plan: &mut Plan) {
        for claim in read::list(self.set, "spec.volumeClaimTemplates") {
            let template_name = object::name(claim);
            let name = format!("{template_name}-{pod_name}");
            let mut labels = object::metadata(claim)
                .get("labels")
                .cloned()
                .unwrap_or_else(|| json!({}));
            for (label, value) in object::at(self.set, "spec.selector.matchLabels")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                labels[label] = value.clone();
            }
            let mut made = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": object::namespace(self.set), "labels": labels}});
            made["spec"] = claim.get("spec").cloned().unwrap_or_default();
            plan.writes.push(Write::Ensure(made));
            let mut volumes: Vec<Value> = read::list(pod, "spec.volumes")
                .iter()
                .filter(|one| read::text(one, "name") != template_name)
                .cloned()
                .collect();
            volumes.push(json!({"name": template_name, "persistentVolumeClaim": {"claimName": name}}));
            pod["spec"]["volumes"] = json!(volumes);
        }
    }

    fn status(&self, plan: &mut Plan) {
        let row: Vec<&Arc<Pod>> = self
            .pods
            .iter()
            .filter(|pod| self.ordinal(pod).is_some())
            .collect();
        let count = |holds: &dyn Fn(&Pod) -> bool| {
            i64::try_from(row.iter().filter(|pod| holds(pod)).count()).unwrap_or_default()
        };
        let replicas = count(&|_| true);
        let ready = count(&Self::is_ready);
        let updated = count(&|pod| !pod.deleting && pod.label(REVISION_HASH) == self.update);
        let mut of_current = count(&|pod| !pod.deleting && pod.label(REVISION_HASH) == self.current);
        let mut current = self.current;
        let rolling = read::text(self.set, "spec.updateStrategy.type") != "OnDelete";
        if rolling && updated == self.replicas && ready == self.replicas && replicas == self.replicas {
            current = self.update;
            of_current = updated;
        }
        let fields = [
            ("observedGeneration", json!(object::generation(self.set))),
            ("replicas", json!(replicas)),
            ("readyReplicas", json!(ready)),
            ("availableReplicas", json!(count(&|pod| self.is_available(pod)))),
            ("currentReplicas", json!(of_current)),
            ("updatedReplicas", json!(updated)),
            ("currentRevision", json!(current)),
            ("updateRevision", json!(self.update)),
            (
                "collisionCount",
                json!(read::number(self.set, "status.collisionCount", 0)),
            ),
        ];
        let mut status = read::status(&fields, &["replicas", "availableReplicas", "collisionCount"]);
        if let Some(conditions) = object::at(self.set, "status.conditions") {
            status.insert("conditions".to_owned(), conditions.clone());
        }
        plan.status(self.set, Value::Object(status));
    }
}
