//! The corners, one by one.

use cambium_api::names::annotation::CONVERSION;
use cambium_convert::ConvertError;
use cambium_convert::definition::{
    ANNOTATIONS_LIMIT, WrittenAt, check_size, convert, edited_elsewhere, written_at,
};
use serde_json::{Value, json};

const V1: &str = "core.oam.dev/v1beta1";
const V2: &str = "core.oam.dev/v2beta1";

fn object(version: &str, spec: Value) -> Value {
    json!({"apiVersion": version, "kind": "ComponentDefinition", "metadata": {"name": "web"}, "spec": spec})
}

fn versions(versions: Value) -> Value {
    object(V2, json!({"versions": versions}))
}

fn up(object: &Value) -> Value {
    convert(object.clone(), V2).unwrap()
}

fn down(object: &Value) -> Value {
    convert(object.clone(), V1).unwrap()
}

#[test]
fn down_shows_the_highest_version_and_carries_the_rest() {
    let object = versions(
        json!([{"version": "2", "workload": {"type": "a"}}, {"version": "3.4", "new": 1}, {"version": "1"}]),
    );
    let stored = down(&object);
    assert_eq!(
        (&stored["apiVersion"], &stored["spec"]),
        (&json!(V1), &json!({"version": "3.4", "new": 1}))
    );
    let carrier: Value =
        serde_json::from_str(stored["metadata"]["annotations"][CONVERSION].as_str().unwrap()).unwrap();
    assert_eq!((&carrier["from"], &carrier["at"]), (&json!("v2beta1"), &json!(1)));
    assert_eq!(
        carrier["versions"],
        json!([{"version": "2", "workload": {"type": "a"}}, {"version": "1"}])
    );
    assert_eq!(up(&stored), object);
}

#[test]
fn up_from_v1beta1_is_one_version() {
    let cases = [
        (
            json!({"version": "1.2.3", "a": 1}),
            json!({"version": "1.2.3", "a": 1}),
        ),
        (json!({"version": "2", "a": 1}), json!({"version": "2", "a": 1})),
        (json!({"a": 1}), json!({"version": "0.0.0-legacy", "a": 1})),
        (json!({}), json!({"version": "0.0.0-legacy"})),
        (
            json!({"version": "0.0.0-legacy"}),
            json!({"version": "0.0.0-legacy"}),
        ),
        (json!({"version": null}), json!({"version": null})),
        (
            json!({"versions": [1]}),
            json!({"version": "0.0.0-legacy", "versions": [1]}),
        ),
    ];
    for (spec, entry) in cases {
        let native = object(V1, spec);
        let shown = up(&native);
        assert_eq!(shown["spec"], json!({"versions": [entry]}));
        assert_eq!(down(&shown), native, "{shown}");
    }
}

#[test]
fn order_spelling_and_duplicates_are_kept() {
    let cases = [
        json!([{"version": "1"}, {"version": "3"}, {"version": "2"}]),
        json!([{"version": "2", "a": 1}, {"version": "2.0.0", "a": 2}]),
        json!([{"version": "2.0.0", "a": 2}, {"version": "2", "a": 1}]),
        json!([{"version": "2", "a": 1}, {"version": "2", "a": 2}, {"version": "2", "a": 1}]),
        json!([{"version": "v2"}, {"version": "latest"}]),
        json!([{"a": 1}, {"version": 2}]),
        json!([{"version": "1.0.0"}, "not an object", null]),
        json!([null]),
        json!([]),
    ];
    for case in cases {
        let object = versions(case);
        assert_eq!(up(&down(&object)), object);
    }
}

#[test]
fn partial_objects_are_converted_as_far_as_they_go() {
    let kind = "TraitDefinition";
    let cases = [
        json!({"kind": kind}),
        json!({"kind": kind, "metadata": {"name": "x"}}),
        json!({"kind": kind, "metadata": {"annotations": {CONVERSION: "anything"}}}),
        json!({"kind": kind, "metadata": {"managedFields": [{"manager": "m"}]}, "status": {"a": 1}}),
        json!({"kind": kind, "spec": null}),
        json!({"kind": kind, "metadata": null, "spec": {}}),
    ];
    for (from, to) in [(V1, V2), (V2, V1)] {
        for case in &cases {
            let mut object = case.clone();
            object["apiVersion"] = json!(from);
            let there = convert(object.clone(), to).unwrap();
            assert!(there["metadata"].is_object(), "{there}");
            let back = convert(there, from).unwrap();
            if object["metadata"].is_null() {
                object["metadata"] = json!({});
            }
            assert_eq!(back, object);
        }
    }
}

#[test]
fn a_part_without_spec_keeps_the_carrier_for_the_part_that_has_it() {
    let mut part = down(&versions(json!([{"version": "1"}, {"version": "2"}])));
    part.as_object_mut().unwrap().remove("spec");
    assert_eq!(up(&part)["metadata"], part["metadata"]);
    assert_eq!(up(&part).get("spec"), None);
}

#[test]
fn an_edit_through_the_other_version_is_not_undone() {
    let mut stored = down(&versions(
        json!([{"version": "1", "a": 1}, {"version": "2", "a": 2}]),
    ));
    assert!(!edited_elsewhere(&stored));
    stored["spec"]["a"] = json!(3);
    assert!(edited_elsewhere(&stored));
    assert_eq!(
        up(&stored)["spec"]["versions"],
        json!([{"version": "1", "a": 1}, {"version": "2", "a": 3}])
    );
    stored["spec"] = json!({"a": 4});
    assert_eq!(
        up(&stored)["spec"]["versions"],
        json!([{"version": "1", "a": 1}, {"a": 4}]),
        "nothing is made up"
    );

    let mut shown = up(&object(V1, json!({"a": 1})));
    shown["spec"]["versions"][0]["a"] = json!(2);
    assert_eq!(down(&shown)["spec"], json!({"a": 2}), "still without a version");
    shown["spec"]["versions"][0]["version"] = json!("1.0.0");
    assert_eq!(down(&shown)["spec"], json!({"version": "1.0.0", "a": 2}));
    shown["spec"]["versions"] = json!([{"version": "1.0.0"}, {"version": "2.0.0"}]);
    assert_eq!(written_at(&shown), Some(WrittenAt::V2beta1));
    assert_eq!(up(&down(&shown)), shown);
}

#[test]
fn whoever_wrote_it_is_known_at_both_versions() {
    let native = object(V1, json!({"version": "1.0.0"}));
    let modern = versions(json!([{"version": "1.0.0"}]));
    for (object, expected) in [(native, WrittenAt::V1beta1), (modern, WrittenAt::V2beta1)] {
        assert_eq!(written_at(&object), Some(expected));
        for version in [V1, V2] {
            let seen = convert(object.clone(), version).unwrap();
            assert_eq!(written_at(&seen), Some(expected), "{seen}");
        }
    }
    assert_eq!(written_at(&json!(1)), None);
}

#[test]
fn a_carrier_that_was_cut_off_or_taken_away_is_not_believed() {
    let stored = down(&versions(json!([{"version": "1"}, {"version": "2"}])));
    let text = stored["metadata"]["annotations"][CONVERSION].as_str().unwrap();
    let mut cut = stored.clone();
    cut["metadata"]["annotations"][CONVERSION] = json!(&text[..text.len() - 3]);
    let shown = up(&cut);
    assert_eq!(shown["spec"]["versions"], json!([{"version": "2"}]));
    assert_eq!(down(&shown), cut, "and what is left of it is kept");
    let mut bare = stored;
    bare["metadata"].as_object_mut().unwrap().remove("annotations");
    assert_eq!(up(&bare)["spec"]["versions"], json!([{"version": "2"}]));
}

#[test]
fn too_many_versions_are_refused_with_their_size() {
    let noise = |seed: u64| -> String {
        let mut state = seed + 1;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            format!("{state:016x}")
        };
        (0..500).map(|_| next()).collect()
    };
    let many = |count: u64| {
        let entry = |number: u64| json!({"version": number.to_string(), "template": noise(number)});
        versions((0..count).map(entry).collect())
    };
    assert!(check_size(&many(20)).unwrap() > 50_000);
    let error = check_size(&many(80)).unwrap_err();
    assert!(
        matches!(error, ConvertError::TooLarge { bytes, limit: ANNOTATIONS_LIMIT } if bytes > ANNOTATIONS_LIMIT),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .ends_with("remove versions that nobody uses, or shorten templates"),
        "{error}"
    );
    assert_eq!(convert(many(80), V1), Err(error));
    let alike = |number: u64| json!({"version": number.to_string(), "template": noise(0)});
    let alike = versions((0..200).map(alike).collect());
    assert!(
        check_size(&alike).unwrap() < 32 << 10,
        "versions that differ little take little"
    );
    assert_eq!(up(&down(&alike)), alike);
    let mut full = versions(json!([{"version": "1"}]));
    full["metadata"]["annotations"] = json!({"other": "x".repeat(ANNOTATIONS_LIMIT)});
    assert!(check_size(&full).is_err(), "the annotations of others count too");
}

#[test]
fn what_is_not_ours_is_refused() {
    let refused = |object: Value, desired: &str| convert(object, desired).unwrap_err().to_string();
    assert_eq!(refused(json!([]), V2), "not a JSON object");
    assert_eq!(
        refused(json!({"apiVersion": V1, "kind": "Application"}), V2),
        "no converter for kind \"Application\""
    );
    assert!(
        refused(object("core.oam.dev/v1alpha2", json!({})), V2)
            .contains("\"core.oam.dev/v1alpha2\" is not supported")
    );
    assert!(refused(object("example.com/v1beta1", json!({})), V2).contains("not supported"));
    assert!(
        refused(object(V1, json!({})), "core.oam.dev/v1").contains("desired API version \"core.oam.dev/v1\"")
    );
    let mut object = object(V1, json!({}));
    object["metadata"] = json!("x");
    assert_eq!(refused(object.clone(), V2), "metadata must be an object");
    object["metadata"] = json!({"annotations": []});
    assert_eq!(
        refused(object.clone(), V2),
        "metadata.annotations must be an object"
    );
    object["metadata"] = json!({"annotations": {CONVERSION: 1}});
    assert!(refused(object, V2).ends_with("must be a string"));
}

#[test]
fn to_its_own_version_an_object_is_unchanged() {
    for object in [object(V1, json!({"a": 1})), versions(json!([{"version": "1"}]))] {
        let version = object["apiVersion"].as_str().unwrap().to_owned();
        assert_eq!(convert(object.clone(), &version), Ok(object));
    }
}
