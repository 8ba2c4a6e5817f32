//! Events, of both API groups.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::since;
use super::read::{integer, text, text_or};
use crate::convert;

/// An event of `events.k8s.io`: shown as the core event it is stored as.
pub(crate) fn events_event(object: &Value, now: Timestamp) -> Vec<Value> {
    event(&convert::event::to_core(object.clone()), now)
}

/// A core event.
pub(crate) fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let first = match &object["firstTimestamp"] {
        Value::Null => since(&object["eventTime"], now),
        time => since(time, now),
    };
    let series = &object["series"];
    let (last, count) = match (&object["lastTimestamp"], integer(&object["count"])) {
        _ if series.is_object() => (since(&series["lastObservedTime"], now), integer(&series["count"])),
        (Value::Null, count) => (first.clone(), count.max(1)),
        (time, count) => (since(time, now), count.max(1)),
    };
    let involved = &object["involvedObject"];
    let kind = text(&involved["kind"]).to_lowercase();
    let target = match text(&involved["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let component = text_or(
        &object["source"]["component"],
        text(&object["reportingComponent"]),
    );
    let source = match text_or(&object["source"]["host"], text(&object["reportingInstance"])) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        json!(last),
        json!(text(&object["type"])),
        json!(text(&object["reason"])),
        json!(target),
        json!(text(&involved["fieldPath"])),
        json!(source),
        json!(text(&object["message"]).trim()),
        json!(first),
        json!(count),
        json!(text(&object["metadata"]["name"])),
    ]
}
