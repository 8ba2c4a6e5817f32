//! Conversion of built-in resources that are served at several versions and stored at one.
//!
//! Conversion is lossless: values without a field in the older version are kept in annotations, under upstream's
//! names.

pub(crate) mod autoscaler;
pub(crate) mod event;

use serde_json::{Map, Value};

use crate::resource::Resource;

/// Converts an object of `resource` to the storage version.
pub fn to_stored(resource: &Resource, object: Value) -> Value {
    match (resource.stored_as, resource.group) {
        (Some(_), "events.k8s.io") => event::to_core(object),
        (Some(_), "autoscaling") => autoscaler::to_v2(object),
        _ => object,
    }
}

/// Converts a stored object to the version of `resource`.
pub fn from_stored(resource: &Resource, object: Value) -> Value {
    match (resource.stored_as, resource.group) {
        (Some(_), "events.k8s.io") => event::from_core(object),
        (Some(_), "autoscaling") => autoscaler::to_v1(object),
        _ => object,
    }
}

/// Renames a field, if it exists.
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
