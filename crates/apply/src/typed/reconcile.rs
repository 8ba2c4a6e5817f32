//! Reconciles owned fields after a schema changed from granular to atomic.

use cambium_schema::ListType;

use super::shape::{MapShape, Shape, Type};
use crate::fieldpath::{PathElement, Set};

/// The owned fields for the current schema; `None` when unchanged.
///
/// Owners of parts of a now atomic field own all of it. A change from atomic to granular needs nothing.
pub(crate) fn reconcile(ty: Type<'_>, set: &Set) -> Option<Set> {
    let mut wholes = Set::new();
    visit(ty, Some(set), Ownership::Parts, &mut Vec::new(), &mut wholes);
    (!wholes.is_empty()).then(|| set.recursive_difference(&wholes).union(&wholes))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ownership {
    Whole,
    Parts,
}

fn visit(ty: Type<'_>, set: Option<&Set>, owned: Ownership, path: &mut Vec<PathElement>, wholes: &mut Set) {
    match ty.open_shape() {
        Shape::Scalar(_) | Shape::Invalid => {}
        Shape::List(list) => {
            if *list.list_type() == ListType::Atomic {
                if owned == Ownership::Parts {
                    wholes.insert(path);
                }
                return;
            }
            visit_elements(set, path, wholes, |_| Some(list.item()));
        }
        Shape::Map(map) if map.is_untyped() => {}
        Shape::Map(map) => {
            if map.is_atomic() {
                if owned == Ownership::Parts && set.is_some_and(|set| !set.is_empty()) {
                    wholes.insert(path);
                }
                return;
            }
            visit_elements(set, path, wholes, |element| field_type(map, element));
        }
    }
}

fn field_type<'s>(map: MapShape<'s>, element: &PathElement) -> Option<Type<'s>> {
    let PathElement::Field(name) = element else {
        return None;
    };
    map.declared(name)
}

fn visit_elements<'s>(
    set: Option<&Set>,
    path: &mut Vec<PathElement>,
    wholes: &mut Set,
    type_of: impl Fn(&PathElement) -> Option<Type<'s>>,
) {
    let Some(set) = set else { return };
    let alone = set.members().iter().filter(|member| set.child(member).is_none());
    let alone = alone.map(|member| (member, None, Ownership::Whole));
    let with_parts = set
        .children()
        .map(|(element, below)| (element, Some(below), Ownership::Parts));
    for (element, below, owned) in alone.chain(with_parts) {
        if let Some(ty) = type_of(element) {
            path.push(element.clone());
            visit(ty, below, owned, path, wholes);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fieldpath::Path;
    use crate::typed::fixtures::sorts;

    #[test]
    fn parts_of_what_became_a_whole_become_the_whole() {
        let schema = sorts();
        for (owned, expected) in [
            (
                vec!["spec.selector.a", "spec.replicas"],
                Some(".spec.replicas .spec.selector"),
            ),
            (vec!["spec.selector", "spec.selector.a"], Some(".spec.selector")),
            (vec!["spec.args.0"], Some(".spec.args")),
            (vec!["spec.selector", "spec.args"], None),
            (vec!["spec.labels.a", "spec.nope.b", "spec.anything.a.b"], None),
        ] {
            let set = Set::of(owned.iter().map(|path| Path::fields(path.split('.'))));
            let found = reconcile(Type::object(&schema), &set).map(|set| set.to_string().replace('\n', " "));
            assert_eq!(found.as_deref(), expected, "{owned:?}");
        }
    }
}
