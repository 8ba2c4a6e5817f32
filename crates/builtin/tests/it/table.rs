//! Invariants of the resource table.

use std::collections::HashSet;

use cambium_builtin::{RESOURCES, Scope, Subresource, Verbs, kind_schema};
use serde_json::json;

#[test]
fn names_are_unique_within_a_group_version() {
    let mut plurals = HashSet::new();
    let mut kinds = HashSet::new();
    for row in RESOURCES {
        assert!(
            plurals.insert((row.group, row.version, row.plural)),
            "{}",
            row.plural
        );
        assert!(kinds.insert((row.group, row.version, row.kind)), "{}", row.kind);
        assert_eq!(row.singular, row.kind.to_lowercase());
    }
}

#[test]
fn a_short_name_means_one_plural() {
    let mut names = std::collections::HashMap::new();
    for row in RESOURCES {
        for name in row.short_names {
            assert_eq!(*names.entry(name).or_insert(row.plural), row.plural, "{name}");
        }
    }
}

#[test]
fn every_row_has_as_many_cells_as_columns() {
    let now = "2024-01-01T00:00:00Z".parse().unwrap();
    for row in RESOURCES {
        for object in [
            json!({}),
            json!({ "metadata": { "name": "n" }, "spec": {}, "status": {} }),
            json!(null),
        ] {
            assert_eq!((row.cells)(&object, now).len(), row.columns.len(), "{}", row.kind);
        }
        assert!(
            row.columns
                .iter()
                .any(|column| column.name == "Name" && column.format == "name")
        );
        assert!(row.columns.iter().all(|column| !column.description.is_empty()));
    }
}

#[test]
fn what_has_a_status_subresource_has_a_status() {
    for row in RESOURCES.iter().filter(|row| row.verbs != Verbs::CreateOnly) {
        let has_status = row.schema.property("status").is_some();
        let serves_status = row.subresources.contains(&Subresource::Status);
        assert!(has_status || !serves_status, "{}", row.kind);
        assert!(row.schema.property("metadata").is_some());
    }
}

#[test]
fn subresources_take_kinds_that_exist() {
    for row in RESOURCES {
        for subresource in row.subresources {
            if let Subresource::Other {
                kind: (group, version, kind),
                verbs,
                ..
            } = *subresource
            {
                assert!(!verbs.is_empty());
                // Options of connections come as query parameters, never as a body.
                assert!(
                    kind.ends_with("Options") || kind_schema(group, version, kind).is_some(),
                    "{kind}"
                );
            }
        }
    }
}

#[test]
fn selectable_fields_exist() {
    // What upstream computes instead of reading.
    let computed = ["source", "status.successful"];
    for row in RESOURCES {
        for field in row
            .selectable_fields
            .iter()
            .filter(|field| !computed.contains(field))
        {
            let found = field
                .split('.')
                .try_fold(row.schema, |schema, name| schema.field(name));
            assert!(found.is_some(), "{} {field}", row.kind);
        }
        let expected = json!({ "metadata": { "name": "x" } });
        assert_eq!(
            row.selectable_value(&expected, "metadata.name").as_deref(),
            Some("x")
        );
    }
}

#[test]
fn scopes_are_those_of_upstream() {
    let cluster: Vec<&str> = RESOURCES
        .iter()
        .filter(|row| row.scope == Scope::Cluster)
        .map(|row| row.plural)
        .collect();
    assert!(cluster.contains(&"nodes") && cluster.contains(&"namespaces") && !cluster.contains(&"pods"));
    assert_eq!(cluster.len(), 33, "{cluster:?}");
}
