//! Finds resources and types by name.

use std::collections::HashSet;

use cambium_schema::{Additional, Schema};
use serde_json::Value;

use crate::generated::{DEFAULTS, TYPES};
use crate::partial::partial;
use crate::resource::Resource;
use crate::table::RESOURCES;

/// Finds a resource by group, version and plural.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|row| row.plural == plural && row.group == group && row.version == version)
}

/// Finds a resource by group, version and kind.
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

/// All named types in a schema, itself included, without duplicates, parents before children.
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

/// The default of a field in the OpenAPI schema of a built-in type, if it has one.
///
/// Server-side apply needs it for list map keys: a container port without `protocol` is TCP.
pub fn field_default(schema: &Schema, field: &str) -> Option<Value> {
    let found = DEFAULTS
        .iter()
        .find(|(name, of, _)| *of == field && *name == schema.name)?;
    serde_json::from_str(found.2).ok()
}

/// The schema of a top-level kind: a served kind, its list, or the body of a subresource.
pub fn kind_schema(group: &str, version: &str, kind: &str) -> Option<&'static Schema> {
    let package = match (group, kind) {
        ("meta.k8s.io", "PartialObjectMetadata" | "PartialObjectMetadataList") => return partial(kind),
        // Every group has it, and it is the same one.
        (_, "DeleteOptions") | ("", "Status") | ("meta.k8s.io", _) => {
            return kind_type(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"));
        }
        ("", _) => "api.core",
        ("apiextensions.k8s.io", _) => "apiextensions-apiserver.pkg.apis.apiextensions",
        ("apiregistration.k8s.io", _) => "kube-aggregator.pkg.apis.apiregistration",
        (group, _) => {
            // The Go packages are called after the first word of the group.
            let (word, rest) = group.split_once('.').unwrap_or((group, ""));
            let known = rest.is_empty() || rest.ends_with("k8s.io");
            return known
                .then(|| kind_type(&format!("io.k8s.api.{word}.{version}.{kind}")))
                .flatten();
        }
    };
    kind_type(&format!("io.k8s.{package}.{version}.{kind}"))
}

/// Finds a type with TypeMeta, not one with fields that happen to be named `apiVersion` and `kind`.
fn kind_type(name: &str) -> Option<&'static Schema> {
    let is_own = |schema: &Schema, field: &str| {
        schema
            .property(field)
            .is_some_and(|property| property.number == 0)
    };
    type_named(name).filter(|schema| is_own(schema, "apiVersion") && is_own(schema, "kind"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_its_schema_under_its_kind() {
        for row in RESOURCES {
            let found = kind_schema(row.group, row.version, row.kind).unwrap();
            assert!(std::ptr::eq(found, row.schema), "{} {}", row.group, row.kind);
            assert!(!row.schema.properties.is_empty());
        }
        assert!(kind_schema("", "v1", "Container").is_none());
        assert!(kind_schema("", "v1", "OwnerReference").is_none());
        assert!(kind_schema("apps.example.com", "v1", "Deployment").is_none());
        assert!(kind_schema("apps", "v1", "DeleteOptions").is_some());
        assert!(kind_schema("", "v1", "PodList").is_some());
    }

    #[test]
    fn types_are_sorted_and_closed() {
        assert!(TYPES.windows(2).all(|pair| pair[0].name < pair[1].name));
        for schema in TYPES {
            assert!(
                schema
                    .properties
                    .windows(2)
                    .all(|pair| pair[0].name < pair[1].name),
                "{}",
                schema.name
            );
            for reached in types_in(schema) {
                assert!(type_named(reached.name).is_some_and(|found| std::ptr::eq(found, reached)));
            }
        }
    }

    #[test]
    fn reachable_types_are_listed_once_even_where_they_are_cyclic() {
        let crd = find_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap();
        let names: Vec<&str> = types_in(crd.schema).map(|schema| schema.name).collect();
        let unique: HashSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), unique.len());
        assert_eq!(names[0], crd.schema.name);
        assert!(unique.contains("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"));
    }

    #[test]
    fn keys_of_port_lists_have_defaults() {
        let port = type_named("io.k8s.api.core.v1.ContainerPort").unwrap();
        assert_eq!(field_default(port, "protocol"), Some(Value::from("TCP")));
        assert_eq!(field_default(port, "hostIP"), None);
    }
}
