//! The field set of a value.

use cambium_schema::ListType;
use serde_json::Value;

use super::list_item::{self, Index};
use super::shape::{ListShape, MapShape, Shape, Type};
use crate::fieldpath::{PathElement, Set};

/// All leaves and list items of `value`, which must have been [validated](super::validate).
pub fn to_field_set(ty: Type<'_>, value: &Value) -> Set {
    visit(ty, value).below
}

#[derive(Default)]
struct Found {
    below: Set,
    itself: bool,
}

impl Found {
    fn leaf() -> Self {
        Self {
            below: Set::new(),
            itself: true,
        }
    }
}

fn visit(ty: Type<'_>, value: &Value) -> Found {
    match ty.shape_of(value) {
        Shape::Scalar(_) => Found::leaf(),
        Shape::List(list) => visit_list(list, value),
        Shape::Map(map) => visit_map(map, value),
        Shape::Invalid => Found::default(),
    }
}

fn visit_map(map: MapShape<'_>, value: &Value) -> Found {
    if map.is_atomic() {
        return Found::leaf();
    }
    let mut out = Found::default();
    let Value::Object(fields) = value else { return out };
    for (name, field) in fields {
        let named = map.named(name);
        let mut found = visit(named.unwrap_or_else(|| map.field(name)), field);
        let is_empty = field.is_null() || field.as_object().is_some_and(|fields| fields.is_empty());
        found.itself |= is_empty || named.is_none();
        add(&mut out.below, PathElement::field(name), found);
    }
    out
}

fn visit_list(list: ListShape<'_>, value: &Value) -> Found {
    if *list.list_type() == ListType::Atomic {
        return Found::leaf();
    }
    let mut out = Found::default();
    let Value::Array(items) = value else { return out };
    let mut by_element: Index<Vec<&Value>> = Index::with_capacity(items.len());
    for item in items {
        if let Ok(element) = list_item::element(list, item) {
            by_element.entry(&element, Vec::new).push(item);
        }
    }
    for (element, items) in by_element.into_entries() {
        // Items that are there more than once are owned together, as a whole.
        let found = match items.as_slice() {
            [only] => Found {
                itself: true,
                ..visit(list.item(), only)
            },
            _ => Found::leaf(),
        };
        add(&mut out.below, element, found);
    }
    out
}

fn add(out: &mut Set, element: PathElement, found: Found) {
    if found.itself {
        out.insert_member(element.clone());
    }
    out.insert_child(element, found.below);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::typed::fixtures::sorts;

    #[test]
    fn leaves_items_and_entries_are_mentioned() {
        let schema = sorts();
        for (spec, expected) in [
            (json!({"replicas": 1, "title": null}), ".replicas .title"),
            (json!({"nested": {"leaf": "a"}}), ".nested.leaf"),
            (json!({"nested": {}}), ".nested"),
            (json!({"labels": {"a": "b"}}), ".labels.a"),
            (json!({"labels": {}}), ".labels"),
            (json!({"selector": {"a": "b"}}), ".selector"),
            (json!({"args": ["a"]}), ".args"),
            (json!({"args": []}), ".args"),
            (json!({"tags": ["a", "b"]}), r#".tags[="a"] .tags[="b"]"#),
            (json!({"tags": []}), ""),
            (json!({"tags": ["a", "a"]}), r#".tags[="a"]"#),
            (
                json!({"containers": [{"name": "a", "image": "x"}]}),
                r#".containers[name="a"] .containers[name="a"].image .containers[name="a"].name"#,
            ),
            (
                json!({"containers": [{"name": "a", "image": "x"}, {"name": "a"}]}),
                r#".containers[name="a"]"#,
            ),
            (
                json!({"ports": [{"port": 80}]}),
                r#".ports[port=80,protocol="TCP"] .ports[port=80,protocol="TCP"].port"#,
            ),
            (
                json!({"anything": {"a": {"b": [1]}}}),
                ".anything.a .anything.a.b",
            ),
            (json!({"anything": [{"a": 1}]}), ".anything"),
            (
                json!({"open": {"known": {"a": "x", "b": {"c": 1}}}}),
                ".open.known.a .open.known.b .open.known.b.c",
            ),
            (json!({"free": {"a": 1}}), ".free.a"),
        ] {
            let set = to_field_set(Type::object(&schema), &json!({"spec": spec}));
            let below = set
                .child(&PathElement::field("spec"))
                .cloned()
                .unwrap_or_default();
            assert_eq!(below.to_string().replace('\n', " "), expected, "{spec}");
        }
    }
}
