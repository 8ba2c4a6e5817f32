//! Whom a change concerns, against a model that asks every composite resource by itself.

use cambium_api::crossplane::{TypeReference, UpdatePolicy};
use cambium_compositions::revision::{LabelEdits, Stored};
use cambium_compositions::{
    ByRevision, Catalogue, Consumer, Consumers, Consuming, FromComposition, Live, Selector, Wish,
};
use cambium_lineage::Digest;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const NAMES: [&str; 3] = ["a", "b", "c"];
const KINDS: [&str; 2] = ["XLake", "XSea"];
const CHANNELS: [&str; 2] = ["stable", "beta"];

fn type_(kind: &str) -> TypeReference {
    TypeReference {
        api_version: "example.org/v1".to_owned(),
        kind: kind.to_owned(),
    }
}

fn channel(name: &str) -> Selector {
    Selector::new([("channel".to_owned(), name.to_owned())])
}

/// A composition, as far as it matters who gets it.
#[derive(Debug, Clone, PartialEq)]
struct Composition {
    kind: &'static str,
    channel: &'static str,
}

/// A revision, as far as it matters who gets it.
#[derive(Debug, Clone, PartialEq)]
struct Revision {
    of: &'static str,
    number: u64,
    kind: &'static str,
    channel: &'static str,
    intact: bool,
    /// Whether it is one of an earlier composition of that name.
    earlier: bool,
}

impl Revision {
    fn name(&self) -> String {
        format!("{}-{}", self.of, self.number)
    }

    fn stored(&self) -> Stored {
        let spec = json!({"compositeTypeRef": type_(self.kind), "mode": "Resources", "resources": []});
        let digest = match self.intact {
            true => Digest::of(&spec),
            false => Digest::of(&json!("something else")),
        };
        let mut numbered = spec;
        numbered["revision"] = json!(self.number);
        let uid = if self.earlier { "earlier" } else { self.of };
        let object = json!({
            "metadata": {"name": self.name(), "uid": self.name(),
                "annotations": {"composition.cambium.dev/digest": digest},
                "labels": {"crossplane.io/composition-name": self.of, "channel": self.channel},
                "ownerReferences": [{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
                    "name": self.of, "uid": uid, "controller": true}]},
            "spec": numbered,
        });
        Stored::read(&object, LabelEdits::Follow).unwrap()
    }
}

/// All compositions and revisions, without any index.
#[derive(Debug, Clone, Default)]
struct World {
    compositions: BTreeMap<&'static str, Composition>,
    revisions: BTreeMap<String, Revision>,
}

impl World {
    fn catalogue(&self) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for (name, composition) in &self.compositions {
            let object: Value = json!({
                "metadata": {"name": name, "uid": name, "labels": {"channel": composition.channel}},
                "spec": {"compositeTypeRef": type_(composition.kind), "mode": "Resources", "resources": []},
            });
            catalogue.declare(name, Some(Live::read(&object)));
        }
        for revision in self.revisions.values() {
            catalogue.put(Arc::new(revision.stored()));
        }
        catalogue
    }

    /// The composition that a wish gets.
    fn composition(&self, wish: &Wish) -> Option<String> {
        let selected = |(_, composition): &(&&str, &Composition)| {
            let wanted = wish.composition_selector.as_ref();
            type_(composition.kind) == *wish.composite_type
                && wanted.is_none_or(|wanted| *wanted == channel(composition.channel))
        };
        let first = || self.compositions.iter().find(selected);
        wish.composition
            .clone()
            .or_else(|| first().map(|(name, _)| (*name).to_owned()))
    }

    /// The revision that a wish gets.
    fn revision(&self, wish: &Wish) -> Option<String> {
        let composition = self.composition(wish)?;
        let live = self.compositions.contains_key(composition.as_str());
        let usable = |revision: &&Revision| {
            revision.of == composition && revision.intact && !(revision.earlier && live)
        };
        let found = match (wish.policy, &wish.revision) {
            (UpdatePolicy::Manual, Some(pin)) => self.revisions.get(pin).filter(usable),
            (policy, _) => {
                let selector = wish.revision_selector.as_ref();
                let selector = selector.filter(|_| policy == UpdatePolicy::Automatic);
                let matching = self.revisions.values().filter(usable).filter(|revision| {
                    live && selector.is_none_or(|selector| *selector == channel(revision.channel))
                });
                // Those who select nothing get what the composition says now, if there is such a revision.
                let current = |revision: &Revision| {
                    let live = self.compositions.get(composition.as_str());
                    selector.is_none() && live.is_some_and(|live| live.kind == revision.kind)
                };
                matching.max_by_key(|revision| (current(revision), revision.number))
            }
        };
        found
            .filter(|revision| type_(revision.kind) == *wish.composite_type)
            .map(Revision::name)
    }

    /// What a look at a composite resource leaves.
    fn look(&self, consumer: &mut Consumer) {
        let wish = &mut consumer.wish;
        // What was selected stays.
        wish.composition = self.composition(wish);
        let got = self.revision(wish);
        consumer.failed = got.is_none();
        if got.is_some() {
            wish.revision = got;
        }
    }
}

/// What may happen to compositions and revisions.
#[derive(Debug, Clone)]
enum Event {
    Declare(&'static str, Composition),
    Delete(&'static str),
    Put(Revision),
    Remove(&'static str, u64),
}

impl World {
    /// Lets it happen: to which composition, and for which kinds.
    fn happen(&mut self, event: &Event) -> (&'static str, BTreeSet<TypeReference>) {
        let (name, before, after) = match event {
            Event::Declare(name, now) => {
                let before = self.compositions.insert(name, now.clone());
                (*name, before.map(|before| before.kind), Some(now.kind))
            }
            Event::Delete(name) => {
                let before = self.compositions.remove(name);
                (*name, before.map(|before| before.kind), None)
            }
            Event::Put(now) => {
                let before = self.revisions.insert(now.name(), now.clone());
                (now.of, before.map(|before| before.kind), Some(now.kind))
            }
            Event::Remove(name, number) => {
                let before = self.revisions.remove(&format!("{name}-{number}"));
                (*name, before.map(|before| before.kind), None)
            }
        };
        let types = [before, after].into_iter().flatten().map(type_).collect();
        (name, types)
    }
}

fn composition() -> impl Strategy<Value = Composition> {
    (select(&KINDS), select(&CHANNELS)).prop_map(|(kind, channel)| Composition { kind, channel })
}

fn revision() -> impl Strategy<Value = Revision> {
    let flags = (prop::bool::weighted(0.8), prop::bool::weighted(0.2));
    let kind = prop_oneof![4 => Just(KINDS[0]), 1 => Just(KINDS[1])];
    let place = (select(&NAMES), 1u64..5, kind, select(&CHANNELS));
    (place, flags).prop_map(|((of, number, kind, channel), (intact, earlier))| Revision {
        of,
        number,
        kind,
        channel,
        intact,
        earlier,
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (select(&NAMES), composition()).prop_map(|(name, composition)| Event::Declare(name, composition)),
        1 => select(&NAMES).prop_map(Event::Delete),
        4 => revision().prop_map(Event::Put),
        1 => (select(&NAMES), 1u64..5).prop_map(|(name, number)| Event::Remove(name, number)),
    ]
}

fn consumer() -> impl Strategy<Value = Consumer> {
    let names = prop::option::weighted(0.7, select(&NAMES));
    let selectors = || prop::option::weighted(0.4, select(&CHANNELS).prop_map(channel));
    let revision = prop::option::of((select(&NAMES), 1u64..6));
    let composes = prop::bool::weighted(0.9);
    let how = (select(&[UpdatePolicy::Automatic, UpdatePolicy::Manual]), composes);
    let what = (select(&KINDS), names, selectors(), revision, selectors());
    (what, how).prop_map(
        |((kind, name, selector, revision, channels), (policy, composes))| Consumer {
            wish: Wish {
                composite_type: Arc::new(type_(kind)),
                composition: name.map(str::to_owned),
                composition_selector: selector,
                revision: revision.map(|(of, number)| format!("{of}-{number}")),
                revision_selector: channels,
                policy,
            },
            composes,
            failed: false,
        },
    )
}

fn key(index: usize, consumer: &Consumer) -> Arc<Consuming> {
    Arc::new(Consuming {
        type_: consumer.wish.composite_type.clone(),
        namespace: String::new(),
        name: index.to_string(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Everybody has what it gets. Then something happens, and again: those who would get something else are told, and nobody else is but
    /// those who still get nothing: it may be for another reason.
    #[test]
    fn those_are_concerned_who_would_get_something_else(
        begin in prop::collection::vec(event(), 0..12),
        mut consumers in prop::collection::vec(consumer(), 1..8),
        events in prop::collection::vec(event(), 1..8),
    ) {
        let mut world = World::default();
        for event in &begin {
            world.happen(event);
        }
        let mut index = Consumers::default();
        for (number, consumer) in consumers.iter_mut().enumerate() {
            world.look(consumer);
            index.put(key(number, consumer), consumer.clone());
        }
        for event in &events {
            let (composition, types) = world.happen(event);
            let catalogue = world.catalogue();
            let told: Vec<_> = index.concerned(&catalogue, &ByRevision, composition, &types);
            let unique: BTreeSet<String> = told.iter().map(|key| key.name.clone()).collect();
            prop_assert_eq!(unique.len(), told.len(), "nobody is told twice");
            let mut expected = BTreeSet::new();
            for (number, consumer) in consumers.iter_mut().enumerate() {
                let before = consumer.clone();
                world.look(consumer);
                let other = (before.failed, &before.wish.revision) != (consumer.failed, &consumer.wish.revision);
                if other && consumer.composes {
                    expected.insert(number.to_string());
                }
                let asked = index.is_concerned(&catalogue, &ByRevision, &key(number, consumer));
                prop_assert_eq!(asked, (other || consumer.failed) && consumer.composes);
            }
            let extra = unique.difference(&expected);
            let failed = |name: &String| name.parse().is_ok_and(|number: usize| consumers[number].failed);
            prop_assert!(extra.into_iter().all(failed), "{:?} {:?} {:?}", event, unique, expected);
            prop_assert!(expected.is_subset(&unique), "{:?} {:?} {:?}", event, unique, expected);
            for (number, consumer) in consumers.iter().enumerate() {
                index.put(key(number, consumer), consumer.clone());
            }
        }
    }

    /// Where compositions are used as they are, an edit concerns everybody who uses one, and nobody else.
    #[test]
    fn without_revisions_an_edit_concerns_whoever_names_the_composition(
        consumers in prop::collection::vec(consumer(), 1..8),
        composition in composition(),
    ) {
        let mut world = World::default();
        let (name, types) = world.happen(&Event::Declare("a", composition.clone()));
        let mut index = Consumers::default();
        let mut expected = BTreeSet::new();
        for (number, consumer) in consumers.iter().enumerate() {
            index.put(key(number, consumer), consumer.clone());
            let fits = type_(composition.kind) == *consumer.wish.composite_type;
            let named = consumer.wish.composition.as_deref() == Some("a");
            let is_undecided = consumer.wish.composition.is_none() && fits;
            // None of them has failed before: one that does not fit is told so.
            if consumer.composes && (named || is_undecided) {
                expected.insert(number.to_string());
            }
        }
        let told = index.concerned(&world.catalogue(), &FromComposition, name, &types);
        let told: BTreeSet<String> = told.iter().map(|key| key.name.clone()).collect();
        prop_assert_eq!(told, expected);
    }
}
