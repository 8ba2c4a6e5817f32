use crate::compositions::state::{CompositeKey, State};
use crate::runtime::{Cache, Outcome};
use cambium_api::crossplane::{Composition, CompositionRevision};
use cambium_compositions::revision::LabelEdits;
use cambium_compositions::{ByRevision, RateLimit};
use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A cluster as far as it is known: objects come in as a watch brings them.
struct Known {
    state: Arc<State>,
    definitions: Arc<Cache>,
    compositions: Arc<Cache>,
    revisions: Arc<Cache>,
    version: u64,
    begin: Instant,
}

impl Known {
    fn new(per_second: Option<u32>) -> Self {
        let rate_limit = per_second.and_then(NonZeroU32::new).map(RateLimit::new);
        let state = Arc::new(State::new(
            Box::new(ByRevision),
            LabelEdits::default(),
            rate_limit,
        ));
        let cache = |resource: ApiResource, changed: fn(&State, &crate::runtime::Change)| {
            let state = state.clone();
            Cache::new(resource, move |change| changed(&state, &change))
        };
        Self {
            definitions: cache(
                crate::compositions::definition::resource(),
                State::definition_changed,
            ),
            compositions: cache(ApiResource::erase::<Composition>(&()), State::composition_changed),
            revisions: cache(
                ApiResource::erase::<CompositionRevision>(&()),
                State::revision_changed,
            ),
            state,
            version: 0,
            begin: Instant::now(),
        }
    }

    fn seen(&mut self, cache: &Arc<Cache>, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        cache.seen(serde_json::from_value(object).expect("an object"));
    }

    /// Defines a kind, and a composition for it.
    fn define(&mut self, kind: &str) {
        let plural = format!("{}s", kind.to_lowercase());
        let definition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": format!("{plural}.example.org"), "uid": plural},
            "spec": {"group": "example.org", "scope": "LegacyCluster", "names": {"kind": kind, "plural": plural},
                "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
            "status": {"controllers": {"compositeResourceType": {"apiVersion": "example.org/v1", "kind": kind}}},
        });
        let composition = json!({
            "metadata": {"name": called(kind), "uid": called(kind)}, "spec": spec(kind),
        });
        self.seen(&self.definitions.clone(), definition);
        self.seen(&self.compositions.clone(), composition);
    }

    /// Publishes a revision of the composition for a kind.
    fn publish(&mut self, kind: &str, number: i64) {
        let name = called(kind);
        let mut spec = spec(kind);
        spec["revision"] = json!(number);
        spec["resources"] = json!([{"name": number.to_string()}]);
        let object = json!({
            "metadata": {
                "name": format!("{name}-{number}"), "uid": format!("{name}-{number}"),
                "creationTimestamp": "2030-01-01T00:00:00Z",
                "labels": {"crossplane.io/composition-name": name},
                "ownerReferences": [{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
                    "name": name, "uid": name, "controller": true}],
            },
            "spec": spec,
        });
        self.seen(&self.revisions.clone(), object);
    }

    /// So many composite resources of a kind, at a revision.
    fn follow(&mut self, cache: &Arc<Cache>, kind: &str, count: usize, number: i64) {
        for index in 0..count {
            self.compose(cache, kind, &index.to_string(), number);
        }
    }

    fn compose(&mut self, cache: &Arc<Cache>, kind: &str, name: &str, number: i64) {
        let object = json!({
            "metadata": {"name": name, "uid": name, "labels": {"written": self.version.to_string()}},
            "spec": {"compositionRef": {"name": called(kind)},
                "compositionRevisionRef": {"name": format!("{}-{number}", called(kind))}},
        });
        self.seen(cache, object);
    }

    /// A composite resource that nobody has looked at.
    fn create(&mut self, cache: &Arc<Cache>, kind: &str, name: &str) {
        let object = json!({
            "metadata": {"name": name, "uid": name}, "spec": {"compositionRef": {"name": called(kind)}},
        });
        self.seen(cache, object);
    }

    /// The composite resources of a kind.
    fn composites(&self, kind: &str) -> Arc<Cache> {
        let gvk = GroupVersionKind::gvk("example.org", "v1", kind);
        let (state, resource) = (self.state.clone(), ApiResource::from_gvk(&gvk));
        Cache::new(resource, move |change| state.composite_changed(&gvk, &change))
    }

    /// Takes what is to be looked at until there is nothing left: who, and how many milliseconds after the begin.
    async fn drain(&self) -> Vec<(CompositeKey, u128)> {
        let mut taken = Vec::new();
        while !self.state.composites.is_idle() {
            let ticket = self.state.composites.next().await.expect("it was not stopped");
            taken.push((ticket.key().clone(), self.begin.elapsed().as_millis()));
            ticket.finish(Outcome::Done);
        }
        taken
    }
}

/// The composition for a kind.
fn called(kind: &str) -> String {
    kind.to_lowercase()
}

fn spec(kind: &str) -> Value {
    json!({"compositeTypeRef": {"apiVersion": "example.org/v1", "kind": kind}, "mode": "Resources", "resources": []})
}

fn times(taken: &[(CompositeKey, u128)], kind: &str) -> Vec<u128> {
    let of_kind = taken.iter().filter(|(key, _)| key.type_.kind == kind);
    of_kind.map(|(_, at)| *at).collect()
}

/// Two kinds whose composite resources are all at their first revision, and nothing left to do.
async fn fleets(per_second: Option<u32>) -> (Known, Arc<Cache>, Arc<Cache>) {
    let mut known = Known::new(per_second);
    known.define("Flood");
    known.define("Calm");
    known.publish("Flood", 1);
    known.publish("Calm", 1);
    let (flood, calm) = (known.composites("Flood"), known.composites("Calm"));
    known.follow(&flood, "Flood", 20, 1);
    known.follow(&calm, "Calm", 2, 1);
    known.state.set_ready();
    known.drain().await;
    known.begin = Instant::now();
    (known, flood, calm)
}

#[tokio::test(start_paused = true)]
async fn without_a_rate_all_move_at_once() {
    let (mut known, ..) = fleets(None).await;
    known.publish("Flood", 2);
    assert_eq!(times(&known.drain().await, "Flood"), [0; 20]);
}

#[tokio::test(start_paused = true)]
async fn a_publish_moves_so_many_in_a_second_and_delays_no_other_kind() {
    let (mut known, ..) = fleets(Some(10)).await;
    known.publish("Flood", 2);
    known.publish("Calm", 2);
    let taken = known.drain().await;
    let even: Vec<u128> = (0..20).map(|index| index * 100).collect();
    assert_eq!(times(&taken, "Flood"), even);
    assert_eq!(times(&taken, "Calm"), [0, 100]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_a_composite_resource_waits_for_no_turn() {
    let (mut known, flood, _) = fleets(Some(1)).await;
    known.publish("Flood", 2);
    known.compose(&flood, "Flood", "19", 1);
    let taken = known.drain().await;
    let edited: Vec<u128> = taken
        .iter()
        .filter(|(key, _)| key.name == "19")
        .map(|(_, at)| *at)
        .collect();
    assert_eq!(edited, [0], "once, and at once");
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_their_turn_take_no_second_one() {
    let (mut known, flood, _) = fleets(Some(10)).await;
    known.publish("Flood", 2);
    // Ten have moved when the next revision comes: they queue behind those who go straight to it.
    for _ in 0..10 {
        let ticket = known.state.composites.next().await.expect("a key");
        let name = ticket.key().name.clone();
        ticket.finish(Outcome::Done);
        known.compose(&flood, "Flood", &name, 2);
        known
            .state
            .composites
            .next()
            .await
            .expect("it was changed")
            .finish(Outcome::Done);
    }
    known.publish("Flood", 3);
    let even: Vec<u128> = (10..30).map(|index| index * 100).collect();
    assert_eq!(times(&known.drain().await, "Flood"), even);
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_starts_keeps_the_pace_for_those_who_are_behind() {
    let mut known = Known::new(Some(10));
    known.define("Flood");
    known.publish("Flood", 1);
    known.publish("Flood", 2);
    let flood = known.composites("Flood");
    for index in 0..4 {
        known.compose(&flood, "Flood", &format!("behind-{index}"), 1);
    }
    known.compose(&flood, "Flood", "there", 2);
    known.create(&flood, "Flood", "new");
    known.state.set_ready();
    tokio::time::advance(Duration::from_millis(1)).await;
    let taken = known.drain().await;
    let mut at_once: Vec<&str> = taken
        .iter()
        .filter(|(_, at)| *at == 1)
        .map(|(key, _)| key.name.as_str())
        .collect();
    at_once.sort_unstable();
    assert_eq!(at_once, ["behind-0", "new", "there"]);
    assert_eq!(times(&taken, "Flood"), [1, 1, 1, 100, 200, 300]);
}
