//! Finding resources and types by name.

use std::collections::HashSet;

use cambium_schema::{Additional, Schema};
use serde_json::Value;

use crate::generated::{DEFAULTS, TYPES};
use crate::resource::Resource;
use crate::table::RESOURCES;

/// Finds a resource by its place in the URL.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|row| row.plural == plural && row.group == group && row.version == version)
}

/// Finds a resource by the kind of its objects.
pub fn find_kind(group: &str, version: &str, kind: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|row| row.kind == kind && row.group == group && row.version == version)
}

/// Finds a type by its published name, such as `io.k8s.api.core.v1.Pod`.
pub fn type_named(name: &str) -> Option<&'static Schema> {
    TYPES
        .binary_search_by(|schema| schema.name.cmp(name))
        .ok()
        .map(|index| TYPES[index])
}

/// Every named type that a schema is made of, itself included, each once, parents before children.
pub fn types_in(schema: &Schema) -> impl Iterator<Item = &Schema> {
    let mut open = vec![schema];
    let mut seen = HashSet::new();
    std::iter::from_fn(move || {
        while let Some(schema) = open.pop() {
            if !schema.name.is_empty() && !seen.insert(schema.name) {
                continue;
            }
            open.extend(schema.properties.iter().rev().map(|property| &*property.schema));
            open.extend(schema.items.as_deref());
            if let Additional::Schema(values) = &schema.additional {
                open.push(values);
            }
            if !schema.name.is_empty() {
                return Some(schema);
            }
        }
        None
    })
}

/// The default that the published schema of a built-in type states for a field, where there is one.
///
/// Server-side apply needs it for the keys of lists: a container port without `protocol` is the TCP one.
pub fn field_default(schema: &Schema, field: &str) -> Option<Value> {
    let found = DEFAULTS
        .iter()
        .find(|(name, of, _)| *of == field && *name == schema.name)?;
    serde_json::from_str(found.2).ok()
}
