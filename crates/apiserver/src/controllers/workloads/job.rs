//! Job controller: runs pods until enough of them have succeeded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::index::{Phase, Pod};
use super::write::{Level, Plan, Write};
use super::{read, template};
use crate::object;

/// A Job and its pods.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) job: Value,
    pub(super) pods: Vec<Arc<Pod>>,
}

const FIRST_BACK_OFF: Duration = Duration::from_secs(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(600);
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The terminal condition of a Job (`Complete` or `Failed`), if it has one.
pub(super) fn finished(job: &Value) -> Option<&'static str> {
    let conditions = read::list(job, "status.conditions");
    ["Complete", "Failed"]
        .into_iter()
        .find(|kind| conditions::holds(conditions, kind))
}

/// Decides which pods to create and delete, and whether the Job is finished.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let job = &observed.job;
    let mut plan = Plan::default();
    if object::is_deleting(job) {
        return plan;
    }
    if finished(job).is_some() {
        expire(job, now, &mut plan);
        return plan;
    }
    let tally = Tally::of(observed);
    let suspended = read::is_true(job, "spec.suspend");
    let started = read::time(job, "status.startTime").filter(|_| !suspended);
    let deadline = object::at(job, "spec.activeDeadlineSeconds")
        .and_then(Value::as_i64)
        .zip(started);
    let deadline = deadline.map(|(seconds, started)| {
        read::later(
            started,
            Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
        )
    });
    let end = verdict(job, &tally, deadline.is_some_and(|deadline| deadline <= now));
    let mut status = job.get("status").cloned().unwrap_or_else(|| json!({}));
    let mut conditions = read::list(job, "status.conditions").to_vec();
    if let Some(end) = &end {
        for pod in &tally.active {
            plan.writes.push(Write::Delete((*pod.value).clone()));
        }
        for condition in end {
            conditions::set(&mut conditions, condition, now);
        }
        emit_end(job, end, &mut plan);
    } else if suspended {
        conditions::set(
            &mut conditions,
            &Condition::new("Suspended", "True", "JobSuspended", "Job suspended"),
            now,
        );
        for pod in &tally.active {
            plan.writes.push(Write::Delete((*pod.value).clone()));
        }
    } else {
        if conditions::holds(&conditions, "Suspended") {
            conditions::set(
                &mut conditions,
                &Condition::new("Suspended", "False", "JobResumed", "Job resumed"),
                now,
            );
        }
        plan.after = manage(job, &tally, now, &mut plan);
        plan.after = read::sooner(
            plan.after,
            deadline.and_then(|deadline| read::until(deadline, now)),
        );
    }
    for condition in &mut conditions {
        if condition.get("lastProbeTime").is_none() {
            condition["lastProbeTime"] = condition["lastTransitionTime"].clone();
        }
    }
    let ended = end.is_some();
    let active = if ended || suspended { 0 } else { tally.active.len() };
    let ready = if ended {
        0
    } else {
        tally.active.iter().filter(|pod| pod.ready).count()
    };
    let start = match (suspended, read::time(job, "status.startTime")) {
        (true, _) => Value::Null,
        (false, Some(_)) => status["startTime"].clone(),
        (false, None) => json!(object::timestamp(now)),
    };
    let completion = if end.iter().flatten().any(|one| one.kind == "Complete") {
        json!(object::timestamp(now))
    } else {
        Value::Null
    };
    let fields = [
        ("active", json!(active)),
        ("ready", json!(ready)),
        ("succeeded", json!(tally.succeeded)),
        ("failed", json!(tally.failed)),
        ("terminating", json!(tally.terminating)),
        ("startTime", start),
        ("completionTime", completion),
        (
            "completedIndexes",
            json!(if tally.indexed {
                indexes(&tally.done)
            } else {
                String::new()
            }),
        ),
        ("conditions", json!(conditions)),
    ];
    let mut wanted = read::status(&fields, &["ready", "terminating"]);
    wanted.insert("uncountedTerminatedPods".to_owned(), json!({}));
    status = Value::Object(wanted);
    plan.status(job, status);
    // The status is written before pods are deleted: counted completions must outlive the pods.
    let at = plan
        .writes
        .iter()
        .position(|write| matches!(write, Write::Status(_)));
    if let Some(at) = at {
        let write = plan.writes.remove(at);
        plan.writes.insert(0, write);
    }
    plan
}

struct Tally<'a> {
    active: Vec<&'a Arc<Pod>>,
    terminating: usize,
    succeeded: i64,
    failed: i64,
    last_failure: Option<Timestamp>,
    indexed: bool,
    /// Completed indexes.
    done: BTreeSet<i64>,
    /// Indexes with an active pod.
    taken: BTreeSet<i64>,
}

impl<'a> Tally<'a> {
    fn of(observed: &'a Observed) -> Self {
        let job = &observed.job;
        let indexed = read::text(job, "spec.completionMode") == "Indexed";
        let index =
            |pod: &Pod| object::annotation(&pod.value, INDEX).and_then(|index| index.parse::<i64>().ok());
        let of_phase = |phase: Phase| observed.pods.iter().filter(move |pod| pod.phase == phase);
        let active: Vec<_> = observed.pods.iter().filter(|pod| pod.is_active()).collect();
        let done: BTreeSet<i64> = of_phase(Phase::Succeeded).filter_map(|pod| index(pod)).collect();
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let succeeded = if indexed {
            done.len()
        } else {
            of_phase(Phase::Succeeded).count()
        };
        let ended = |pod: &Arc<Pod>| {
            let containers = read::list(&pod.value, "status.containerStatuses").iter();
            containers
                .filter_map(|one| read::time(one, "state.terminated.finishedAt"))
                .max()
                .unwrap_or(pod.created)
        };
        Self {
            terminating: observed
                .pods
                .iter()
                .filter(|pod| pod.deleting && !pod.is_finished())
                .count(),
            // A counted pod stays counted, even if it was deleted since.
            succeeded: count(succeeded).max(read::number(job, "status.succeeded", 0)),
            failed: count(of_phase(Phase::Failed).count()).max(read::number(job, "status.failed", 0)),
            last_failure: of_phase(Phase::Failed).map(ended).max(),
            taken: active.iter().filter_map(|pod| index(pod)).collect(),
            active,
            indexed,
            done,
        }
    }
}

/// The terminal conditions of the Job, if it is finished.
fn verdict(job: &Value, tally: &Tally<'_>, too_late: bool) -> Option<Vec<Condition>> {
    let fail = |reason: &'static str, message: &str| {
        Some(vec![
            Condition::new("FailureTarget", "True", reason, message),
            Condition::new("Failed", "True", reason, message),
        ])
    };
    let restarts: i64 = tally.active.iter().map(|pod| pod.restarts).sum();
    let limit = read::number(job, "spec.backoffLimit", 6);
    let restarted_too_often = restarts > 0 && restarts >= limit.max(1);
    if tally.failed > limit || restarted_too_often {
        return fail(
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        );
    }
    if too_late {
        return fail(
            "DeadlineExceeded",
            "Job was active longer than specified deadline",
        );
    }
    let complete = match object::at(job, "spec.completions").and_then(Value::as_i64) {
        Some(completions) => tally.succeeded >= completions,
        // Without `completions`, the Job completes after the first success, once no pod is active.
        None if object::at(job, "spec.parallelism").is_some() => {
            tally.succeeded > 0 && tally.active.is_empty()
        }
        None => tally.succeeded >= 1,
    };
    let message = "Reached expected number of succeeded pods";
    complete.then(|| {
        vec![
            Condition::new("SuccessCriteriaMet", "True", "CompletionsReached", message),
            Condition::new("Complete", "True", "CompletionsReached", message),
        ]
    })
}

fn emit_end(job: &Value, end: &[Condition], plan: &mut Plan) {
    match end.last() {
        Some(condition) if condition.kind == "Complete" => {
            plan.emit(job, Level::Normal, "Completed", "Job completed")
        }
        Some(condition) => plan.emit(job, Level::Warning, condition.reason, condition.message.clone()),
        None => {}
    }
}

/// Creates and deletes pods, and requeues for back-off.
fn manage(job: &Value, tally: &Tally<'_>, now: Timestamp, plan: &mut Plan) -> Option<Duration> {
    let parallelism = read::number(job, "spec.parallelism", 1);
    let completions = object::at(job, "spec.completions").and_then(Value::as_i64);
    let wanted = match completions {
        Some(completions) => parallelism.min(completions - tally.succeeded).max(0),
        None if tally.succeeded > 0 => i64::try_from(tally.active.len()).unwrap_or_default(),
        None => parallelism,
    };
    let active = i64::try_from(tally.active.len()).unwrap_or_default();
    if active > wanted {
        let surplus = usize::try_from(active - wanted).unwrap_or_default();
        plan.writes.extend(
            tally
                .active
                .iter()
                .take(surplus)
                .map(|pod| Write::Delete((*pod.value).clone())),
        );
        return None;
    }
    if active < wanted
        && let Some(last) = tally.last_failure
    {
        let doublings = u32::try_from((tally.failed - 1).clamp(0, 10)).unwrap_or_default();
        let wait = (FIRST_BACK_OFF * 2_u32.pow(doublings)).min(LONGEST_BACK_OFF);
        if let Some(left) = read::until(read::later(last, wait), now) {
            return Some(left);
        }
    }
    let mut free = (0..completions.unwrap_or_default())
        .filter(|index| !tally.done.contains(index) && !tally.taken.contains(index));
    for _ in active..wanted {
        let index = if tally.indexed { free.next() } else { None };
        if tally.indexed && index.is_none() {
            break;
        }
        let pod = pod(job, index);
        plan.writes.push(Write::Create(pod));
    }
    if active < wanted {
        plan.emit(
            job,
            Level::Normal,
            "SuccessfulCreate",
            format!("Created {} pods", wanted - active),
        );
    }
    None
}

fn pod(job: &Value, index: Option<i64>) -> Value {
    let name = object::name(job);
    let mut pod = template::pod(job, object::at(job, "spec.template").unwrap_or(&Value::Null));
    let metadata = object::metadata_mut(&mut pod);
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    for prefix in ["", "batch.kubernetes.io/"] {
        labels[format!("{prefix}controller-uid")] = json!(object::meta_text(job, "uid"));
        labels[format!("{prefix}job-name")] = json!(name);
    }
    let generate = match index {
        Some(index) => {
            labels[INDEX] = json!(index.to_string());
            metadata.entry("annotations").or_insert_with(|| json!({}))[INDEX] = json!(index.to_string());
            format!("{name}-{index}-")
        }
        None => template::generate_name(name),
    };
    metadata.insert("generateName".to_owned(), json!(generate));
    if let Some(index) = index {
        pod["spec"]["hostname"] = json!(format!("{name}-{index}"));
    }
    pod
}

/// Deletes a finished Job after `ttlSecondsAfterFinished`.
fn expire(job: &Value, now: Timestamp, plan: &mut Plan) {
    let Some(seconds) = object::at(job, "spec.ttlSecondsAfterFinished").and_then(Value::as_i64) else {
        return;
    };
    let conditions = read::list(job, "status.conditions").iter();
    let ended = conditions.filter(|one| matches!(conditions::field(one, "type"), "Complete" | "Failed"));
    let Some(ended) = ended
        .filter_map(|one| conditions::field(one, "lastTransitionTime").parse().ok())
        .max()
    else {
        return;
    };
    match read::until(
        read::later(
            ended,
            Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
        ),
        now,
    ) {
        Some(left) => plan.after = Some(left),
        None => plan.writes.push(Write::Delete(job.clone())),
    }
}

/// Formats indexes as `1,3-5,7`.
fn indexes(done: &BTreeSet<i64>) -> String {
    let mut parts: Vec<(i64, i64)> = Vec::new();
    for index in done {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => parts.push((*index, *index)),
        }
    }
    let shown = parts.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_ranges() {
        assert_eq!(indexes(&BTreeSet::from([1, 3, 4, 5, 7, 8])), "1,3-5,7,8");
        assert_eq!(indexes(&BTreeSet::new()), "");
    }

    fn job(spec: Value) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": spec})
    }

    fn pod(name: &str, phase: &str) -> Arc<Pod> {
        Arc::new(Pod::from_value(
            json!({"metadata": {"name": name, "namespace": "n", "uid": name}, "status": {"phase": phase}}),
        ))
    }

    fn made(plan: &Plan) -> usize {
        plan.writes
            .iter()
            .filter(|write| matches!(write, Write::Create(_)))
            .count()
    }

    #[test]
    fn only_as_many_pods_as_are_needed() {
        let spec = json!({"completions": 5, "parallelism": 3, "template": {}});
        let plan_for = |pods: Vec<Arc<Pod>>| {
            plan(
                &Observed {
                    job: job(spec.clone()),
                    pods,
                },
                Timestamp::UNIX_EPOCH,
            )
        };
        assert_eq!(made(&plan_for(vec![])), 3);
        assert_eq!(
            made(&plan_for(vec![pod("a", "Running"), pod("b", "Succeeded")])),
            2
        );
        let nearly: Vec<_> = ["a", "b", "c", "d"]
            .iter()
            .map(|name| pod(name, "Succeeded"))
            .collect();
        assert_eq!(made(&plan_for(nearly)), 1);
    }

    #[test]
    fn a_failure_is_followed_by_a_pause_and_too_many_by_the_end() {
        let spec = json!({"backoffLimit": 1, "template": {}});
        let once = plan(
            &Observed {
                job: job(spec.clone()),
                pods: vec![pod("a", "Failed")],
            },
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!((made(&once), once.after), (0, Some(Duration::from_secs(10))));
        let twice = plan(
            &Observed {
                job: job(spec),
                pods: vec![pod("a", "Failed"), pod("b", "Failed")],
            },
            Timestamp::UNIX_EPOCH,
        );
        let Write::Status(told) = &twice.writes[0] else {
            panic!()
        };
        assert_eq!(finished(told), Some("Failed"));
        assert_eq!(told["status"]["conditions"][1]["reason"], "BackoffLimitExceeded");
    }
}
