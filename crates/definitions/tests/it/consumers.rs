//! Who is concerned when something is published.

use crate::world::{World, application, component};
use cambium_api::v1beta1::ResolvedReference;
use cambium_definitions::application::{Happened, Observed, Recorded, draft, status};
use cambium_definitions::{Catalogue, Consumers, Consuming};
use cambium_definitions_render::ClusterVersion;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn look(application: &Value, catalogue: &Catalogue) -> Value {
    let recorded: [Recorded; 0] = [];
    let draft = draft(&Observed {
        application,
        recorded: &recorded,
        catalogue,
        cluster_version: &ClusterVersion::default(),
    });
    let now = Timestamp::from_second(1_000_000).unwrap();
    json!(status(application, &draft, None, &Happened::default(), now))
}

fn resolved(status: &Value) -> Vec<(String, Option<String>, Option<String>, bool)> {
    let references: Vec<ResolvedReference> =
        serde_json::from_value(status["references"].clone()).unwrap_or_default();
    let fine = status["conditions"].as_array().is_some_and(|all| {
        all.iter()
            .any(|one| one["type"] == "Resolved" && one["status"] == "True")
    });
    let of = |one: ResolvedReference| (one.asked, one.revision, one.digest, fine);
    references.into_iter().map(of).collect()
}

const VERSIONS: [&str; 6] = ["1.0.0", "1.0.1", "1.1.0", "2.0.0", "2.1.0-rc.1", "0.9.0"];
const REFERENCES: [&str; 8] = ["a", "a@1", "a@1.0", "a@2", "a@1.0.1", "a@2.1.0-rc.1", "b", "a@>1"];
const ANNOTATIONS: [Option<&str>; 4] = [None, Some("true"), Some("false"), Some("what")];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The index finds exactly those who would get another answer if everybody were asked.
    #[test]
    fn those_are_concerned_who_would_get_another_answer(
        before in proptest::collection::vec(0..VERSIONS.len(), 1..4),
        published in 0..VERSIONS.len(),
        wishes in proptest::collection::vec((proptest::collection::vec(0..REFERENCES.len(), 1..3), 0..ANNOTATIONS.len()), 1..8),
    ) {
        let first = VERSIONS[before[0]];
        let mut world = World::new(&component("a", Some(first), first));
        for version in &before {
            world.apply(&component("a", Some(VERSIONS[*version]), VERSIONS[*version]));
            world.settle();
        }
        let catalogue = world.catalogue();
        let mut consumers = Consumers::default();
        let mut applications = Vec::new();
        for (index, (references, annotation)) in wishes.iter().enumerate() {
            let references: Vec<&str> = references.iter().map(|one| REFERENCES[*one]).collect();
            let annotations = match ANNOTATIONS[*annotation] {
                Some(value) => json!({"app.oam.dev/autoUpdate": value}),
                None => json!({}),
            };
            let mut one = application(&format!("app{index}"), annotations, &references);
            one["status"] = look(&one, &catalogue);
            consumers.put(&Consuming::new("team", format!("app{index}")), &one);
            applications.push(one);
        }
        world.apply(&component("a", Some(VERSIONS[published]), VERSIONS[published]));
        world.settle();
        let catalogue = world.catalogue();
        let concerned: BTreeSet<String> =
            consumers
                .concerned(&catalogue, &world.artifact)
                .iter()
                .map(|key| key.name.clone())
                .collect();
        for one in &applications {
            let name = one["metadata"]["name"].as_str().unwrap();
            let moves = resolved(&one["status"]) != resolved(&look(one, &catalogue));
            // Whoever has some other reference that fails may be asked in vain, but nobody is left out.
            let failed = resolved(&one["status"]).iter().any(|(.., fine)| !fine);
            prop_assert!(!moves || concerned.contains(name), "{name} is left out: {one:#}");
            prop_assert!(moves || failed || !concerned.contains(name), "{name} is asked in vain: {one:#}");
        }
    }
}

#[test]
fn whoever_looks_elsewhere_keeps_nothing() {
    let world = World::published("a", &["1.0.0", "1.1.0"]);
    let catalogue = world.catalogue();
    let shelf = catalogue.get(&world.artifact).unwrap();
    let mut stranger = application("stranger", json!({}), &["a@1.0"]);
    stranger["metadata"]["namespace"] = json!("elsewhere");
    let mut consumers = Consumers::default();
    consumers.put(&Consuming::new("elsewhere", "stranger"), &stranger);
    let uses = consumers.uses(&world.artifact, shelf.lineage().ok(), usize::MAX);
    assert!(uses.followed.is_empty(), "{uses:?}");
    let neighbour = application("neighbour", json!({}), &["a@1.0"]);
    consumers.put(&Consuming::new("team", "neighbour"), &neighbour);
    let uses = consumers.uses(&world.artifact, shelf.lineage().ok(), usize::MAX);
    assert_eq!(uses.followed.len(), 1, "{uses:?}");
}
