//! Field names are an interface: programs read `-o json`.

use crate::cluster::{
    application, application_revision, composite, composition, composition_revision, definition,
    definition_revision, inventory, platform,
};
use cambium_api::v1beta1::DefinitionType;
use cambium_reports::{Kind, Unanswered, Visibility, history};
use serde_json::{Value, json};

fn fields(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn answers_have_these_fields() {
    let mut inventory = inventory(&[
        platform(),
        composition("a"),
        composition_revision(1, "a"),
        composite("books", "stores-a"),
        definition("1.0.0"),
        definition_revision(1, "1.0.0"),
        application("shop", "shop-v1"),
        application_revision(1, "shop"),
    ]);
    let of_definition = |inventory: &_| {
        let history = history::of_definition(inventory, "team", DefinitionType::Component, "web").unwrap();
        json!(history)
    };
    let web = of_definition(&inventory);
    assert_eq!(
        web["definition"],
        json!({"type": "Component", "namespace": "team", "name": "web"})
    );
    assert_eq!(
        fields(&web["revisions"][0]),
        [
            "altered", "created", "digest", "number", "revision", "runBy", "usedBy", "version"
        ]
    );
    assert_eq!(
        web["revisions"][0]["usedBy"],
        json!(["ApplicationRevision team/shop-v1"])
    );
    inventory.users = Visibility::Nothing;
    assert_eq!(of_definition(&inventory)["revisions"][0]["usedBy"], Value::Null);

    let shop = json!(history::of_application(&inventory, "team", "shop").unwrap());
    assert_eq!(shop["application"], json!({"namespace": "team", "name": "shop"}));
    assert_eq!(
        fields(&shop["revisions"][0]),
        [
            "created",
            "current",
            "definitions",
            "digest",
            "number",
            "revision"
        ]
    );

    let stores = json!(history::of_composition(&inventory, "stores").unwrap());
    assert_eq!(stores["composition"], "stores");
    assert_eq!(
        fields(&stores["revisions"][0]),
        [
            "altered", "created", "current", "digest", "labels", "number", "revision", "usedBy"
        ]
    );
    assert_eq!(stores["revisions"][0]["usedBy"], json!(["XStore books"]));
}

#[test]
fn a_name_that_only_one_kind_has_needs_no_kind() {
    let mut inventory = inventory(&[
        definition("1.0.0"),
        definition_revision(1, "1.0.0"),
        application("shop", "shop-v1"),
    ]);
    let kind = |inventory: &_, name| Kind::of_the_one_called(inventory, "team", name);
    assert_eq!(
        kind(&inventory, "web"),
        Ok(Kind::Definition(DefinitionType::Component))
    );
    assert_eq!(kind(&inventory, "shop"), Ok(Kind::Application));
    assert!(matches!(kind(&inventory, "other"), Err(Unanswered::NotFound(_))));
    let mut web = application("web", "web-v1");
    web["metadata"]["name"] = json!("web");
    inventory.put(&web).unwrap();
    let unclear = kind(&inventory, "web").unwrap_err().to_string();
    assert_eq!(
        unclear,
        "several things are called \"web\": Application, ComponentDefinition; name the kind, as in application/web"
    );
}
