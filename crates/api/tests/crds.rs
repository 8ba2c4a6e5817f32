//! The committed CRDs are those that the types give. `BLESS=1 cargo test -p cambium-api --test crds` writes them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use cambium_api::crds;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, WebhookClientConfig,
};
use serde_json::{Value, json};

const HEADER: &str = "# Made from the types in crates/api/src; a test compares the two.\n";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crds")
}

fn tree(crd: &CustomResourceDefinition) -> Value {
    serde_json::to_value(crd).unwrap()
}

fn text(crd: &CustomResourceDefinition) -> String {
    format!("{HEADER}{}", serde_saphyr::to_string(&tree(crd)).unwrap())
}

#[test]
fn the_committed_crds_are_those_of_the_types() {
    for crd in crds::all() {
        let path = directory().join(format!("{}.yaml", crd.spec.names.plural));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, text(&crd)).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text(&crd),
            "{} is stale: run BLESS=1 cargo test -p cambium-api --test crds",
            path.display()
        );
        let read: Value = serde_saphyr::from_str(&committed).unwrap();
        assert_eq!(
            read,
            tree(&crd),
            "{} reads as what it was made from",
            path.display()
        );
    }
    let files = std::fs::read_dir(directory()).unwrap().count();
    assert_eq!(files, crds::all().len(), "no file without a kind");
}

#[test]
fn every_field_says_what_it_is_for() {
    for crd in crds::all() {
        for version in &crd.spec.versions {
            let schema = serde_json::to_value(&version.schema).unwrap();
            let mut silent = Vec::new();
            undescribed(
                &schema["openAPIV3Schema"],
                &format!("{}/{}", crd.spec.names.kind, version.name),
                &mut silent,
            );
            assert!(silent.is_empty(), "{silent:#?}");
        }
    }
}

/// Paths of fields without a description, but for the three that every object has.
fn undescribed(schema: &Value, path: &str, silent: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if field["description"].as_str().unwrap_or_default().is_empty()
            && !["metadata", "apiVersion", "kind"].contains(&name.as_str())
        {
            silent.push(path.clone());
        }
        undescribed(field, &path, silent);
    }
    if let Some(items) = schema.get("items") {
        undescribed(items, &format!("{path}[]"), silent);
    }
}

#[test]
fn unknown_fields_are_kept_wherever_a_user_may_write_them() {
    for crd in crds::all() {
        for version in &crd.spec.versions {
            let schema = serde_json::to_value(&version.schema).unwrap();
            for field in ["spec", "status"] {
                let field = &schema["openAPIV3Schema"]["properties"][field];
                assert_eq!(
                    field["x-kubernetes-preserve-unknown-fields"],
                    json!(true),
                    "{} {field}",
                    crd.spec.names.kind
                );
            }
        }
    }
}

#[test]
fn two_versions_are_served_only_with_a_webhook_between_them() {
    let config = WebhookClientConfig {
        url: Some("https://localhost:9443/convert".into()),
        ..Default::default()
    };
    for crd in crds::all() {
        let served =
            |crd: &CustomResourceDefinition| crd.spec.versions.iter().filter(|one| one.served).count();
        let stored: Vec<&str> = crd
            .spec
            .versions
            .iter()
            .filter(|one| one.storage)
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(stored, ["v1beta1"], "{}", crd.spec.names.kind);
        assert_eq!(
            (served(&crd), &crd.spec.conversion),
            (1, &None),
            "{}",
            crd.spec.names.kind
        );
        let versions = crd.spec.versions.len();
        let armed = crds::with_conversion(crd, config.clone());
        assert_eq!(served(&armed), versions);
        let strategy = armed
            .spec
            .conversion
            .as_ref()
            .map(|conversion| conversion.strategy.as_str());
        assert_eq!(strategy, (versions > 1).then_some("Webhook"));
        let reviews = armed
            .spec
            .conversion
            .and_then(|conversion| conversion.webhook)
            .map(|webhook| webhook.conversion_review_versions);
        assert_eq!(
            reviews,
            (versions > 1).then(|| vec!["v1".to_owned(), "v1beta1".to_owned()])
        );
    }
}
