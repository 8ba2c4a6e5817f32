//! The committed CRDs are those that the types give. `CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium-api crds` writes them.

#![expect(clippy::disallowed_methods, reason = "a test reads its settings")]

use std::path::{Path, PathBuf};

use cambium_api::crds;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, WebhookClientConfig,
};
use serde_json::{Value, json};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crds")
}

fn tree(crd: &CustomResourceDefinition) -> Value {
    serde_json::to_value(crd).unwrap()
}

fn text(crd: &CustomResourceDefinition) -> String {
    format!("{}\n", serde_json::to_string_pretty(&tree(crd)).unwrap())
}

#[test]
fn the_committed_crds_are_those_of_the_types() {
    for crd in crds::made() {
        let path = directory().join(format!("{}.json", crd.spec.names.plural));
        if std::env::var_os("CAMBIUM_WRITE_REFERENCE").is_some() {
            std::fs::write(&path, text(&crd)).unwrap();
            continue;
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text(&crd),
            "{} is stale: CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium-api crds writes it",
            path.display()
        );
    }
    if std::env::var_os("CAMBIUM_WRITE_REFERENCE").is_some() {
        return;
    }
    assert!(
        crds::all() == crds::made(),
        "compile again: what is read differs from what is made"
    );
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
                // As KubeVela's own: a misspelt field is refused.
                if crd.spec.names.kind == "Application" && field == "spec" {
                    continue;
                }
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
fn definitions_are_served_in_two_versions_only_with_a_webhook_between_them() {
    for crd in crds::definitions() {
        assert_eq!(stored(&crd), ["v1beta1"], "{}", crd.spec.names.kind);
        assert_eq!((served(&crd), &crd.spec.conversion), (1, &None));
        let armed = crds::with_conversion(crd, webhook());
        assert_eq!(served(&armed), 2);
        let conversion = armed.spec.conversion.unwrap();
        assert_eq!(conversion.strategy, "Webhook");
        let reviews = conversion.webhook.unwrap().conversion_review_versions;
        assert_eq!(reviews, ["v1", "v1beta1"]);
    }
}

#[test]
fn kinds_with_the_same_fields_in_every_version_need_no_webhook() {
    let definitions = crds::definitions();
    for crd in crds::all().into_iter().filter(|crd| !definitions.contains(crd)) {
        assert_eq!(stored(&crd).len(), 1, "{}", crd.spec.names.kind);
        assert_eq!(served(&crd), crd.spec.versions.len());
        assert_eq!(crds::with_conversion(crd.clone(), webhook()), crd);
    }
}

#[test]
fn the_versions_of_an_xrd_differ_in_the_default_of_its_scope_alone() {
    let crd = tree(&kind("CompositeResourceDefinition"));
    let [mut first, mut second] = [0, 1].map(|at| crd["spec"]["versions"][at].clone());
    let scopes = [&mut first, &mut second].map(|version| {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["scope"]["default"].take()
    });
    assert_eq!(scopes, [json!("LegacyCluster"), json!("Namespaced")]);
    for (version, name, storage) in [(&mut first, "v1", true), (&mut second, "v2", false)] {
        assert_eq!(
            (version["name"].take(), version["storage"].take()),
            (json!(name), json!(storage))
        );
    }
    assert_eq!(first, second);
}

#[test]
fn the_schema_of_a_revision_is_that_of_its_composition_and_a_number() {
    let fields = |kind_: &str| {
        tree(&kind(kind_))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
            ["properties"]
            .clone()
    };
    let mut revision = fields("CompositionRevision");
    let number = revision.as_object_mut().unwrap().remove("revision").unwrap();
    assert_eq!(number["type"], "integer");
    assert_eq!(revision, fields("Composition"));
}

#[test]
fn nothing_is_filled_in_where_a_digest_is_taken() {
    for name in ["Composition", "CompositionRevision"] {
        let text = tree(&kind(name)).to_string();
        assert!(!text.contains("\"default\""), "{name}");
    }
}

fn kind(name: &str) -> CustomResourceDefinition {
    let mut all = crds::all().into_iter();
    all.find(|crd| crd.spec.names.kind == name).unwrap()
}

fn served(crd: &CustomResourceDefinition) -> usize {
    crd.spec.versions.iter().filter(|one| one.served).count()
}

fn stored(crd: &CustomResourceDefinition) -> Vec<&str> {
    let stored = crd.spec.versions.iter().filter(|one| one.storage);
    stored.map(|one| one.name.as_str()).collect()
}

fn webhook() -> WebhookClientConfig {
    WebhookClientConfig {
        url: Some("https://localhost:9443/convert".into()),
        ..Default::default()
    }
}
