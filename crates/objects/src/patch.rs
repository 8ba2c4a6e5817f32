//! Merge patches between JSON trees.

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

/// Lays one tree over another: objects are merged, and of everything else the upper one stays.
pub fn lay_over(lower: &mut Value, upper: &Value) {
    match (lower, upper) {
        (Value::Object(lower), Value::Object(upper)) => {
            for (name, value) in upper {
                match lower.get_mut(name) {
                    Some(known) => lay_over(known, value),
                    None => drop(lower.insert(name.clone(), value.clone())),
                }
            }
        }
        (lower, upper) => lower.clone_from(upper),
    }
}

#[cfg(test)]
mod tests {
    use super::{lay_over, merge_patch};
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

    #[test]
    fn the_upper_tree_wins_where_both_say_something() {
        let mut tree = json!({"a": {"b": 1, "c": 2}, "list": [1, 2]});
        lay_over(&mut tree, &json!({"a": {"c": 3, "d": 4}, "list": [5]}));
        assert_eq!(tree, json!({"a": {"b": 1, "c": 3, "d": 4}, "list": [5]}));
    }
}
