//! Server-side apply.

use serde_json::{Value, json};

use super::update_tests::{at, managers, object};
use super::{ApplyError, ByVersion, FieldManager, Force, LAST_APPLIED_ANNOTATION, OneVersion};
use crate::fieldpath::{Path, Set};
use crate::typed::fixtures::sorts;

const EMPTY: &Set = &Set::new();

fn config(spec: Value) -> Value {
    json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": {"name": "a"}, "spec": spec})
}

fn with_books<T>(second: u32, reset_fields: &Set, run: impl FnOnce(&FieldManager<'_>) -> T) -> T {
    let schema = sorts();
    let versions = OneVersion {
        api_version: "x/v1",
        schema: &schema,
    };
    run(&FieldManager {
        api_version: "x/v1",
        kind: "Sort",
        subresource: "",
        versions: &versions,
        reset_fields,
        blank: None,
        now: at(second),
    })
}

fn apply(
    second: u32,
    live: Option<&Value>,
    spec: Value,
    manager: &str,
    force: Force,
) -> Result<Value, ApplyError> {
    with_books(second, EMPTY, |books| {
        books.apply(live, &config(spec), manager, force)
    })
}

fn update(second: u32, live: &Value, spec: Value, manager: &str) -> Value {
    let mut new = live.clone();
    new["spec"] = spec;
    with_books(second, EMPTY, |books| books.update(Some(live), &mut new, manager)).unwrap();
    new
}

/// The object that the server stored: it has a uid.
fn stored(object: Result<Value, ApplyError>) -> Value {
    let mut object = object.unwrap();
    object["metadata"]["uid"] = json!("1");
    object
}

#[test]
fn applying_to_nothing_creates() {
    let created = stored(apply(
        1,
        None,
        json!({"replicas": 1, "labels": {"a": "b"}}),
        "me",
        Force::No,
    ));
    assert_eq!(created["spec"], json!({"replicas": 1, "labels": {"a": "b"}}));
    assert_eq!(
        managers(&created),
        ["Apply me x/v1 01Z .spec.replicas .spec.labels.a"]
    );
    let again = apply(
        2,
        Some(&created),
        json!({"replicas": 1, "labels": {"a": "b"}}),
        "me",
        Force::No,
    )
    .unwrap();
    assert_eq!(
        again, created,
        "applying the same again changes nothing, not even the time"
    );
}

#[test]
fn changing_what_another_applied_is_a_conflict_unless_forced() {
    let live = stored(apply(
        1,
        None,
        json!({"replicas": 1, "title": "a"}),
        "one",
        Force::No,
    ));
    let Err(ApplyError::Conflicts(conflicts)) = apply(
        2,
        Some(&live),
        json!({"replicas": 2, "title": "b"}),
        "two",
        Force::No,
    ) else {
        panic!("expected conflicts")
    };
    assert_eq!(
        conflicts.to_string(),
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.replicas\n- .spec.title"
    );
    let forced = apply(3, Some(&live), json!({"replicas": 2}), "two", Force::Yes).unwrap();
    assert_eq!(forced["spec"], json!({"replicas": 2, "title": "a"}));
    assert_eq!(
        managers(&forced),
        [
            "Apply one x/v1 01Z .spec.title",
            "Apply two x/v1 03Z .spec.replicas"
        ]
    );
}

#[test]
fn the_same_value_is_shared() {
    let live = stored(apply(1, None, json!({"replicas": 1}), "one", Force::No));
    let shared = apply(2, Some(&live), json!({"replicas": 1}), "two", Force::No).unwrap();
    assert_eq!(
        managers(&shared),
        [
            "Apply two x/v1 - .spec.replicas",
            "Apply one x/v1 01Z .spec.replicas"
        ]
    );
    let left = apply(3, Some(&shared), json!({}), "one", Force::No).unwrap();
    assert_eq!(
        left["spec"],
        json!({"replicas": 1}),
        "what somebody else still owns stays"
    );
    assert_eq!(managers(&left)[0], "Apply two x/v1 - .spec.replicas");
}

#[test]
fn fields_that_an_applier_drops_are_removed_unless_owned() {
    let live = stored(apply(
        1,
        None,
        json!({"replicas": 1, "title": "a", "labels": {"a": "1", "b": "2"}, "tags": ["x", "y"], "containers": [{"name": "c", "image": "i"}]}),
        "one",
        Force::No,
    ));
    let live = update(
        2,
        &live,
        json!({"replicas": 1, "title": "changed", "labels": {"a": "1", "b": "2"}, "tags": ["x", "y"], "containers": [{"name": "c", "image": "i", "env": {"k": "v"}}]}),
        "two",
    );
    let dropped = apply(
        3,
        Some(&live),
        json!({"labels": {"a": "1"}, "tags": ["y"]}),
        "one",
        Force::No,
    )
    .unwrap();
    assert_eq!(
        dropped["spec"],
        json!({"title": "changed", "labels": {"a": "1"}, "tags": ["y"], "containers": null}),
        "an item goes with everything in it, as upstream has it"
    );
    assert_eq!(
        managers(&dropped),
        [
            "Apply one x/v1 03Z .spec.labels.a .spec.tags[=\"y\"]",
            "Update two x/v1 02Z .spec.title"
        ]
    );
}

#[test]
fn before_the_first_apply_everything_has_one_owner() {
    let live = object(json!({"replicas": 1, "title": "a"}));
    let Err(ApplyError::Conflicts(conflicts)) =
        apply(1, Some(&live), json!({"replicas": 2}), "me", Force::No)
    else {
        panic!("expected a conflict")
    };
    assert_eq!(
        conflicts.to_string(),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using x/v1: .spec.replicas"
    );
    let applied = apply(1, Some(&live), json!({"replicas": 1}), "me", Force::No).unwrap();
    assert_eq!(
        managers(&applied),
        [
            "Apply me x/v1 - .spec.replicas",
            "Update before-first-apply x/v1 01Z .spec .spec.replicas .spec.title"
        ]
    );
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let refused = |config: Value| {
        with_books(1, EMPTY, |books| books.apply(None, &config, "me", Force::No)).unwrap_err()
    };
    let mut managed = config(json!({}));
    managed["metadata"]["managedFields"] = json!([]);
    assert_eq!(
        refused(managed),
        ApplyError::BadRequest("metadata.managedFields must be nil".into())
    );
    let mut version = config(json!({}));
    version["apiVersion"] = json!("v2");
    assert_eq!(
        refused(version),
        ApplyError::BadRequest("invalid object type: /v2, Kind=Sort".into())
    );
    assert_eq!(
        refused(config(json!({"tags": ["a", "a"]}))).to_string(),
        "failed to create typed patch object (/a; x/v1, Kind=Sort): .spec.tags: duplicate entries for key [=\"a\"]"
    );
    let mut live = object(json!({}));
    live["metadata"]["managedFields"] = json!([{}]);
    assert_eq!(
        apply(1, Some(&live), json!({}), "me", Force::No)
            .unwrap_err()
            .to_string(),
        "failed to decode managed fields: operation must be `Apply` or `Update`"
    );
}

#[test]
fn reset_fields_are_not_owned() {
    let reset = Set::of([Path::fields(["status"])]);
    let mut config = config(json!({"replicas": 1}));
    config["status"] = json!({"ready": true});
    let applied = with_books(1, &reset, |books| books.apply(None, &config, "", Force::No)).unwrap();
    assert_eq!(managers(&applied), ["Apply unknown x/v1 01Z .spec.replicas"]);
}

#[test]
fn kubectl_upgrades_from_client_side_apply_without_conflicts() {
    let mut live = object(json!({"replicas": 1, "title": "a"}));
    let last = config(json!({"replicas": 1, "title": "a"}));
    live["metadata"]["annotations"] = json!({ LAST_APPLIED_ANNOTATION: last.to_string() });
    with_books(1, EMPTY, |books| {
        books.update(None, &mut live, "kubectl-client-side-apply")
    })
    .unwrap();

    let others = apply(2, Some(&live), json!({"replicas": 2}), "other", Force::No);
    assert!(
        matches!(others, Err(ApplyError::Conflicts(_))),
        "only kubectl is trusted with the annotation"
    );

    let applied = apply(
        2,
        Some(&live),
        json!({"replicas": 2, "title": "a<b"}),
        "kubectl",
        Force::No,
    )
    .unwrap();
    assert_eq!(applied["spec"], json!({"replicas": 2, "title": "a<b"}));
    assert_eq!(
        applied["metadata"]["annotations"][LAST_APPLIED_ANNOTATION],
        "{\"apiVersion\":\"x/v1\",\"kind\":\"Sort\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":2,\"title\":\"a\\u003cb\"}}\n"
    );

    let changed = update(3, &live, json!({"replicas": 5, "title": "a"}), "hpa");
    let Err(ApplyError::Conflicts(conflicts)) = apply(
        4,
        Some(&changed),
        json!({"replicas": 2, "title": "b"}),
        "kubectl",
        Force::No,
    ) else {
        panic!("expected a conflict")
    };
    assert_eq!(
        conflicts.to_string(),
        "Apply failed with 1 conflict: conflict with \"hpa\" using x/v1: .spec.replicas"
    );
}

#[test]
fn keyed_items_are_owned_field_by_field() {
    let live = stored(apply(
        1,
        None,
        json!({"containers": [{"name": "a", "image": "1"}], "ports": [{"port": 80}]}),
        "one",
        Force::No,
    ));
    let both = apply(
        2,
        Some(&live),
        json!({"containers": [{"name": "b", "image": "2"}], "ports": [{"port": 80, "protocol": "UDP"}]}),
        "two",
        Force::No,
    )
    .unwrap();
    assert_eq!(
        both["spec"],
        json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}], "ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]})
    );
    let Err(ApplyError::Conflicts(conflicts)) = apply(
        3,
        Some(&both),
        json!({"containers": [{"name": "a", "image": "3"}]}),
        "two",
        Force::No,
    ) else {
        panic!("expected a conflict")
    };
    assert_eq!(conflicts.causes()[0].field, ".spec.containers[name=\"a\"].image");
}

#[test]
fn what_was_applied_in_another_version_is_still_the_appliers() {
    let (old, new) = (sorts(), sorts());
    let versions = ByVersion {
        schemas: &[("x/v1", &old), ("x/v2", &new)],
        convert: |object: &Value, version: &str| {
            let mut object = object.clone();
            object["apiVersion"] = json!(version);
            let Some(Value::Object(spec)) = object.get_mut("spec") else {
                return Some(object);
            };
            let (from, to) = if version == "x/v2" {
                ("title", "port")
            } else {
                ("port", "title")
            };
            spec.remove(from).map(|value| spec.insert(to.to_owned(), value));
            Some(object)
        },
    };
    let books = |api_version| FieldManager {
        api_version,
        kind: "Sort",
        subresource: "",
        versions: &versions,
        reset_fields: EMPTY,
        blank: None,
        now: at(1),
    };
    let config = |version: &str, spec: Value| json!({"apiVersion": version, "kind": "Sort", "metadata": {"name": "a"}, "spec": spec});
    let first = config("x/v1", json!({"title": "a", "replicas": 1}));
    let mut live = stored(books("x/v1").apply(None, &first, "me", Force::No));
    live["apiVersion"] = json!("x/v2");
    live["spec"] = json!({"port": "a", "replicas": 1});

    let kept = config("x/v2", json!({"port": "a"}));
    let applied = books("x/v2").apply(Some(&live), &kept, "me", Force::No).unwrap();
    assert_eq!(applied["spec"], json!({"port": "a"}));
    assert_eq!(managers(&applied), ["Apply me x/v2 01Z .spec.port"]);

    let dropped = config("x/v2", json!({"replicas": 1}));
    let applied = books("x/v2")
        .apply(Some(&live), &dropped, "me", Force::No)
        .unwrap();
    assert_eq!(applied["spec"], json!({"replicas": 1}));
}
