//! A configuration on top of an object.

use cambium_merge::typed::{Duplicates, Type, atomics, merge, validate};
use serde_json::Value;

/// The object with a configuration on top of it, which may set no part of what merges only as a whole.
pub(super) fn apply(ty: Type<'_>, object: &Value, mut configuration: Value) -> Result<Value, String> {
    for field in ["apiVersion", "kind"] {
        if let (Some(fields), Some(value)) = (configuration.as_object_mut(), object.get(field)) {
            fields.insert(field.to_owned(), value.clone());
        }
    }
    validate(ty, &configuration, Duplicates::Refused)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let whole = atomics(ty, &configuration);
    if !whole.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            whole.join(", ")
        ));
    }
    validate(ty, object, Duplicates::Allowed)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    merge(ty, object, &configuration).map_err(|why| format!("failed to merge patch: {why}"))
}
