//! Merges a configuration into a live value.

use cambium_schema::ListType;
use serde_json::{Map, Value};

use super::errors::{Problems, TypedErrors};
use super::list_item::{self, Index};
use super::shape::{ListShape, MapShape, Shape, Type};
use super::validate::check_scalar;
use crate::fieldpath::PathElement;

/// Merges `config` into `live`.
///
/// Nothing is removed. Leaves of the configuration take precedence. List items are in the order of the configuration,
/// the others keep their positions. Both values must have been [validated](super::validate), the configuration without
/// duplicates.
pub fn merge(ty: Type<'_>, live: &Value, config: &Value) -> Result<Value, TypedErrors> {
    let mut problems = Problems::default();
    let merged = visit(ty, live, config, &mut problems);
    problems.into_result(merged.unwrap_or(Value::Null))
}

/// `None` when nothing is left, which is not the same as an explicit `null`.
fn visit(ty: Type<'_>, live: &Value, config: &Value, problems: &mut Problems) -> Option<Value> {
    match ty.shape_of(config) {
        Shape::Map(map) => visit_map(map, live, config, problems),
        Shape::List(list) => visit_list(list, live, config, problems),
        Shape::Scalar(scalar) => {
            let checks = (
                check_scalar(scalar, live, "lhs: "),
                check_scalar(scalar, config, "rhs: "),
            );
            if let (Err(live), Err(config)) = checks {
                problems.add(live);
                problems.add(config);
                return None;
            }
            Some(config.clone())
        }
        Shape::Invalid => {
            problems.add("schema error: invalid atom: inlined");
            None
        }
    }
}

fn visit_map(map: MapShape<'_>, live: &Value, config: &Value, problems: &mut Problems) -> Option<Value> {
    let empty = Map::new();
    let (live, fields) = (
        live.as_object().unwrap_or(&empty),
        config.as_object().unwrap_or(&empty),
    );
    if map.is_atomic() || (live.is_empty() && fields.is_empty()) {
        return Some(config.clone());
    }
    // A field that the configuration omits stays; `prune` removes it later if the applier was its only owner.
    let mut out = Map::new();
    for (name, value) in live {
        let merged = match fields.get(name) {
            None => Some(value.clone()),
            Some(config) => {
                let start = problems.len();
                let merged = visit(map.field(name), value, config, problems);
                problems.prefix(start, || format!(".{name}"));
                merged
            }
        };
        if let Some(merged) = merged {
            out.insert(name.clone(), merged);
        }
    }
    for (name, value) in fields {
        if !live.contains_key(name) {
            out.insert(name.clone(), value.clone());
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

fn visit_list(list: ListShape<'_>, live: &Value, config: &Value, problems: &mut Problems) -> Option<Value> {
    let (live, items) = (as_items(live), as_items(config));
    if *list.list_type() == ListType::Atomic || (live.is_empty() && items.is_empty()) {
        return Some(config.clone());
    }
    let mut found = Problems::default();
    let config = Items::of(list, items, Repeats::Refused, &mut found);
    let live = Items::of(list, live, Repeats::Together, &mut found);
    if !found.is_empty() {
        for error in found
            .into_result(())
            .err()
            .into_iter()
            .flat_map(|errors| errors.0)
        {
            problems.add(error.message);
        }
        return None;
    }
    let merged = interleave(list, &live, &config, problems);
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// Walks both lists at once: live-only items stay in place between the common ones.
fn interleave(
    list: ListShape<'_>,
    live: &Items<'_>,
    config: &Items<'_>,
    problems: &mut Problems,
) -> Vec<Value> {
    let mut out = Vec::with_capacity(live.order.len().max(config.order.len()));
    let mut shared = config
        .order
        .iter()
        .filter(|(element, _)| live.by_element.get(element).is_some());
    let mut next_shared = shared.next();
    let mut done: Index<()> = Index::with_capacity(config.order.len());
    let (mut left, mut right) = (0, 0);
    while left < live.order.len() || right < config.order.len() {
        if let (Some((element, _)), Some((other, _))) = (live.order.get(left), config.order.get(right)) {
            if element == other {
                done.entry(element, || ());
                merge_item(list, element, live, config, &mut out, problems);
                left += 1;
                right += 1;
                next_shared = shared.next();
                continue;
            }
            let is_shared = config.by_element.get(element).is_some();
            if is_shared && next_shared.is_some_and(|(next, _)| next != element) {
                left += 1;
                continue;
            }
        }
        if let Some((element, item)) = live.order.get(left) {
            if config.by_element.get(element).is_none() {
                out.push((*item).clone());
                left += 1;
                continue;
            }
            if done.get(element).is_some() {
                left += 1;
            }
        }
        if let Some((element, _)) = config.order.get(right) {
            done.entry(element, || ());
            merge_item(list, element, live, config, &mut out, problems);
            right += 1;
            if next_shared.is_some_and(|(next, _)| next == element) {
                next_shared = shared.next();
            }
        }
    }
    out
}

fn merge_item(
    list: ListShape<'_>,
    element: &PathElement,
    live: &Items<'_>,
    config: &Items<'_>,
    out: &mut Vec<Value>,
    problems: &mut Problems,
) {
    let Some(config) = config.by_element.get(element) else {
        return;
    };
    let merged = match live.by_element.get(element) {
        None => Some((*config).clone()),
        Some(live) => {
            let start = problems.len();
            let merged = visit(list.item(), live, config, problems);
            problems.prefix(start, || element.to_string());
            merged
        }
    };
    out.extend(merged);
}

fn as_items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Repeats {
    Refused,
    Together,
}

struct Items<'v> {
    order: Vec<(PathElement, &'v Value)>,
    by_element: Index<&'v Value>,
}

impl<'v> Items<'v> {
    fn of(list: ListShape<'_>, items: &'v [Value], repeats: Repeats, problems: &mut Problems) -> Self {
        let mut out = Self {
            order: Vec::with_capacity(items.len()),
            by_element: Index::with_capacity(items.len()),
        };
        for (index, item) in items.iter().enumerate() {
            let element = match list_item::element(list, item) {
                Ok(element) => element,
                Err(message) => {
                    problems.add(format!("element {index}: {message}"));
                    continue;
                }
            };
            if out.by_element.get(&element).is_none() {
                out.by_element.entry(&element, || item);
            } else if repeats == Repeats::Refused {
                problems.add(format!("duplicate entries for key {element}"));
                continue;
            } else {
                // Which of the repeated items to merge with is anybody's guess, so none is.
                *out.by_element.entry(&element, || &Value::Null) = &Value::Null;
            }
            out.order.push((element, item));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::typed::fixtures::sorts;

    fn merged(live: Value, config: Value) -> Value {
        let schema = sorts();
        merge(
            Type::object(&schema),
            &json!({ "spec": live }),
            &json!({ "spec": config }),
        )
        .unwrap()["spec"]
            .clone()
    }

    #[test]
    fn the_configuration_wins_leaf_by_leaf() {
        for (live, config, expected) in [
            (
                json!({"replicas": 1, "title": "a"}),
                json!({"replicas": 2}),
                json!({"replicas": 2, "title": "a"}),
            ),
            (
                json!({"labels": {"a": "1", "b": "2"}}),
                json!({"labels": {"b": "3", "c": "4"}}),
                json!({"labels": {"a": "1", "b": "3", "c": "4"}}),
            ),
            (
                json!({"selector": {"a": "1"}}),
                json!({"selector": {"b": "2"}}),
                json!({"selector": {"b": "2"}}),
            ),
            (
                json!({"args": ["a", "b"]}),
                json!({"args": ["c"]}),
                json!({"args": ["c"]}),
            ),
            (
                json!({"labels": {"a": "1"}}),
                json!({"labels": null}),
                json!({"labels": {"a": "1"}}),
            ),
            (
                json!({"labels": {}}),
                json!({"labels": null}),
                json!({"labels": null}),
            ),
            (
                json!({"title": "a"}),
                json!({"title": null}),
                json!({"title": null}),
            ),
            (
                json!({"anything": {"a": 1}}),
                json!({"anything": [2]}),
                json!({"anything": [2]}),
            ),
            (
                json!({"anything": {"a": 1}}),
                json!({"anything": {"b": {"c": 1}}}),
                json!({"anything": {"a": 1, "b": {"c": 1}}}),
            ),
            (
                json!({"anything": [1, 2]}),
                json!({"anything": [3]}),
                json!({"anything": [3]}),
            ),
            (
                json!({"port": 80}),
                json!({"port": "http"}),
                json!({"port": "http"}),
            ),
            (json!({}), json!({}), json!({})),
        ] {
            assert_eq!(merged(live.clone(), config.clone()), expected, "{live} {config}");
        }
    }

    #[test]
    fn items_merge_by_key_and_keep_an_order() {
        let tags = |items: &[&str]| json!({ "tags": items });
        for (live, config, expected) in [
            (tags(&["a", "b", "c"]), tags(&["b"]), tags(&["a", "b", "c"])),
            (tags(&["a", "b", "c"]), tags(&["c", "a"]), tags(&["b", "c", "a"])),
            (
                tags(&["a", "b", "c"]),
                tags(&["x", "b"]),
                tags(&["a", "x", "b", "c"]),
            ),
            (tags(&["a", "b"]), tags(&["x", "y"]), tags(&["a", "b", "x", "y"])),
            (
                tags(&["a", "b", "c", "d"]),
                tags(&["d", "x", "a"]),
                tags(&["b", "c", "d", "x", "a"]),
            ),
            (tags(&["a", "a", "b"]), tags(&["b"]), tags(&["a", "a", "b"])),
            (tags(&["a", "a", "b"]), tags(&["a"]), tags(&["a", "b"])),
            (tags(&[]), tags(&["a"]), tags(&["a"])),
            (
                json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}),
                json!({"containers": [{"name": "b", "image": "2"}, {"name": "a"}]}),
                json!({"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]}),
            ),
            (
                json!({"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]}),
                json!({"ports": [{"port": 80}]}),
                json!({"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]}),
            ),
        ] {
            assert_eq!(merged(live.clone(), config.clone()), expected, "{live} {config}");
        }
    }
}
