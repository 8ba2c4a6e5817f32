//! Jobs and CronJobs.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, between, parse, since};
use super::read::{NONE, UNSET, condition, count, integer, name, set_or, text};
use super::selector::{containers, label_selector_cell};

pub(crate) fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let duration = match (parse(&status["startTime"]), parse(&status["completionTime"])) {
        (None, _) => String::new(),
        (Some(start), end) => between(start, end.unwrap_or(now)),
    };
    let (names, images) = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        json!(job_status(object)),
        json!(completions(spec, integer(&status["succeeded"]))),
        json!(duration),
        age(object, now),
        json!(names),
        json!(images),
        json!(label_selector_cell(&spec["selector"])),
    ]
}

pub(crate) fn cron_job(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let job = &spec["jobTemplate"]["spec"];
    let (names, images) = containers(&job["template"]["spec"]);
    let suspend = match spec["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => UNSET,
    };
    let last = match &status["lastScheduleTime"] {
        Value::Null => NONE.to_owned(),
        time => since(time, now),
    };
    vec![
        name(object),
        json!(text(&spec["schedule"])),
        json!(set_or(&spec["timeZone"], NONE)),
        json!(suspend),
        json!(count(&status["active"])),
        json!(last),
        age(object, now),
        json!(names),
        json!(images),
        json!(label_selector_cell(&job["selector"])),
    ]
}

fn job_status(object: &Value) -> &'static str {
    match () {
        () if condition(object, "Complete") => "Complete",
        () if condition(object, "Failed") => "Failed",
        () if !object["metadata"]["deletionTimestamp"].is_null() => "Terminating",
        () if condition(object, "Suspended") => "Suspended",
        () if condition(object, "FailureTarget") => "FailureTarget",
        () if condition(object, "SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(spec: &Value, succeeded: i64) -> String {
    match (spec["completions"].as_i64(), integer(&spec["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}
