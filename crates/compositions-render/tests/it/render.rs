//! What a composition makes, and what its resources say.
use std::collections::BTreeMap;

use cambium_compositions_render::{Composition, ObservedResource, Readiness, RenderError, desired, observe};
use serde_json::{Value, json};

fn composite() -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "XDatabase",
        "metadata": {"name": "db", "uid": "u-1", "labels": {"crossplane.io/composite": "db"}},
        "spec": {"region": "eu", "size": 5, "tags": {"team": "a"}, "zones": ["a", "b"]},
    })
}

fn bucket(name: &str, patches: Value) -> Value {
    json!({"name": name, "base": {"apiVersion": "example.org/v1", "kind": "Bucket", "spec": {}}, "patches": patches})
}

fn composition(resources: Value) -> Composition {
    Composition::read(&json!({"resources": resources})).unwrap()
}

fn made(
    composition: &Composition,
    composite: &Value,
    observed: &[(&str, Value)],
) -> Vec<Result<Value, RenderError>> {
    let observed = observed
        .iter()
        .map(|(name, object)| ((*name).to_owned(), object.clone()))
        .collect();
    desired(composition, composite, &observed)
        .into_iter()
        .map(|desired| desired.outcome)
        .collect()
}

#[test]
fn one_resource_that_cannot_be_made_does_not_stop_its_siblings() {
    let required = json!([{"fromFieldPath": "spec.missing", "policy": {"fromFieldPath": "Required"}}]);
    let composition = composition(json!([
        bucket("good", json!([{"fromFieldPath": "spec.region"}])),
        bucket("bad", required),
        bucket("also-good", json!([])),
    ]));
    let made = made(&composition, &composite(), &[]);
    assert_eq!(made[0].as_ref().unwrap()["spec"]["region"], "eu");
    let text = "cannot apply the \"FromCompositeFieldPath\" patch at index 0: spec.missing: no such field";
    assert_eq!(made[1].as_ref().unwrap_err().to_string(), text);
    assert!(made[2].is_ok());
}

#[test]
fn a_new_resource_has_no_name_and_an_old_one_keeps_its_own() {
    let composition = composition(json!([{"name": "b", "base": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "not-this", "namespace": "apps"}}}]));
    let new = made(&composition, &composite(), &[])[0].clone().unwrap();
    assert_eq!(new["metadata"].get("name"), None);
    assert_eq!(new["metadata"]["generateName"], "db-");
    assert_eq!(new["metadata"]["namespace"], "apps");
    assert_eq!(
        new["metadata"]["annotations"]["crossplane.io/composition-resource-name"],
        "b"
    );
    assert_eq!(new["metadata"]["ownerReferences"][0]["uid"], "u-1");
    let old =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db-x7k", "namespace": "apps"}});
    let kept = made(&composition, &composite(), &[("b", old)])[0]
        .clone()
        .unwrap();
    assert_eq!(kept["metadata"]["name"], "db-x7k");
}

#[test]
fn a_composite_in_a_namespace_composes_into_it() {
    let composition = composition(json!([{"name": "b", "base": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "elsewhere"}}}]));
    let mut composite = composite();
    composite["metadata"]["namespace"] = json!("shop");
    assert_eq!(
        made(&composition, &composite, &[])[0].clone().unwrap()["metadata"]["namespace"],
        "shop"
    );
}

#[test]
fn patches_of_a_set_stand_where_the_set_is_named() {
    let spec = json!({
        "patchSets": [{"name": "common", "patches": [
            {"fromFieldPath": "spec.region", "toFieldPath": "spec.v"},
            {"fromFieldPath": "spec.nope", "toFieldPath": "spec.v", "policy": {"fromFieldPath": "Required"}}]}],
        "resources": [bucket("b", json!([
            {"fromFieldPath": "spec.size", "toFieldPath": "spec.v"},
            {"type": "PatchSet", "patchSetName": "common"}]))],
    });
    let error = made(&Composition::read(&spec).unwrap(), &composite(), &[])[0]
        .clone()
        .unwrap_err();
    assert!(matches!(error, RenderError::Patch { index: 2, .. }), "{error}");
}

#[test]
fn merging_with_what_exists_keeps_it_and_comes_to_rest() {
    let merged = |options: Value| {
        json!([{"fromFieldPath": "spec.tags", "toFieldPath": "spec.tags", "policy": {"mergeOptions": options}},
               {"fromFieldPath": "spec.zones", "toFieldPath": "spec.zones", "policy": {"mergeOptions": options}}])
    };
    let live = json!({"apiVersion": "example.org/v1", "kind": "Bucket", "metadata": {"name": "b"},
        "spec": {"tags": {"team": "live", "cost": "1"}, "zones": ["z"]}});
    let keep = composition(json!([bucket("b", merged(json!({"keepMapValues": true})))]));
    let object = made(&keep, &composite(), &[("b", live.clone())])[0]
        .clone()
        .unwrap();
    assert_eq!(object["spec"]["tags"], json!({"team": "live", "cost": "1"}));
    let append = composition(json!([bucket("b", merged(json!({"appendSlice": true})))]));
    let once = made(&append, &composite(), &[("b", live)])[0].clone().unwrap();
    assert_eq!(once["spec"]["zones"], json!(["z", "a", "b"]));
    let twice = made(&append, &composite(), &[("b", once.clone())])[0]
        .clone()
        .unwrap();
    assert_eq!(once, twice);
}

#[test]
fn appending_an_object_that_holds_a_list_comes_to_rest() {
    let composition = composition(json!([bucket(
        "b",
        json!([
        {"fromFieldPath": "spec", "toFieldPath": "spec.copy", "policy": {"mergeOptions": {"appendSlice": true}}},
        {"type": "ToCompositeFieldPath", "fromFieldPath": "spec.copy", "toFieldPath": "status.copy",
         "policy": {"mergeOptions": {"appendSlice": true}}}])
    )]));
    let once = made(&composition, &composite(), &[])[0].clone().unwrap();
    let twice = made(&composition, &composite(), &[("b", once.clone())])[0]
        .clone()
        .unwrap();
    assert_eq!(once["spec"], twice["spec"]);
    let see = |composite: &Value| {
        let resource = ObservedResource {
            object: once.clone(),
            ..Default::default()
        };
        observe(
            &composition,
            composite,
            &BTreeMap::from([("b".to_owned(), resource)]),
        )
        .composite
    };
    let first = see(&composite());
    assert_eq!(see(&first), first);
}

#[test]
fn anonymous_templates_go_by_their_place() {
    let base = json!({"base": {"apiVersion": "v1", "kind": "A"}});
    let composition = composition(json!([base, base]));
    let labels: Vec<&str> = composition
        .templates()
        .iter()
        .map(|template| template.label.as_str())
        .collect();
    assert_eq!(labels, ["resource 1", "resource 2"]);
    let object = made(&composition, &composite(), &[])[0].clone().unwrap();
    assert_eq!(object["metadata"].get("annotations"), None);
}

#[test]
fn each_resource_says_why_it_is_not_ready_and_none_hides_another() {
    let check = |check: Value| json!({"readinessChecks": [check]});
    let with = |name: &str, more: Value| {
        let mut template = bucket(
            name,
            json!([{"type": "ToCompositeFieldPath", "fromFieldPath": "status.arn",
            "toFieldPath": format!("status.{name}.arn")}]),
        );
        template
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        template
    };
    let composition = composition(json!([
        with(
            "ready",
            check(json!({"type": "NonEmpty", "fieldPath": "status.arn"}))
        ),
        with(
            "waiting",
            check(json!({"type": "MatchString", "fieldPath": "status.arn", "matchString": "b"}))
        ),
        with(
            "broken",
            check(json!({"type": "MatchTrue", "fieldPath": "status.arn"}))
        ),
        with("absent", json!({})),
        with(
            "plain",
            json!({"connectionDetails": [{"name": "arn", "fromFieldPath": "status.arn"}, {"fromConnectionSecretKey": "k"}]})
        ),
    ]));
    let resource = ObservedResource {
        object: json!({"apiVersion": "v1", "kind": "A", "status": {"arn": "a"}}),
        secret: BTreeMap::from([("k".to_owned(), b"v".to_vec())]),
    };
    let names = ["ready", "waiting", "broken", "plain"];
    let observed = names
        .iter()
        .map(|name| ((*name).to_owned(), resource.clone()))
        .collect();
    let seen = observe(&composition, &composite(), &observed);
    let readiness: Vec<String> = seen
        .resources
        .iter()
        .map(|resource| match &resource.readiness {
            None => "absent".to_owned(),
            Some(Readiness::Ready) => "ready".to_owned(),
            Some(Readiness::NotReady { reason }) => reason.clone(),
            Some(Readiness::Failed(error)) => error.to_string(),
        })
        .collect();
    assert_eq!(
        readiness,
        [
            "ready",
            "status.arn is a, not b",
            "cannot run readiness check at index 0: status.arn: not a bool",
            "absent",
            "condition Ready is Unknown, not True",
        ]
    );
    assert!(!seen.is_ready());
    assert_eq!(seen.composite["status"]["plain"]["arn"], "a");
    assert_eq!(
        seen.connection_details,
        BTreeMap::from([("arn".to_owned(), b"a".to_vec()), ("k".to_owned(), b"v".to_vec()),])
    );
}

#[test]
fn a_failing_patch_to_the_composite_is_reported_and_the_rest_goes_on() {
    let to = |path: &str| json!([{"type": "ToCompositeFieldPath", "fromFieldPath": "status.arn", "toFieldPath": path}]);
    let composition = composition(json!([
        bucket("bad", to("spec.region.x")),
        bucket("good", to("status.arn"))
    ]));
    let resource = ObservedResource {
        object: json!({"status": {"arn": "a"}}),
        ..Default::default()
    };
    let observed = ["bad", "good"]
        .iter()
        .map(|name| ((*name).to_owned(), resource.clone()))
        .collect();
    let seen = observe(&composition, &composite(), &observed);
    let problem = seen.resources[0].problem.as_ref().unwrap().to_string();
    assert_eq!(
        problem,
        "cannot apply the \"ToCompositeFieldPath\" patch at index 0: spec.region is not an object"
    );
    assert_eq!(seen.composite["status"]["arn"], "a");
}
