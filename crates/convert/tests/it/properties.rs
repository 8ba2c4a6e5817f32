//! Laws of conversion. Those of the round trip are tried ten thousand times each way.

use cambium_api::names::annotation::CONVERSION;
use cambium_convert::definition::{WrittenAt, convert, edited_elsewhere, highest, written_at};
use cambium_convert::review;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const V1: &str = "core.oam.dev/v1beta1";
const V2: &str = "core.oam.dev/v2beta1";

const KINDS: [&str; 4] = [
    "ComponentDefinition",
    "TraitDefinition",
    "PolicyDefinition",
    "WorkflowStepDefinition",
];

fn up(object: &Value) -> Value {
    convert(object.clone(), V2).unwrap()
}

fn down(object: &Value) -> Value {
    convert(object.clone(), V1).unwrap()
}

/// Without what the API server does not tell apart: no metadata or none in it, no annotations or none in them.
fn normal(object: &Value) -> Value {
    let mut object = object.clone();
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    if metadata
        .get("annotations")
        .is_some_and(|all| all.is_null() || all == &json!({}))
    {
        metadata.remove("annotations");
    }
    object
}

/// Without the annotation that is ours alone.
fn plain(object: &Value) -> Value {
    let mut object = normal(object);
    if let Some(annotations) = object["metadata"]
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(CONVERSION);
    }
    normal(&object)
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(Value::from),
        "[a-z \"\\\\\n{}é]{0,8}".prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map("[a-d]", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Versions as people write them, and as they should not.
fn version() -> impl Strategy<Value = Option<Value>> {
    let texts = [
        "1",
        "1.0",
        "1.0.0",
        "2",
        "2.0.0",
        "1.2.3",
        "1.10.0",
        "2.0.0-rc.1",
        "2.0.0-rc.2",
        "1.2.3+build",
        "3.4",
        "v2",
        "latest",
        "",
        "0.0.0-legacy",
    ];
    prop_oneof![
        16 => proptest::sample::select(texts.to_vec()).prop_map(|text| Some(json!(text))),
        2 => Just(None),
        1 => leaf().prop_map(Some),
    ]
}

fn spec() -> impl Strategy<Value = Map<String, Value>> {
    let names = proptest::sample::select(vec![
        "schematic",
        "workload",
        "status",
        "extension",
        "versions",
        "new",
    ]);
    (version(), btree_map(names, tree(), 0..3)).prop_map(|(version, fields)| {
        let mut spec: Map<String, Value> = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        spec.extend(version.map(|version| ("version".to_owned(), version)));
        spec
    })
}

fn versions() -> impl Strategy<Value = Value> {
    let entry = prop_oneof![20 => spec().prop_map(Value::Object), 1 => tree()];
    vec(entry, 0..5).prop_map(Value::from)
}

fn spec_with_versions() -> impl Strategy<Value = Value> {
    let versions = prop_oneof![12 => versions().prop_map(Some), 1 => tree().prop_map(Some), 1 => Just(None)];
    let beside = btree_map("[a-c]", tree(), 0..2);
    (versions, proptest::option::weighted(0.2, beside)).prop_map(|(versions, beside)| {
        let mut spec: Map<String, Value> = beside.unwrap_or_default().into_iter().collect();
        spec.extend(versions.map(|versions| ("versions".to_owned(), versions)));
        Value::Object(spec)
    })
}

/// What somebody may have put where our annotation goes.
fn forged() -> impl Strategy<Value = Option<String>> {
    let texts = [
        "",
        "{}",
        "no",
        "deflate:AAAA",
        r#"{"from":"v1beta1"}"#,
        r#"{"from":"v1beta1","version":"0.0.0-legacy"}"#,
        r#"{"from":"v1beta1","annotation":"x"}"#,
        r#"{"from":"v2beta1","digest":"0","at":7,"versions":[{"version":"9"}]}"#,
        r#"{"from":"v2beta1","digest":"0","at":0,"annotation":"{\"from\":\"v1beta1\"}"}"#,
        r#"{"from":"v2beta1","digest":"0"}"#,
        r#"{"from":"v1beta1","annotation":"{\"from\":\"v2beta1\",\"digest\":\"\"}"}"#,
    ];
    prop_oneof![6 => Just(None), 1 => proptest::sample::select(texts.to_vec()).prop_map(|text| Some(text.to_owned()))]
}

fn metadata() -> impl Strategy<Value = Option<Value>> {
    let others = btree_map("[a-c]", "[a-z]{0,4}", 0..3);
    let metadata =
        (proptest::option::of(others), forged(), any::<bool>()).prop_map(|(others, forged, named)| {
            let mut metadata = Map::new();
            if named {
                metadata.insert("name".into(), json!("web"));
                metadata.insert("finalizers".into(), json!(["a/b"]));
            }
            let mut annotations: Option<Map<String, Value>> = others.map(|others| {
                others
                    .into_iter()
                    .map(|(name, text)| (name, json!(text)))
                    .collect()
            });
            if let Some(text) = forged {
                annotations
                    .get_or_insert_default()
                    .insert(CONVERSION.into(), json!(text));
            }
            metadata.extend(
                annotations.map(|annotations| ("annotations".to_owned(), Value::Object(annotations))),
            );
            Value::Object(metadata)
        });
    prop_oneof![8 => metadata.prop_map(Some), 1 => Just(None)]
}

fn object(version: &'static str, spec: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let spec = prop_oneof![10 => spec.prop_map(Some), 1 => Just(None), 1 => leaf().prop_map(Some)];
    let status = proptest::option::weighted(0.3, tree());
    (proptest::sample::select(KINDS.to_vec()), metadata(), spec, status).prop_map(
        move |(kind, metadata, spec, status)| {
            let mut object = Map::from_iter([
                ("apiVersion".to_owned(), json!(version)),
                ("kind".to_owned(), json!(kind)),
            ]);
            for (name, value) in [("metadata", metadata), ("spec", spec), ("status", status)] {
                object.extend(value.map(|value| (name.to_owned(), value)));
            }
            Value::Object(object)
        },
    )
}

fn at_v1beta1() -> impl Strategy<Value = Value> {
    object(V1, spec().prop_map(Value::Object))
}

fn at_v2beta1() -> impl Strategy<Value = Value> {
    object(V2, spec_with_versions())
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn down_and_up_again_is_where_it_began(object in at_v2beta1()) {
        let back = up(&down(&object));
        if object["spec"].is_object() && written_at(&object) == Some(WrittenAt::V1beta1) {
            // It says that it was written at v1beta1. How it says that may be put in order.
            prop_assert_eq!(&back["spec"], &object["spec"]);
            prop_assert_eq!(down(&back), down(&object));
        } else {
            prop_assert_eq!(normal(&back), normal(&object));
        }
    }

    #[test]
    fn up_and_down_again_is_where_it_began(object in at_v1beta1()) {
        let back = down(&up(&object));
        if object["spec"].is_object() && written_at(&object) == Some(WrittenAt::V2beta1) {
            // A forged carrier may put another version above this one; what v2beta1 shows stays.
            prop_assert_eq!(up(&back), up(&object));
        } else {
            prop_assert_eq!(normal(&back), normal(&object));
        }
    }

}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn an_edit_at_v1beta1_is_kept_and_so_are_the_other_versions(object in at_v2beta1(), edit in spec()) {
        let mut stored = down(&object);
        let carried = stored["spec"].is_object() && written_at(&stored) == Some(WrittenAt::V2beta1);
        let changed = stored["spec"] != Value::Object(edit.clone());
        stored["spec"] = Value::Object(edit.clone());
        let shown = up(&stored);
        let place = object["spec"]["versions"].as_array().and_then(|versions| highest(versions));
        if let (true, Some(place)) = (carried, place) {
            prop_assert_eq!(edited_elsewhere(&stored), changed);
            let mut expected = object["spec"].clone();
            expected["versions"][place] = Value::Object(edit);
            prop_assert_eq!(&shown["spec"], &expected);
        }
        prop_assert_eq!(up(&down(&shown)), shown, "and what is shown then stays");
    }

    #[test]
    fn an_edit_at_v2beta1_is_kept(object in at_v1beta1(), edit in spec_with_versions()) {
        let mut shown = up(&object);
        shown["spec"] = edit.clone();
        prop_assert_eq!(&up(&down(&shown))["spec"], &edit);
    }

    #[test]
    fn what_is_not_spec_passes_through(object in at_v1beta1()) {
        let shown = plain(&up(&object));
        prop_assert_eq!(&shown["metadata"], &plain(&object)["metadata"]);
        prop_assert_eq!(shown.get("status"), object.get("status"));
        prop_assert_eq!(written_at(&up(&object)).filter(|_| object["spec"].is_object()),
            written_at(&object).filter(|_| object["spec"].is_object()));
    }

    #[test]
    fn every_review_is_answered(uid in "[a-f0-9]{0,8}", desired in proptest::sample::select(vec![V1, V2, "core.oam.dev/v1", ""]),
        objects in vec(prop_oneof![6 => at_v1beta1(), 6 => at_v2beta1(), 1 => tree()], 0..4)) {
        let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": uid, "desiredAPIVersion": desired, "objects": objects}});
        let answer = review::answer(review);
        prop_assert_eq!(&answer["response"]["uid"], &json!(uid));
        let converted = answer["response"]["convertedObjects"].as_array().unwrap();
        if answer["response"]["result"]["status"] == "Success" {
            prop_assert_eq!(converted.len(), objects.len());
            for (converted, object) in converted.iter().zip(&objects) {
                prop_assert_eq!(&converted["apiVersion"], desired);
                prop_assert!(converted["metadata"].is_object());
                prop_assert_eq!(&converted["metadata"]["name"], &object["metadata"]["name"]);
            }
        } else {
            prop_assert!(converted.is_empty());
            prop_assert!(answer["response"]["result"]["message"].as_str().is_some_and(|text| text.starts_with("objects[")));
        }
    }
}
