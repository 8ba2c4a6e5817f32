//! Managed fields of create, update and patch.

use serde_json::{Value, json};

use super::{ByVersion, FieldManager, OneVersion, Timestamp, UpdateError};
use crate::fieldpath::{Path, Set};
use crate::typed::fixtures::sorts;

const EMPTY: &Set = &Set::new();

pub(super) fn at(second: u32) -> Timestamp {
    Timestamp::parse(&format!("2024-01-01T00:00:{second:02}Z")).unwrap()
}

pub(super) fn object(spec: Value) -> Value {
    json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": {"name": "a", "uid": "1"}, "spec": spec})
}

pub(super) fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
            let fields = Set::from_fields_v1(&entry["fieldsV1"])
                .unwrap()
                .to_string()
                .replace('\n', " ");
            let time = text("time").trim_start_matches("2024-01-01T00:00:").to_owned();
            let subresource = entry["subresource"]
                .as_str()
                .map(|name| format!("/{name}"))
                .unwrap_or_default();
            format!(
                "{} {}{subresource} {} {time} {fields}",
                text("operation"),
                text("manager"),
                text("apiVersion")
            )
        })
        .collect()
}

fn update_at(second: u32, live: Option<&Value>, mut new: Value, manager: &str) -> Value {
    let schema = sorts();
    let versions = OneVersion {
        api_version: "x/v1",
        schema: &schema,
    };
    let books = FieldManager {
        api_version: "x/v1",
        kind: "Sort",
        subresource: "",
        versions: &versions,
        reset_fields: EMPTY,
        blank: None,
        now: at(second),
    };
    books.update(live, &mut new, manager).unwrap();
    new
}

fn with_spec(object: &Value, spec: Value) -> Value {
    let mut object = object.clone();
    object["spec"] = spec;
    object
}

#[test]
fn a_create_owns_everything_but_the_servers_own() {
    let mut new = object(json!({"replicas": 1, "tags": ["x"]}));
    new["metadata"]["labels"] = json!({"a": "b"});
    let created = update_at(1, None, new, "me");
    assert_eq!(
        managers(&created),
        [
            r#"Update me x/v1 01Z .spec .metadata.labels .metadata.labels.a .spec.replicas .spec.tags .spec.tags[="x"]"#
        ]
    );
}

#[test]
fn a_create_over_a_blank_struct_does_not_own_the_struct() {
    let schema = sorts();
    let versions = OneVersion {
        api_version: "x/v1",
        schema: &schema,
    };
    let blank = json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": {"creationTimestamp": null}, "spec": {}, "status": {}});
    let books = FieldManager {
        api_version: "x/v1",
        kind: "Sort",
        subresource: "",
        versions: &versions,
        reset_fields: EMPTY,
        blank: Some(&blank),
        now: at(1),
    };
    let mut new = json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": {"name": "a"}, "spec": {"replicas": 1}, "status": {}});
    books.update(None, &mut new, "me").unwrap();
    assert_eq!(managers(&new), ["Update me x/v1 01Z .spec.replicas"]);
}

#[test]
fn an_update_takes_what_it_changes_and_drops_what_it_removes() {
    let live = update_at(
        1,
        None,
        object(json!({"replicas": 1, "title": "a", "paused": true})),
        "one",
    );
    let new = with_spec(&live, json!({"replicas": 2, "title": "a", "port": 80}));
    let updated = update_at(2, Some(&live), new, "two");
    assert_eq!(
        managers(&updated),
        [
            "Update one x/v1 01Z .spec .spec.title",
            "Update two x/v1 02Z .spec.port .spec.replicas"
        ]
    );
    let same = update_at(3, Some(&updated), updated.clone(), "three");
    assert_eq!(same, updated);
    let again = update_at(
        4,
        Some(&updated),
        with_spec(&updated, json!({"replicas": 3, "title": "a", "port": 80})),
        "two",
    );
    assert_eq!(
        managers(&again)[1],
        "Update two x/v1 04Z .spec.port .spec.replicas"
    );
    let only_removed = update_at(
        5,
        Some(&again),
        with_spec(&again, json!({"replicas": 3, "title": "a"})),
        "three",
    );
    assert_eq!(
        managers(&only_removed),
        [
            "Update one x/v1 01Z .spec .spec.title",
            "Update two x/v1 04Z .spec.replicas"
        ]
    );
}

#[test]
fn clients_that_do_not_know_of_managers_do_not_lose_them() {
    let live = update_at(1, None, object(json!({"replicas": 1})), "one");
    for managed in [json!(null), json!([{"manager": "broken"}])] {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = managed;
        assert_eq!(update_at(2, Some(&live), new, "two"), live);
    }
}

#[test]
fn clients_that_know_may_change_or_reset_them() {
    let live = update_at(1, None, object(json!({"replicas": 1})), "one");
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["manager"] = json!("renamed");
    assert_eq!(
        managers(&update_at(2, Some(&live), new, "two")),
        ["Update renamed x/v1 01Z .spec .spec.replicas"]
    );
    for reset in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = reset;
        new["spec"]["replicas"] = json!(2);
        let updated = update_at(2, Some(&live), new, "two");
        assert_eq!(updated["metadata"].get("managedFields"), None);
        let updated = update_at(
            3,
            Some(&updated),
            with_spec(&updated, json!({"replicas": 3})),
            "two",
        );
        assert_eq!(
            managers(&updated),
            Vec::<String>::new(),
            "an object without managers stays without"
        );
    }
}

#[test]
fn a_subresource_has_its_own_entry_and_leaves_the_rest_alone() {
    let schema = sorts();
    let versions = OneVersion {
        api_version: "x/v1",
        schema: &schema,
    };
    let reset = Set::of([Path::fields(["spec"])]);
    let books = FieldManager {
        api_version: "x/v1",
        kind: "Sort",
        subresource: "status",
        versions: &versions,
        reset_fields: &reset,
        blank: None,
        now: at(2),
    };
    let live = update_at(1, None, object(json!({"replicas": 1})), "one");
    let mut new = live.clone();
    new["status"] = json!({"ready": true});
    new["spec"]["replicas"] = json!(2);
    new["metadata"]["managedFields"] = json!([]);
    books.update(Some(&live), &mut new, "one").unwrap();
    assert_eq!(
        managers(&new),
        [
            "Update one x/v1 01Z .spec .spec.replicas",
            "Update one/status x/v1 02Z .status .status.ready"
        ]
    );
}

#[test]
fn managers_are_versioned_and_a_version_that_is_gone_takes_its_managers_along() {
    let (old, new) = (sorts(), sorts());
    let versions = ByVersion {
        schemas: &[("x/v1", &old), ("x/v2", &new)],
        convert: |object: &Value, version: &str| {
            // v2 calls the title a name of a label.
            let mut object = object.clone();
            object["apiVersion"] = json!(version);
            let spec = object.get_mut("spec")?.as_object_mut()?;
            match version {
                "x/v2" => spec
                    .remove("title")
                    .map(|title| spec.insert("labels".into(), json!({ "title": title }))),
                _ => spec
                    .remove("labels")
                    .map(|labels| spec.insert("title".into(), labels["title"].clone())),
            };
            Some(object)
        },
    };
    let books = |version| FieldManager {
        api_version: version,
        kind: "Sort",
        subresource: "",
        versions: &versions,
        reset_fields: EMPTY,
        blank: None,
        now: at(2),
    };
    let mut live = object(json!({"title": "a", "replicas": 1}));
    books("x/v1").update(None, &mut live, "one").unwrap();
    live["metadata"]["managedFields"].as_array_mut().unwrap().push(json!(
        {"manager": "ghost", "operation": "Update", "apiVersion": "x/v0", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    ));
    live["apiVersion"] = json!("x/v2");
    live["spec"] = json!({"labels": {"title": "a"}, "replicas": 1});
    let mut updated = live.clone();
    updated["spec"]["labels"]["title"] = json!("b");
    books("x/v2").update(Some(&live), &mut updated, "one").unwrap();
    assert_eq!(
        managers(&updated),
        [
            "Update one x/v1 02Z .spec .spec.replicas",
            "Update one x/v2 02Z .spec.labels.title"
        ]
    );
}

#[test]
fn an_object_that_does_not_have_its_type_ends_up_without_managers() {
    let schema = sorts();
    let versions = OneVersion {
        api_version: "x/v1",
        schema: &schema,
    };
    let books = FieldManager {
        api_version: "x/v1",
        kind: "Sort",
        subresource: "",
        versions: &versions,
        reset_fields: EMPTY,
        blank: None,
        now: at(1),
    };
    let mut new = object(json!({"title": 1}));
    new["metadata"]["managedFields"] =
        json!([{"manager": "a", "operation": "Update", "apiVersion": "x/v1", "fieldsType": "FieldsV1"}]);
    let error = books.update(None, &mut new, "me").unwrap_err();
    assert!(matches!(error, UpdateError::Typed { .. }));
    assert_eq!(
        error.to_string(),
        "failed to convert new object (/a; x/v1, Kind=Sort) to smd typed: .spec.title: expected string, got &value.valueUnstructured{Value:1}"
    );
    assert_eq!(new["metadata"].get("managedFields"), None);
}

#[test]
fn owning_parts_of_what_is_now_a_whole_is_owning_the_whole() {
    let mut live = object(json!({"selector": {"a": "b"}}));
    live["metadata"]["managedFields"] = json!([
        {"manager": "one", "operation": "Update", "apiVersion": "x/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:selector": {".": {}, "f:a": {}}}}}
    ]);
    let updated = update_at(2, Some(&live), live.clone(), "two");
    assert_eq!(managers(&updated), ["Update one x/v1 - .spec.selector"]);
}
