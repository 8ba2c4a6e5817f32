//! Usage per namespace: stored objects, plus reservations of writes in flight.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cambium_builtin::{Amounts, Quantity};
use serde_json::Value;

use super::charge::{Charge, bucket_of};
use super::limits::Limits;
use super::scope::Facts;
use super::{QUOTAS, check};
use crate::object;
use crate::server::Server;
use crate::store::{Entry, EventKind};

/// Events read from a bucket's log at a time.
const BATCH: usize = 512;

/// Usage of all namespaces with quotas.
pub(crate) struct Ledger {
    bucket: Arc<str>,
    accounts: Mutex<HashMap<Box<str>, Arc<Mutex<Account>>>>,
}

/// A write to be charged.
pub(super) struct Change<'a> {
    pub(super) bucket: Arc<str>,
    pub(super) key: Arc<str>,
    pub(super) new: &'a Value,
    pub(super) old: Option<&'a Value>,
    /// Whether it is denied if it does not fit, or only counted (status updates).
    pub(super) enforced: bool,
}

/// Usage reserved for a write in flight; released on drop.
pub(crate) struct Reservation {
    account: Arc<Mutex<Account>>,
    number: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let number = self.number;
        lock(&self.account).reserved.retain(|one| one.number != number);
    }
}

/// The quotas and usage of a namespace.
#[derive(Default)]
struct Account {
    quotas: HashMap<Arc<str>, (u64, Arc<Limits>)>,
    tallies: HashMap<Arc<str>, Tally>,
    reserved: Vec<Reserved>,
    numbers: u64,
}

/// The usage of one bucket in one namespace.
#[derive(Default)]
struct Tally {
    /// Revision up to which the bucket's log was read.
    seen: u64,
    objects: HashMap<Arc<str>, (u64, Charge)>,
    /// Sums of objects with equal scope facts.
    sums: BTreeMap<Facts, Amounts>,
}

/// A reservation of a write in flight.
struct Reserved {
    number: u64,
    bucket: Arc<str>,
    key: Arc<str>,
    /// The revision that it replaces; 0 for a new object.
    base: u64,
    charge: Charge,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            bucket: QUOTAS.into(),
            accounts: Mutex::default(),
        }
    }
}

impl Ledger {
    /// Whether a namespace has quotas.
    pub(super) fn any(&self, server: &Server, namespace: &str) -> bool {
        !self.quotas(server, namespace).is_empty()
    }

    fn quotas(&self, server: &Server, namespace: &str) -> Vec<Arc<Entry>> {
        server.store.bucket(&self.bucket).list(&format!("{namespace}/")).0
    }

    /// Reserves the usage that a change adds, or returns the `exceeded quota` message.
    pub(super) fn charge(
        &self,
        server: &Server,
        namespace: &str,
        change: &Change<'_>,
    ) -> Result<Option<Reservation>, String> {
        let shared = self.account(namespace);
        let mut account = lock(&shared);
        account.refresh(&self.quotas(server, namespace));
        let now = server.sources.now();
        let new = Charge::of(&change.bucket, change.new, now);
        let old = change.old.map(|old| Charge::of(&change.bucket, old, now));
        let concerned: Vec<Arc<Limits>> = account
            .limits()
            .into_iter()
            .filter(|limits| limits.names_in(&change.bucket).next().is_some() && limits.covers(&new.facts))
            .collect();
        for limits in &concerned {
            check::left_open(limits, &change.bucket, change.new)?;
        }
        check::is_sane(&new)?;
        let mut is_more = false;
        for limits in &concerned {
            let added = check::added(limits, &new, old.as_ref());
            is_more |= !added.is_empty();
            if change.enforced && !added.is_empty() {
                account.follow(server, namespace, &change.bucket);
                let used = account.used(limits, &change.bucket, Reservations::Counted);
                check::fits(limits, &used, &added)?;
            }
        }
        Ok(is_more.then(|| {
            account.numbers += 1;
            let number = account.numbers;
            let base = change
                .old
                .and_then(|old| object::meta_text(old, "resourceVersion").parse().ok());
            account.reserved.push(Reserved {
                number,
                bucket: change.bucket.clone(),
                key: change.key.clone(),
                base: base.unwrap_or_default(),
                charge: new,
            });
            drop(account);
            Reservation {
                account: shared.clone(),
                number,
            }
        }))
    }

    /// `status.used` of a quota: the usage of stored objects. Resources that are not served yet are left out.
    pub(crate) fn used(&self, server: &Server, quota: &Entry) -> Amounts {
        let namespace = quota.namespace();
        let shared = self.account(namespace);
        let mut account = lock(&shared);
        account.refresh(&self.quotas(server, namespace));
        let limits = Limits::of(&quota.value());
        let mut buckets: Vec<Arc<str>> = limits
            .hard
            .names()
            .filter_map(bucket_of)
            .map(|bucket| Arc::from(&*bucket))
            .collect();
        buckets.sort();
        buckets.dedup();
        buckets.retain(|bucket| is_counted(server, bucket));
        let mut used = Amounts::default();
        for bucket in buckets {
            account.follow(server, namespace, &bucket);
            used.add(&account.used(&limits, &bucket, Reservations::Ignored));
        }
        used
    }

    /// Drops the usage of a namespace without quotas.
    pub(crate) fn forget(&self, namespace: &str) {
        lock(&self.accounts).remove(namespace);
    }

    fn account(&self, namespace: &str) -> Arc<Mutex<Account>> {
        lock(&self.accounts).entry(namespace.into()).or_default().clone()
    }
}

/// Whether reservations of writes in flight count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reservations {
    Counted,
    Ignored,
}

impl Account {
    /// Parses new and changed quotas.
    fn refresh(&mut self, quotas: &[Arc<Entry>]) {
        self.quotas
            .retain(|key, _| quotas.iter().any(|entry| entry.key == *key));
        for entry in quotas {
            let known = self.quotas.get(&entry.key);
            if known.is_none_or(|(revision, _)| *revision != entry.revision) {
                let limits = Arc::new(Limits::of(&entry.value()));
                self.quotas.insert(entry.key.clone(), (entry.revision, limits));
            }
        }
    }

    /// The quotas by name, so that errors are deterministic.
    fn limits(&self) -> Vec<Arc<Limits>> {
        let mut limits: Vec<_> = self.quotas.values().map(|(_, limits)| limits.clone()).collect();
        limits.sort_by(|one, other| one.name.cmp(&other.name));
        limits
    }

    /// Brings the sums of a bucket up to date with the store.
    fn follow(&mut self, server: &Server, namespace: &str, name: &Arc<str>) {
        let bucket = server.store.bucket(name);
        let (prefix, now) = (format!("{namespace}/"), server.sources.now());
        let tally = self.tallies.entry(name.clone()).or_default();
        let mut known = tally.seen > 0;
        while known && tally.seen < bucket.newest() {
            match bucket.events_after(tally.seen, BATCH) {
                Ok(events) => {
                    for event in events {
                        tally.seen = event.entry.revision;
                        if event.entry.key.starts_with(&prefix) {
                            let is_there = event.kind == EventKind::Put;
                            tally.set(
                                &event.entry.key,
                                is_there.then(|| {
                                    (event.entry.revision, Charge::of(name, &event.entry.value(), now))
                                }),
                            );
                        }
                    }
                }
                Err(_) => known = false,
            }
        }
        if !known {
            let (entries, newest) = bucket.list(&prefix);
            *tally = Tally::default();
            for entry in entries {
                let charge = Charge::of(name, &entry.value(), now);
                tally.set(&entry.key, Some((entry.revision, charge)));
            }
            tally.seen = newest;
        }
    }

    /// The usage of a quota by objects of a bucket.
    fn used(&self, limits: &Limits, bucket: &Arc<str>, reservations: Reservations) -> Amounts {
        let nothing = limits
            .names_in(bucket)
            .map(|name| (name.to_owned(), Quantity::of(0)));
        let mut used: Amounts = nothing.collect();
        let Some(tally) = self.tallies.get(bucket) else {
            return used;
        };
        for (_, sum) in tally.sums.iter().filter(|(facts, _)| limits.covers(facts)) {
            used.add(&sum.only(|name, _| limits.hard.get(name).is_some()));
        }
        let reserved = self.reserved.iter().filter(|one| one.bucket == *bucket);
        for one in reserved.filter(|_| reservations == Reservations::Counted) {
            let stored = tally.objects.get(&one.key);
            // What has arrived in the store is counted there.
            if stored.map_or(0, |(revision, _)| *revision) == one.base {
                used.add(&check::added(
                    limits,
                    &one.charge,
                    stored.map(|(_, charge)| charge),
                ));
            }
        }
        used
    }
}

impl Tally {
    fn set(&mut self, key: &Arc<str>, charge: Option<(u64, Charge)>) {
        let before = match charge {
            Some((revision, charge)) => {
                self.sums
                    .entry(charge.facts.clone())
                    .or_default()
                    .add(&charge.amounts);
                self.objects.insert(key.clone(), (revision, charge))
            }
            None => self.objects.remove(key),
        };
        if let Some((_, before)) = before
            && let Some(sum) = self.sums.get_mut(&before.facts)
        {
            sum.subtract(&before.amounts);
            if sum.iter().all(|(_, amount)| amount.is_zero()) {
                self.sums.remove(&before.facts);
            }
        }
    }
}

/// Whether a bucket's resource is served, namespaced and not events.
fn is_counted(server: &Server, bucket: &str) -> bool {
    let (group, plural) = bucket.split_once('/').unwrap_or(("", bucket));
    server.registry().all().any(|served| {
        &*served.group == group && &*served.plural == plural && served.namespaced && served.is_stored()
    }) && plural != "events"
}

/// Nothing panics while these locks are held, so a poisoned one still guards whole data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use serde_json::json;

    fn pod(cpu: i64, deadline: Option<i64>) -> Value {
        json!({"spec": {"activeDeadlineSeconds": deadline,
            "containers": [{"name": "a", "resources": {"requests": {"cpu": format!("{cpu}m")}}}]}})
    }

    fn limits(spec: Value) -> Limits {
        Limits::of(&json!({"metadata": {"name": "q"}, "spec": spec}))
    }

    fn charge(pod: &Value) -> Charge {
        Charge::of("/pods", pod, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_running_sum_is_that_of_the_objects_that_are_left() {
        let bucket: Arc<str> = "/pods".into();
        let quota = limits(json!({"hard": {"pods": "9", "cpu": "9"}, "scopes": ["Terminating"]}));
        let mut account = Account::default();
        let mut left: BTreeMap<Arc<str>, Charge> = BTreeMap::new();
        for step in 0..200_i64 {
            let key: Arc<str> = format!("n/p{}", step * 7 % 11).into();
            let deadline = (step % 3 == 0).then_some(step);
            let tally = account.tallies.entry(bucket.clone()).or_default();
            match step % 5 {
                0 => {
                    left.remove(&key);
                    tally.set(&key, None);
                }
                _ => {
                    let charge = charge(&pod(step + 1, deadline));
                    left.insert(key.clone(), charge.clone());
                    tally.set(&key, Some((1, charge)));
                }
            }
            let mut expected: Amounts = ["pods", "cpu"]
                .map(|name| (name.to_owned(), Quantity::of(0)))
                .into_iter()
                .collect();
            left.values()
                .for_each(|charge| expected.add(&quota.share(charge)));
            let used = account.used(&quota, &bucket, Reservations::Ignored);
            assert_eq!(used, expected, "after step {step}");
        }
    }

    #[test]
    fn what_is_on_its_way_counts_until_it_has_arrived() {
        let bucket: Arc<str> = "/pods".into();
        let quota = limits(json!({"hard": {"cpu": "9"}}));
        let mut account = Account::default();
        account.tallies.insert(bucket.clone(), Tally::default());
        let reserve = |base: u64, cpu: i64| Reserved {
            number: 1,
            bucket: "/pods".into(),
            key: "n/p".into(),
            base,
            charge: charge(&pod(cpu, None)),
        };
        let used = |account: &Account| {
            let used = account.used(&quota, &"/pods".into(), Reservations::Counted);
            used.to_string()
        };
        account.reserved.push(reserve(0, 500));
        assert_eq!(used(&account), "cpu=500m");
        let arrived = Some((7, charge(&pod(500, None))));
        account
            .tallies
            .entry(bucket.clone())
            .or_default()
            .set(&"n/p".into(), arrived);
        assert_eq!(used(&account), "cpu=500m", "once");
        account.reserved.push(reserve(7, 800));
        assert_eq!(used(&account), "cpu=800m", "a change counts with what it adds");
        account.reserved.clear();
        assert_eq!(used(&account), "cpu=500m");
    }
}
