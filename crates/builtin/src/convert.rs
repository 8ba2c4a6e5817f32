//! Resources that are served at more than one version but stored at one.
//!
//! Nothing is lost either way: what the older form has no field for travels in annotations, under the
//! names that upstream uses.

pub(crate) mod autoscaler;
pub(crate) mod event;

use serde_json::{Map, Value};

use crate::resource::Resource;

/// Turns an object as `resource` has it into the form in which it is stored.
pub fn to_stored(resource: &Resource, object: Value) -> Value {
    match (resource.stored_as, resource.group) {
        (Some(_), "events.k8s.io") => event::to_core(object),
        (Some(_), "autoscaling") => autoscaler::to_v2(object),
        _ => object,
    }
}

/// Turns a stored object into the form that `resource` serves.
pub fn from_stored(resource: &Resource, object: Value) -> Value {
    match (resource.stored_as, resource.group) {
        (Some(_), "events.k8s.io") => event::from_core(object),
        (Some(_), "autoscaling") => autoscaler::to_v1(object),
        _ => object,
    }
}

/// Moves a field, if it is there, under another name.
fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::RESOURCES;

    #[test]
    fn every_row_that_is_stored_elsewhere_names_a_row_of_the_same_kind() {
        for row in RESOURCES {
            if let Some((group, version)) = row.stored_as {
                let stored = crate::find_kind(group, version, row.kind).unwrap();
                assert_eq!(stored.stored_as, None);
                let object = serde_json::json!({ "kind": row.kind, "spec": {} });
                let converted = to_stored(row, object);
                assert_ne!(
                    converted["apiVersion"],
                    from_stored(row, converted.clone())["apiVersion"]
                );
            }
        }
    }
}
