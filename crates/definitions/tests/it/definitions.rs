//! What a definition publishes, keeps and deletes.

use crate::world::{World, component, is_nothing};
use cambium_api::VersionState;
use cambium_definitions::definition::Templates;
use cambium_definitions::rehearsal::additions;
use cambium_lineage::RevisionName;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

fn state(world: &World, version: &str) -> String {
    let versions = world.definition["status"]["versions"].as_array().unwrap();
    let found = versions.iter().find(|one| one["version"] == version);
    found.map_or("absent".to_owned(), |one| {
        one["state"].as_str().unwrap().to_owned()
    })
}

#[test]
fn a_version_is_published_once_and_then_stays() {
    let mut world = World::published("a", &["1.0.0", "1.1.0"]);
    assert_eq!(world.names(), ["a-v1.0.0", "a-v1.1.0"]);
    world.apply(&component("a", Some("1.0.0"), "something else"));
    let plan = world.plan();
    assert!(plan.publish.is_empty(), "{:?}", plan.publish);
    world.carry_out(&plan);
    assert_eq!(
        state(&world, "1.0.0"),
        json!(VersionState::Conflict).as_str().unwrap()
    );
    assert!(is_nothing(&world.plan()));
}

#[test]
fn templates_that_are_checked_already_are_not_evaluated_again() {
    let mut definition = component("a", Some("1.0.0"), "one");
    definition["spec"]["schematic"]["cue"]["template"] = json!("outptu: {}\nparameter: {}\n");
    let world = World::new(&definition);
    let added = |templates| {
        let additions = additions(&world.artifact, &definition, None, templates, world.now);
        additions.len()
    };
    assert_eq!(added(Templates::Unchecked), 0, "it cannot be evaluated");
    assert_eq!(added(Templates::Checked), 1, "nobody has tried");
}

#[test]
fn an_edited_revision_is_put_back_and_then_left_alone() {
    let mut world = World::published("a", &["1.0.0"]);
    let before = world.revisions.clone();
    world.revisions.get_mut("a-v1.0.0").unwrap()["spec"]["componentDefinition"]["spec"]["more"] = json!(true);
    let plan = world.plan();
    assert_eq!(plan.publish.len(), 1);
    assert_eq!(plan.publish[0]["spec"], before["a-v1.0.0"]["spec"]);
}

#[test]
fn a_revision_that_nobody_holds_is_held_once() {
    let mut world = World::published("a", &["1.0.0", "1.1.0"]);
    let metadata = &mut world.revisions.get_mut("a-v1.0.0").unwrap()["metadata"];
    metadata.as_object_mut().unwrap().remove("finalizers");
    let plan = world.plan();
    assert_eq!(plan.hold, ["a-v1.0.0".parse().unwrap()]);
    world.carry_out(&plan);
    assert!(is_nothing(&world.plan()));
    // One that is going already cannot be held.
    let metadata = &mut world.revisions.get_mut("a-v1.0.0").unwrap()["metadata"];
    metadata["finalizers"] = json!(["example.com/wait"]);
    metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(world.plan().hold.is_empty());
}

#[test]
fn a_number_that_somebody_edited_stops_no_version() {
    let mut world = World::published("a", &["1.0.0", "1.1.0"]);
    world.revisions.get_mut("a-v1.1.0").unwrap()["spec"]["revision"] = json!(1);
    world.apply(&component("a", Some("1.2.0"), "1.2.0"));
    world.settle();
    assert_eq!(world.names(), ["a-v1.0.0", "a-v1.1.0", "a-v1.2.0"]);
    assert_eq!(world.revisions["a-v1.2.0"]["spec"]["revision"], 3);
    assert_eq!(state(&world, "1.2.0"), "Published");
    let catalogue = world.catalogue();
    assert!(catalogue.get(&world.artifact).unwrap().lineage().is_ok());
}

#[test]
fn numbers_are_never_used_again() {
    let mut world = World::new(&component("a", None, "0"));
    world.settle();
    world.retention.newest = 0;
    for text in ["1", "2", "3"] {
        world.apply(&component("a", None, text));
        world.settle();
    }
    assert_eq!(world.names(), ["a-v4"]);
    // Its definition is remembered even if every revision is lost.
    world.revisions.clear();
    world.apply(&component("a", None, "4"));
    world.settle();
    assert_eq!(world.names(), ["a-v5"]);
}

#[test]
fn a_template_that_does_not_compile_is_told_and_publishes_nothing() {
    let mut broken = component("a", Some("1.0.0"), "x");
    broken["spec"]["schematic"]["cue"]["template"] = json!("output: nowhere\n");
    let mut world = World::new(&broken);
    world.settle();
    assert!(world.names().is_empty());
    assert_eq!(
        state(&world, "1.0.0"),
        json!(VersionState::Invalid).as_str().unwrap()
    );
}

const POOL: [&str; 6] = ["1.0.0", "1.0.1", "1.1.0", "1.1.0-rc.1", "2", "2.0.1"];

#[derive(Debug, Clone)]
enum Step {
    Publish(usize, usize),
    Use(usize),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..POOL.len(), 0..2usize).prop_map(|(version, content)| Step::Publish(version, content)),
        (0..8usize).prop_map(Step::Use),
        (0..8usize).prop_map(Step::Leave),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is published and used: a plan that was carried out leaves nothing to plan, nothing in use is ever deleted, and what
    /// was published under a version is what it stays.
    #[test]
    fn plans_come_to_rest_and_take_nothing_in_use(
        steps in proptest::collection::vec(step(), 1..12), newest in 0..3usize,
    ) {
        let mut world = World::new(&component("a", Some(POOL[0]), "0"));
        world.retention.newest = newest;
        world.settle();
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for step in steps {
            let names: Vec<RevisionName> = world.names().iter().map(|name| name.parse().unwrap()).collect();
            match step {
                Step::Publish(version, content) => {
                    world.apply(&component("a", Some(POOL[version]), &content.to_string()));
                }
                Step::Use(index) if !names.is_empty() => {
                    let name = names[index % names.len()].clone();
                    world.uses.by.entry(name.clone()).or_default().add(|| "somebody".to_owned(), 1);
                    world.uses.references.insert(name, 1);
                }
                Step::Leave(index) if !names.is_empty() => {
                    world.uses.by.remove(&names[index % names.len()]);
                    world.uses.references.remove(&names[index % names.len()]);
                }
                Step::Use(_) | Step::Leave(_) => {}
            }
            world.settle();
            for name in world.uses.by.keys() {
                prop_assert!(world.revisions.contains_key(name.as_str()), "{name} is in use");
            }
            let gone: Vec<String> = first.keys().filter(|name| !world.revisions.contains_key(*name)).cloned().collect();
            for name in gone {
                first.remove(&name);
            }
            for (name, object) in &world.revisions {
                let digest = object["spec"]["digest"].as_str().unwrap().to_owned();
                prop_assert_eq!(first.entry(name.clone()).or_insert(digest.clone()), &digest);
            }
        }
    }
}
