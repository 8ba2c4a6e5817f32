//! Simulated kubelet: a pod is scheduled, starts, becomes ready (or behaves as its annotations say), and stops.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::annotations::{Failure, Overrides};
use super::command::{Behaviour, Length};
use super::conditions::{self, Condition};
use super::index::{Phase, Pod};
use super::write::{Level, Plan, Write};
use super::{Simulation, read};
use crate::object;

/// A pod and its candidate nodes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) pod: Pod,
    /// The node to bind it to, while it has none.
    pub(super) node: Option<String>,
    /// The number of nodes.
    pub(super) nodes: usize,
}

const FIRST_RESTART: Duration = Duration::from_secs(10);
const LONGEST_RESTART: Duration = Duration::from_secs(300);
/// The pod condition that records invalid annotations, so that the Event is emitted once per pod.
const SCRIPTED: &str = "SimulationScripted";

/// Decides the next status of a pod.
pub(super) fn plan(observed: &Observed, settings: &Simulation, now: Timestamp) -> Plan {
    let pod = &observed.pod;
    let mut plan = Plan::default();
    if pod.deleting {
        stop(pod, settings, now, &mut plan);
        return plan;
    }
    if pod.is_finished() {
        return plan;
    }
    let Some(started) = pod.started else {
        schedule(observed, now, &mut plan);
        return plan;
    };
    let overrides = Overrides::of(&pod.value);
    let (act, after) = act(pod, &overrides, settings, started, now);
    plan.after = after;
    let mut status = status(pod, &act, started, now);
    let mut conditions = read::list(&status, "conditions").to_vec();
    if !overrides.problems.is_empty() {
        let message = overrides
            .problems
            .values()
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
        if conditions::find(&conditions, SCRIPTED).is_none() {
            plan.emit(&pod.value, Level::Warning, "InvalidSimulation", message.clone());
        }
        conditions::set(
            &mut conditions,
            &Condition::new(SCRIPTED, "False", "InvalidAnnotation", message),
            now,
        );
        status["conditions"] = json!(conditions);
    }
    plan.status(&pod.value, status);
    plan
}

/// Removes a terminating pod after `stop_after` or its grace period, whichever is shorter.
fn stop(pod: &Pod, settings: &Simulation, now: Timestamp, plan: &mut Plan) {
    let grace = read::number(&pod.value, "metadata.deletionGracePeriodSeconds", 0);
    if grace == 0 {
        // Only a finalizer keeps it.
        return;
    }
    let grace = Duration::from_secs(u64::try_from(grace).unwrap_or_default());
    let end = read::time(&pod.value, "metadata.deletionTimestamp").unwrap_or(now);
    let begin = end
        .checked_sub(jiff::SignedDuration::try_from(grace).unwrap_or_default())
        .unwrap_or(now);
    match read::until(read::later(begin, grace.min(settings.stop_after)), now) {
        Some(left) => plan.after = Some(left),
        None => plan.writes.push(Write::Remove((*pod.value).clone())),
    }
}

fn schedule(observed: &Observed, now: Timestamp, plan: &mut Plan) {
    let pod = &observed.pod.value;
    let scheduler = read::text(pod, "spec.schedulerName");
    if !matches!(scheduler, "" | "default-scheduler") || !read::list(pod, "spec.schedulingGates").is_empty() {
        return;
    }
    if let Some(node) = &observed.node {
        plan.writes.push(Write::Bind((**pod).clone(), node.clone()));
        return;
    }
    let message = format!("0/{} nodes are available: no node fits this pod.", observed.nodes);
    let mut status = pod.get("status").cloned().unwrap_or_else(|| json!({}));
    let mut conditions = read::list(&status, "conditions").to_vec();
    conditions::set(
        &mut conditions,
        &Condition::new("PodScheduled", "False", "Unschedulable", message),
        now,
    );
    status["phase"] = json!("Pending");
    status["conditions"] = json!(conditions);
    plan.status(pod, status);
}

/// The state of a pod's containers.
#[derive(Debug, Clone, PartialEq)]
enum Act {
    /// ContainerCreating.
    Creating,
    /// Running; ready or not.
    Running { ready: bool },
    /// Waiting, with a reason.
    Waiting {
        reason: &'static str,
        message: String,
        restarts: i64,
        exit_code: Option<i64>,
    },
    /// Terminated.
    Ended { exit_code: i64 },
}

/// The current state of the containers, and when it changes.
fn act(
    pod: &Pod,
    overrides: &Overrides,
    settings: &Simulation,
    started: Timestamp,
    now: Timestamp,
) -> (Act, Option<Duration>) {
    let until = |after: Duration| read::until(read::later(started, after), now);
    let ready_after = overrides.ready_after.unwrap_or(settings.ready_after);
    let running_after = ready_after.min(settings.ready_after);
    if overrides.fail == Some(Failure::ImagePull) {
        let image = read::list(&pod.value, "spec.containers")
            .first()
            .map_or("", |one| read::text(one, "image"));
        let message = format!("Back-off pulling image {image:?}");
        return (
            Act::Waiting {
                reason: "ImagePullBackOff",
                message,
                restarts: 0,
                exit_code: None,
            },
            None,
        );
    }
    if let Some(left) = until(running_after) {
        return (Act::Creating, Some(left));
    }
    let ends = !matches!(read::text(&pod.value, "spec.restartPolicy"), "" | "Always");
    let told = match ends {
        true => Behaviour::of(&pod.value),
        false => Behaviour::default(),
    };
    let run_for = match (overrides.run_for, overrides.fail) {
        (Some(run_for), _) => Some(run_for),
        (None, Some(Failure::CrashLoop)) => Some(Duration::ZERO),
        (None, _) if overrides.exit_code.is_some() => Some(settings.run_for),
        (None, _) if ends => match told.length {
            Some(Length::For(length)) => Some(length),
            Some(Length::UntilStopped) => None,
            None => Some(settings.run_for),
        },
        _ => None,
    };
    if let Some(run_for) = run_for {
        let failing = overrides.fail.map(|_| 1);
        return run(
            pod,
            overrides
                .exit_code
                .or(failing)
                .or(told.exit_code)
                .unwrap_or_default(),
            running_after,
            run_for,
            started,
            now,
        );
    }
    if let Some(left) = until(ready_after) {
        return (Act::Running { ready: false }, Some(left));
    }
    match overrides.flap {
        Some(period) => {
            let elapsed =
                Duration::try_from(now.duration_since(read::later(started, ready_after))).unwrap_or_default();
            let turns = elapsed.as_nanos() / period.as_nanos().max(1);
            let spent = Duration::from_nanos(
                u64::try_from(elapsed.as_nanos() % period.as_nanos().max(1)).unwrap_or_default(),
            );
            (
                Act::Running {
                    ready: turns.is_multiple_of(2),
                },
                Some(period - spent),
            )
        }
        None => (Act::Running { ready: true }, None),
    }
}

/// Containers that exit: for good, or restarted with an exponential back-off.
fn run(
    pod: &Pod,
    code: i64,
    from: Duration,
    run_for: Duration,
    started: Timestamp,
    now: Timestamp,
) -> (Act, Option<Duration>) {
    let mut begin = read::later(started, from);
    let mut restarts = 0;
    let mut back_off = FIRST_RESTART;
    loop {
        if let Some(left) = read::until(read::later(begin, run_for), now) {
            return (Act::Running { ready: true }, Some(left));
        }
        let for_good = match read::text(&pod.value, "spec.restartPolicy") {
            "Never" => true,
            "OnFailure" => code == 0,
            _ => false,
        };
        if for_good {
            return (Act::Ended { exit_code: code }, None);
        }
        let again = read::later(read::later(begin, run_for), back_off);
        if let Some(left) = read::until(again, now) {
            let container = read::list(&pod.value, "spec.containers")
                .first()
                .map_or("", |one| read::text(one, "name"));
            let message = format!(
                "back-off {} restarting failed container={container} pod={}_{}({})",
                if back_off >= LONGEST_RESTART {
                    "5m0s".to_owned()
                } else {
                    go_seconds(back_off)
                },
                object::name(&pod.value),
                object::namespace(&pod.value),
                pod.uid
            );
            return (
                Act::Waiting {
                    reason: "CrashLoopBackOff",
                    message,
                    restarts,
                    exit_code: Some(code),
                },
                Some(left),
            );
        }
        begin = again;
        restarts += 1;
        back_off = (back_off * 2).min(LONGEST_RESTART);
    }
}

fn go_seconds(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds < 60 => format!("{seconds}s"),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}

/// The new pod status; conditions of other writers are kept.
fn status(pod: &Pod, act: &Act, started: Timestamp, now: Timestamp) -> Value {
    let value = &pod.value;
    let mut status = value
        .get("status")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let containers = read::list(value, "spec.containers");
    let names: Vec<&str> = containers.iter().map(|one| read::text(one, "name")).collect();
    let mut ready = matches!(act, Act::Running { ready: true });
    let phase = match act {
        Act::Creating
        | Act::Waiting {
            reason: "ImagePullBackOff",
            ..
        } => Phase::Pending,
        Act::Running { .. } | Act::Waiting { .. } => Phase::Running,
        Act::Ended { exit_code: 0 } => Phase::Succeeded,
        Act::Ended { .. } => Phase::Failed,
    };
    let phase_name = match phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed => "Failed",
    };
    let mut conditions = read::list(value, "status.conditions").to_vec();
    let unready = format!("containers with unready status: [{}]", names.join(" "));
    let gates = read::list(value, "spec.readinessGates");
    let open = gates
        .iter()
        .all(|gate| conditions::holds(&conditions, read::text(gate, "conditionType")));
    let observed_generation = object::generation(value);
    let containers_ready = match (ready, phase) {
        (true, _) => ("True", "", String::new()),
        (false, Phase::Succeeded) => ("False", "PodCompleted", String::new()),
        (false, Phase::Failed) => ("False", "PodFailed", String::new()),
        (false, _) => ("False", "ContainersNotReady", unready),
    };
    let pod_ready = match ready && !open {
        true => (
            "False",
            "ReadinessGatesNotReady",
            "the status of pod readiness gate is not \"True\"".to_owned(),
        ),
        false => containers_ready.clone(),
    };
    ready &= open;
    let completed = if phase == Phase::Succeeded {
        "PodCompleted"
    } else {
        ""
    };
    let has_network = !matches!(act, Act::Creating | Act::Ended { .. });
    let wanted = [
        Condition::new(
            "PodReadyToStartContainers",
            if has_network { "True" } else { "False" },
            "",
            "",
        ),
        Condition::new("Initialized", "True", completed, ""),
        Condition::new("Ready", pod_ready.0, pod_ready.1, pod_ready.2),
        Condition::new(
            "ContainersReady",
            containers_ready.0,
            containers_ready.1,
            containers_ready.2,
        ),
        Condition::new("PodScheduled", "True", "", ""),
    ];
    for condition in &wanted {
        conditions::set(&mut conditions, condition, now);
        if observed_generation > 0
            && let Some(one) = conditions
                .iter_mut()
                .find(|one| conditions::field(one, "type") == condition.kind)
        {
            one["observedGeneration"] = json!(observed_generation);
        }
    }
    let old = read::list(value, "status.containerStatuses");
    let statuses: Vec<Value> = containers
        .iter()
        .map(|container| {
            container_status(
                container,
                old,
                act,
                ready || matches!(act, Act::Running { ready: true }),
                now,
            )
        })
        .collect();
    status.insert("phase".to_owned(), json!(phase_name));
    status.insert("conditions".to_owned(), json!(conditions));
    status.insert("containerStatuses".to_owned(), json!(statuses));
    status.insert("hostIP".to_owned(), json!(HOST));
    status.insert("hostIPs".to_owned(), json!([{"ip": HOST}]));
    status
        .entry("startTime")
        .or_insert_with(|| json!(object::timestamp(started)));
    if observed_generation > 0 {
        status.insert("observedGeneration".to_owned(), json!(observed_generation));
    }
    if has_network && !status.contains_key("podIP") {
        let address = address(&pod.uid);
        status.insert("podIPs".to_owned(), json!([{"ip": address}]));
        status.insert("podIP".to_owned(), json!(address));
    }
    Value::Object(status)
}

/// The IP address of every simulated node.
pub(super) const HOST: &str = "192.168.0.1";

/// A pod IP in 10.0.0.0/10, derived from the UID.
fn address(uid: &str) -> String {
    let hash = uid.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!(
        "10.{}.{}.{}",
        (hash >> 16) & 0x3f,
        (hash >> 8) & 0xff,
        1 + (hash & 0xff) % 254
    )
}

fn container_status(container: &Value, old: &[Value], act: &Act, ready: bool, now: Timestamp) -> Value {
    let name = read::text(container, "name");
    let before = old
        .iter()
        .find(|one| read::text(one, "name") == name)
        .cloned()
        .unwrap_or_default();
    let restarts_before = read::number(&before, "restartCount", 0);
    let image = read::text(container, "image");
    let now = json!(object::timestamp(now));
    let mut restarts = restarts_before;
    let mut last = before.get("lastState").cloned().unwrap_or_else(|| json!({}));
    let ended = |code: i64, from: Option<&Value>| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        json!({"exitCode": code, "reason": reason, "startedAt": from.unwrap_or(&now), "finishedAt": now})
    };
    let begun = before.pointer("/state/running/startedAt");
    let state = match act {
        Act::Creating => json!({"waiting": {"reason": "ContainerCreating"}}),
        Act::Running { .. } => match begun {
            Some(at) => json!({"running": {"startedAt": at}}),
            None => json!({"running": {"startedAt": now}}),
        },
        Act::Waiting {
            reason,
            message,
            restarts: count,
            exit_code,
        } => {
            restarts = *count;
            if let Some(code) = exit_code
                && (begun.is_some() || last.get("terminated").is_none() || *count != restarts_before)
            {
                last = json!({"terminated": ended(*code, begun)});
            }
            json!({"waiting": {"reason": reason, "message": message}})
        }
        Act::Ended { exit_code } => match before.pointer("/state/terminated") {
            Some(terminated) => json!({"terminated": terminated}),
            None => json!({"terminated": ended(*exit_code, begun)}),
        },
    };
    let running = state.get("running").is_some();
    let mut status = Map::new();
    status.insert("name".to_owned(), json!(name));
    status.insert("image".to_owned(), json!(image));
    status.insert(
        "imageID".to_owned(),
        json!(if state.get("waiting").is_some() && restarts == 0 {
            ""
        } else {
            image
        }),
    );
    status.insert("ready".to_owned(), json!(ready && running));
    status.insert("started".to_owned(), json!(running));
    status.insert("restartCount".to_owned(), json!(restarts));
    status.insert("state".to_owned(), state);
    status.insert("lastState".to_owned(), last);
    Value::Object(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn pod(annotations: Value, policy: &str) -> Observed {
        let value = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": annotations},
            "spec": {"nodeName": "node", "restartPolicy": policy, "containers": [{"name": "c", "image": "i"}]}});
        let mut pod = Pod::from_value(value);
        pod.started = Some(START);
        Observed {
            pod,
            node: None,
            nodes: 1,
        }
    }

    fn at(seconds: u64) -> Timestamp {
        read::later(START, Duration::from_secs(seconds))
    }

    /// Simulates a pod at these seconds; returns phase, readiness, restarts and state at each.
    fn play(mut observed: Observed, seconds: &[u64]) -> Vec<String> {
        let mut told = Vec::new();
        for second in seconds {
            let plan = plan(&observed, &Simulation::default(), at(*second));
            for write in plan.writes {
                if let Write::Status(value) = write {
                    let started = observed.pod.started;
                    observed.pod = Pod::from_value(value);
                    observed.pod.started = started;
                }
            }
            let one = &observed.pod.value["status"]["containerStatuses"][0];
            let state = one["state"].as_object().unwrap();
            let (kind, detail) = state.iter().next().unwrap();
            let reason = detail.get("reason").and_then(Value::as_str).unwrap_or(kind);
            told.push(format!(
                "{second} {:?} {} {} {reason}",
                observed.pod.phase, observed.pod.ready, one["restartCount"]
            ));
        }
        told
    }

    #[test]
    fn a_pod_starts_becomes_ready_and_stays_so_quietly() {
        let observed = pod(json!({}), "Always");
        assert_eq!(
            play(observed.clone(), &[0, 1, 100]),
            [
                "0 Pending false 0 ContainerCreating",
                "1 Running true 0 running",
                "100 Running true 0 running"
            ]
        );
        let plan_at_start = plan(&observed, &Simulation::default(), at(0));
        assert_eq!(plan_at_start.after, Some(Duration::from_secs(1)));
        let Some(Write::Status(ready)) = plan(&observed, &Simulation::default(), at(1)).writes.pop() else {
            panic!()
        };
        let mut settled = observed;
        settled.pod = Pod {
            started: Some(START),
            ..Pod::from_value(ready)
        };
        assert_eq!(
            plan(&settled, &Simulation::default(), at(500)),
            Plan::default(),
            "nothing to write, nothing to wait for"
        );
    }

    #[test]
    fn a_pod_acts_out_its_script() {
        let script = |name: &str, value: &str| json!({format!("simulate.cambium.dev/{name}"): value});
        assert_eq!(
            play(pod(script("ready-after", "30s"), "Always"), &[1, 29, 30]),
            [
                "1 Running false 0 running",
                "29 Running false 0 running",
                "30 Running true 0 running"
            ]
        );
        assert_eq!(
            play(
                pod(script("fail", "CrashLoopBackOff"), "Always"),
                &[1, 10, 11, 31, 71]
            ),
            [
                "1 Running false 0 CrashLoopBackOff",
                "10 Running false 0 CrashLoopBackOff",
                "11 Running false 1 CrashLoopBackOff",
                "31 Running false 2 CrashLoopBackOff",
                "71 Running false 3 CrashLoopBackOff"
            ]
        );
        assert_eq!(
            play(pod(script("fail", "ImagePullBackOff"), "Always"), &[5]),
            ["5 Pending false 0 ImagePullBackOff"]
        );
        assert_eq!(
            play(pod(script("flap", "10s"), "Always"), &[1, 10, 11, 21]),
            [
                "1 Running true 0 running",
                "10 Running true 0 running",
                "11 Running false 0 running",
                "21 Running true 0 running"
            ]
        );
        assert_eq!(
            play(pod(script("run-for", "5s"), "Never"), &[1, 5, 6]),
            [
                "1 Running true 0 running",
                "5 Running true 0 running",
                "6 Succeeded false 0 Completed"
            ]
        );
        assert_eq!(
            play(pod(script("exit-code", "3"), "Never"), &[2]),
            ["2 Failed false 0 Error"]
        );
    }

    #[test]
    fn a_bad_script_is_told_once_and_the_default_applies() {
        let mut observed = pod(json!({"simulate.cambium.dev/ready-after": "soon"}), "Always");
        let first = plan(&observed, &Simulation::default(), at(1));
        assert!(matches!(
            first.writes[0],
            Write::Event {
                reason: "InvalidSimulation",
                ..
            }
        ));
        let Write::Status(value) = &first.writes[1] else {
            panic!()
        };
        observed.pod = Pod {
            started: Some(START),
            ..Pod::from_value(value.clone())
        };
        assert!(observed.pod.ready);
        assert_eq!(plan(&observed, &Simulation::default(), at(2)), Plan::default());
    }

    #[test]
    fn a_pod_that_names_another_scheduler_waits_for_it() {
        let mut observed = pod(json!({}), "Always");
        let mut value = (*observed.pod.value).clone();
        value["spec"]["schedulerName"] = json!("somebody-else");
        observed.pod = Pod::from_value(value);
        observed.node = Some("node-1".to_owned());
        assert_eq!(plan(&observed, &Simulation::default(), START), Plan::default());
    }

    #[test]
    fn a_pod_without_a_node_gets_one_and_a_stopped_one_goes() {
        let mut observed = pod(json!({}), "Always");
        observed.pod.started = None;
        observed.node = Some("node-1".to_owned());
        let value = (*observed.pod.value).clone();
        assert_eq!(
            plan(&observed, &Simulation::default(), START).writes,
            [Write::Bind(value.clone(), "node-1".to_owned())]
        );
        let mut value = value;
        value["metadata"]["deletionTimestamp"] = json!(object::timestamp(at(30)));
        value["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        observed.pod = Pod::from_value(value.clone());
        let settings = Simulation {
            stop_after: Duration::from_secs(2),
            ..Simulation::default()
        };
        assert_eq!(
            plan(&observed, &settings, at(1)).after,
            Some(Duration::from_secs(1))
        );
        assert_eq!(plan(&observed, &settings, at(2)).writes, [Write::Remove(value)]);
    }
}
