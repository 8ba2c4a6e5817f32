//! What edits make of a composition's revisions: laws that hold whatever happens, in a world without a server.

use cambium_compositions::revision::{LabelEdits, Observed, Plan, Stored, plan};
use cambium_compositions::{Catalogue, Live, Uses};
use cambium_lineage::{Retention, RevisionName, Users};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A composition, its revisions, and what was written about them.
struct World {
    composition: Option<Value>,
    revisions: BTreeMap<String, Value>,
    issued: u64,
    uses: Uses,
    edits: LabelEdits,
    now: Timestamp,
    made: usize,
    /// Every number that was ever given, and every revision that was deleted by a plan.
    given: BTreeSet<i64>,
}

impl World {
    fn new(edits: LabelEdits) -> Self {
        Self {
            composition: None,
            revisions: BTreeMap::new(),
            issued: 0,
            uses: Uses::default(),
            edits,
            now: "2030-01-01T00:00:00Z".parse().unwrap(),
            made: 0,
            given: BTreeSet::new(),
        }
    }

    fn write(&mut self, content: &str, channel: &str) {
        let composition = self.composition.get_or_insert_with(|| {
            self.made += 1;
            json!({"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
                "metadata": {"name": "base", "uid": format!("composition-{}", self.made), "generation": 0}})
        });
        let generation = composition["metadata"]["generation"].as_i64().unwrap();
        composition["metadata"]["generation"] = json!(generation + 1);
        composition["metadata"]["labels"] = json!({"channel": channel});
        composition["spec"] = json!({
            "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "XThing"},
            "resources": [{"name": content, "base": {"apiVersion": "v1", "kind": "ConfigMap"}}],
        });
    }

    fn plan(&self) -> Plan {
        let mut catalogue = Catalogue::default();
        catalogue.declare("base", self.composition.as_ref().map(Live::read));
        for revision in self.revisions.values() {
            catalogue.put(Arc::new(Stored::read(revision, self.edits).unwrap()));
        }
        let Some(shelf) = catalogue.get("base") else {
            return Plan::default();
        };
        plan(
            &Observed {
                name: "base",
                composition: self.composition.as_ref(),
                shelf,
                issued: self.issued,
                taken: &|name| self.revisions.contains_key(name),
                uses: &self.uses,
                edits: self.edits,
                retention: Retention {
                    newest: 1,
                    grace: SignedDuration::ZERO,
                    delay: SignedDuration::from_secs(10),
                },
            },
            self.now,
        )
    }

    /// Does what a plan says, as a controller and an API server would.
    fn carry_out(&mut self, plan: &Plan) {
        self.issued = plan.reserve.unwrap_or(self.issued);
        for (name, patch) in &plan.change {
            merge(self.revisions.get_mut(name.as_str()).unwrap(), patch);
        }
        if let Some(object) = &plan.create {
            let mut object = object.clone();
            self.made += 1;
            object["metadata"]["uid"] = json!(format!("revision-{}", self.made));
            object["metadata"]["creationTimestamp"] = json!(self.now);
            let number = object["spec"]["revision"].as_i64().unwrap();
            assert!(self.given.insert(number), "{number} was given before");
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            assert!(self.revisions.insert(name, object).is_none());
        }
        for (name, status) in &plan.statuses {
            let patch = json!({"status": status});
            merge(self.revisions.get_mut(name.as_str()).unwrap(), &patch);
        }
        for (name, uid) in &plan.delete {
            let gone = self.revisions.remove(name.as_str()).unwrap();
            assert_eq!(gone["metadata"]["uid"], json!(uid));
        }
        if let (Some(status), Some(composition)) = (&plan.status, &mut self.composition) {
            composition["status"] = json!(status);
        }
        self.given.extend(
            self.revisions
                .values()
                .filter_map(|revision| revision["spec"]["revision"].as_i64()),
        );
    }

    /// Until there is nothing left to do now.
    fn settle(&mut self) {
        for _ in 0..10 {
            let plan = self.plan();
            self.carry_out(&plan);
            let idle = plan.create.is_none() && plan.change.is_empty() && plan.status.is_none();
            if idle && plan.statuses.is_empty() && plan.delete.is_empty() {
                return;
            }
        }
        panic!("it does not come to rest: {:?}", self.plan());
    }

    fn current(&self) -> &Value {
        let highest = |revision: &&Value| revision["spec"]["revision"].as_i64();
        self.revisions.values().max_by_key(highest).unwrap()
    }
}

/// A merge patch, as an API server applies it.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut object[name], value);
        }
    }
}

#[derive(Debug, Clone)]
enum Act {
    Write(usize, usize),
    Use(usize),
    Leave(usize),
    Wait,
    Restart,
    DeleteRevision(usize),
    Orphan(usize),
    Edit(usize),
    Recreate(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..4usize, 0..2usize).prop_map(|(content, channel)| Act::Write(content, channel)),
        2 => (0..6usize).prop_map(Act::Use),
        1 => (0..6usize).prop_map(Act::Leave),
        2 => Just(Act::Wait),
        1 => Just(Act::Restart),
        1 => (0..6usize).prop_map(Act::DeleteRevision),
        1 => (0..6usize).prop_map(Act::Orphan),
        1 => (0..6usize).prop_map(Act::Edit),
        1 => (0..4usize).prop_map(Act::Recreate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_current_revision_has_the_highest_number_and_what_is_used_stays(
        acts in prop::collection::vec(act(), 1..25), gate in any::<bool>(),
    ) {
        let edits = if gate { LabelEdits::Issue } else { LabelEdits::Follow };
        let mut world = World::new(edits);
        world.write("content 0", "channel 0");
        world.settle();
        for act in acts {
            let names: Vec<String> = world.revisions.keys().cloned().collect();
            let pick = |at: usize| names[at % names.len()].clone();
            match act {
                Act::Write(content, channel) => {
                    world.write(&format!("content {content}"), &format!("channel {channel}"));
                }
                Act::Use(at) => {
                    let name: RevisionName = pick(at).parse().unwrap();
                    world.uses.by.insert(name, Users::new(["somebody".to_owned()], 1));
                }
                Act::Leave(at) => drop(world.uses.by.remove(pick(at).as_str())),
                Act::Wait => world.now += 11.seconds(),
                Act::Restart => {}
                Act::DeleteRevision(at) => {
                    let name = pick(at);
                    world.uses.by.remove(name.as_str());
                    world.revisions.remove(&name);
                }
                Act::Orphan(at) => {
                    let name = pick(at);
                    world.revisions.get_mut(&name).unwrap()["metadata"]["ownerReferences"] = json!([]);
                }
                Act::Edit(at) => {
                    let name = pick(at);
                    world.revisions.get_mut(&name).unwrap()["spec"]["resources"][0]["name"] = json!("edited");
                }
                Act::Recreate(content) => {
                    // The garbage collector takes the revisions along.
                    world.composition = None;
                    world.revisions.clear();
                    world.uses = Uses::default();
                    world.write(&format!("content {content}"), "channel 0");
                }
            }
            let used: Vec<RevisionName> = world.uses.by.keys().cloned().collect();
            world.settle();
            for name in used {
                prop_assert!(world.revisions.contains_key(name.as_str()), "{name} is in use, and gone");
            }
            let composition = world.composition.clone().unwrap();
            let mut content = world.current()["spec"].clone();
            content.as_object_mut().unwrap().remove("revision");
            prop_assert_eq!(&content, &composition["spec"]);
            prop_assert_eq!(&world.current()["metadata"]["labels"]["channel"], &composition["metadata"]["labels"]["channel"]);
            let status = &composition["status"];
            prop_assert_eq!(&status["currentRevision"]["name"], &world.current()["metadata"]["name"]);
            prop_assert_eq!(&status["highWaterMark"], &json!(world.issued));
            let numbers: BTreeSet<i64> =
                world.revisions.values().filter_map(|revision| revision["spec"]["revision"].as_i64()).collect();
            prop_assert_eq!(numbers.len(), world.revisions.len());
            for revision in world.revisions.values() {
                prop_assert_eq!(&revision["metadata"]["ownerReferences"][0]["uid"], &composition["metadata"]["uid"]);
            }
        }
        // What nothing needs goes: the current one and one more are left, and those in use.
        for _ in 0..3 {
            world.now += 11.seconds();
            world.settle();
        }
        prop_assert!(world.revisions.len() <= 2 + world.uses.by.len(), "{:?}", world.revisions.keys());
    }
}

#[test]
fn nothing_is_marked_or_deleted_while_users_may_be_unseen() {
    let mut world = World::new(LabelEdits::Follow);
    for content in ["one", "two", "three", "four"] {
        world.uses.unseen = true;
        world.write(content, "dev");
        world.settle();
        world.now += 11.seconds();
    }
    world.settle();
    assert_eq!(world.revisions.len(), 4);
    let marked = |world: &World| {
        let revisions = world.revisions.values();
        revisions
            .filter(|one| !one["status"]["unusedSince"].is_null())
            .count()
    };
    assert_eq!(marked(&world), 0);
    let says = |world: &World| {
        world
            .revisions
            .values()
            .any(|one| !one["status"]["consumers"].is_null())
    };
    assert!(!says(&world), "what is not known is not said");
    assert!(
        world.plan().again_at > Some(world.now),
        "it looks again, and not at once"
    );
    // Everybody was seen: what nobody uses is marked.
    world.uses.unseen = false;
    world.settle();
    assert_eq!((world.revisions.len(), marked(&world)), (4, 2));
    // What was marked before stays too, when somebody may be unseen again.
    world.uses.unseen = true;
    world.now += 11.seconds();
    world.settle();
    assert_eq!(world.revisions.len(), 4);
    world.uses.unseen = false;
    world.settle();
    assert_eq!(world.revisions.len(), 2);
}

#[test]
fn whose_a_revision_is_stays_on_its_label() {
    let mut world = World::new(LabelEdits::Follow);
    for content in ["one", "two"] {
        world.write(content, "dev");
        world.settle();
    }
    const LABEL: &str = "crossplane.io/composition-name";
    for revision in world.revisions.values_mut() {
        revision["metadata"]["labels"][LABEL] = json!("another");
        revision["metadata"]["labels"]["theirs"] = json!("stays");
    }
    world.settle();
    assert_eq!(world.revisions.len(), 2);
    for revision in world.revisions.values() {
        assert_eq!(revision["metadata"]["labels"][LABEL], "base");
        assert_eq!(revision["metadata"]["labels"]["theirs"], "stays");
    }
}

#[test]
fn a_label_set_by_hand_stays_and_the_others_follow() {
    let mut world = World::new(LabelEdits::Follow);
    world.write("content", "dev");
    world.settle();
    let set = |world: &mut World, channel: Value| {
        let revision = world.revisions.values_mut().next().unwrap();
        let labels = revision["metadata"]["labels"].as_object_mut().unwrap();
        match channel {
            Value::Null => drop(labels.remove("channel")),
            channel => drop(labels.insert("channel".to_owned(), channel)),
        }
        world.settle();
    };
    let relabel = |world: &mut World, labels: Value| {
        world.composition.as_mut().unwrap()["metadata"]["labels"] = labels;
        world.settle();
    };
    let labels = |world: &World| {
        let labels = &world.current()["metadata"]["labels"];
        (labels["channel"].clone(), labels["team"].clone())
    };
    set(&mut world, json!("stable"));
    assert_eq!(labels(&world), (json!("stable"), Value::Null));
    relabel(&mut world, json!({"channel": "beta", "team": "blue"}));
    assert_eq!(
        labels(&world),
        (json!("stable"), json!("blue")),
        "one was set by hand"
    );
    relabel(&mut world, json!({"team": "red"}));
    assert_eq!(labels(&world), (json!("stable"), json!("red")), "and stays");
    relabel(&mut world, json!({"channel": "dev"}));
    assert_eq!(labels(&world), (json!("stable"), Value::Null));
    // Given back, it follows again.
    set(&mut world, json!("dev"));
    relabel(&mut world, json!({"channel": "beta"}));
    assert_eq!(labels(&world), (json!("beta"), Value::Null));
    // What was taken away by hand stays away.
    set(&mut world, Value::Null);
    assert_eq!(labels(&world), (Value::Null, Value::Null));
    relabel(&mut world, json!({"channel": "gamma"}));
    assert_eq!(labels(&world), (Value::Null, Value::Null));
}

#[test]
fn what_cannot_work_is_not_published_though_nobody_asked_admission() {
    let mut world = World::new(LabelEdits::Follow);
    world.write("one", "stable");
    world.settle();
    let before = world.current()["metadata"]["name"].clone();
    world.write("two", "stable");
    let composition = world.composition.as_mut().unwrap();
    composition["spec"]["resources"][0]["patches"] = json!([{"type": "Sideways"}]);
    let refused = world.plan();
    assert_eq!(refused.create, None);
    let said = serde_json::to_value(refused.status.unwrap()).unwrap();
    let ready = &said["conditions"][0];
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("InvalidComposition"))
    );
    assert!(
        ready["message"]
            .as_str()
            .unwrap()
            .contains("spec.resources[0].patches[0].type"),
        "{ready}"
    );
    world.settle();
    assert_eq!(world.current()["metadata"]["name"], before);
    // What was published before is not judged again.
    world.write("one", "stable");
    world.settle();
    assert_eq!(world.current()["metadata"]["name"], before);
}
