//! Pods: the STATUS column, derived from the states of containers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, between, parse};
use super::read::{NONE, boolean, condition, count, integer, list, name, text, text_or};

pub(crate) fn pod(object: &Value, now: Timestamp) -> Vec<Value> {
    let summary = Summary::of(object);
    let restarts = match (summary.restarts.count, summary.restarts.last) {
        (count @ 1.., Some(last)) => format!("{count} ({} ago)", between(last, now)),
        (count, _) => count.to_string(),
    };
    // Where the two disagree, the older field is believed.
    let ip = text_or(
        &object["status"]["podIP"],
        text_or(&object["status"]["podIPs"][0]["ip"], NONE),
    );
    vec![
        name(object),
        json!(format!("{}/{}", summary.ready, summary.containers)),
        json!(summary.reason),
        json!(restarts),
        age(object, now),
        json!(ip),
        json!(text_or(&object["spec"]["nodeName"], NONE)),
        json!(text_or(&object["status"]["nominatedNodeName"], NONE)),
        json!(readiness_gates(object)),
    ]
}

struct Summary {
    ready: usize,
    containers: usize,
    reason: String,
    restarts: Restarts,
}

impl Summary {
    fn of(object: &Value) -> Self {
        let (spec, status) = (&object["spec"], &object["status"]);
        let sidecars = list(&spec["initContainers"])
            .iter()
            .filter(|container| is_sidecar(container))
            .count();
        let gated = list(&status["conditions"])
            .iter()
            .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated");
        let reason = match () {
            () if gated => "SchedulingGated",
            () => text_or(&status["reason"], text(&status["phase"])),
        };
        let mut summary = Self {
            ready: 0,
            containers: count(&spec["containers"]) + sidecars,
            reason: reason.to_owned(),
            restarts: Restarts::default(),
        };
        let (initializing, sidecar_restarts) = summary.add_init_containers(spec, status);
        if !initializing || condition(object, "Initialized") {
            summary.restarts = sidecar_restarts;
            summary.add_containers(object);
        }
        summary.heed_deletion(object);
        summary
    }

    /// Adds the init containers; returns whether the pod is initializing, and the restarts of sidecars.
    fn add_init_containers(&mut self, spec: &Value, status: &Value) -> (bool, Restarts) {
        let mut sidecar_restarts = Restarts::default();
        let declared = list(&spec["initContainers"]);
        for (index, container) in list(&status["initContainerStatuses"]).iter().enumerate() {
            let sidecar = declared
                .iter()
                .rfind(|declared| declared["name"] == container["name"])
                .is_some_and(is_sidecar);
            self.restarts.add(container);
            if sidecar {
                sidecar_restarts.add(container);
            }
            let terminated = &container["state"]["terminated"];
            if terminated.is_object() && integer(&terminated["exitCode"]) == 0 {
                continue;
            }
            if sidecar && boolean(&container["started"]) {
                self.ready += usize::from(boolean(&container["ready"]));
                continue;
            }
            let waiting = text(&container["state"]["waiting"]["reason"]);
            self.reason = match () {
                () if terminated.is_object() => format!("Init:{}", termination(terminated)),
                () if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                () => format!("Init:{index}/{}", declared.len()),
            };
            return (true, sidecar_restarts);
        }
        (false, sidecar_restarts)
    }

    fn add_containers(&mut self, object: &Value) {
        let mut running = false;
        let mut failure = None;
        for container in list(&object["status"]["containerStatuses"]).iter().rev() {
            self.restarts.add(container);
            let state = &container["state"];
            let waiting = text(&state["waiting"]["reason"]);
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if state["terminated"].is_object() {
                self.reason = termination(&state["terminated"]);
                if integer(&state["terminated"]["exitCode"]) != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if boolean(&container["ready"]) && state["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        // A pod is not done while one of its containers runs.
        if self.reason == "Completed" {
            match failure {
                _ if running && is_ready(object) => self.reason = "Running".to_owned(),
                Some(failure) => self.reason = failure,
                None if running => self.reason = "NotReady".to_owned(),
                None => {}
            }
        }
    }

    fn heed_deletion(&mut self, object: &Value) {
        let status = &object["status"];
        if object["metadata"]["deletionTimestamp"].is_null() {
            return;
        }
        if status["reason"] == "NodeLost" {
            self.reason = "Unknown".to_owned();
        } else if status["phase"] != "Failed" && status["phase"] != "Succeeded" {
            self.reason = "Terminating".to_owned();
        }
    }
}

#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += integer(&container["restartCount"]);
        self.last = self
            .last
            .max(parse(&container["lastState"]["terminated"]["finishedAt"]));
    }
}

/// Whether an init container is a sidecar (`restartPolicy: Always`).
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn is_ready(object: &Value) -> bool {
    list(&object["status"]["conditions"])
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn termination(terminated: &Value) -> String {
    match (text(&terminated["reason"]), integer(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", integer(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn readiness_gates(object: &Value) -> String {
    let gates = list(&object["spec"]["readinessGates"]);
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| condition(object, text(&gate["conditionType"])))
        .count();
    format!("{open}/{}", gates.len())
}
