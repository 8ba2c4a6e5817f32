//! What is wrong with a definition, and what one means that has nothing wrong in it.

use crate::definitions::{claimed, lakes, typed, version, with};
use cambium_api::crossplane::{Scope, TypeReference, UpdatePolicy};
use cambium_compositions::Layout;
use cambium_compositions::definition::{Problem, read};
use serde_json::{Value, json};

/// The problems of a definition, as texts.
fn problems(object: Value) -> Vec<String> {
    match read(&typed(object)) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(Problem::to_string).collect(),
    }
}

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";

#[test]
fn each_problem_is_told_with_the_path_of_its_field() {
    // `~` stands for the schema of the one version.
    let table: Vec<(&str, Value, &str)> = vec![
        (
            "/metadata/name",
            json!("lakes"),
            "metadata.name: \"lakes\" must be \"xlakes.water.example.org\", which is <spec.names.plural>.<spec.group>",
        ),
        (
            "/spec/names/kind",
            json!("X Lake"),
            "spec.names.kind: \"X Lake\" cannot be used: ",
        ),
        (
            "/spec/names/singular",
            json!("Lake!"),
            "spec.names.singular: \"Lake!\" cannot be used: ",
        ),
        ("/spec/versions", json!([]), "spec.versions: there is no version"),
        (
            "/spec/versions",
            json!([version("v1", false, json!({}))]),
            "spec.versions: exactly one version must be referenceable, not none",
        ),
        (
            "/spec/versions",
            json!([version("v1", true, json!({})), version("v2", true, json!({}))]),
            "spec.versions: exactly one version must be referenceable, not 2 (v1, v2)",
        ),
        (
            "/spec/versions",
            json!([version("v1", true, json!({})), version("v1", false, json!({}))]),
            "spec.versions[1].name: there is another version \"v1\"",
        ),
        (
            "/spec/versions",
            json!([version("V1", true, json!({}))]),
            "spec.versions[0].name: \"V1\" cannot be used",
        ),
        (
            "/spec/versions/0/served",
            json!(false),
            "spec.versions[0].served: the referenceable version \"v1\" must be served",
        ),
        (
            "/spec/versions/0/schema",
            json!(null),
            "spec.versions[0].schema.openAPIV3Schema: a schema is required",
        ),
        (
            "~/type",
            json!("string"),
            "spec.versions[0].schema.openAPIV3Schema.type: must be object, not string",
        ),
        (
            "~/properties/spec/type",
            json!("array"),
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: must be object, not array",
        ),
        (
            "~/properties/status",
            json!({"type": "string"}),
            "spec.versions[0].schema.openAPIV3Schema.properties[status].type: must be object, not string",
        ),
        (
            "~/properties/spec/properties/depth",
            json!({"type": "deep"}),
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[depth].type: Unsupported value: \"deep\"",
        ),
        (
            "~/properties/spec/properties/depth",
            json!({}),
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[depth].type: Required value",
        ),
        (
            "~/properties/spec/properties/resourceRefs",
            json!({"type": "string"}),
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[resourceRefs]: this field is reserved for composition, \
             of type array, not string: rename it",
        ),
        (
            "~/properties/status",
            json!({"type": "object", "properties": {"conditions": {"type": "object"}}}),
            "spec.versions[0].schema.openAPIV3Schema.properties[status].properties[conditions]: this field is reserved for composition, \
             of type array, not object: rename it",
        ),
        (
            "~/properties",
            json!(["spec"]),
            "spec.versions[0].schema.openAPIV3Schema.properties: Invalid value",
        ),
        (
            "~/properties/spec",
            json!("anything"),
            "spec.versions[0].schema.openAPIV3Schema.properties[spec]: Invalid value: \"anything\": must be an object",
        ),
        (
            "~/properties/spec/properties",
            json!(7),
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties: Invalid value: 7: must be an object",
        ),
        (
            "~/properties/spec/type",
            json!(7),
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: must be object, not 7",
        ),
        (
            "/spec/conversion",
            json!({"strategy": "Webhook"}),
            "spec.conversion.webhook: required when the conversion strategy is Webhook",
        ),
    ];
    for (path, value, expected) in table {
        let found = problems(with(lakes(), &path.replace('~', SCHEMA), value));
        assert_eq!(found.len(), 1, "{path}: {found:#?}");
        assert!(found[0].starts_with(expected), "{path}: {found:#?}");
    }
}

#[test]
fn the_path_of_a_problem_begins_its_text() {
    let bad = with(lakes(), "/spec/versions/0/served", json!(false));
    let bad = with(bad, "/spec/scope", json!("Cluster"));
    let bad = with(
        bad,
        "/spec/claimNames",
        json!({"kind": "XLake", "plural": "xlakes"}),
    );
    let bad = with(bad, "/metadata/name", json!("other"));
    let found = read(&typed(bad)).unwrap_err();
    assert_eq!(found.0.len(), 5, "{found}");
    for problem in &found.0 {
        let text = problem.to_string();
        assert!(text.starts_with(problem.path().as_str()), "{text}");
    }
    assert_eq!(found.to_string().matches("; ").count(), 4);
}

#[test]
fn the_group_of_a_definition_is_a_domain() {
    for (group, reason) in [("Water.org", "lowercase"), ("water", "at least one dot")] {
        let bad = with(lakes(), "/spec/group", json!(group));
        let bad = with(bad, "/metadata/name", json!(format!("xlakes.{group}")));
        let found = problems(bad);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("spec.group: ") && found[0].contains(reason),
            "{found:?}"
        );
    }
}

#[test]
fn a_claim_has_none_of_the_names_of_its_composite_resource() {
    let names = json!({"kind": "XLake", "plural": "xlakes", "singular": "xlake", "listKind": "XLakeList"});
    let both = with(
        with(lakes(), "/spec/names", names.clone()),
        "/spec/claimNames",
        names,
    );
    let found = problems(both);
    let paths: Vec<&str> = found.iter().filter_map(|text| text.split(": ").next()).collect();
    let expected = ["kind", "plural", "singular", "listKind"].map(|name| format!("spec.claimNames.{name}"));
    assert_eq!(paths, expected);
    assert!(found[0].contains("\"XLake\" conflicts with composite resource name"));
    // What neither gives is not the same.
    assert!(problems(claimed()).is_empty());
}

#[test]
fn claims_and_connection_secrets_are_for_legacy_composite_resources() {
    for scope in ["Namespaced", "Cluster"] {
        let keys = with(lakes(), "/spec/connectionSecretKeys", json!(["url"]));
        for (field, object) in [("claimNames", claimed()), ("connectionSecretKeys", keys)] {
            let legacy = with(object.clone(), "/spec/scope", json!("LegacyCluster"));
            assert!(problems(legacy).is_empty());
            let found = problems(with(object, "/spec/scope", json!(scope)));
            let expected = format!(
                "spec.{field}: only LegacyCluster composite resources have this, and the scope is {scope}"
            );
            assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:?}");
        }
    }
}

#[test]
fn fields_of_composition_are_reserved_where_they_are() {
    let taken = |name: &str, scope: &str| {
        let fields = json!({name: {"type": "boolean"}});
        let object = with(lakes(), "/spec/versions", json!([version("v1", true, fields)]));
        let object = match scope {
            "claims" => with(
                object,
                "/spec/claimNames",
                json!({"kind": "Lake", "plural": "lakes"}),
            ),
            scope => with(object, "/spec/scope", json!(scope)),
        };
        problems(object).len()
    };
    let table = [
        ("compositionRef", [1, 0, 0, 1]),
        ("claimRef", [1, 0, 0, 1]),
        ("writeConnectionSecretToRef", [1, 0, 0, 1]),
        ("crossplane", [0, 1, 1, 0]),
        ("resourceRef", [0, 0, 0, 1]),
        ("compositeDeletePolicy", [0, 0, 0, 1]),
        ("depth", [0, 0, 0, 0]),
    ];
    for (name, expected) in table {
        let found = ["LegacyCluster", "Namespaced", "Cluster", "claims"].map(|scope| taken(name, scope));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_definition_says_what_its_resources_get() {
    let object = with(claimed(), "/spec/defaultCompositionRef", json!({"name": "small"}));
    let object = with(object, "/spec/enforcedCompositionRef", json!({"name": "only"}));
    let object = with(object, "/spec/connectionSecretKeys", json!(["url"]));
    let definition = read(&typed(object)).unwrap();
    let kind = |kind: &str| TypeReference {
        api_version: "water.example.org/v1".into(),
        kind: kind.into(),
    };
    assert_eq!(definition.composite_type(), kind("XLake"));
    assert_eq!(definition.claim_type(), Some(kind("Lake")));
    assert_eq!(
        definition.claim_crd_name().as_deref(),
        Some("lakes.water.example.org")
    );
    assert_eq!(
        (definition.scope(), definition.layout()),
        (Scope::LegacyCluster, Layout::Legacy)
    );
    assert_eq!(definition.default_composition(), Some("small"));
    assert_eq!(definition.enforced_composition(), Some("only"));
    assert_eq!(definition.connection_secret_keys(), Some(&["url".to_owned()][..]));
    assert_eq!(definition.warnings(), [] as [String; 0]);
}

#[test]
fn the_policy_of_those_who_do_not_say_is_the_enforced_one_the_default_or_automatic() {
    use UpdatePolicy::{Automatic, Manual};
    let table = [
        (None, None, Automatic),
        (Some("Manual"), None, Manual),
        (Some("Automatic"), Some("Manual"), Manual),
        (Some("Manual"), Some("Automatic"), Automatic),
    ];
    for (default, enforced, expected) in table {
        let object = with(lakes(), "/spec/defaultCompositionUpdatePolicy", json!(default));
        let object = with(object, "/spec/enforceCompositionUpdatePolicy", json!(enforced));
        let definition = read(&typed(object)).unwrap();
        assert_eq!(definition.default_policy(), expected);
        assert_eq!(definition.enforced_policy(), enforced.and_then(UpdatePolicy::of));
    }
}

#[test]
fn what_does_nothing_is_a_warning() {
    let object = with(
        lakes(),
        &format!("{SCHEMA}/properties/data"),
        json!({"type": "string"}),
    );
    let object = with(object, &format!("{SCHEMA}/minProperties"), json!(1));
    let selector = json!({"matchExpressions": [{"key": "channel", "operator": "Exists"}]});
    let object = with(object, "/spec/defaultCompositionRevisionSelector", selector);
    let definition = read(&typed(object)).unwrap();
    let [keyword, data, selector] = definition.warnings() else {
        unreachable!("{:?}", definition.warnings())
    };
    assert_eq!(
        keyword,
        "spec.versions[0].schema.openAPIV3Schema.minProperties: only spec and status are used"
    );
    assert_eq!(
        data,
        "spec.versions[0].schema.openAPIV3Schema.properties[data]: only spec and status are used"
    );
    assert!(selector.starts_with("spec.defaultCompositionRevisionSelector.matchExpressions: "));
}
