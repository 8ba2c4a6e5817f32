//! The smallest change that makes one tree another.

use serde_json::{Map, Value};

/// The merge patch (RFC 7386) that makes `before` `after`; nothing if they are the same.
pub fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return Some(after.clone());
    };
    let mut patch = Map::new();
    for (name, value) in after {
        match before.get(name) {
            Some(known) => patch.extend(merge_patch(known, value).map(|change| (name.clone(), change))),
            None => drop(patch.insert(name.clone(), value.clone())),
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::merge_patch;
    use serde_json::json;

    #[test]
    fn only_differences_are_sent() {
        let before = json!({"same": 1, "gone": 2, "deep": {"a": 1, "b": [1, 2]}});
        let after = json!({"same": 1, "new": true, "deep": {"a": 1, "b": [2]}});
        assert_eq!(
            merge_patch(&before, &after),
            Some(json!({"gone": null, "new": true, "deep": {"b": [2]}}))
        );
        assert_eq!(merge_patch(&after, &after), None);
    }
}
