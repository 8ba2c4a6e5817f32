//! Compares two values by field.

use cambium_schema::ListType;
use serde_json::{Map, Value};

use super::errors::{Problems, TypedErrors};
use super::list_item::{self, Index};
use super::shape::{ListShape, MapShape, Shape, Type};
use super::validate::check_scalar;
use crate::fieldpath::{PathElement, Set, equal_values};

/// The difference of two values, as disjoint sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Fields that only the new value has.
    pub added: Set,
    /// Fields that both have, with different values.
    pub modified: Set,
    /// Fields that only the old value has.
    pub removed: Set,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Without these fields and everything below them.
    #[must_use]
    pub fn excluding(self, fields: &Set) -> Self {
        if fields.is_empty() {
            return self;
        }
        Self {
            added: self.added.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            removed: self.removed.recursive_difference(fields),
        }
    }
}

/// Compares two values of one type. Both must have been [validated](super::validate).
pub fn compare(ty: Type<'_>, old: &Value, new: &Value) -> Result<Comparison, TypedErrors> {
    let mut problems = Problems::default();
    let node = visit(
        ty,
        Pair {
            old: Some(old),
            new: Some(new),
        },
        &mut problems,
    );
    problems.into_result(node.below)
}

/// A path in both values; at least one side exists.
#[derive(Clone, Copy)]
struct Pair<'v> {
    old: Option<&'v Value>,
    new: Option<&'v Value>,
}

/// The differences at one path and below.
#[derive(Default)]
struct Node {
    added: bool,
    modified: bool,
    removed: bool,
    below: Comparison,
}

impl Node {
    fn leaf(pair: Pair<'_>) -> Self {
        let mut node = Self::default();
        match (pair.old, pair.new) {
            (None, _) => node.added = true,
            (Some(_), None) => node.removed = true,
            (Some(old), Some(new)) => node.modified = !equal_values(old, new),
        }
        node
    }

    fn attach(&mut self, element: impl Fn() -> PathElement, child: Node) {
        let sets = [
            (&mut self.below.added, child.added, child.below.added),
            (&mut self.below.modified, child.modified, child.below.modified),
            (&mut self.below.removed, child.removed, child.below.removed),
        ];
        for (set, itself, below) in sets {
            if itself {
                set.insert_member(element());
            }
            if !below.is_empty() {
                set.insert_child(element(), below);
            }
        }
    }

    fn absorb(&mut self, other: Node) {
        self.added |= other.added;
        self.modified |= other.modified;
        self.removed |= other.removed;
        self.below.added = self.below.added.union(&other.below.added);
        self.below.modified = self.below.modified.union(&other.below.modified);
        self.below.removed = self.below.removed.union(&other.below.removed);
    }
}

/// Whether a path is a leaf, or was compared recursively.
enum Looked {
    Leaf(Node),
    Inside(Node),
}

fn visit(ty: Type<'_>, pair: Pair<'_>, problems: &mut Problems) -> Node {
    let looked = match (pair.old, pair.new) {
        (Some(old), None) => look(ty.shape_of(old), pair, problems),
        (None, Some(new)) => look(ty.shape_of(new), pair, problems),
        (Some(old), Some(new)) => {
            let (before, after) = (ty.choice(old), ty.choice(new));
            if before == after {
                look(ty.shape(after), pair, problems)
            } else {
                // The value changed its kind: its parts went away one way and came another.
                let (Looked::Leaf(gone) | Looked::Inside(gone)) = look(ty.shape(before), pair, problems);
                let mut looked = look(ty.shape(after), pair, problems);
                let (Looked::Leaf(node) | Looked::Inside(node)) = &mut looked;
                node.absorb(gone);
                looked
            }
        }
        (None, None) => return Node::default(),
    };
    match looked {
        Looked::Leaf(node) => node,
        Looked::Inside(mut node) => {
            node.added |= pair.old.is_none();
            node.removed |= pair.new.is_none();
            node
        }
    }
}

fn look(shape: Shape<'_>, pair: Pair<'_>, problems: &mut Problems) -> Looked {
    match shape {
        Shape::Map(map) => look_into_map(map, pair, problems),
        Shape::List(list) => look_into_list(list, pair, problems),
        Shape::Scalar(scalar) => {
            let check =
                |value: Option<&Value>, side| value.map_or(Ok(()), |value| check_scalar(scalar, value, side));
            if let (Err(old), Err(new)) = (check(pair.old, "lhs: "), check(pair.new, "rhs: ")) {
                problems.add(old);
                problems.add(new);
                return Looked::Inside(Node::default());
            }
            Looked::Leaf(Node::leaf(pair))
        }
        Shape::Invalid => {
            problems.add("schema error: invalid atom: inlined");
            Looked::Inside(Node::default())
        }
    }
}

fn look_into_map(map: MapShape<'_>, pair: Pair<'_>, problems: &mut Problems) -> Looked {
    let empty = Map::new();
    let old = pair.old.and_then(Value::as_object).unwrap_or(&empty);
    let new = pair.new.and_then(Value::as_object).unwrap_or(&empty);
    // An empty map is a leaf: a manager can own it without owning fields in it.
    if map.is_atomic() || (old.is_empty() && new.is_empty()) {
        return Looked::Leaf(Node::leaf(pair));
    }
    let mut node = Node::default();
    let mut field = |name: &str, pair: Pair<'_>| {
        let start = problems.len();
        let child = visit(map.field(name), pair, problems);
        problems.prefix(start, || format!(".{name}"));
        node.attach(|| PathElement::field(name), child);
    };
    for (name, value) in old {
        let pair = Pair {
            old: Some(value),
            new: new.get(name),
        };
        // Most fields do not change, and finding their type is most of the work.
        if value.is_object() || pair.new != Some(value) {
            field(name, pair);
        }
    }
    for (name, value) in new {
        if !old.contains_key(name) {
            field(
                name,
                Pair {
                    old: None,
                    new: Some(value),
                },
            );
        }
    }
    Looked::Inside(node)
}

fn look_into_list(list: ListShape<'_>, pair: Pair<'_>, problems: &mut Problems) -> Looked {
    let old = pair.old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let new = pair.new.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if *list.list_type() == ListType::Atomic || (old.is_empty() && new.is_empty()) {
        return Looked::Leaf(Node::leaf(pair));
    }
    if old.len() == new.len() && old.iter().zip(new).all(|(old, new)| equal_values(old, new)) {
        // Most lists do not change, and naming their items is most of the work.
        return Looked::Inside(Node::default());
    }
    let mut items: Index<(Vec<&Value>, Vec<&Value>)> = Index::with_capacity(old.len().max(new.len()));
    for (index, item) in old.iter().enumerate() {
        match list_item::element(list, item) {
            Ok(element) => items.entry(&element, Default::default).0.push(item),
            Err(message) => problems.add(format!("element {index}: {message}")),
        }
    }
    for (index, item) in new.iter().enumerate() {
        match list_item::element(list, item) {
            Ok(element) => items.entry(&element, Default::default).1.push(item),
            Err(message) => problems.add(format!("element {index}: {message}")),
        }
    }
    let mut node = Node::default();
    for (element, (old, new)) in items.into_entries() {
        let start = problems.len();
        let child = compare_item(list, &old, &new, problems);
        problems.prefix(start, || element.to_string());
        node.attach(|| element.clone(), child);
    }
    Looked::Inside(node)
}

/// Compares the items of one key. Duplicates are compared and owned as a whole.
fn compare_item(list: ListShape<'_>, old: &[&Value], new: &[&Value], problems: &mut Problems) -> Node {
    match (old, new) {
        ([_, _, ..], [_, _, ..]) => {
            let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| equal_values(old, new));
            Node {
                modified: !same,
                ..Node::default()
            }
        }
        ([_, _, ..], new) => {
            let mut node = visit(
                list.item(),
                Pair {
                    old: None,
                    new: new.first().copied(),
                },
                problems,
            );
            node.removed = true;
            node
        }
        (old, [_, _, ..]) => {
            let mut node = visit(
                list.item(),
                Pair {
                    old: old.first().copied(),
                    new: None,
                },
                problems,
            );
            node.added = true;
            node
        }
        (old, new) => {
            let pair = Pair {
                old: old.first().copied(),
                new: new.first().copied(),
            };
            visit(list.item(), pair, problems)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::typed::fixtures::sorts;

    #[test]
    fn differences_by_field() {
        let schema = sorts();
        for (old, new, expected) in [
            (json!({"replicas": 1}), json!({"replicas": 1.0}), ""),
            (json!({"replicas": 1}), json!({"replicas": 2}), "~.replicas"),
            (json!({}), json!({"replicas": 2}), "+.replicas"),
            (json!({"replicas": 1}), json!({}), "-.replicas"),
            (json!({"title": null}), json!({"title": ""}), "~.title"),
            (json!({}), json!({"title": null}), "+.title"),
            (
                json!({"nested": {"leaf": "a"}}),
                json!({"nested": {"other": "a"}}),
                "+.nested.other -.nested.leaf",
            ),
            (
                json!({}),
                json!({"nested": {"leaf": "a"}}),
                "+.nested +.nested.leaf",
            ),
            (
                json!({"nested": {"leaf": "a"}}),
                json!({"nested": {}}),
                "-.nested.leaf",
            ),
            (json!({"nested": {}}), json!({"nested": null}), "~.nested"),
            (
                json!({"selector": {"a": "b"}}),
                json!({"selector": {"a": "c"}}),
                "~.selector",
            ),
            (json!({"args": ["a"]}), json!({"args": ["a", "b"]}), "~.args"),
            (
                json!({"tags": ["a", "b"]}),
                json!({"tags": ["b", "c"]}),
                r#"+.tags[="c"] -.tags[="a"]"#,
            ),
            (
                json!({"tags": ["a", "a"]}),
                json!({"tags": ["a"]}),
                r#"+.tags[="a"] -.tags[="a"]"#,
            ),
            (
                json!({"tags": ["a"]}),
                json!({"tags": ["a", "a"]}),
                r#"+.tags[="a"] -.tags[="a"]"#,
            ),
            (
                json!({"tags": ["a", "a"]}),
                json!({"tags": ["a", "a", "a"]}),
                r#"~.tags[="a"]"#,
            ),
            (
                json!({"tags": ["a", "a"]}),
                json!({"tags": []}),
                r#"-.tags[="a"]"#,
            ),
            (
                json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}),
                json!({"containers": [{"name": "a", "image": "2"}, {"name": "c"}]}),
                r#"+.containers[name="c"] +.containers[name="c"].name ~.containers[name="a"].image -.containers[name="b"] -.containers[name="b"].name"#,
            ),
            (
                json!({"anything": {"a": 1}}),
                json!({"anything": "x"}),
                "~.anything -.anything.a",
            ),
            (
                json!({"anything": "x"}),
                json!({"anything": {"a": 1}}),
                "+.anything.a ~.anything",
            ),
            (
                json!({"anything": [1]}),
                json!({"anything": [1, 2]}),
                "~.anything",
            ),
            (
                json!({"anything": {"a": {"b": 1}}}),
                json!({"anything": {"a": {"b": 2}}}),
                "~.anything.a.b",
            ),
        ] {
            let found = compare(
                Type::object(&schema),
                &json!({ "spec": old }),
                &json!({ "spec": new }),
            )
            .unwrap();
            let sets = [("+", &found.added), ("~", &found.modified), ("-", &found.removed)];
            let shown: Vec<_> = sets
                .iter()
                .flat_map(|(sign, set)| {
                    set.paths()
                        .into_iter()
                        .map(move |path| format!("{sign}{}", path.to_string().trim_start_matches(".spec")))
                })
                .collect();
            assert_eq!(shown.join(" "), expected, "{old} {new}");
            assert_eq!(found.is_same(), expected.is_empty());
        }
    }
}
