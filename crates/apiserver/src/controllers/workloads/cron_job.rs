//! CronJob controller: creates Jobs on schedule.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::schedule::Schedule;
use super::write::{Level, Plan, Write};
use super::{conditions, job, read, template};
use crate::object;

/// A CronJob and its Jobs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) cron: Value,
    pub(super) jobs: Vec<Value>,
}

/// At most this many missed schedules are counted.
const MOST_MISSED: usize = 10_000;

/// Decides whether to start a Job, which finished Jobs to delete, and when to requeue.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let cron = &observed.cron;
    let mut plan = Plan::default();
    if object::is_deleting(cron) {
        return plan;
    }
    clean_up(observed, &mut plan);
    let mut active: Vec<&Value> = observed
        .jobs
        .iter()
        .filter(|job| job::finished(job).is_none() && !object::is_deleting(job))
        .collect();
    let mut last = object::at(cron, "status.lastScheduleTime").cloned();
    let zone = match read::text(cron, "spec.timeZone") {
        "" => Some(TimeZone::UTC),
        name => TimeZone::get(name).ok(),
    };
    let schedule = Schedule::parse(read::text(cron, "spec.schedule"));
    let (Some(schedule), Some(zone)) = (schedule, zone) else {
        emit_bad_schedule(cron, &mut plan);
        status(observed, &active, last, &mut plan);
        return plan;
    };
    if read::is_true(cron, "spec.suspend") {
        status(observed, &active, last, &mut plan);
        return plan;
    }
    let due = due(cron, &schedule, &zone, now);
    let policy = read::text(cron, "spec.concurrencyPolicy");
    if let Some(due) = due.filter(|_| policy != "Forbid" || active.is_empty()) {
        if policy == "Replace" {
            plan.writes
                .extend(active.drain(..).map(|job| Write::Delete(job.clone())));
        }
        let made = make(cron, due);
        let name = object::name(&made).to_owned();
        plan.writes.push(Write::Ensure(made));
        plan.emit(
            cron,
            Level::Normal,
            "SuccessfulCreate",
            format!("Created job {name}"),
        );
        last = Some(json!(object::timestamp(due)));
    }
    status(observed, &active, last, &mut plan);
    plan.after = schedule.next(now, &zone).and_then(|next| read::until(next, now));
    plan
}

/// The most recent missed schedule within `startingDeadlineSeconds`.
fn due(cron: &Value, schedule: &Schedule, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let mut from = read::time(cron, "status.lastScheduleTime").unwrap_or_else(|| read::created(cron));
    if let Some(seconds) = object::at(cron, "spec.startingDeadlineSeconds").and_then(Value::as_i64) {
        let earliest = now
            .checked_sub(jiff::SignedDuration::from_secs(seconds))
            .unwrap_or(from);
        from = from.max(earliest);
    }
    let mut latest = None;
    for _ in 0..MOST_MISSED {
        match schedule.next(from, zone).filter(|next| *next <= now) {
            Some(next) => (latest, from) = (Some(next), next),
            None => break,
        }
    }
    latest
}

fn make(cron: &Value, due: Timestamp) -> Value {
    let jobs = object::at(cron, "spec.jobTemplate").cloned().unwrap_or_default();
    let name: String = object::name(cron).chars().take(52).collect();
    let mut metadata = json!({"name": format!("{name}-{}", due.as_second() / 60), "namespace": object::namespace(cron),
        "ownerReferences": [template::controller_reference(cron)]});
    for field in ["labels", "annotations"] {
        if let Some(value) = jobs.get("metadata").and_then(|metadata| metadata.get(field)) {
            metadata[field] = value.clone();
        }
    }
    metadata["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] =
        json!(object::timestamp(due));
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": jobs.get("spec").cloned().unwrap_or_default()})
}

fn emit_bad_schedule(cron: &Value, plan: &mut Plan) {
    let message = format!(
        "unparseable schedule {:?} or time zone {:?}",
        read::text(cron, "spec.schedule"),
        read::text(cron, "spec.timeZone")
    );
    plan.emit(cron, Level::Warning, "UnparseableSchedule", message);
}

/// Deletes the oldest finished Jobs beyond the history limits.
fn clean_up(observed: &Observed, plan: &mut Plan) {
    for (end, limit, default) in [
        ("Complete", "spec.successfulJobsHistoryLimit", 3),
        ("Failed", "spec.failedJobsHistoryLimit", 1),
    ] {
        let limit = usize::try_from(read::number(&observed.cron, limit, default)).unwrap_or_default();
        let mut ended: Vec<&Value> = observed
            .jobs
            .iter()
            .filter(|job| job::finished(job) == Some(end) && !object::is_deleting(job))
            .collect();
        ended.sort_by_key(|job| (read::time(job, "status.startTime"), object::name(job).to_owned()));
        let surplus = ended.len().saturating_sub(limit);
        plan.writes.extend(
            ended
                .into_iter()
                .take(surplus)
                .map(|job| Write::Delete(job.clone())),
        );
    }
}

fn status(observed: &Observed, active: &[&Value], last: Option<Value>, plan: &mut Plan) {
    let cron = &observed.cron;
    let reference = |job: &&Value| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "name": object::name(job), "namespace": object::namespace(job),
            "uid": object::meta_text(job, "uid"), "resourceVersion": object::meta_text(job, "resourceVersion")})
    };
    // A reference names the Job, not its state: a Job that changes is still the same.
    let before = read::list(cron, "status.active");
    let known = |job: &&Value| {
        let uid = object::meta_text(job, "uid");
        before
            .iter()
            .find(|one| read::text(one, "uid") == uid)
            .cloned()
            .unwrap_or_else(|| reference(job))
    };
    let completed = observed
        .jobs
        .iter()
        .filter(|job| conditions::holds(read::list(job, "status.conditions"), "Complete"));
    let successful = completed
        .map(|job| read::text(job, "status.completionTime"))
        .chain([read::text(cron, "status.lastSuccessfulTime")]);
    let fields = [
        ("active", json!(active.iter().map(known).collect::<Vec<_>>())),
        ("lastScheduleTime", last.unwrap_or_default()),
        ("lastSuccessfulTime", json!(successful.max().unwrap_or_default())),
    ];
    plan.status(cron, Value::Object(read::status(&fields, &[])));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn cron(extra: Value) -> Value {
        let mut cron = json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "creationTimestamp": "2025-01-01T00:00:30Z"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {}}}}, "status": {}});
        for (name, value) in extra.as_object().unwrap() {
            cron["spec"][name] = value.clone();
        }
        cron
    }

    fn running(name: &str) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "n", "uid": name}})
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn made(plan: &Plan) -> Vec<&str> {
        plan.writes
            .iter()
            .filter_map(|write| match write {
                Write::Ensure(job) => Some(object::name(job)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_job_is_made_when_it_is_time_and_only_then() {
        let early = plan(
            &Observed {
                cron: cron(json!({})),
                jobs: vec![],
            },
            at("2025-01-01T00:00:40Z"),
        );
        assert_eq!(
            early,
            Plan {
                writes: vec![],
                after: Some(Duration::from_secs(20))
            }
        );
        let due = plan(
            &Observed {
                cron: cron(json!({})),
                jobs: vec![],
            },
            at("2025-01-01T00:01:00Z"),
        );
        assert_eq!(made(&due), ["c-28928161"]);
        assert_eq!(due.after, Some(Duration::from_secs(60)));
        let suspended = plan(
            &Observed {
                cron: cron(json!({"suspend": true})),
                jobs: vec![],
            },
            at("2025-01-01T00:01:00Z"),
        );
        assert_eq!(suspended, Plan::default());
    }

    #[test]
    fn jobs_that_still_run_are_respected() {
        let jobs = vec![running("old")];
        let with = |policy: &str| {
            plan(
                &Observed {
                    cron: cron(json!({"concurrencyPolicy": policy})),
                    jobs: jobs.clone(),
                },
                at("2025-01-01T00:01:00Z"),
            )
        };
        assert_eq!(made(&with("Allow")).len(), 1);
        assert_eq!(made(&with("Forbid")).len(), 0);
        let replace = with("Replace");
        assert!(replace.writes.contains(&Write::Delete(running("old"))));
        assert_eq!(made(&replace).len(), 1);
    }

    #[test]
    fn a_moment_that_was_missed_for_too_long_is_let_go() {
        let cron = cron(json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 60}));
        let late = plan(&Observed { cron, jobs: vec![] }, at("2025-01-01T05:10:00Z"));
        assert_eq!(made(&late).len(), 0);
    }
}
