//! Converters by group and kind.

use cambium_convert::{ConvertError, Converter, Registry, review};
use serde_json::{Value, json};

/// Renames a field, between the versions of widgets.
fn widgets() -> Converter {
    Converter::new(["example.com/v1", "example.com/v2"], |mut object, desired| {
        let (from, to) = match desired {
            "example.com/v2" => ("size", "replicas"),
            _ => ("replicas", "size"),
        };
        let number = object["spec"][from].take();
        object["spec"] = json!({to: number});
        object["apiVersion"] = json!(desired);
        Ok(object)
    })
}

fn widget() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3}})
}

#[test]
fn each_kind_has_its_converter() {
    let mut registry = Registry::of_cambium();
    registry.register("example.com", "Widget", widgets());
    let converted = registry.convert(widget(), "example.com/v2").unwrap();
    assert_eq!(converted["spec"], json!({"replicas": 3}));
    let trait_definition =
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition", "metadata": {"name": "a"}});
    let converted = registry
        .convert(trait_definition, "core.oam.dev/v2beta1")
        .unwrap();
    assert_eq!(converted["apiVersion"], "core.oam.dev/v2beta1");
}

#[test]
fn who_asks_for_an_unknown_version_is_told_those_of_the_kind() {
    let mut registry = Registry::of_cambium();
    registry.register("example.com", "Widget", widgets());
    let refused = |object: Value, desired: &str| registry.convert(object, desired).unwrap_err().to_string();
    assert_eq!(
        refused(widget(), "example.com/v3"),
        "desired API version \"example.com/v3\" is not supported (supported: example.com/v1, example.com/v2)"
    );
    let mut older = widget();
    older["apiVersion"] = json!("example.com/v1alpha1");
    assert_eq!(
        refused(older, "example.com/v2"),
        "API version \"example.com/v1alpha1\" is not supported (supported: example.com/v1, example.com/v2)"
    );
}

#[test]
fn a_kind_is_one_of_its_group() {
    let mut registry = Registry::new();
    registry.register("example.com", "Widget", widgets());
    for api_version in ["example.org/v1", "v1", ""] {
        let mut other = widget();
        other["apiVersion"] = json!(api_version);
        let kind = "Widget".to_owned();
        assert_eq!(
            registry.convert(other, "example.com/v2"),
            Err(ConvertError::UnknownKind { kind })
        );
    }
    assert_eq!(
        registry.convert(json!([]), "example.com/v2"),
        Err(ConvertError::NotAnObject)
    );
}

#[test]
fn a_review_is_answered_by_the_registry() {
    let mut registry = Registry::new();
    registry.register("example.com", "Widget", widgets());
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "1", "desiredAPIVersion": "example.com/v2", "objects": [widget()]}});
    let answer = review::answer_with(review, &|object, desired| registry.convert(object, desired));
    assert_eq!(answer["response"]["result"]["status"], "Success", "{answer}");
    assert_eq!(
        answer["response"]["convertedObjects"][0]["spec"],
        json!({"replicas": 3})
    );
}
