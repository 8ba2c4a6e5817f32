//! What a type does not know survives it.

use cambium_api::{v1beta1, v2beta1};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

fn through<T: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let typed: T = serde_json::from_value(object.clone()).unwrap();
    serde_json::to_value(typed).unwrap()
}

fn survives<T: DeserializeOwned + Serialize>(object: &Value) {
    assert_eq!(&through::<T>(object), object);
}

fn object(version: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": format!("core.oam.dev/{version}"), "kind": kind,
        "metadata": {"name": "web", "namespace": "vela-system", "annotations": {"a": "b"}}, "spec": spec, "status": status})
}

fn definition_status() -> Value {
    json!({
        "configMapRef": "component-schema-web",
        "latestRevision": {"name": "web-v2", "revision": 2, "revisionHash": "0f", "new": 1},
        "versions": [{"version": "1.2.3", "digest": "sha256:00", "revision": "web-v1.2.3", "state": "Published",
            "consumers": 3, "new": [1]}],
        "new": {"a": [{}]},
    })
}

fn component() -> Value {
    json!({
        "version": "1.2.3",
        "workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}, "type": "deployments.apps", "new": 1},
        "schematic": {"cue": {"template": "output: {}", "new": 2}, "terraform": {"configuration": "…", "type": "hcl"}},
        "status": {"customStatus": "message: \"\"", "healthPolicy": "isHealth: true", "details": "a: 1", "new": 3},
        "childResourceKinds": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "selector": {"a": "b"}, "new": 4}],
        "podSpecPath": "spec.template.spec", "extension": {"any": ["thing", 1.5]}, "new": {"deep": [null, {}]},
    })
}

#[test]
fn definitions_at_both_versions() {
    survives::<v1beta1::ComponentDefinition>(&object(
        "v1beta1",
        "ComponentDefinition",
        component(),
        definition_status(),
    ));
    let versions = json!({"versions": [component(), {"version": "2", "new": 1}], "new": true});
    survives::<v2beta1::ComponentDefinition>(&object(
        "v2beta1",
        "ComponentDefinition",
        versions,
        definition_status(),
    ));
    let spec = json!({"definitionRef": {"name": "scalers.example.com", "new": 1}, "podDisruptive": false, "stage": "Whenever",
        "appliesToWorkloads": ["*"], "schematic": {}, "new": 1});
    survives::<v1beta1::TraitDefinition>(&object(
        "v1beta1",
        "TraitDefinition",
        spec.clone(),
        definition_status(),
    ));
    let versions = json!({"versions": [spec], "new": true});
    survives::<v2beta1::TraitDefinition>(&object(
        "v2beta1",
        "TraitDefinition",
        versions,
        definition_status(),
    ));
    let spec = json!({"manageHealthCheck": true, "new": 1});
    survives::<v1beta1::PolicyDefinition>(&object("v1beta1", "PolicyDefinition", spec, definition_status()));
    let spec = json!({"schematic": {"cue": {"template": ""}}, "new": 1});
    survives::<v1beta1::WorkflowStepDefinition>(&object(
        "v1beta1",
        "WorkflowStepDefinition",
        spec,
        definition_status(),
    ));
}

#[test]
fn revisions_with_copies_in_them() {
    let spec = json!({"revision": 3, "revisionHash": "5f2c", "definitionType": "Component",
        "componentDefinition": {"metadata": {"name": "web"}, "spec": component(), "status": {}},
        "traitDefinition": {"spec": {"definitionRef": {"name": ""}}}, "new": 1});
    survives::<v1beta1::DefinitionRevision>(&object(
        "v1beta1",
        "DefinitionRevision",
        spec.clone(),
        json!({"new": 1}),
    ));
    let typed: v1beta1::DefinitionRevisionSpec = serde_json::from_value(spec.clone()).unwrap();
    assert_eq!(typed.snapshot(), Some(&spec["componentDefinition"]));
    let spec = json!({"application": {"spec": {"components": []}}, "componentDefinitions": {"web": {"spec": component()}},
        "compression": {"type": "zstd", "data": "KLUv"},
        "definitions": [{"type": "Trait", "reference": "scaler@1", "revision": "scaler-v1.0.0", "version": "1.0.0",
            "digest": "sha256:00"}]});
    survives::<v1beta1::ApplicationRevision>(&object(
        "v1beta1",
        "ApplicationRevision",
        spec,
        json!({"succeeded": true, "workflow": {}}),
    ));
}

#[test]
fn applications_as_others_write_them() {
    let spec = json!({
        "components": [{"name": "web", "type": "webservice@1.2", "properties": {"image": "nginx", "ports": [{"port": 80}]},
            "traits": [{"type": "scaler", "properties": {"replicas": 2}}], "dependsOn": ["db"],
            "inputs": [{"from": "a", "parameterKey": "b"}], "outputs": [{"name": "o", "valueFrom": "output"}],
            "scopes": {"x": "y"}, "externalRevision": "web-v1"}],
        "policies": [{"name": "p", "type": "topology", "properties": {"clusters": ["local"]}}],
        "workflow": {"mode": {"steps": "DAG"}, "steps": [{"name": "s", "type": "step-group", "if": "always",
            "subSteps": [{"name": "t", "type": "deploy", "timeout": "5m", "meta": {"alias": "x"}}]}]},
    });
    let status = json!({
        "status": "workflowSuspending", "observedGeneration": 2, "healthy": "1/1", "resolved": "web=webservice@1.2.3",
        "services": [{"name": "web", "healthy": true, "message": "Ready:1/1", "cluster": "local", "env": "e", "scopes": [{"kind": "x"}],
            "workloadDefinition": {"apiVersion": "apps/v1", "kind": "Deployment"},
            "traits": [{"type": "scaler", "healthy": true, "details": {"a": "b"}}]}],
        "workflow": {"mode": "DAG", "suspend": false}, "policy": [{"name": "p", "type": "t"}],
        "appliedResources": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default", "creator": "workflow",
            "cluster": "local"}],
        "conditions": [{"type": "Ready", "status": "True", "reason": "Available", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z"}],
    });
    survives::<v1beta1::Application>(&object("v1beta1", "Application", spec, status));
}

#[test]
fn the_least_that_the_schemas_accept_is_read() {
    through::<v1beta1::ComponentDefinition>(&object("v1beta1", "ComponentDefinition", json!({}), json!({})));
    for status in [
        json!({"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}),
        json!({"versions": [{"version": "1"}]}),
    ] {
        through::<v1beta1::PolicyDefinition>(&object("v1beta1", "PolicyDefinition", json!({}), status));
    }
    let nulls = json!({"version": null, "schematic": null, "definitionRef": null, "podDisruptive": null, "stage": null, "extension": null});
    through::<v1beta1::TraitDefinition>(&object("v1beta1", "TraitDefinition", nulls, json!({})));
    through::<v1beta1::DefinitionRevision>(&object("v1beta1", "DefinitionRevision", json!({}), json!({})));
    through::<v1beta1::ApplicationRevision>(&object(
        "v1beta1",
        "ApplicationRevision",
        json!({"application": null}),
        json!({}),
    ));
    let status = json!({"services": [{"name": "a"}], "references": [{"path": "components[a]"}], "appliedResources": [{}], "status": null});
    through::<v1beta1::Application>(&object(
        "v1beta1",
        "Application",
        json!({"components": []}),
        status,
    ));
}
