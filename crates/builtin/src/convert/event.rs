//! Events: `events.k8s.io/v1` and core `v1` are the same objects with other field names.

use serde_json::{Value, json};

use super::rename;

/// `events.k8s.io` name, core name.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// To the core form.
pub(crate) fn to_core(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        for (new, old) in NAMES {
            rename(map, new, old);
        }
        map.insert("apiVersion".to_owned(), json!("v1"));
    }
    object
}

/// From the core form.
pub(crate) fn from_core(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        for (new, old) in NAMES {
            rename(map, old, new);
        }
        map.insert("apiVersion".to_owned(), json!("events.k8s.io/v1"));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_the_way_there_and_back() {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "e" }, "eventTime": "t",
            "regarding": { "kind": "Pod" }, "note": "hello", "reportingController": "c", "reason": "R",
            "deprecatedSource": { "component": "x" }, "deprecatedCount": 2, "unknown": true,
        });
        let core = to_core(event.clone());
        assert_eq!(core["apiVersion"], "v1");
        assert_eq!(core["involvedObject"]["kind"], "Pod");
        assert_eq!(core["message"], "hello");
        assert_eq!(core["count"], 2);
        assert_eq!(from_core(core), event);
    }
}
