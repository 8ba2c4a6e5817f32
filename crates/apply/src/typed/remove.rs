//! Removes or extracts fields.

use cambium_schema::ListType;
use serde_json::{Map, Value};

use super::list_item;
use super::shape::{ListShape, MapShape, Shape, Type};
use crate::fieldpath::{PathElement, Set};

/// `value` without the fields in `set` and below them. A container that loses everything becomes `null`.
pub fn remove(ty: Type<'_>, value: &Value, set: &Set) -> Value {
    visit(ty, value, set, Keep::Others)
}

/// `value` with only the fields in `set` and their containers.
pub fn extract(ty: Type<'_>, value: &Value, set: &Set) -> Value {
    visit(ty, value, set, Keep::Them)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Them,
    Others,
}

fn visit(ty: Type<'_>, value: &Value, set: &Set, keep: Keep) -> Value {
    match ty.shape_of(value) {
        Shape::Scalar(_) => value.clone(),
        Shape::List(list) => visit_list(list, value, set, keep),
        Shape::Map(map) => visit_map(map, value, set, keep),
        Shape::Invalid => Value::Null,
    }
}

fn visit_list(list: ListShape<'_>, value: &Value, set: &Set, keep: Keep) -> Value {
    let Value::Array(items) = value else {
        return Value::Null;
    };
    if items.is_empty() || *list.list_type() == ListType::Atomic {
        return whole(value, keep);
    }
    let mut out = Vec::new();
    for item in items {
        let element = list_item::element(list, item).ok();
        let is_member = element.as_ref().is_some_and(|element| set.has_member(element));
        let below = element
            .as_ref()
            .and_then(|element| set.child(element))
            .filter(|below| !below.is_empty());
        match (keep, is_member, below) {
            (Keep::Others, true, _) | (Keep::Them, false, None) => {}
            (_, _, Some(below)) => out.push(visit(list.item(), item, below, keep)),
            (_, _, None) => out.push(item.clone()),
        }
    }
    if out.is_empty() {
        Value::Null
    } else {
        Value::Array(out)
    }
}

fn visit_map(map: MapShape<'_>, value: &Value, set: &Set, keep: Keep) -> Value {
    let Value::Object(fields) = value else {
        return Value::Null;
    };
    if fields.is_empty() || map.is_atomic() {
        return whole(value, keep);
    }
    let mut out = Map::new();
    for (name, field) in fields {
        let element = PathElement::field(name);
        if set.has_member(&element) {
            if keep == Keep::Them {
                // As upstream, children of a member are matched against the parent's set, which clients rely on.
                out.insert(name.clone(), visit(map.field(name), field, set, keep));
            }
            continue;
        }
        match set.child(&element).filter(|below| !below.is_empty()) {
            Some(below) => {
                out.insert(name.clone(), visit(map.field(name), field, below, keep));
            }
            None if keep == Keep::Others => {
                out.insert(name.clone(), field.clone());
            }
            None => {}
        }
    }
    if out.is_empty() {
        Value::Null
    } else {
        Value::Object(out)
    }
}

fn whole(value: &Value, keep: Keep) -> Value {
    match keep {
        Keep::Them => value.clone(),
        Keep::Others => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fieldpath::Path;
    use crate::typed::fixtures::sorts;

    fn value() -> Value {
        json!({"spec": {
            "replicas": 1,
            "nested": {"leaf": "a", "other": "b"},
            "selector": {"a": "b"},
            "tags": ["x", "y"],
            "containers": [{"name": "a", "image": "1"}, {"name": "b"}],
        }})
    }

    fn container(name: &str) -> Vec<PathElement> {
        vec![
            PathElement::field("spec"),
            PathElement::field("containers"),
            PathElement::key([("name".into(), json!(name))]),
        ]
    }

    #[test]
    fn removes_members_and_what_is_below() {
        let schema = sorts();
        let cases: Vec<(Vec<Path>, Value)> = vec![
            (vec![], value()["spec"].clone()),
            (
                vec![
                    Path::fields(["spec", "replicas"]),
                    Path::fields(["spec", "nested", "leaf"]),
                ],
                {
                    json!({"nested": {"other": "b"}, "selector": {"a": "b"}, "tags": ["x", "y"], "containers": value()["spec"]["containers"]})
                },
            ),
            (
                vec![
                    Path::fields(["spec", "nested", "leaf"]),
                    Path::fields(["spec", "nested", "other"]),
                ],
                {
                    let mut spec = value()["spec"].clone();
                    spec["nested"] = Value::Null;
                    spec
                },
            ),
            (vec![container("a").into(), Path::fields(["spec", "selector"])], {
                json!({"replicas": 1, "nested": {"leaf": "a", "other": "b"}, "tags": ["x", "y"], "containers": [{"name": "b"}]})
            }),
        ];
        for (paths, expected) in cases {
            assert_eq!(
                remove(Type::object(&schema), &value(), &Set::of(paths))["spec"],
                expected
            );
        }
        assert_eq!(
            remove(
                Type::object(&schema),
                &value(),
                &Set::of([Path::fields(["spec"])])
            ),
            Value::Null
        );
    }

    #[test]
    fn extracts_members_with_their_containers() {
        let schema = sorts();
        let mut image = container("a");
        image.push(PathElement::field("image"));
        let set = Set::of([
            Path::fields(["spec", "replicas"]),
            Path::fields(["spec", "selector"]),
            Path::from(image),
            container("b").into(),
        ]);
        assert_eq!(
            extract(Type::object(&schema), &value(), &set),
            json!({"spec": {"replicas": 1, "selector": {"a": "b"}, "containers": [{"image": "1"}, {"name": "b"}]}})
        );
        assert_eq!(extract(Type::object(&schema), &value(), &Set::new()), Value::Null);
    }
}
