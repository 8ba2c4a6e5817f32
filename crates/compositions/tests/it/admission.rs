//! What is refused before it is stored.

use crate::definitions::{claimed, lakes, typed, with};
use cambium_compositions::admission::{
    Pins, Refused, check_composite, check_composition, check_definition, check_definition_deletion,
    check_number, check_revision, check_revision_deletion, goes_along, may_go,
};
use cambium_compositions::definition::{Definition, read};
use cambium_compositions::revision::{LabelEdits, Stored};
use cambium_compositions::{Catalogue, Consumer, Consumers, Consuming, Live, Wish};
use cambium_lineage::{Digest, Users};
use serde_json::{Value, json};
use std::sync::Arc;

const VERSION: &str = "water.example.org/v1";
const DIGEST: &str = "composition.cambium.dev/digest";

fn texts(refused: &[Refused]) -> Vec<String> {
    refused.iter().map(ToString::to_string).collect()
}

fn spec(text: &str) -> Value {
    json!({
        "compositeTypeRef": {"apiVersion": VERSION, "kind": "XLake"}, "mode": "Resources",
        "resources": [{"name": "a", "base": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": text}}}],
    })
}

fn composition(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": name, "uid": name}, "spec": spec})
}

fn revision(name: &str, of: &str, mut spec: Value) -> Value {
    let digest = Digest::of(&spec);
    spec["revision"] = json!(1);
    json!({"apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositionRevision",
        "metadata": {"name": name, "uid": name, "annotations": {DIGEST: digest},
            "labels": {"crossplane.io/composition-name": of},
            "ownerReferences": [{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "name": of,
                "uid": of, "controller": true}]},
        "spec": spec})
}

/// `base` and `other` with a revision each, and `alien` for another kind.
fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    for name in ["base", "other", "alien"] {
        let mut spec = spec(name);
        if name == "alien" {
            spec["compositeTypeRef"]["kind"] = json!("XAlien");
        }
        catalogue.declare(name, Some(Live::read(&composition(name, spec.clone()))));
        let stored = Stored::read(&revision(&format!("{name}-1"), name, spec), LabelEdits::Follow);
        catalogue.put(Arc::new(stored.unwrap()));
    }
    catalogue
}

fn lake(machinery: Value) -> Value {
    json!({"apiVersion": VERSION, "kind": "XLake", "metadata": {"name": "deep"}, "spec": machinery})
}

fn pin(composition: &str, revision: &str) -> Value {
    lake(
        json!({"compositionRef": {"name": composition}, "compositionUpdatePolicy": "Manual",
        "compositionRevisionRef": {"name": revision}}),
    )
}

fn legacy() -> Definition {
    read(&typed(claimed())).unwrap()
}

#[test]
fn typing_errors_in_compositions_are_found_at_every_level() {
    let mut spec = spec("x");
    spec["patchSet"] = json!([]);
    spec["functions"] = json!([]);
    spec["resources"][0]["readinessCheck"] = json!([]);
    spec["resources"][0]["patches"] = json!([{"fromFieldPath": "a", "toFieldPath": "b", "polcy": {}}]);
    // Anything may be in an object that is composed.
    spec["resources"][0]["base"]["spce"] = json!({});
    let refused = texts(&check_composition(
        None,
        &composition("c", spec),
        None,
        LabelEdits::Follow,
    ));
    let expected = [
        "spec.functions: there is no such field",
        "spec.patchSet: there is no such field; did you mean \"patchSets\"?",
        "spec.resources[0].patches[0].polcy: there is no such field; did you mean \"policy\"?",
        "spec.resources[0].readinessCheck: there is no such field; did you mean \"readinessChecks\"?",
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_composition_is_right_or_told_everything() {
    assert_eq!(
        check_composition(None, &composition("c", spec("x")), None, LabelEdits::Follow),
        []
    );
    let mut wrong = composition("c", spec("x"));
    wrong["spec"]["revision"] = json!(3);
    wrong["spec"]["resources"] = json!([{"name": "a"}, {"name": "a"}]);
    wrong["metadata"]["annotations"] = json!({"composition.cambium.dev/revision-limit": "-1"});
    let refused = texts(&check_composition(None, &wrong, None, LabelEdits::Follow));
    assert!(refused[0].starts_with("metadata.annotations[composition.cambium.dev/revision-limit]: \"-1\""));
    assert!(refused[1].starts_with("spec.revision: "));
    assert!(
        refused
            .iter()
            .any(|text| text.contains("spec.resources[1].name: Duplicate value")),
        "{refused:?}"
    );
    // What is stored can be touched, and can go.
    let mut labelled = wrong.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(
        check_composition(Some(&wrong), &labelled, None, LabelEdits::Follow),
        []
    );
    let mut going = wrong;
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:00Z");
    assert_eq!(check_composition(None, &going, None, LabelEdits::Follow), []);
    for limit in ["0", "10"] {
        let mut right = composition("c", spec("x"));
        right["metadata"]["annotations"] = json!({"composition.cambium.dev/revision-limit": limit});
        assert_eq!(
            check_composition(None, &right, None, LabelEdits::Follow),
            [],
            "{limit}"
        );
    }
}

#[test]
fn a_revision_may_be_renumbered_and_restored_and_nothing_else() {
    let intact = revision("base-1", "base", spec("x"));
    let mut edited = intact.clone();
    edited["spec"]["resources"] = json!([]);
    let [Refused::RevisionContent(why)] = &check_revision(&intact, &edited)[..] else {
        panic!("an edit gets through");
    };
    assert!(why.contains("immutable") && why.contains("base"), "{why}");
    assert_eq!(
        check_revision(&edited, &intact),
        [],
        "what was published is put back"
    );
    let mut other = edited.clone();
    other["spec"]["resources"] = json!([{}]);
    assert_eq!(check_revision(&edited, &other).len(), 1);
    let mut forged = edited.clone();
    let mut content = edited["spec"].clone();
    content.as_object_mut().unwrap().remove("revision");
    forged["metadata"]["annotations"][DIGEST] = json!(Digest::of(&content));
    assert_eq!(
        check_revision(&intact, &forged).len(),
        1,
        "nor with a digest that fits"
    );
    let mut raised = intact.clone();
    raised["spec"]["revision"] = json!(4);
    assert_eq!(check_revision(&intact, &raised), []);
    assert_eq!(
        check_revision(&raised, &intact),
        [Refused::NumberLowered { before: 4, after: 1 }]
    );
}

#[test]
fn a_number_is_raised_by_one_and_for_what_the_composition_says_alone() {
    let numbered = |spec: Value, number: u64| {
        let mut object = revision("base-1", "base", spec);
        object["spec"]["revision"] = json!(number);
        object
    };
    let mut catalogue = Catalogue::default();
    catalogue.declare("base", Some(Live::read(&composition("base", spec("now")))));
    let current = numbered(spec("now"), 3);
    catalogue.put(Arc::new(Stored::read(&current, LabelEdits::Follow).unwrap()));
    let raise = |content: &str, to: u64, issued: u64| {
        let (old, new) = (numbered(spec(content), 1), numbered(spec(content), to));
        check_number(Some(&old), &new, &catalogue, issued)
    };
    let too_high = |number: u64, highest: u64| {
        Some(Refused::NumberTooHigh {
            number,
            composition: "base".to_owned(),
            highest,
        })
    };
    let raised = Some(Refused::NumberRaised {
        composition: "base".to_owned(),
    });
    assert_eq!(raise("now", 4, 0), None);
    assert_eq!(raise("now", 5, 0), too_high(5, 3));
    assert_eq!(raise("now", 9, 8), None, "some were issued and lost");
    let most = u64::try_from(i64::MAX).unwrap();
    assert_eq!(raise("now", most, 0), too_high(most, 3));
    assert_eq!(raise("old", 4, 0), raised);
    assert_eq!(raise("old", 1, 0), None, "it stays as it is");
    // Made by hand, as from a backup.
    let make = |to: u64| check_number(None, &numbered(spec("old"), to), &catalogue, 0);
    assert_eq!(make(2), None);
    assert_eq!(make(6000), None);
    assert_eq!(make(most), too_high(most, 3));
    let nothing = Catalogue::default();
    assert_eq!(
        check_number(None, &numbered(spec("old"), 4711), &nothing, 0),
        None
    );
}

#[test]
fn a_revision_in_use_is_not_deleted_unless_its_composition_goes() {
    let (definition, mut catalogue, mut consumers) = (legacy(), catalogue(), Consumers::default());
    let check = |catalogue: &Catalogue, consumers: &Consumers| {
        check_revision_deletion(&called("base-1"), catalogue, consumers).map(|refused| refused.to_string())
    };
    assert_eq!(check(&catalogue, &consumers), None);
    let key = Arc::new(Consuming {
        type_: Arc::new(definition.composite_type()),
        namespace: String::new(),
        name: "deep".to_owned(),
    });
    let consumer = Consumer {
        wish: Wish::of(&definition, &pin("base", "base-1")),
        composes: true,
        failed: false,
    };
    consumers.put(key, consumer);
    assert_eq!(
        check(&catalogue, &consumers).unwrap(),
        "CompositionRevision \"base-1\" is in use by XLake deep; move them to another revision first, or annotate it with \
         cambium.dev/allow-orphans: \"true\": composed resources are kept and no longer updated"
    );
    for nobody_uses in ["other-1", "unknown"] {
        let checked = check_revision_deletion(&called(nobody_uses), &catalogue, &consumers);
        assert_eq!(checked, None);
    }
    let orphans = check_revision_deletion(&orphaning("base-1"), &catalogue, &consumers);
    assert_eq!(orphans, None, "they may be left behind");
    let mut going = composition("base", spec("base"));
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:00Z");
    catalogue.declare("base", Some(Live::read(&going)));
    assert_eq!(check(&catalogue, &consumers), None, "it is going");
    catalogue.declare("base", None);
    assert_eq!(check(&catalogue, &consumers), None, "it is gone");
    let mut again = composition("base", spec("base"));
    again["metadata"]["uid"] = json!("another");
    catalogue.declare("base", Some(Live::read(&again)));
    assert_eq!(check(&catalogue, &consumers), None, "it is another one");
}

#[test]
fn definitions_are_told_everything() {
    assert_eq!(check_definition(None, &claimed(), []), Ok(Vec::new()));
    let wrong = with(
        with(claimed(), "/spec/claimNames/kind", json!("XLake")),
        "/metadata/name",
        json!("lakes"),
    );
    let refused = texts(&check_definition(None, &wrong, []).unwrap_err());
    assert!(
        refused.len() == 2 && refused[0].starts_with("metadata.name: "),
        "{refused:?}"
    );
    assert!(refused[1].starts_with("spec.claimNames.kind: "));
    assert_eq!(
        check_definition(Some(&wrong), &wrong, []),
        Ok(Vec::new()),
        "what is stored can be touched"
    );
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
    let vain = with(claimed(), "/spec/defaultCompositionRevisionSelector", selector);
    assert_eq!(check_definition(None, &vain, []).unwrap().len(), 1);
    let shapeless = with(claimed(), "/spec/versions", json!("none"));
    assert!(
        texts(&check_definition(None, &shapeless, []).unwrap_err())[0]
            .starts_with("not a CompositeResourceDefinition")
    );
}

#[test]
fn a_kind_has_one_definition() {
    let first = read(&typed(claimed())).unwrap();
    let second = with(
        with(claimed(), "/metadata/name", json!("ponds.water.example.org")),
        "/spec/names/plural",
        json!("ponds"),
    );
    let mut bare = second.clone();
    bare["spec"].as_object_mut().unwrap().remove("claimNames");
    assert_eq!(
        texts(&check_definition(None, &bare, [&first]).unwrap_err()),
        [
            "spec.names.kind: CompositeResourceDefinition \"xlakes.water.example.org\" defines the kind \"XLake\" in \"water.example.org\" already; choose another kind, or delete that definition first"
        ]
    );
    let crossed = with(bare.clone(), "/spec/names/kind", json!("Lake"));
    assert!(
        check_definition(None, &crossed, [&first]).is_err(),
        "a claim has it"
    );
    let claims = check_definition(None, &second, [&first]).unwrap_err();
    assert!(
        texts(&claims)[1].starts_with("spec.claimNames.kind: "),
        "{claims:?}"
    );
    let mut edited = bare.clone();
    edited["spec"]["defaultCompositionRef"] = json!({"name": "deep"});
    assert!(
        check_definition(Some(&bare), &edited, [&first]).is_ok(),
        "what is stored can be edited"
    );
    let other = with(bare.clone(), "/spec/names/kind", json!("XPond"));
    assert!(check_definition(None, &other, [&first]).is_ok());
    assert!(
        check_definition(None, &claimed(), [&first]).is_ok(),
        "it is the same one"
    );
}

#[test]
fn claims_cannot_be_taken_away() {
    let mut without = claimed();
    without["spec"].as_object_mut().unwrap().remove("claimNames");
    let refused = check_definition(Some(&claimed()), &without, []).unwrap_err();
    assert_eq!(refused, [Refused::ClaimsTakenAway]);
    assert!(check_definition(Some(&without), &claimed(), []).is_ok());
}

#[test]
fn a_definition_in_use_is_deleted_only_if_what_it_defines_may_go_with_it() {
    let (definition, mut consumers) = (legacy(), Consumers::default());
    let claim = definition.claim_type().unwrap();
    let both = [definition.composite_type(), claim.clone()];
    let (name, orphaning) = (definition.name(), orphaning(definition.name()));
    assert_eq!(check_definition_deletion(name, &Users::default()), None);
    assert_eq!(goes_along(&orphaning, &both, &consumers), None);
    for (type_, namespace, name) in [
        (definition.composite_type(), "", "a"),
        (definition.composite_type(), "", "b"),
        (claim, "n", "c"),
    ] {
        let key = Consuming {
            type_: Arc::new(type_),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let wish = Wish::of(&definition, &lake(json!({})));
        let consumer = Consumer {
            wish,
            composes: true,
            failed: false,
        };
        consumers.put(Arc::new(key), consumer);
    }
    let users = Users::new(["Lake n/c", "XLake a", "XLake b"].map(str::to_owned), 3);
    assert_eq!(
        check_definition_deletion(name, &users).unwrap().to_string(),
        "CompositeResourceDefinition \"xlakes.water.example.org\" is in use by Lake n/c, XLake a, XLake b; delete them first, or annotate it \
         with cambium.dev/allow-orphans: \"true\": they and their composed resources are deleted with it"
    );
    assert!(may_go(&orphaning) && !may_go(&called(name)));
    let warning = "xlakes.water.example.org defines 2 XLake and 1 Lake, which are deleted with it, and so are their composed resources";
    assert_eq!(goes_along(&orphaning, &both, &consumers).unwrap(), warning);
    let nothing = goes_along(&orphaning, &[], &consumers);
    assert_eq!(nothing, None, "another one answers for them");
}

#[test]
fn what_may_be_in_use_is_not_deleted() {
    assert_eq!(
        Refused::unknown_users("Composition", "base", "failed to list xlakes".to_owned()).to_string(),
        "Composition \"base\" may be in use: failed to list xlakes; try again, or annotate it with cambium.dev/allow-orphans: \"true\" to delete \
         it regardless of its users"
    );
}

fn called(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn orphaning(name: &str) -> Value {
    json!({"metadata": {"name": name, "annotations": {"cambium.dev/allow-orphans": "true"}}})
}

#[test]
fn pins_must_lead_to_a_revision_that_fits() {
    let (definition, catalogue) = (legacy(), catalogue());
    let check = |pins: Pins, old: Option<&Value>, new: &Value| {
        texts(&check_composite(&definition, &catalogue, pins, old, new))
    };
    let good = pin("base", "base-1");
    assert_eq!(check(Pins::Checked, None, &good), [""; 0]);
    let table = [
        (
            pin("base", "nowhere"),
            "CompositionRevision.apiextensions.crossplane.io \"nowhere\" not found; name one that is there",
        ),
        (
            pin("base", "other-1"),
            "CompositionRevision \"other-1\" belongs to the Composition \"other\", not to \"base\"",
        ),
        (
            pin("alien", "alien-1"),
            "referenced composition is not compatible with this composite resource: alien-1 composes XAlien",
        ),
    ];
    for (wrong, words) in table {
        for old in [None, Some(&good)] {
            let refused = check(Pins::Checked, old, &wrong);
            let expected = format!("spec.compositionRevisionRef.name: {words}");
            assert!(
                refused.len() == 1 && refused[0].starts_with(&expected),
                "{refused:?}"
            );
        }
        assert_eq!(check(Pins::Ignored, None, &wrong), [""; 0]);
        // What it says already is not asked again.
        let mut edited = wrong.clone();
        edited["spec"]["depth"] = json!(3);
        assert_eq!(check(Pins::Checked, Some(&wrong), &edited), [""; 0]);
        let mut automatic = wrong.clone();
        automatic["spec"]["compositionUpdatePolicy"] = json!("Automatic");
        assert_eq!(check(Pins::Checked, None, &automatic), [""; 0]);
        assert_eq!(check(Pins::Checked, Some(&automatic), &wrong).len(), 1);
        let mut going = wrong;
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:00Z");
        assert_eq!(check(Pins::Checked, None, &going), [""; 0]);
    }
    // The composition changes under a pin.
    let mut moved = good.clone();
    moved["spec"]["compositionRef"]["name"] = json!("other");
    assert_eq!(check(Pins::Checked, Some(&good), &moved).len(), 1);
}

#[test]
fn an_enforced_policy_is_named_with_who_enforces_it() {
    let catalogue = Catalogue::default();
    let said = |policy: &str| lake(json!({"compositionUpdatePolicy": policy}));
    let definition = read(&typed(with(
        claimed(),
        "/spec/enforceCompositionUpdatePolicy",
        json!("Manual"),
    )))
    .unwrap();
    let check = |old: Option<&Value>, new: &Value| {
        texts(&check_composite(&definition, &catalogue, Pins::Checked, old, new))
    };
    let expected = "spec.compositionUpdatePolicy: CompositeResourceDefinition \"xlakes.water.example.org\" enforces Manual; \
        leave the field out, or write Manual";
    assert_eq!(check(None, &said("Automatic")), [expected]);
    assert_eq!(check(Some(&said("Manual")), &said("Automatic")), [expected]);
    assert_eq!(
        check(Some(&said("Automatic")), &said("Automatic")),
        [""; 0],
        "it was there before"
    );
    assert_eq!(check(None, &said("Manual")), [""; 0]);
    assert_eq!(check(None, &lake(json!({}))), [""; 0]);
    // Outside of the legacy layout, the field is somewhere else.
    let namespaced = with(lakes(), "/spec/enforceCompositionUpdatePolicy", json!("Manual"));
    let namespaced = read(&typed(with(namespaced, "/spec/scope", json!("Namespaced")))).unwrap();
    let new = lake(json!({"crossplane": {"compositionUpdatePolicy": "Automatic"}}));
    let refused = texts(&check_composite(
        &namespaced,
        &catalogue,
        Pins::Checked,
        None,
        &new,
    ));
    assert!(
        refused[0].starts_with("spec.crossplane.compositionUpdatePolicy: "),
        "{refused:?}"
    );
}
