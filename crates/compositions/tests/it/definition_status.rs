//! What a definition's status says.

use crate::definitions::{claimed, lakes, typed, with};
use cambium_api::crossplane::{CompositeResourceDefinition, CompositeResourceDefinitionStatus};
use cambium_compositions::definition::{
    Candidate, CrdState, Observed, claim_crd, composite_crd, crd_state, read, status,
};
use jiff::Timestamp;
use serde_json::{Value, json};

const FOREIGN: CrdState = CrdState::Foreign { controller: None };

fn judged(
    source: &CompositeResourceDefinition,
    composite: &CrdState,
    claim: &CrdState,
    now: &str,
) -> CompositeResourceDefinitionStatus {
    let object = serde_json::to_value(source).unwrap();
    let meaning = Candidate::new(None, &object, []).publish();
    status(&Observed {
        source,
        meaning: meaning.as_ref().map_err(Vec::as_slice),
        composite,
        claim,
        now: now.parse::<Timestamp>().unwrap(),
    })
}

const NOON: &str = "2026-01-01T12:00:00Z";
const LATER: &str = "2026-01-01T13:00:00Z";

/// Type, status, reason.
fn short(status: &CompositeResourceDefinitionStatus) -> Vec<[&str; 3]> {
    let conditions = status.conditions.iter();
    conditions
        .map(|one| [one.type_.as_str(), one.status.as_str(), one.reason.as_str()])
        .collect()
}

#[test]
fn conditions_follow_the_crds() {
    use CrdState::{Established, Waiting};
    let refused = CrdState::Refused("too big".to_owned());
    let table = [
        (
            &Waiting,
            &Waiting,
            ["False", "WaitingForCRD"],
            ["False", "WaitingForCRD"],
        ),
        (
            &Established,
            &Waiting,
            ["True", "WatchingCompositeResource"],
            ["False", "WaitingForCRD"],
        ),
        (
            &Established,
            &Established,
            ["True", "WatchingCompositeResource"],
            ["True", "WatchingCompositeResourceClaim"],
        ),
        (
            &Established,
            &FOREIGN,
            ["True", "WatchingCompositeResource"],
            ["False", "CRDNotControlled"],
        ),
        (
            &FOREIGN,
            &refused,
            ["False", "CRDNotControlled"],
            ["False", "InvalidDefinition"],
        ),
    ];
    let source = typed(claimed());
    for (composite, claim, established, offered) in table {
        let found = judged(&source, composite, claim, NOON);
        let expected = [
            ["Established", established[0], established[1]],
            ["Offered", offered[0], offered[1]],
        ];
        assert_eq!(short(&found), expected, "{composite:?} {claim:?}");
        assert!(
            found
                .conditions
                .iter()
                .all(|one| one.observed_generation == Some(4))
        );
    }
}

#[test]
fn nothing_is_offered_without_claims() {
    let source = typed(lakes());
    let found = judged(&source, &CrdState::Established, &CrdState::Waiting, NOON);
    assert_eq!(
        short(&found),
        [["Established", "True", "WatchingCompositeResource"]]
    );
    let kind = json!({"compositeResourceType": {"apiVersion": "water.example.org/v1", "kind": "XLake"}});
    assert_eq!(json!(found.controllers), kind);
}

#[test]
fn the_kinds_that_are_worked_on_are_named() {
    let source = typed(claimed());
    let found = judged(&source, &CrdState::Established, &CrdState::Established, NOON);
    let kinds = json!({
        "compositeResourceType": {"apiVersion": "water.example.org/v1", "kind": "XLake"},
        "compositeResourceClaimType": {"apiVersion": "water.example.org/v1", "kind": "Lake"},
    });
    assert_eq!(json!(found.controllers), kinds);
    let waiting = judged(&source, &CrdState::Waiting, &CrdState::Waiting, NOON);
    assert_eq!(waiting.controllers, None);
    let mut again = source;
    again.status = Some(found);
    let kept = judged(&again, &CrdState::Waiting, &FOREIGN, LATER);
    assert_eq!(json!(kept.controllers), kinds, "what was started goes on");
}

#[test]
fn a_definition_that_goes_takes_its_kinds_along() {
    let source = typed(with(claimed(), "/metadata/deletionTimestamp", json!(NOON)));
    let found = judged(&source, &CrdState::Established, &CrdState::Established, NOON);
    let expected = [
        ["Established", "False", "TerminatingCompositeResource"],
        ["Offered", "False", "TerminatingCompositeResourceClaim"],
    ];
    assert_eq!(short(&found), expected);
}

#[test]
fn what_is_wrong_with_a_definition_is_told_in_full() {
    let bad = with(claimed(), "/metadata/name", json!("other"));
    let bad = with(bad, "/spec/scope", json!("Cluster"));
    let source = typed(bad);
    let found = judged(&source, &CrdState::Waiting, &CrdState::Waiting, NOON);
    let expected = [
        ["Established", "False", "InvalidDefinition"],
        ["Offered", "False", "InvalidDefinition"],
    ];
    assert_eq!(short(&found), expected);
    let message = &found.conditions[0].message;
    assert!(
        message.contains("metadata.name: ") && message.contains("spec.claimNames: "),
        "{message}"
    );
}

#[test]
fn an_unchanged_world_gives_the_same_status() {
    let mut source = typed(claimed());
    let mut first = judged(&source, &CrdState::Established, &CrdState::Waiting, NOON);
    first.other.insert("unknown".to_owned(), json!(1));
    first.conditions.push(
        serde_json::from_value(
            json!({"type": "Theirs", "status": "True", "reason": "Theirs", "message": "",
            "lastTransitionTime": NOON}),
        )
        .unwrap(),
    );
    source.status = Some(first.clone());
    assert_eq!(
        judged(&source, &CrdState::Established, &CrdState::Waiting, LATER),
        first
    );
    let moved = judged(&source, &CrdState::Established, &CrdState::Established, LATER);
    let times: Vec<Value> = moved
        .conditions
        .iter()
        .map(|one| json!(one.last_transition_time))
        .collect();
    assert_eq!(times, [NOON, LATER, NOON]);
    assert_eq!(moved.other, first.other);
}

#[test]
fn a_crd_that_the_definition_does_not_control_is_not_its_own() {
    let definition = read(&typed(claimed())).unwrap();
    assert_eq!(crd_state("u-1", None), CrdState::Waiting);
    for crd in [composite_crd(&definition), claim_crd(&definition).unwrap()] {
        assert_eq!(crd_state("u-1", Some(&crd)), CrdState::Waiting);
        let of = |path: &str, value: Value| {
            let crd = serde_json::from_value(with(json!(crd), path, value)).unwrap();
            crd_state("u-1", Some(&crd))
        };
        let established = |status: &str| json!({"conditions": [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": status}]});
        assert_eq!(of("/status", established("True")), CrdState::Established);
        assert_eq!(of("/status", established("False")), CrdState::Waiting);
        assert_eq!(of("/metadata/ownerReferences", json!([])), FOREIGN);
        assert_eq!(
            of("/metadata/ownerReferences/0/controller", json!(false)),
            FOREIGN
        );
        let other = CrdState::Foreign {
            controller: Some("CompositeResourceDefinition/xlakes.water.example.org".to_owned()),
        };
        assert_eq!(of("/metadata/ownerReferences/0/uid", json!("u-2")), other);
    }
    let found = judged(&typed(lakes()), &FOREIGN, &FOREIGN, NOON);
    assert_eq!(
        found.conditions[0].message,
        "CustomResourceDefinition xlakes.water.example.org is not controlled by this definition, and is unchanged: \
         delete it, or define the composite resource under another name"
    );
}

#[test]
fn names_that_something_else_has_are_told() {
    let source = typed(lakes());
    let mut crd = composite_crd(&read(&source).unwrap());
    let refused = json!({"conditions": [
        {"type": "NamesAccepted", "status": "False", "reason": "KindConflict", "message": "\"XLake\" is already in use",
            "lastTransitionTime": NOON},
        {"type": "Established", "status": "False", "reason": "NotAccepted", "lastTransitionTime": NOON},
    ]});
    crd.status = serde_json::from_value(refused).unwrap();
    crd.metadata.owner_references.as_mut().unwrap()[0].uid = "u-1".to_owned();
    let state = crd_state("u-1", Some(&crd));
    assert_eq!(
        state,
        CrdState::NamesTaken("\"XLake\" is already in use".to_owned())
    );
    let found = judged(&source, &state, &CrdState::Waiting, NOON);
    assert_eq!(short(&found), [["Established", "False", "WaitingForCRD"]]);
    assert_eq!(
        found.conditions[0].message,
        "The names of CustomResourceDefinition xlakes.water.example.org are not accepted: \"XLake\" is already in use; delete the CustomResourceDefinition that has them, or define the composite resource under another name"
    );
}
