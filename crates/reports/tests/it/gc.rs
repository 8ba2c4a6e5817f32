//! What the manager would delete: the answer is its own plan.

use crate::cluster::{
    XRD, application, application_revision, composite, composition, composition_revision, definition,
    definition_revision, inventory, pinned_claim, platform,
};
use cambium_api::names::{annotation, reason};
use cambium_reports::Inventory;
use cambium_reports::gc::{Action, Limits, Revision, gc};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Nothing is kept that need not be.
const STRICT: Limits = Limits {
    definitions: 0,
    applications: 0,
    compositions: 0,
    grace: SignedDuration::ZERO,
};

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn fates(inventory: &Inventory) -> Vec<Revision> {
    gc(inventory, None, &STRICT, now())
}

/// What becomes of each revision: its name, its fate, and why.
fn shown(inventory: &Inventory) -> Vec<String> {
    let line = |one: &Revision| {
        let why = one.why.join("; ");
        format!("{} {}: {why}", one.action.text(), one.revision)
    };
    fates(inventory).iter().map(line).collect()
}

fn three_revisions() -> Vec<Value> {
    vec![
        platform(),
        composition("c"),
        composition_revision(1, "a"),
        composition_revision(2, "b"),
        composition_revision(3, "c"),
    ]
}

#[test]
fn a_revision_that_only_a_claim_is_pinned_to_stays_as_the_manager_keeps_it() {
    let mut objects = three_revisions();
    objects.push(pinned_claim("books", "stores-a"));
    assert_eq!(
        shown(&inventory(&objects)),
        [
            "keep stores-a: used by Store team/books",
            "delete stores-b: not in use, and newer revisions are kept",
            "keep stores-c: current revision; declared by its composition",
        ]
    );
}

#[test]
fn nothing_is_deleted_while_users_may_not_have_been_seen() {
    let mut inventory = Inventory::default();
    for object in three_revisions() {
        inventory.put(&object).unwrap();
    }
    let kept = "its users are not known: the composite resources of xstores.example.org could not be listed";
    let expected = [
        format!("keep stores-a: {kept}"),
        format!("keep stores-b: {kept}"),
        "keep stores-c: current revision; declared by its composition".to_owned(),
    ];
    assert_eq!(shown(&inventory), expected);
    inventory.compositions.set_seen(XRD);
    assert_eq!(
        actions(&inventory),
        [Action::Delete, Action::Delete, Action::Keep]
    );
}

#[test]
fn a_definition_that_cannot_be_read_may_have_users() {
    let mut broken = platform();
    broken["spec"]["versions"] = json!([]);
    let mut inventory = Inventory::default();
    inventory.put(&broken).unwrap_err();
    for object in &three_revisions()[1..] {
        inventory.put(object).unwrap();
    }
    assert!(actions(&inventory).iter().all(|action| *action == Action::Keep));
}

#[test]
fn a_kind_whose_crd_is_somebody_elses_may_have_users() {
    let mut foreign = platform();
    foreign["status"]["conditions"] = json!([{
        "type": "Established", "status": "False", "reason": reason::CRD_NOT_CONTROLLED,
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let mut objects = three_revisions();
    objects[0] = foreign;
    let inventory = inventory(&objects);
    assert!(actions(&inventory).iter().all(|action| *action == Action::Keep));
}

#[test]
fn what_the_manager_publishes_first_is_current() {
    let mut objects = three_revisions();
    objects[1] = composition("d");
    assert_eq!(
        shown(&inventory(&objects)),
        [
            "delete stores-a: not in use, and newer revisions are kept",
            "delete stores-b: not in use, and newer revisions are kept",
            "delete stores-c: not in use, and newer revisions are kept",
        ]
    );
}

#[test]
fn a_composition_says_how_many_revisions_are_kept() {
    let mut objects = three_revisions();
    let mut limited = composition("c");
    limited["metadata"]["annotations"] = json!({annotation::REVISION_LIMIT: "1"});
    objects[1] = limited;
    objects.push(composite("books", "stores-c"));
    assert_eq!(
        actions(&inventory(&objects)),
        [Action::Delete, Action::Keep, Action::Keep]
    );
}

#[test]
fn the_revisions_of_an_earlier_application_of_the_name_do_not_count() {
    let objects = [
        application("new", "shop-v3"),
        application_revision(1, "old"),
        application_revision(2, "new"),
        application_revision(3, "new"),
    ];
    let limits = Limits {
        applications: 1,
        ..STRICT
    };
    let fates = gc(&inventory(&objects), None, &limits, now());
    let actions: Vec<Action> = fates.iter().map(|one| one.action).collect();
    // Counted among the newest, `shop-v1` would push nothing out here; judged as this Application's own, it would go.
    assert_eq!(actions, [Action::Keep, Action::Keep, Action::Keep]);
    assert_eq!(
        fates[0].why,
        ["belongs to an earlier Application of this name; Kubernetes garbage collects it"]
    );
}

#[test]
fn no_revision_of_an_application_goes_before_it_is_applied() {
    let mut shop = application("shop", "shop-v2");
    shop["status"]["conditions"][2]["status"] = json!("False");
    shop["status"]["conditions"][2]["reason"] = json!("ApplyFailed");
    let objects = [
        shop,
        application_revision(1, "shop"),
        application_revision(2, "shop"),
    ];
    assert_eq!(actions(&inventory(&objects)), [Action::Keep, Action::Keep]);
}

#[test]
fn a_revision_whose_deletion_was_requested_goes_when_nobody_uses_it() {
    let mut going = definition_revision(1, "1.0.0");
    going["metadata"]["deletionTimestamp"] = json!("2026-05-01T00:00:00Z");
    let mut objects = vec![definition("1.1.0"), going, definition_revision(2, "1.1.0")];
    assert_eq!(
        shown(&inventory(&objects)),
        [
            "delete web-v1.0.0: its deletion was requested, and it is not in use",
            "keep web-v1.1.0: current revision; declared by its definition",
        ]
    );
    objects.push(application_revision(1, "shop"));
    objects.push(application("shop", "shop-v1"));
    assert_eq!(
        shown(&inventory(&objects))[0],
        "keep web-v1.0.0: its deletion was requested; the finalizer stays while it is used"
    );
}

#[test]
fn what_is_deleted_leaves_nothing_more_to_delete() {
    let mut objects = three_revisions();
    objects.extend([
        pinned_claim("books", "stores-a"),
        definition("1.2.0"),
        definition_revision(1, "1.0.0"),
        definition_revision(2, "1.1.0"),
        definition_revision(3, "1.2.0"),
        application("shop", "shop-v2"),
        application_revision(1, "shop"),
        application_revision(2, "shop"),
    ]);
    let mut inventory = inventory(&objects);
    let gone: Vec<String> = fates(&inventory)
        .into_iter()
        .filter(|one| one.action == Action::Delete)
        .map(|one| one.revision.to_string())
        .collect();
    assert_eq!(gone, ["web-v1.1.0", "shop-v1", "stores-b"]);
    for object in &objects {
        if gone
            .iter()
            .any(|name| object["metadata"]["name"] == name.as_str())
        {
            inventory.remove(object).unwrap();
        }
    }
    assert!(actions(&inventory).iter().all(|action| *action == Action::Keep));
}

fn actions(inventory: &Inventory) -> Vec<Action> {
    fates(inventory).iter().map(|one| one.action).collect()
}
