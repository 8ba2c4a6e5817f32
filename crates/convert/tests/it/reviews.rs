//! The contract with the API server.

use cambium_convert::{ConvertError, review};
use serde_json::{Value, json};

const V2: &str = "core.oam.dev/v2beta1";

fn definition(name: &str) -> Value {
    json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "PolicyDefinition",
        "metadata": {"name": name, "namespace": "vela-system", "uid": "u", "generation": 3, "labels": {"a": "b"}}, "spec": {"version": "1.0.0"}})
}

fn asked(version: &str, desired: &str, objects: Value) -> Value {
    json!({"apiVersion": format!("apiextensions.k8s.io/{version}"), "kind": "ConversionReview",
        "request": {"uid": "42", "desiredAPIVersion": desired, "objects": objects}, "response": {}})
}

#[track_caller]
fn fails(answer: &Value, message: &str) {
    let response = &answer["response"];
    assert_eq!(response["result"]["status"], "Failure", "{answer}");
    assert_eq!(response["result"]["message"], message);
    assert_eq!(response["convertedObjects"], json!([]));
}

#[test]
fn both_versions_are_answered_in_their_own() {
    for version in ["v1", "v1beta1"] {
        let answer = review::answer(asked(version, V2, json!([definition("a"), definition("b")])));
        assert_eq!(answer["apiVersion"], format!("apiextensions.k8s.io/{version}"));
        assert_eq!(
            (&answer["kind"], &answer["response"]["uid"]),
            (&json!("ConversionReview"), &json!("42"))
        );
        assert_eq!(answer["response"]["result"], json!({"status": "Success"}));
        let objects = &answer["response"]["convertedObjects"];
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            let object = &objects[index];
            assert_eq!(
                (&object["apiVersion"], &object["kind"]),
                (&json!(V2), &json!("PolicyDefinition"))
            );
            let mut metadata = object["metadata"].clone();
            metadata.as_object_mut().unwrap().remove("annotations");
            assert_eq!(
                metadata,
                definition(name)["metadata"],
                "everything else of the metadata is as it was"
            );
        }
        assert!(answer.get("request").is_none());
    }
}

#[test]
fn nothing_to_convert_is_a_success() {
    for objects in [json!([]), Value::Null] {
        let answer = review::answer(asked("v1", V2, objects));
        assert_eq!(answer["response"]["result"]["status"], "Success");
        assert_eq!(answer["response"]["convertedObjects"], json!([]));
    }
    let mut at_target = definition("a");
    at_target["apiVersion"] = json!(V2);
    let answer = review::answer(asked("v1", V2, json!([at_target])));
    assert_eq!(answer["response"]["convertedObjects"], json!([at_target]));
}

#[test]
fn one_bad_object_fails_all_and_is_named() {
    let bad = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop", "namespace": "default"}});
    let answer = review::answer(asked("v1", V2, json!([definition("a"), bad])));
    fails(
        &answer,
        "objects[1], Application default/shop, from \"core.oam.dev/v1beta1\" to \"core.oam.dev/v2beta1\": \
         no converter for kind \"Application\"",
    );
    assert_eq!(answer["response"]["uid"], "42");
}

#[test]
fn metadata_is_always_there_and_its_maps_hold_texts() {
    let answer = review::answer(asked(
        "v1",
        V2,
        json!([{"apiVersion": "core.oam.dev/v1beta1", "kind": "PolicyDefinition"}]),
    ));
    assert_eq!(answer["response"]["convertedObjects"][0]["metadata"], json!({}));
    let mut odd = definition("a");
    odd["metadata"]["labels"] = json!({"a": 1});
    let answer = review::answer(asked("v1", V2, json!([odd])));
    assert!(
        answer["response"]["result"]["message"]
            .as_str()
            .unwrap()
            .ends_with("metadata.labels[a] must be a string")
    );
}

#[test]
fn a_converter_that_breaks_the_rules_is_not_believed() {
    type Break = fn(&mut Value);
    let breaks: [Break; 5] = [
        |object| object["metadata"]["name"] = json!("b"),
        |object| object["metadata"]["namespace"] = json!("b"),
        |object| object["metadata"]["uid"] = json!("b"),
        |object| object["kind"] = json!("b"),
        |object| object["apiVersion"] = json!("b"),
    ];
    for break_it in breaks {
        let convert = move |mut object: Value, desired: &str| -> Result<Value, ConvertError> {
            object["apiVersion"] = json!(desired);
            break_it(&mut object);
            Ok(object)
        };
        let answer = review::answer_with(asked("v1", V2, json!([definition("a")])), &convert);
        assert_eq!(answer["response"]["result"]["status"], "Failure", "{answer}");
    }
}

#[test]
fn a_panic_is_an_answer_and_the_next_review_works() {
    let convert = |object: Value, _: &str| -> Result<Value, ConvertError> {
        assert!(object["metadata"]["name"] != "b", "out of luck");
        Ok(object)
    };
    let answer = review::answer_with(
        asked(
            "v1",
            "core.oam.dev/v1beta1",
            json!([definition("a"), definition("b")]),
        ),
        &convert,
    );
    fails(
        &answer,
        "objects[1], PolicyDefinition vela-system/b, from \"core.oam.dev/v1beta1\" to \"core.oam.dev/v1beta1\": \
         internal error during conversion: out of luck",
    );
    let answer = review::answer_with(
        asked("v1", "core.oam.dev/v1beta1", json!([definition("a")])),
        &convert,
    );
    assert_eq!(answer["response"]["result"]["status"], "Success");
}

#[test]
fn what_is_no_review_gets_an_answer_too() {
    let cases = [
        (
            "nonsense",
            "the request is not a ConversionReview: expected ident at line 1 column 2",
        ),
        (
            "[]",
            "apiVersion null, kind null is not a ConversionReview of v1 or v1beta1",
        ),
        (
            r#"{"apiVersion":"apiextensions.k8s.io/v2","kind":"ConversionReview","request":{"uid":"7"}}"#,
            "apiVersion \"apiextensions.k8s.io/v2\", kind \"ConversionReview\" is not a ConversionReview of v1 or v1beta1",
        ),
        (
            r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}"#,
            "the review has no request",
        ),
        (
            r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"7"}}"#,
            "request.desiredAPIVersion is missing",
        ),
        (
            r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"7","desiredAPIVersion":"a/b","objects":1}}"#,
            "request.objects is not a list",
        ),
    ];
    for (body, message) in cases {
        let answer: Value = serde_json::from_slice(&review::answer_bytes(body.as_bytes())).unwrap();
        fails(&answer, message);
        assert_eq!(
            answer["response"]["uid"],
            if body.contains("\"7\"") { "7" } else { "" }
        );
    }
}

#[test]
fn a_version_that_is_not_ours_is_refused() {
    for desired in ["core.oam.dev/v1", "example.com/v2beta1", ""] {
        let answer = review::answer(asked("v1", desired, json!([definition("a")])));
        let message = answer["response"]["result"]["message"].as_str().unwrap();
        assert!(
            message.contains("is not supported (supported: core.oam.dev/v1beta1, core.oam.dev/v2beta1)"),
            "{message}"
        );
    }
}
