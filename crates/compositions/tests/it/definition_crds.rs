//! The CRDs that a definition becomes.

use crate::definitions::{claimed, lakes, typed, version, with};
use cambium_compositions::definition::{claim_crd, composite_crd, read};
use serde_json::{Value, json};

fn composite(object: Value) -> Value {
    json!(composite_crd(&read(&typed(object)).unwrap()))
}

fn claim(object: Value) -> Value {
    json!(claim_crd(&read(&typed(object)).unwrap()).unwrap())
}

fn schema(crd: &Value) -> &Value {
    &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

fn fields(schema: &Value) -> Vec<&str> {
    let fields = schema["properties"].as_object();
    fields
        .into_iter()
        .flat_map(|fields| fields.keys().map(String::as_str))
        .collect()
}

#[test]
fn machinery_is_where_the_scope_puts_it() {
    let legacy = composite(lakes());
    let spec = &schema(&legacy)["properties"]["spec"];
    let machinery = [
        "claimRef",
        "compositionRef",
        "compositionRevisionRef",
        "compositionRevisionSelector",
        "compositionSelector",
        "compositionUpdatePolicy",
        "depth",
        "publishConnectionDetailsTo",
        "resourceRefs",
        "writeConnectionSecretToRef",
    ];
    assert_eq!(fields(spec), machinery);
    let status = &schema(&legacy)["properties"]["status"];
    let machinery = [
        "claimConditionTypes",
        "compositionUpdatePolicy",
        "conditions",
        "connectionDetails",
    ];
    assert_eq!(fields(status), machinery);
    assert_eq!(legacy["spec"]["scope"], "Cluster");
    for (scope, of_crd) in [("Namespaced", "Namespaced"), ("Cluster", "Cluster")] {
        let crd = composite(with(lakes(), "/spec/scope", json!(scope)));
        assert_eq!(crd["spec"]["scope"], of_crd);
        let spec = &schema(&crd)["properties"]["spec"];
        assert_eq!(fields(spec), ["crossplane", "depth"]);
        let machinery = [
            "compositionRef",
            "compositionRevisionRef",
            "compositionRevisionSelector",
            "compositionSelector",
            "compositionUpdatePolicy",
            "resourceRefs",
        ];
        assert_eq!(fields(&spec["properties"]["crossplane"]), machinery);
        let status = &schema(&crd)["properties"]["status"];
        assert_eq!(fields(status), ["conditions", "crossplane"]);
        assert_eq!(
            fields(&status["properties"]["crossplane"]),
            ["compositionUpdatePolicy"]
        );
        let refs = &spec["properties"]["crossplane"]["properties"]["resourceRefs"];
        let namespaces = fields(&refs["items"]).contains(&"namespace");
        assert_eq!(
            namespaces,
            scope == "Cluster",
            "what is composed is in the namespace of a namespaced XR"
        );
        assert_eq!(refs["x-kubernetes-list-type"], "atomic");
    }
}

#[test]
fn a_claim_has_the_machinery_of_a_claim() {
    let crd = claim(claimed());
    assert_eq!(crd["metadata"]["name"], "lakes.water.example.org");
    assert_eq!(crd["spec"]["scope"], "Namespaced");
    let spec = &schema(&crd)["properties"]["spec"];
    let machinery = [
        "compositeDeletePolicy",
        "compositionRef",
        "compositionRevisionRef",
        "compositionRevisionSelector",
        "compositionSelector",
        "compositionUpdatePolicy",
        "depth",
        "publishConnectionDetailsTo",
        "resourceRef",
        "writeConnectionSecretToRef",
    ];
    assert_eq!(fields(spec), machinery);
    let secret = &spec["properties"]["writeConnectionSecretToRef"];
    assert_eq!(secret["required"], json!(["name"]));
    assert!(
        claim_crd(&read(&typed(lakes())).unwrap()).is_none(),
        "no claims, no CRD"
    );
}

#[test]
fn defaults_come_from_the_definition() {
    let policy = |object: Value, at: &str| {
        let crd = composite(object);
        schema(&crd)["properties"]["spec"]["properties"]
            .pointer(at)
            .cloned()
    };
    let manual = with(lakes(), "/spec/defaultCompositionUpdatePolicy", json!("Manual"));
    assert_eq!(
        policy(manual.clone(), "/compositionUpdatePolicy/default"),
        Some(json!("Manual"))
    );
    let nested = with(manual.clone(), "/spec/scope", json!("Namespaced"));
    let at = "/crossplane/properties/compositionUpdatePolicy/default";
    assert_eq!(policy(nested.clone(), at), Some(json!("Manual")));
    assert_eq!(policy(nested, "/crossplane/default"), None);
    let enforced = with(manual, "/spec/enforceCompositionUpdatePolicy", json!("Automatic"));
    assert_eq!(
        policy(enforced, "/compositionUpdatePolicy/default"),
        Some(json!("Automatic"))
    );
    assert_eq!(
        policy(lakes(), "/compositionUpdatePolicy/default"),
        Some(json!("Automatic"))
    );

    let deletion = |object: Value| {
        let crd = claim(object);
        schema(&crd)["properties"]["spec"]["properties"]["compositeDeletePolicy"]["default"].clone()
    };
    assert_eq!(deletion(claimed()), "Background");
    let foreground = with(
        claimed(),
        "/spec/defaultCompositeDeletePolicy",
        json!("Foreground"),
    );
    assert_eq!(deletion(foreground.clone()), "Foreground");
    let crd = claim(with(
        foreground,
        "/spec/defaultCompositionUpdatePolicy",
        json!("Manual"),
    ));
    let policy = &schema(&crd)["properties"]["spec"]["properties"]["compositionUpdatePolicy"];
    assert_eq!(
        policy.get("default"),
        None,
        "a claim that says nothing leaves it to its composite resource"
    );
}

#[test]
fn names_are_no_longer_than_a_label_may_be() {
    let length = |metadata: Value| {
        let at = "/spec/versions/0/schema/openAPIV3Schema/properties/metadata";
        let crd = composite(with(lakes(), at, metadata));
        schema(&crd)["properties"]["metadata"].clone()
    };
    let given = |length: u32| json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": length}}});
    for (metadata, expected) in [(json!({"type": "object"}), 63), (given(20), 20), (given(200), 63)] {
        let name = json!({"type": "string", "maxLength": expected});
        assert_eq!(
            length(metadata),
            json!({"type": "object", "properties": {"name": name}})
        );
    }
}

#[test]
fn columns_follow_those_of_the_definition() {
    let columns = |crd: &Value| -> Vec<String> {
        let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"]
            .as_array()
            .cloned();
        let shown = |column: &Value| {
            let wide = if column["priority"] == 1 { " (wide)" } else { "" };
            format!(
                "{} {}{wide}",
                column["name"].as_str().unwrap(),
                column["jsonPath"].as_str().unwrap()
            )
        };
        columns.unwrap_or_default().iter().map(shown).collect()
    };
    let own = json!([{"name": "DEPTH", "type": "integer", "jsonPath": ".spec.depth"}]);
    let object = with(claimed(), "/spec/versions/0/additionalPrinterColumns", own);
    assert_eq!(
        columns(&composite(object.clone())),
        [
            "DEPTH .spec.depth",
            "SYNCED .status.conditions[?(@.type=='Synced')].status",
            "READY .status.conditions[?(@.type=='Ready')].status",
            "COMPOSITION .spec.compositionRef.name",
            "COMPOSITIONREVISION .spec.compositionRevisionRef.name (wide)",
            "AGE .metadata.creationTimestamp",
        ]
    );
    assert_eq!(
        columns(&claim(object)),
        [
            "DEPTH .spec.depth",
            "SYNCED .status.conditions[?(@.type=='Synced')].status",
            "READY .status.conditions[?(@.type=='Ready')].status",
            "CONNECTION-SECRET .spec.writeConnectionSecretToRef.name",
            "AGE .metadata.creationTimestamp",
        ]
    );
    let nested = columns(&composite(with(lakes(), "/spec/scope", json!("Namespaced"))));
    assert_eq!(nested[2], "COMPOSITION .spec.crossplane.compositionRef.name");
    assert_eq!(
        nested[3],
        "COMPOSITIONREVISION .spec.crossplane.compositionRevisionRef.name (wide)"
    );
}

#[test]
fn metadata_and_names_are_carried_over() {
    let object = with(claimed(), "/metadata/labels", json!({"a": "1", "b": "1"}));
    let object = with(object, "/metadata/annotations", json!({"not": "carried"}));
    let more = json!({"labels": {"b": "2", "c": "2"}, "annotations": {"d": "3"}});
    let object = with(object, "/spec/metadata", more);
    let names = json!({"kind": "XLake", "plural": "xlakes", "singular": "xlake", "listKind": "XLakes",
        "shortNames": ["xl"], "categories": ["water", "composite"]});
    let object = with(object, "/spec/names", names.clone());
    let crd = composite(object.clone());
    let owner = json!({"apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "name": "xlakes.water.example.org", "uid": "u-1", "controller": true, "blockOwnerDeletion": true});
    for (crd, name) in [
        (&crd, "xlakes.water.example.org"),
        (&claim(object.clone()), "lakes.water.example.org"),
    ] {
        let metadata = json!({"name": name, "labels": {"a": "1", "b": "2", "c": "2"}, "annotations": {"d": "3"},
            "ownerReferences": [owner]});
        assert_eq!(crd["metadata"], metadata);
        assert_eq!(crd["spec"]["group"], "water.example.org");
    }
    assert_eq!(crd["spec"]["names"], names, "a category is added once");
    assert_eq!(claim(object)["spec"]["names"]["categories"], json!(["claim"]));
    let offline = with(lakes(), "/metadata", json!({"name": "xlakes.water.example.org"}));
    assert_eq!(composite(offline)["metadata"].get("ownerReferences"), None);
}

#[test]
fn versions_are_carried_over() {
    let mut old = version("v1alpha1", false, json!({"old": {"type": "string"}}));
    old["deprecated"] = json!(true);
    old["deprecationWarning"] = json!("use v1");
    let mut new = version("v1", true, json!({"new": {"type": "integer"}}));
    new["subresources"] =
        json!({"scale": {"specReplicasPath": ".spec.new", "statusReplicasPath": ".status.new"}});
    let object = with(claimed(), "/spec/versions", json!([old, new]));
    let conversion = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://localhost/convert"}}});
    let object = with(object, "/spec/conversion", conversion.clone());
    for crd in [composite(object.clone()), claim(object)] {
        assert_eq!(crd["spec"]["conversion"], conversion);
        let versions = crd["spec"]["versions"].as_array().unwrap();
        let shown: Vec<Value> = versions
            .iter()
            .map(|one| {
                json!([
                    one["name"],
                    one["served"],
                    one["storage"],
                    one["deprecated"],
                    one["deprecationWarning"]
                ])
            })
            .collect();
        assert_eq!(
            shown,
            [
                json!(["v1alpha1", true, false, true, "use v1"]),
                json!(["v1", true, true, null, null]),
            ]
        );
        assert_eq!(versions[0]["subresources"], json!({"status": {}}));
        assert_eq!(
            versions[1]["subresources"]["scale"]["specReplicasPath"],
            ".spec.new"
        );
        for (version, own) in versions.iter().zip(["old", "new"]) {
            let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            assert!(fields(spec).contains(&own) && fields(spec).contains(&"compositionRef"));
        }
    }
}

#[test]
fn what_a_definition_says_about_spec_and_status_is_kept() {
    let given = json!({
        "type": "object", "description": "a lake",
        "x-kubernetes-validations": [{"rule": "has(self.spec)", "message": "no spec"}],
        "properties": {
            "spec": {
                "type": "object", "description": "wanted", "required": ["depth"], "x-kubernetes-preserve-unknown-fields": true,
                "x-kubernetes-validations": [{"rule": "self.depth > 0", "message": "dry"}],
                "oneOf": [{"required": ["depth"]}], "anyOf": [{"required": ["depth"]}],
                "properties": {"depth": {"type": "integer", "default": 3, "description": "how deep"}},
            },
            "status": {
                "type": "object", "description": "found", "required": ["level"], "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"level": {"type": "integer"}},
            },
        },
    });
    let crd = composite(with(
        lakes(),
        "/spec/versions/0/schema/openAPIV3Schema",
        given.clone(),
    ));
    let schema = schema(&crd);
    for keyword in ["type", "description", "x-kubernetes-validations"] {
        assert_eq!(schema[keyword], given[keyword], "{keyword}");
    }
    assert_eq!(schema["required"], json!(["spec"]));
    for part in ["spec", "status"] {
        for (keyword, value) in given["properties"][part].as_object().unwrap() {
            let found = &schema["properties"][part][keyword];
            if keyword != "properties" {
                assert_eq!(found, value, "{part}.{keyword}");
            }
        }
        for (name, field) in given["properties"][part]["properties"].as_object().unwrap() {
            assert_eq!(&schema["properties"][part]["properties"][name], field);
        }
    }
}

#[test]
fn every_field_of_composition_says_what_it_is_for() {
    fn silent(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if field["description"].as_str().unwrap_or_default().is_empty() {
                found.push(path.clone());
            }
            silent(field, &path, found);
            silent(&field["items"], &path, found);
        }
    }
    let nested = with(lakes(), "/spec/scope", json!("Namespaced"));
    for crd in [composite(lakes()), claim(claimed()), composite(nested)] {
        let mut found = Vec::new();
        for part in ["spec", "status"] {
            silent(&schema(&crd)["properties"][part], part, &mut found);
        }
        assert_eq!(found, ["spec.depth"], "the one that the definition gave");
    }
}
