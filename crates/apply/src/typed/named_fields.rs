//! Ownership of a struct field follows from ownership below it.

use super::shape::Type;
use crate::fieldpath::{PathElement, Set};

/// `set` plus every declared field with members below it. Map entries and list items are unchanged.
pub(crate) fn with_named_fields(ty: Option<Type<'_>>, set: &Set) -> Set {
    let map = ty.and_then(Type::as_map);
    let list = ty.and_then(Type::as_list);
    let mut out = Set::new();
    for member in set.members() {
        out.insert_member(member.clone());
    }
    for (element, below) in set.children() {
        let below_type = match element {
            PathElement::Field(name) => {
                if map.is_some_and(|map| map.named(name).is_some()) {
                    out.insert_member(element.clone());
                }
                map.map(|map| map.field(name))
            }
            PathElement::Key(_) => list.map(|list| list.item()),
            PathElement::Value(_) | PathElement::Index(_) => None,
        };
        out.insert_child(element.clone(), with_named_fields(below_type, below));
    }
    out
}
