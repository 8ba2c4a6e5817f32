//! The law of rotation: at every moment, every bundle that an API server may still hold verifies every leaf in use.
//!
//! Replicas look and act in any order, on what they saw long ago, and crash between writes. API servers notice a new bundle late.

use crate::trust;

use std::collections::{BTreeMap, BTreeSet};

use cambium_webhooks::certificates::{
    Authority, Fingerprint, Leaf, LeafStep, Lifetimes, Observed, Plan, SecretStep, Stored, bundle_ids, plan,
};
use cambium_webhooks::names;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use proptest::prelude::*;

const REPLICAS: usize = 2;

const NAME: &str = "webhooks.cambium.svc";

const LIFETIMES: Lifetimes = Lifetimes {
    authority: SignedDuration::from_hours(24 * 60),
    leaf: SignedDuration::from_hours(24 * 12),
    settle: SignedDuration::from_hours(24),
};

/// What can happen.
#[derive(Debug, Clone)]
enum Happening {
    Hours(i64),
    LookAtPlaces(usize),
    LookAtSecret(usize),
    /// Acts on what was seen, and crashes after so many writes.
    Act(usize, usize),
    /// Looks and acts at once, and crashes after so many writes.
    Pass(usize, usize),
    Restart(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    let replica = || 0..REPLICAS;
    prop_oneof![
        2 => (0..240i64).prop_map(Happening::Hours),
        2 => (0..30i64).prop_map(Happening::Hours),
        2 => replica().prop_map(Happening::LookAtPlaces),
        2 => replica().prop_map(Happening::LookAtSecret),
        2 => (replica(), 0..3usize).prop_map(|(replica, writes)| Happening::Act(replica, writes)),
        5 => (replica(), 0..4usize).prop_map(|(replica, writes)| Happening::Pass(replica, writes)),
        1 => replica().prop_map(Happening::Restart),
    ]
}

/// Something with a `resourceVersion`.
#[derive(Debug, Clone, Default)]
struct Versioned<T> {
    version: u64,
    value: T,
}

/// An object that carries a bundle, and what API servers may still believe that it carries.
#[derive(Default)]
struct Place {
    bundle: Versioned<Option<String>>,
    lagging: Vec<(Timestamp, String)>,
}

#[derive(Default)]
struct Replica {
    leaf: Option<Leaf>,
    places: Option<Vec<Versioned<Option<String>>>>,
    /// And when it was looked at: that is when it is decided. The writes come later.
    secret: Option<(Timestamp, Versioned<Option<Secret>>)>,
    published: Option<Timestamp>,
}

struct World {
    now: Timestamp,
    secret: Versioned<Option<Secret>>,
    places: [Place; 2],
    replicas: [Replica; REPLICAS],
    promotions: usize,
    /// When each authority that was published expires.
    expiry: BTreeMap<Fingerprint, Timestamp>,
}

impl World {
    fn new() -> Self {
        Self {
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            secret: Versioned::default(),
            places: Default::default(),
            replicas: Default::default(),
            promotions: 0,
            expiry: BTreeMap::new(),
        }
    }

    fn happen(&mut self, happening: &Happening) {
        match *happening {
            Happening::Hours(hours) => self.now += SignedDuration::from_hours(hours),
            Happening::LookAtPlaces(replica) => self.look_at_places(replica),
            Happening::LookAtSecret(replica) => self.look_at_secret(replica),
            Happening::Act(replica, writes) => {
                self.act(replica, writes);
            }
            Happening::Pass(replica, writes) => {
                self.pass(replica, writes);
            }
            Happening::Restart(replica) => self.replicas[replica] = Replica::default(),
        }
    }

    fn look_at_places(&mut self, replica: usize) {
        self.replicas[replica].secret = None;
        self.replicas[replica].places = Some(self.places.iter().map(|place| place.bundle.clone()).collect());
    }

    /// Only after the places: the order that the reconciler keeps.
    fn look_at_secret(&mut self, replica: usize) {
        if self.replicas[replica].places.is_some() {
            self.replicas[replica].secret = Some((self.now, self.secret.clone()));
        }
    }

    fn pass(&mut self, replica: usize, writes: usize) -> bool {
        self.look_at_places(replica);
        self.look_at_secret(replica);
        self.act(replica, writes)
    }

    /// Whether there was anything to do.
    fn act(&mut self, replica: usize, writes: usize) -> bool {
        let this = &mut self.replicas[replica];
        let (Some(places), Some((then, secret))) = (this.places.take(), this.secret.take()) else {
            return false;
        };
        let stored = Stored::read(secret.value.as_ref());
        let carried = |bundle: &Option<String>| bundle_ids(bundle.as_deref().unwrap_or_default().as_bytes());
        let facts = stored.facts();
        let observed = Observed {
            published_before: std::mem::replace(&mut this.published, facts.published()),
            secret: facts,
            bundles: places.iter().map(|place| carried(&place.value)).collect(),
            leaf: this.leaf.as_ref().map(|leaf| leaf.facts().clone()),
        };
        let plan = plan(&observed, &LIFETIMES, then);
        if plan.secret != SecretStep::Keep {
            self.write_secret(&stored, &plan.secret, secret.version, then);
            return true;
        }
        if let (LeafStep::Sign { until }, Stored::Whole(authorities)) = (&plan.leaf, &stored) {
            this.leaf = Some(Leaf::sign(&authorities.current, &[NAME.to_owned()], then, *until).unwrap());
            return true;
        }
        self.publish(&stored, &plan, &places, writes)
    }

    fn write_secret(&mut self, stored: &Stored, step: &SecretStep, version: u64, then: Timestamp) {
        assert!(
            !matches!(step, SecretStep::Refuse { .. } | SecretStep::ForgetPublished),
            "nobody interferes: {step:?}"
        );
        let Some(after) = stored.after(step, &LIFETIMES, then).unwrap() else {
            return;
        };
        if version == self.secret.version {
            self.promotions += usize::from(*step == SecretStep::Promote);
            self.secret = Versioned {
                version: version + 1,
                value: Some(secret(after.data())),
            };
        }
    }

    fn publish(
        &mut self,
        stored: &Stored,
        plan: &Plan,
        seen: &[Versioned<Option<String>>],
        writes: usize,
    ) -> bool {
        let certificates = stored.certificates();
        let facts = certificates.iter().map(|one| one.facts());
        self.expiry
            .extend(facts.map(|facts| (facts.id.clone(), facts.until)));
        let pem = |id: &Fingerprint| {
            certificates
                .iter()
                .find(|one| one.facts().id == *id)
                .unwrap()
                .pem()
        };
        let bundle: String = plan.bundle.iter().map(pem).collect();
        let different = self.places.iter_mut().zip(seen);
        let different: Vec<_> = different
            .filter(|(_, seen)| seen.value.as_ref() != Some(&bundle))
            .take(writes)
            .collect();
        let any = !different.is_empty();
        for (place, seen) in different {
            if place.bundle.version == seen.version {
                let old = std::mem::replace(
                    &mut place.bundle,
                    Versioned {
                        version: seen.version + 1,
                        value: Some(bundle.clone()),
                    },
                );
                place
                    .lagging
                    .extend(old.value.map(|old| (self.now + LIFETIMES.settle, old)));
            }
        }
        any
    }

    /// The law. A bundle of which everything has expired can believe nobody: that is what comes of not looking for months.
    fn check(&self, seen: &mut BTreeSet<(String, String)>) -> Result<(), TestCaseError> {
        let leaves = self.replicas.iter().filter_map(|replica| replica.leaf.as_ref());
        for leaf in leaves.filter(|leaf| leaf.facts().until > self.now) {
            for place in &self.places {
                let lagging = place.lagging.iter().filter(|(until, _)| *until > self.now);
                for bundle in lagging.map(|(_, bundle)| bundle).chain(&place.bundle.value) {
                    let ids = bundle_ids(bundle.as_bytes());
                    if ids.iter().all(|id| self.expiry[id] <= self.now) {
                        continue;
                    }
                    let by = &leaf.facts().by;
                    prop_assert!(ids.contains(by), "{by} is not in the bundle");
                    if seen.insert((format!("{:?}", leaf.facts()), bundle.clone())) {
                        let believed = trust::believes(bundle, leaf, NAME, self.now);
                        prop_assert!(believed.is_ok(), "{believed:?}");
                    }
                }
            }
        }
        Ok(())
    }
}

fn secret(data: BTreeMap<String, k8s_openapi::ByteString>) -> Secret {
    let labels = [(names::MANAGED_BY.to_owned(), names::CAMBIUM.to_owned())];
    Secret {
        metadata: ObjectMeta {
            labels: Some(labels.into()),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_bundle_verifies_every_leaf_in_use(story in proptest::collection::vec(happening(), 0..160)) {
        let mut world = World::new();
        let mut seen = BTreeSet::new();
        for happening in &story {
            world.happen(happening);
            world.check(&mut seen)?;
        }
        // Left alone, it comes to rest with everything in order, wherever it was.
        for _ in 0..4 {
            for replica in 0..REPLICAS {
                for step in 0.. {
                    prop_assert!(step < 20, "it does not come to rest");
                    if !world.pass(replica, usize::MAX) {
                        break;
                    }
                    world.check(&mut seen)?;
                }
            }
            world.now += LIFETIMES.settle;
        }
        let Stored::Whole(authorities) = Stored::read(world.secret.value.as_ref()) else {
            return Err(TestCaseError::fail("the Secret is whole"));
        };
        let current = authorities.current.certificate().facts();
        prop_assert!(world.now < current.until);
        for replica in &world.replicas {
            let leaf = replica.leaf.as_ref().unwrap().facts();
            prop_assert!(leaf.by == current.id && world.now < leaf.until);
        }
    }
}

#[test]
fn three_years_go_by() {
    let (mut world, mut seen) = (World::new(), BTreeSet::new());
    for _ in 0..3 * 365 {
        for replica in 0..REPLICAS {
            while world.pass(replica, usize::MAX) {
                world.check(&mut seen).unwrap();
            }
        }
        for replica in &world.replicas {
            assert!(replica.leaf.as_ref().unwrap().facts().until > world.now);
        }
        let bundle = world.places[0].bundle.value.as_deref().unwrap();
        assert!(bundle_ids(bundle.as_bytes()).len() <= 2);
        world.now += SignedDuration::from_hours(24);
    }
    assert!(
        (25..=28).contains(&world.promotions),
        "one every forty days or so: {}",
        world.promotions
    );
}

#[test]
fn another_authority_is_not_believed() {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let [one, other] = [0, 1].map(|_| Authority::generate(now, LIFETIMES.authority).unwrap());
    let leaf = Leaf::sign(&one, &[NAME.to_owned()], now, now + LIFETIMES.leaf).unwrap();
    assert!(trust::believes(one.certificate().pem(), &leaf, NAME, now).is_ok());
    assert!(trust::believes(other.certificate().pem(), &leaf, NAME, now).is_err());
    assert!(trust::believes(one.certificate().pem(), &leaf, "others.cambium.svc", now).is_err());
    assert!(trust::believes(one.certificate().pem(), &leaf, NAME, now + LIFETIMES.leaf * 2).is_err());
}

#[test]
fn a_replica_that_saw_the_past_takes_nothing_back() {
    let (mut world, mut seen) = (World::new(), BTreeSet::new());
    world.pass(0, usize::MAX);
    world.pass(1, usize::MAX);
    // It means to write the first bundles, and is stopped until much later.
    world.look_at_places(1);
    world.look_at_secret(1);
    for _ in 0..50 {
        while world.pass(0, usize::MAX) {}
        world.now += SignedDuration::from_hours(24);
    }
    assert_eq!(world.promotions, 1);
    let before = world.places[0].bundle.value.clone();
    assert!(world.act(1, usize::MAX), "it tries");
    assert_eq!(
        world.places[0].bundle.value, before,
        "and is told that it is late"
    );
    world.check(&mut seen).unwrap();
}
