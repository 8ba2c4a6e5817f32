//! What is decided about claims.

use crate::definitions::{claimed, typed, with};
use cambium_api::crossplane::CompositeDeletePolicy;
use cambium_compositions::claim::{
    Bind, Deletion, Manifest, Observed, Plan, Synced, deleting_status, failed_status, generated_name,
    leftover, manifest, paused_status, plan, synced_status,
};
use cambium_compositions::definition::{Definition, read};
use jiff::Timestamp;
use serde_json::{Value, json};

const VERSION: &str = "water.example.org/v1";
const FINALIZER: &str = "finalizer.apiextensions.crossplane.io";

fn defined() -> Definition {
    read(&typed(claimed())).unwrap()
}

fn defined_with(path: &str, value: Value) -> Definition {
    read(&typed(with(claimed(), path, value))).unwrap()
}

/// A claim with this in its spec.
fn claim(spec: Value) -> Value {
    json!({
        "apiVersion": VERSION, "kind": "Lake",
        "metadata": {"name": "mine", "namespace": "team", "uid": "u", "resourceVersion": "7"}, "spec": spec,
    })
}

/// A claim that has its composite resource.
fn bound(spec: Value) -> Value {
    let mut claim = claim(spec);
    claim["metadata"]["finalizers"] = json!([FINALIZER]);
    claim["spec"]["resourceRef"] = json!({"apiVersion": VERSION, "kind": "XLake", "name": "its-own"});
    claim
}

/// What became of a manifest that was applied, with more in its spec.
fn applied(definition: &Definition, claim: &Value, more: Value) -> Value {
    let mut object = manifest(definition, claim, None, "its-own").object;
    object["metadata"]["uid"] = json!("x");
    for (field, value) in more.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

fn planned(definition: &Definition, claim: &Value, composites: &[Value]) -> Plan {
    plan(&Observed {
        definition,
        claim,
        composite: &|name| {
            let named = |composite: &&Value| composite["metadata"]["name"] == name;
            composites.iter().find(named).cloned()
        },
        became: &|_: &Manifest, _: &Value| false,
    })
}

fn bind(definition: &Definition, claim: &Value, composites: &[Value]) -> Bind {
    match planned(definition, claim, composites) {
        Plan::Bind(bind) => *bind,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn a_new_claim_is_recorded_before_its_composite_resource_is_made() {
    let bind = bind(&defined(), &claim(json!({"depth": 3})), &[]);
    assert_eq!(bind.name, generated_name(&claim(json!({})), 0));
    let record = bind.record.unwrap();
    assert_eq!(record["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(
        (&record["metadata"]["resourceVersion"], &record["metadata"]["uid"]),
        (&json!("7"), &json!("u")),
        "whoever changed the claim in the meantime wins"
    );
    assert_eq!(record["spec"]["resourceRef"]["name"], json!(bind.name));
    let manifest = bind.apply.unwrap().object;
    assert_eq!(manifest["metadata"]["name"], json!(bind.name));
    assert_eq!(manifest["spec"]["depth"], 3);
    assert!(manifest["spec"]["resourceRef"].is_null() && bind.binds);
}

#[test]
fn names_are_those_of_the_claim_and_always_the_same() {
    let name = generated_name(&claim(json!({})), 0);
    assert_eq!(name, generated_name(&claim(json!({"other": 1})), 0));
    assert_ne!(name, generated_name(&claim(json!({})), 1));
    assert!(
        name.starts_with("mine-") && name.len() == "mine-".len() + 5,
        "{name}"
    );
    let mut long = claim(json!({}));
    long["metadata"]["name"] = json!("é".repeat(100));
    assert!(generated_name(&long, 0).len() <= 63);
}

#[test]
fn a_name_that_is_taken_is_not_used_but_its_own_is() {
    let (definition, mine) = (defined(), claim(json!({})));
    let first = generated_name(&mine, 0);
    let mut other = applied(&definition, &mine, json!({"claimRef": null}));
    other["metadata"]["name"] = json!(first);
    assert_eq!(bind(&definition, &mine, &[other]).name, generated_name(&mine, 1));
    let mut own = applied(&definition, &mine, json!({}));
    own["metadata"]["name"] = json!(first);
    let bind = bind(&definition, &mine, &[own]);
    assert!(bind.name == first && !bind.binds);
}

#[test]
fn an_unchanged_world_asks_for_nothing() {
    let (definition, claim) = (defined(), bound(json!({"depth": 3})));
    let composite = applied(
        &definition,
        &claim,
        json!({"resourceRefs": [], "compositionUpdatePolicy": "Automatic"}),
    );
    let bind = bind(&definition, &claim, &[composite]);
    assert_eq!((bind.record, bind.apply, bind.binds), (None, None, false));
}

#[test]
fn a_field_that_is_gone_and_a_field_that_somebody_changed_are_applied_again() {
    let (definition, before) = (defined(), bound(json!({"depth": 3, "width": 4})));
    let composite = applied(&definition, &before, json!({}));
    let after = bound(json!({"depth": 3}));
    let apply = bind(&definition, &after, std::slice::from_ref(&composite))
        .apply
        .unwrap();
    assert!(apply.object["spec"]["width"].is_null());
    assert_eq!(
        apply.object["metadata"]["uid"], "x",
        "and to no other of that name"
    );
    let mut changed = composite;
    changed["spec"]["depth"] = json!(5);
    assert!(bind(&definition, &before, &[changed]).apply.is_some());
}

#[test]
fn what_flows_where() {
    let reference = |name: &str| json!({"name": name});
    let labels = |value: &str| json!({"matchLabels": {"l": value}});
    let plain = defined();
    let enforcing = defined_with("/spec/enforcedCompositionRef", reference("theirs"));
    let selecting = defined_with("/spec/defaultCompositionRevisionSelector", labels("default"));
    // What the definition, the claim and the composite resource say; the field; what the claim must say, and what is applied.
    let table: Vec<(&Definition, Value, Value, &str, Value, Value)> = vec![
        (
            &plain,
            json!({"compositionRef": reference("a")}),
            json!({"compositionRef": reference("b")}),
            "compositionRef",
            Value::Null,
            reference("a"),
        ),
        (
            &plain,
            json!({}),
            json!({"compositionRef": reference("b")}),
            "compositionRef",
            reference("b"),
            reference("b"),
        ),
        (
            &enforcing,
            json!({"compositionRef": reference("a")}),
            json!({"compositionRef": reference("theirs")}),
            "compositionRef",
            reference("theirs"),
            Value::Null,
        ),
        (
            &plain,
            json!({"compositionSelector": labels("a")}),
            json!({}),
            "compositionSelector",
            Value::Null,
            labels("a"),
        ),
        (
            &plain,
            json!({}),
            json!({"compositionSelector": labels("a")}),
            "compositionSelector",
            Value::Null,
            Value::Null,
        ),
        (
            &plain,
            json!({"compositionUpdatePolicy": "Manual"}),
            json!({"compositionUpdatePolicy": "Automatic"}),
            "compositionUpdatePolicy",
            Value::Null,
            json!("Manual"),
        ),
        (
            &plain,
            json!({}),
            json!({"compositionUpdatePolicy": "Manual"}),
            "compositionUpdatePolicy",
            Value::Null,
            Value::Null,
        ),
        // A revision: Manual, from the claim; Automatic, to it.
        (
            &plain,
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("r1")}),
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("r2")}),
            "compositionRevisionRef",
            Value::Null,
            reference("r1"),
        ),
        (
            &plain,
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("r1")}),
            json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionRef": reference("r2")}),
            "compositionRevisionRef",
            Value::Null,
            reference("r1"),
        ),
        (
            &plain,
            json!({"compositionUpdatePolicy": "Manual"}),
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("r2")}),
            "compositionRevisionRef",
            Value::Null,
            Value::Null,
        ),
        (
            &plain,
            json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionRef": reference("r1")}),
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("r2")}),
            "compositionRevisionRef",
            reference("r2"),
            Value::Null,
        ),
        (
            &plain,
            json!({}),
            json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionRef": reference("r2")}),
            "compositionRevisionRef",
            reference("r2"),
            Value::Null,
        ),
        (
            &plain,
            json!({"compositionRevisionRef": reference("r1")}),
            json!({"compositionUpdatePolicy": "Manual"}),
            "compositionRevisionRef",
            Value::Null,
            reference("r1"),
        ),
        // A selector: from the claim, and the definition's to it.
        (
            &plain,
            json!({"compositionRevisionSelector": labels("a")}),
            json!({}),
            "compositionRevisionSelector",
            Value::Null,
            labels("a"),
        ),
        (
            &plain,
            json!({}),
            json!({"compositionRevisionSelector": labels("a")}),
            "compositionRevisionSelector",
            Value::Null,
            Value::Null,
        ),
        (
            &selecting,
            json!({}),
            json!({"compositionRevisionSelector": labels("default")}),
            "compositionRevisionSelector",
            labels("default"),
            labels("default"),
        ),
        (
            &selecting,
            json!({}),
            json!({"compositionRevisionSelector": labels("own")}),
            "compositionRevisionSelector",
            Value::Null,
            Value::Null,
        ),
        // What neither may give the other.
        (
            &plain,
            json!({"compositeDeletePolicy": "Foreground"}),
            json!({}),
            "compositeDeletePolicy",
            Value::Null,
            Value::Null,
        ),
        (
            &plain,
            json!({"writeConnectionSecretToRef": reference("s")}),
            json!({}),
            "writeConnectionSecretToRef",
            Value::Null,
            Value::Null,
        ),
        (
            &plain,
            json!({"publishConnectionDetailsTo": reference("s")}),
            json!({}),
            "publishConnectionDetailsTo",
            Value::Null,
            Value::Null,
        ),
        (
            &plain,
            json!({"resourceRefs": [reference("s")]}),
            json!({}),
            "resourceRefs",
            Value::Null,
            Value::Null,
        ),
    ];
    for (definition, said, decided, field, record, apply) in table {
        let claim = bound(said);
        let composite = applied(&defined(), &bound(json!({"never": "applied"})), decided.clone());
        let found = bind(definition, &claim, &[composite]);
        let recorded = found
            .record
            .map(|record| record["spec"][field].clone())
            .unwrap_or_default();
        let mut applied = found.apply.unwrap().object["spec"][field].clone();
        // What the composite resource decides is repeated as it is.
        if apply.is_null() && applied == decided[field] {
            applied = Value::Null;
        }
        assert_eq!((recorded, applied), (record, apply), "{field} of {claim}");
    }
}

#[test]
fn an_enforced_policy_is_not_contradicted_by_what_is_applied() {
    let definition = defined_with("/spec/enforceCompositionUpdatePolicy", json!("Automatic"));
    let claim = bound(json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": "r"}}));
    let spec = manifest(&definition, &claim, None, "its-own").object["spec"].clone();
    assert!(
        spec["compositionUpdatePolicy"].is_null() && spec["compositionRevisionRef"].is_null(),
        "{spec}"
    );
}

#[test]
fn names_outside_stay_as_they_are() {
    let definition = defined();
    let name = |object: &Value| object["metadata"]["annotations"]["crossplane.io/external-name"].clone();
    let mut asking = bound(json!({}));
    asking["metadata"]["annotations"] = json!({"crossplane.io/external-name": "wanted"});
    assert_eq!(
        name(&manifest(&definition, &asking, None, "its-own").object),
        "wanted"
    );
    let mut composite = applied(&definition, &asking, json!({}));
    composite["metadata"]["annotations"]["crossplane.io/external-name"] = json!("given");
    let bind = bind(&definition, &asking, &[composite]);
    assert_eq!(name(&bind.record.unwrap()), "given");
    assert!(bind.apply.is_none_or(|apply| name(&apply.object) == "given"));
}

#[test]
fn deletion_by_policy() {
    let definition = defined();
    let going = |policy: &str| {
        let mut claim = bound(json!({"compositeDeletePolicy": policy}));
        claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:00Z");
        claim
    };
    let composite = applied(&definition, &bound(json!({})), json!({}));
    let mut leaving = composite.clone();
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:00Z");
    let mut foreign = composite.clone();
    foreign["spec"]["claimRef"]["name"] = json!("other");
    let delete = Some(("its-own".to_owned(), "x".to_owned()));
    let (background, foreground) = (
        CompositeDeletePolicy::Background,
        CompositeDeletePolicy::Foreground,
    );
    let table = [
        (
            "Background",
            vec![composite.clone()],
            delete.clone(),
            background,
            true,
        ),
        ("Background", vec![leaving.clone()], None, background, true),
        ("Background", vec![], None, background, true),
        ("Foreground", vec![composite], delete, foreground, false),
        ("Foreground", vec![leaving], None, foreground, false),
        ("Foreground", vec![], None, foreground, true),
        ("Foreground", vec![foreign], None, foreground, true),
    ];
    for (said, composites, delete, policy, let_go) in table {
        let expected = Plan::Delete(Deletion {
            delete,
            policy,
            let_go,
        });
        assert_eq!(
            planned(&definition, &going(said), &composites),
            expected,
            "{said} {composites:?}"
        );
    }
}

#[test]
fn somebody_elses_composite_resource_is_refused_and_a_paused_claim_is_left_alone() {
    let (definition, claim) = (defined(), bound(json!({})));
    let mut foreign = applied(&definition, &claim, json!({}));
    foreign["spec"]["claimRef"]["namespace"] = json!("other");
    foreign["spec"]["claimRef"]["name"] = json!("theirs");
    assert_eq!(
        planned(&definition, &claim, &[foreign]),
        Plan::Refuse(
            "refusing to operate on composite resource \"its-own\" that is not bound to this claim: bound to claim \"theirs\""
                .to_owned()
        )
    );
    let mut paused = claim;
    paused["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
    paused["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:00Z");
    assert_eq!(planned(&definition, &paused, &[]), Plan::Pause);
}

#[test]
fn a_reference_that_is_decided_is_repeated_and_nothing_may_have_moved() {
    let definition = defined();
    let decided = json!({"compositionRevisionRef": {"name": "r2"}, "compositionUpdatePolicy": "Automatic"});
    let claim = bound(json!({"depth": 3}));
    let mut composite = applied(&definition, &claim, decided.clone());
    composite["metadata"]["resourceVersion"] = json!("9");
    let found = manifest(&definition, &claim, Some(&composite), "its-own");
    assert_eq!(
        found.object["spec"]["compositionRevisionRef"],
        decided["compositionRevisionRef"]
    );
    assert_eq!(found.object["metadata"]["resourceVersion"], "9");
    // A move of the composite resource is not a reason to apply.
    composite["spec"]["compositionRevisionRef"]["name"] = json!("r3");
    let moved = manifest(&definition, &claim, Some(&composite), "its-own");
    assert_eq!(moved.digest, found.digest);
    // A selector that the claim has lost is taken away by name.
    assert_eq!(leftover(&moved, &composite), None);
    composite["spec"]["compositionRevisionSelector"] = json!({"matchLabels": {"a": "b"}});
    let patch = leftover(&moved, &composite).unwrap();
    assert_eq!(patch["spec"], json!({"compositionRevisionSelector": null}));
    assert_eq!(patch["metadata"], json!({"uid": "x", "resourceVersion": "9"}));
}

fn noon() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// Type, status, reason.
fn short(status: &Value) -> Vec<[&str; 3]> {
    let conditions = status["conditions"].as_array().unwrap().iter();
    let text = |value: &'_ Value| -> &'static str { value.as_str().unwrap().to_owned().leak() };
    conditions
        .map(|one| [text(&one["type"]), text(&one["status"]), text(&one["reason"])])
        .collect()
}

#[test]
fn the_status_of_a_claim_is_that_of_its_composite_resource() {
    let at = "2025-01-01T12:00:00Z";
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "R", "lastTransitionTime": at});
    let mut composite = json!({"status": {"level": 3, "connectionDetails": {"lastPublishedTime": at},
        "claimConditionTypes": ["Full", "Ready", "Nowhere"],
        "conditions": [condition("Ready", "False"), condition("Full", "True"), condition("Secret", "True")]}});
    let synced = |composite: &Value, claim: &Value, connection| {
        synced_status(
            claim,
            &Synced {
                composite,
                bound: true,
                connection,
            },
            noon(),
        )
    };
    let mut claim = bound(json!({}));
    let (status, notes) = synced(&composite, &claim, Ok(false));
    assert_eq!(
        short(&status),
        [
            ["Synced", "True", "ReconcileSuccess"],
            ["Ready", "False", "Waiting"],
            ["Full", "True", "R"]
        ]
    );
    assert_eq!(status["conditions"][2]["lastTransitionTime"], at);
    assert_eq!(status["level"], 3);
    assert!(status["connectionDetails"].is_null() && status["claimConditionTypes"].is_null());
    let texts: Vec<_> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Successfully bound composite resource",
            "Composite resource is not yet ready"
        ]
    );
    // What it no longer says is gone, a condition that nobody shows any more stays, and waiting is told once.
    claim["status"] = status;
    composite["status"] = json!({"conditions": [condition("Ready", "False")]});
    let (status, notes) = synced(&composite, &claim, Ok(false));
    assert!(status["level"].is_null());
    assert_eq!(notes.len(), 1, "{notes:?}");
    // Ready, and with connection details.
    claim["status"] = status;
    composite["status"]["conditions"][0]["status"] = json!("True");
    let (status, _) = synced(&composite, &claim, Ok(true));
    assert_eq!(
        short(&status)[..2],
        [
            ["Synced", "True", "ReconcileSuccess"],
            ["Ready", "True", "Available"]
        ]
    );
    assert_eq!(
        status["connectionDetails"]["lastPublishedTime"],
        "2026-01-01T12:00:00Z"
    );
    // Which are kept, and stay told about, when they cannot be copied.
    claim["status"] = status.clone();
    let (failed, notes) = synced(&composite, &claim, Err("no".to_owned()));
    assert_eq!(short(&failed)[0], ["Synced", "False", "ReconcileError"]);
    assert_eq!(short(&failed)[1], ["Ready", "True", "Available"]);
    assert_eq!(failed["connectionDetails"], status["connectionDetails"]);
    assert!(notes.iter().any(|note| note.warning && note.text == "no"));
    // A composite resource without a status takes nothing away.
    let (status, _) = synced(&json!({}), &bound(json!({})), Ok(false));
    assert_eq!(short(&status)[1], ["Ready", "False", "Waiting"]);
}

#[test]
fn other_ends_change_one_condition() {
    let mut claim = bound(json!({}));
    claim["status"] = json!({"level": 3, "conditions": []});
    let failed = failed_status(&claim, "why", noon());
    assert_eq!(short(&failed), [["Synced", "False", "ReconcileError"]]);
    assert_eq!(
        (&failed["conditions"][0]["message"], &failed["level"]),
        (&json!("why"), &json!(3))
    );
    assert_eq!(
        short(&paused_status(&claim, noon())),
        [["Synced", "False", "ReconcilePaused"]]
    );
    assert_eq!(
        short(&deleting_status(&claim, noon())),
        [["Ready", "False", "Deleting"]]
    );
}
