//! CustomResourceDefinitions: creation, custom resources, deletion.

use anyhow::Result;
use cambium_testing::{Backend, Raw, TestCluster, eventually};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A CRD in a group of this test's own.
fn widget(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
                ],
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object", "required": ["spec"],
                    "properties": {
                        "spec": {
                            "type": "object", "required": ["color"],
                            "properties": {
                                "size": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
                                "color": {"type": "string", "enum": ["red", "blue"]},
                                "port": {"x-kubernetes-int-or-string": true},
                                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                                "parts": {
                                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                                    "items": {"type": "object", "required": ["name"], "properties": {
                                        "name": {"type": "string"}, "count": {"type": "integer", "default": 1}}},
                                },
                            },
                        },
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}

struct Widgets {
    _cluster: TestCluster,
    raw: Raw,
    group: String,
    path: String,
}

async fn established(raw: &Raw, crd: &Value) -> Result<()> {
    let made = raw.post(CRDS, crd).await?;
    assert_eq!(made.code, 201, "{made:?}");
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let path = format!("{CRDS}/{name}");
    eventually("the CRD is established", || async {
        let conditions = raw.get(&path).await?.body["status"]["conditions"].clone();
        let conditions = conditions.as_array().cloned().unwrap_or_default();
        Ok(conditions
            .iter()
            .any(|one| one["type"] == "Established" && one["status"] == "True"))
    })
    .await?;
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let version = crd["spec"]["versions"][0]["name"].as_str().unwrap_or_default();
    let plural = crd["spec"]["names"]["plural"].as_str().unwrap_or_default();
    eventually("the resource is served", || async {
        Ok(raw.get(&format!("/apis/{group}/{version}/{plural}")).await?.code == 200)
    })
    .await
}

async fn widgets(test: &str) -> Result<Widgets> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique(test));
    established(&raw, &widget(&group)).await?;
    let path = format!(
        "/apis/{group}/v1/namespaces/{}/widgets",
        cluster.namespace(test).await?
    );
    Ok(Widgets {
        _cluster: cluster,
        raw,
        group,
        path,
    })
}

fn object(group: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn a_crd_is_served_as_soon_as_it_is_established() -> Result<()> {
    let Widgets { raw, group, path, .. } = &widgets("served").await?;
    let crd = raw.get(&format!("{CRDS}/widgets.{group}")).await?.body;
    assert_eq!(crd["status"]["acceptedNames"]["listKind"], "WidgetList");
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(crd["spec"]["conversion"]["strategy"], "None");
    let resources = raw.get(&format!("/apis/{group}/v1")).await?.body["resources"].clone();
    let names: Vec<&str> = resources
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    let list = raw.get(path).await?.body;
    assert_eq!(
        (&list["kind"], &list["items"]),
        (&json!("WidgetList"), &json!([]))
    );
    Ok(())
}

#[tokio::test]
async fn objects_are_defaulted_pruned_and_checked() -> Result<()> {
    let Widgets { raw, group, path, .. } = &widgets("shaped").await?;
    let spec =
        json!({"color": "red", "unknown": 1, "free": {"any": [1]}, "port": "http", "parts": [{"name": "a"}]});
    let made = raw.post(path, &object(group, "a", spec)).await?;
    assert_eq!(made.code, 201, "{made:?}");
    assert_eq!(
        made.body["spec"],
        json!({"color": "red", "size": 3, "free": {"any": [1]}, "port": "http", "parts": [{"name": "a", "count": 1}]})
    );
    assert_eq!(made.warnings, ["unknown field \"spec.unknown\""]);
    assert_eq!(made.body["metadata"]["generation"], 1);

    let wrong = raw
        .post(
            path,
            &object(group, "b", json!({"color": "green", "size": 0, "port": 1.5})),
        )
        .await?;
    assert_eq!((wrong.code, wrong.reason()), (422, "Invalid"));
    let mut fields: Vec<&str> = wrong.body["details"]["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["field"].as_str())
        .collect();
    fields.sort_unstable();
    fields.dedup();
    assert_eq!(
        fields,
        ["spec.color", "spec.port", "spec.size"],
        "{}",
        wrong.message()
    );
    assert!(
        wrong
            .message()
            .contains("spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\""),
        "{}",
        wrong.message()
    );
    assert!(
        wrong
            .message()
            .contains("spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        "{}",
        wrong.message()
    );
    let missing = raw.post(path, &object(group, "c", json!({}))).await?;
    assert_eq!(
        missing.message(),
        format!("Widget.{group} \"c\" is invalid: spec.color: Required value")
    );
    let twice = raw
        .post(
            path,
            &object(
                group,
                "d",
                json!({"color": "red", "parts": [{"name": "a"}, {"name": "a"}]}),
            ),
        )
        .await?;
    assert!(
        twice.message().contains("spec.parts[1]: Duplicate value"),
        "{}",
        twice.message()
    );
    let strict = raw
        .post(
            &format!("{path}?fieldValidation=Strict"),
            &object(group, "e", json!({"color": "red", "x": 1})),
        )
        .await?;
    assert_eq!(
        (strict.code, strict.message()),
        (
            400,
            "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.x\""
        )
    );
    Ok(())
}

#[tokio::test]
async fn status_and_scale_are_apart() -> Result<()> {
    let Widgets { raw, group, path, .. } = &widgets("apart").await?;
    let mut first = object(group, "a", json!({"color": "red"}));
    first["status"] = json!({"size": 7});
    let made = raw.post(path, &first).await?.body;
    assert!(made.get("status").is_none(), "a new object has no status: {made}");
    let mut change = made.clone();
    change["status"] = json!({"size": 2, "conditions": [{"type": "Ready", "status": "True"}]});
    change["spec"]["color"] = json!("blue");
    let after = raw.put(&format!("{path}/a/status"), &change).await?.body;
    assert_eq!(
        (&after["spec"]["color"], &after["status"]["size"]),
        (&json!("red"), &json!(2))
    );
    assert_eq!(after["metadata"]["generation"], 1, "status does not count");
    let scale = raw.get(&format!("{path}/a/scale")).await?.body;
    assert_eq!(
        (
            &scale["kind"],
            &scale["spec"]["replicas"],
            &scale["status"]["replicas"]
        ),
        (&json!("Scale"), &json!(3), &json!(2))
    );
    let scaled = raw
        .patch(
            "merge",
            &format!("{path}/a/scale"),
            &json!({"spec": {"replicas": 5}}),
        )
        .await?;
    assert_eq!(scaled.body["spec"]["replicas"], 5);
    let now = raw.get(&format!("{path}/a")).await?.body;
    assert_eq!(
        (&now["spec"]["size"], &now["metadata"]["generation"]),
        (&json!(5), &json!(2))
    );
    let table = raw
        .send(
            http::Method::GET,
            path,
            &[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")],
            &Value::Null,
        )
        .await?
        .body;
    assert_eq!(table["rows"][0]["cells"], json!(["a", 5, "True"]));
    Ok(())
}

#[tokio::test]
async fn custom_fields_select() -> Result<()> {
    let Widgets { raw, group, path, .. } = &widgets("select").await?;
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        raw.post(path, &object(group, name, json!({"color": color})))
            .await?;
    }
    let red = raw
        .get(&format!("{path}?fieldSelector=spec.color%3Dred"))
        .await?
        .body;
    assert_eq!(red["items"].as_array().map(Vec::len), Some(2));
    let refused = raw.get(&format!("{path}?fieldSelector=spec.size%3D3")).await?;
    assert_eq!(
        (refused.code, refused.message()),
        (400, "field label not supported: spec.size")
    );
    Ok(())
}

#[tokio::test]
async fn several_versions_are_one_object() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique("versions"));
    let mut crd = widget(&group);
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    second["deprecated"] = json!(true);
    second.as_object_mut().unwrap().remove("selectableFields");
    second["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]["default"] = json!(4);
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    established(&raw, &crd).await?;
    let namespace = cluster.namespace("versions").await?;
    let at = |version: &str| format!("/apis/{group}/{version}/namespaces/{namespace}/widgets");
    let mut new = object(&group, "a", json!({"color": "red"}));
    new["apiVersion"] = json!(format!("{group}/v2"));
    let made = raw.post(&at("v2"), &new).await?;
    assert_eq!((made.code, &made.body["spec"]["size"]), (201, &json!(4)));
    assert_eq!(made.warnings, [format!("{group}/v2 Widget is deprecated")]);
    let seen = raw.get(&format!("{}/a", at("v1"))).await?.body;
    assert_eq!(
        (&seen["apiVersion"], &seen["metadata"]["uid"]),
        (&json!(format!("{group}/v1")), &made.body["metadata"]["uid"])
    );

    let path = format!("{CRDS}/widgets.{group}");
    let flip = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    let flipped = raw.patch("json", &path, &flip).await?;
    assert_eq!(
        flipped.body["status"]["storedVersions"],
        json!(["v1", "v2"]),
        "{flipped:?}"
    );
    let removed = raw
        .patch(
            "json",
            &path,
            &json!([{"op": "remove", "path": "/spec/versions/0"}]),
        )
        .await?;
    assert_eq!(removed.code, 422);
    assert!(
        removed.message().contains("status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version"),
        "{}",
        removed.message()
    );
    Ok(())
}

#[tokio::test]
async fn wrong_crds_are_refused() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique("wrong"));
    let refused = async |change: &dyn Fn(&mut Value)| -> Result<String> {
        let mut crd = widget(&group);
        change(&mut crd);
        let answer = raw.post(CRDS, &crd).await?;
        assert_eq!(answer.code, 422, "{answer:?}");
        Ok(answer.message().to_owned())
    };
    let message = refused(&|crd| crd["metadata"]["name"] = json!("other.example.com")).await?;
    assert!(
        message.contains("must be spec.names.plural+\".\"+spec.group"),
        "{message}"
    );
    let message = refused(&|crd| crd["spec"]["versions"][0]["storage"] = json!(false)).await?;
    assert!(
        message.contains("must have exactly one version marked as storage version"),
        "{message}"
    );
    let message = refused(&|crd| crd["spec"]["scope"] = json!("Galaxy")).await?;
    assert!(
        message.contains(
            "spec.scope: Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\""
        ),
        "{message}"
    );
    let message = refused(&|crd| {
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"]["size"]
            .as_object_mut()
            .unwrap()
            .remove("type");
    })
    .await?;
    assert!(message.contains("properties[spec].properties[size].type: Required value: must not be empty for specified object fields"), "{message}");
    let message = refused(&|crd| {
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]
            ["default"] = json!("x");
    })
    .await?;
    assert!(message.contains(".default: Invalid value"), "{message}");
    Ok(())
}

#[tokio::test]
async fn rules_are_checked_when_they_are_written_and_when_they_are_used() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique("rules"));
    let with_rules = |rules: Value| {
        let mut crd = widget(&group);
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
            rules;
        crd
    };
    let refused = raw
        .post(CRDS, &with_rules(json!([{"rule": "self.colour == 'red'"}])))
        .await?;
    assert_eq!(refused.code, 422);
    assert!(
        refused.message().contains("undefined field 'colour'"),
        "{}",
        refused.message()
    );
    let refused = raw
        .post(CRDS, &with_rules(json!([{"rule": "self.size"}])))
        .await?;
    assert!(
        refused
            .message()
            .contains("cel expression must evaluate to a bool"),
        "{}",
        refused.message()
    );
    let rules = json!([
        {"rule": "self.color != 'red' || self.size < 5", "message": "red is for the small"},
        {"rule": "self.size >= oldSelf.size", "messageExpression": "self.size > 5 ? 'a little down' : 'far down'"},
    ]);
    established(&raw, &with_rules(rules)).await?;
    let path = format!(
        "/apis/{group}/v1/namespaces/{}/widgets",
        cluster.namespace("rules").await?
    );
    let refused = raw
        .post(&path, &object(&group, "a", json!({"color": "red", "size": 7})))
        .await?;
    assert_eq!(
        (refused.code, &refused.body["details"]["causes"][0]["field"]),
        (422, &json!("spec"))
    );
    assert!(
        refused.message().ends_with("red is for the small"),
        "{}",
        refused.message()
    );
    assert_eq!(
        raw.post(&path, &object(&group, "a", json!({"color": "blue", "size": 7})))
            .await?
            .code,
        201
    );
    let refused = raw
        .patch("merge", &format!("{path}/a"), &json!({"spec": {"size": 6}}))
        .await?;
    assert_eq!(refused.code, 422);
    assert!(
        refused.message().ends_with("a little down"),
        "{}",
        refused.message()
    );
    assert_eq!(
        raw.patch("merge", &format!("{path}/a"), &json!({"spec": {"size": 8}}))
            .await?
            .code,
        200
    );
    Ok(())
}

#[tokio::test]
async fn what_was_wrong_before_may_stay_wrong() -> Result<()> {
    let Widgets { raw, group, path, .. } = &widgets("ratchet").await?;
    raw.post(path, &object(group, "a", json!({"color": "red"})))
        .await?;
    let tighten = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color/enum", "value": ["blue"]}]);
    let crd = raw
        .patch("json", &format!("{CRDS}/widgets.{group}"), &tighten)
        .await?;
    assert_eq!(crd.code, 200, "{crd:?}");
    eventually("the new schema is in force", || async {
        Ok(raw
            .post(
                &format!("{path}?dryRun=All"),
                &object(group, "b", json!({"color": "red"})),
            )
            .await?
            .code
            == 422)
    })
    .await?;
    let unrelated = raw
        .patch("merge", &format!("{path}/a"), &json!({"spec": {"size": 5}}))
        .await?;
    assert_eq!(unrelated.code, 200, "{unrelated:?}");
    Ok(())
}

#[tokio::test]
async fn a_crd_goes_with_its_objects() -> Result<()> {
    let Widgets { raw, group, path, .. } = &widgets("goes").await?;
    let mut held = object(group, "held", json!({"color": "red"}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    raw.post(path, &held).await?;
    raw.post(path, &object(group, "plain", json!({"color": "red"})))
        .await?;
    let crd = format!("{CRDS}/widgets.{group}");
    let deleted = raw.delete(&crd, &json!({})).await?;
    assert_eq!(deleted.code, 200);
    assert!(
        deleted.body["metadata"]["deletionTimestamp"].is_string(),
        "{deleted:?}"
    );
    eventually("the plain object goes", || async {
        Ok(raw.get(&format!("{path}/plain")).await?.code == 404)
    })
    .await?;
    assert_eq!(
        raw.get(&format!("{path}/held")).await?.code,
        200,
        "finalizers are respected"
    );
    let new = raw
        .post(path, &object(group, "late", json!({"color": "red"})))
        .await?;
    assert_eq!(new.code, 403);
    assert!(
        new.message()
            .ends_with("create not allowed while custom resource definition is terminating"),
        "{new:?}"
    );
    raw.patch(
        "merge",
        &format!("{path}/held"),
        &json!({"metadata": {"finalizers": null}}),
    )
    .await?;
    eventually("the CRD goes", || async { Ok(raw.get(&crd).await?.code == 404) }).await?;
    eventually("the resource goes", || async {
        Ok(raw.get(path).await?.code == 404)
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn the_metadata_of_embedded_objects_takes_its_shape() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let (raw, namespace) = (cluster.raw(), cluster.namespace("embedded").await?);
    let group = format!("{namespace}.example.com");
    let mut crd = widget(&group);
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["pod"] = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    established(&raw, &crd).await?;
    let path = format!("/apis/{group}/v1/namespaces/{namespace}/widgets");
    let of = |name: &str, metadata: Value| {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "strange": 1});
        object(&group, name, json!({"color": "red", "pod": pod}))
    };
    let made = raw
        .post(&path, &of("kept", json!({"name": "p", "strange": [1]})))
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    assert_eq!(made.body["spec"]["pod"]["metadata"], json!({"name": "p"}));
    assert_eq!(made.body["spec"]["pod"]["strange"], 1);
    assert_eq!(made.warnings, ["unknown field \"spec.pod.metadata.strange\""]);
    let strict = format!("{path}?fieldValidation=Strict");
    let refused = raw
        .post(&strict, &of("strict", json!({"name": "p", "strange": [1]})))
        .await?;
    assert_eq!((refused.code, refused.reason()), (400, "BadRequest"));
    assert_eq!(
        refused.message(),
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.pod.metadata.strange\""
    );
    let refused = raw.post(&path, &of("wrong", json!({"name": 5}))).await?;
    assert_eq!(
        (refused.code, refused.reason()),
        (400, "BadRequest"),
        "{refused:?}"
    );
    assert_eq!(
        refused.message(),
        "Widget in version \"v1\" cannot be handled as a Widget: spec.pod.metadata: Invalid value: {\"name\":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    );
    let patched = raw
        .patch(
            "merge",
            &format!("{path}/kept"),
            &json!({"spec": {"pod": {"metadata": {"name": 5}}}}),
        )
        .await?;
    assert_eq!((patched.code, patched.reason()), (422, "Invalid"), "{patched:?}");
    let applied = raw
        .patch(
            "apply",
            &format!("{path}/kept?fieldManager=t&force=true"),
            &of("kept", json!({"name": "q"})),
        )
        .await?;
    assert_eq!(applied.code, 200, "{applied:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_finds_a_resource_in_discovery_can_change_its_crd_at_once() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    for round in 0..10 {
        let group = cluster.unique(&format!("at-once-{round}")) + ".example.com";
        assert_eq!(raw.post(CRDS, &widget(&group)).await?.code, 201);
        let path = format!("/apis/{group}/v1");
        while raw.get(&path).await?.code != 200 {
            tokio::task::yield_now().await;
        }
        let crd = format!("{CRDS}/widgets.{group}");
        let mut object = raw.get(&crd).await?.body;
        object["metadata"]["labels"] = json!({"changed": "yes"});
        let changed = raw.put(&crd, &object).await?;
        assert_eq!(changed.code, 200, "{changed:?}");
        assert_eq!(raw.delete(&crd, &json!({})).await?.code, 200);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_established_is_served() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    for round in 0..10 {
        let group = cluster.unique(&format!("served-{round}")) + ".example.com";
        assert_eq!(raw.post(CRDS, &widget(&group)).await?.code, 201);
        let crd = format!("{CRDS}/widgets.{group}");
        let is_established = |crd: &Value| {
            let conditions = crd["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            conditions
                .iter()
                .any(|one| one["type"] == "Established" && one["status"] == "True")
        };
        while !is_established(&raw.get(&crd).await?.body) {
            tokio::task::yield_now().await;
        }
        let widgets = format!("/apis/{group}/v1/widgets");
        if cluster.backend() == Backend::Embedded {
            let listed = raw.get(&widgets).await?;
            assert_eq!(listed.code, 200, "{listed:?}");
        } else {
            eventually("they are served", || async {
                Ok(raw.get(&widgets).await?.code == 200)
            })
            .await?;
        }
        assert_eq!(raw.delete(&crd, &json!({})).await?.code, 200);
    }
    Ok(())
}

#[tokio::test]
async fn the_stored_version_has_the_last_word() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique("last-word"));
    let mut crd = widget(&group);
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let spec =
        json!({"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 3}}});
    let version = |name: &str, storage: bool, spec: Value| {
        json!({"name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}})
    };
    crd["spec"]["versions"] = json!([version("v1", true, spec), version("v2", false, any)]);
    established(&raw, &crd).await?;
    let namespace = cluster.namespace("last-word").await?;
    let at = |version: &str| format!("/apis/{group}/{version}/namespaces/{namespace}/widgets");
    let object = |name: &str, spec: Value| json!({"apiVersion": format!("{group}/v2"), "kind": "Widget", "metadata": {"name": name}, "spec": spec});
    eventually("the second version is served", || async {
        Ok(raw.get(&at("v2")).await?.code == 200)
    })
    .await?;

    let dry = raw
        .post(
            &format!("{}?dryRun=All", at("v2")),
            &object("a", json!({"other": 1})),
        )
        .await?;
    let made = raw.post(&at("v2"), &object("a", json!({"other": 1}))).await?;
    assert_eq!((dry.code, made.code), (201, 201), "{dry:?} {made:?}");
    let patched = raw
        .patch(
            "merge",
            &format!("{}/a", at("v2")),
            &json!({"spec": {"n": null, "other": 2}}),
        )
        .await?;
    let read = [
        raw.get(&format!("{}/a", at("v1"))).await?,
        raw.get(&format!("{}/a", at("v2"))).await?,
    ];
    for answer in [dry, made, patched].iter().chain(&read) {
        assert_eq!(answer.body["spec"], json!({"n": 3}), "{answer:?}");
    }
    Ok(())
}

#[tokio::test]
async fn whole_numbers_have_no_fraction() -> Result<()> {
    let Widgets { raw, group, path, .. } = &widgets("numbers").await?;
    let body = |name: &str| {
        format!(
            r#"{{"apiVersion": "{group}/v1", "kind": "Widget", "metadata": {{"name": "{name}"}},
            "spec": {{"color": "red", "parts": [{{"name": "p", "count": 2.0}}], "free": {{"a": 1e3, "b": -0.0, "c": [1.5, 7.0], "d": -1e18, "e": 1e-7}}}}}}"#
        )
    };
    let expected = r#"{"a":1000,"b":0,"c":[1.5,7],"d":-1000000000000000000,"e":1e-7}"#;
    let posted = raw.post(path, &Value::String(body("posted"))).await?;
    let one = format!("{path}/applied?fieldManager=x");
    let applied = raw.patch("apply", &one, &Value::String(body("applied"))).await?;
    let read = raw.get(&format!("{path}/posted")).await?;
    for answer in [posted, applied, read] {
        assert!(matches!(answer.code, 200 | 201), "{answer:?}");
        assert_eq!(answer.body["spec"]["parts"][0]["count"].to_string(), "2");
        assert_eq!(answer.body["spec"]["free"].to_string(), expected);
    }
    let change = Value::String(r#"{"spec": {"free": {"a": 7.0}}}"#.to_owned());
    let patched = raw.patch("merge", &format!("{path}/posted"), &change).await?;
    assert_eq!(patched.body["spec"]["free"]["a"].to_string(), "7");
    Ok(())
}
