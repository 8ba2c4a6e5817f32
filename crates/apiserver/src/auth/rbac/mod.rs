//! RBAC: an authorizer over the roles and bindings in the store.
//!
//! Grants are indexed by subject. The index is rebuilt when a request finds that a role or binding has changed;
//! unchanged objects are not parsed again.

mod aggregation;
mod bloom;
mod cover;
pub(crate) mod escalation;
mod index;
mod policy;
mod reconcile;
mod rule;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use serde_json::Value;

use super::{Action, Authorizer, Decision, Held, MASTERS, User};
use crate::store::{Bucket, Store};
use bloom::BloomFilter;
use index::{Binding, Index, Role};

pub(crate) use aggregation::aggregate;
pub(crate) use reconcile::writes as standard;
pub use rule::Rule;

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Authorizes by the roles and bindings in a store; `system:masters` may do everything.
pub struct Rbac {
    sources: Sources,
    current: ArcSwap<Current>,
    read: Mutex<Read>,
}

/// The buckets of roles and bindings.
struct Sources {
    roles: Arc<Bucket>,
    cluster_roles: Arc<Bucket>,
    bindings: Arc<Bucket>,
    cluster_bindings: Arc<Bucket>,
}

/// The current index, with the revisions that it was built from.
struct Current {
    revisions: Revisions,
    index: Index,
}

type Revisions = [Option<u64>; 4];

/// Parsed objects by key, with the revision that was parsed.
type Known<T> = BTreeMap<Arc<str>, (u64, T)>;

/// The parsed roles and bindings.
#[derive(Default)]
struct Read {
    roles: Known<Arc<Role>>,
    cluster_roles: Known<Arc<Role>>,
    bindings: Known<Arc<Binding>>,
    cluster_bindings: Known<Arc<Binding>>,
}

impl Rbac {
    /// An authorizer over a store.
    pub fn new(store: &Store) -> Self {
        let bucket = |plural: &str| store.bucket(&format!("{GROUP}/{plural}").into());
        Self {
            sources: Sources {
                roles: bucket("roles"),
                cluster_roles: bucket("clusterroles"),
                bindings: bucket("rolebindings"),
                cluster_bindings: bucket("clusterrolebindings"),
            },
            current: ArcSwap::from_pointee(Current {
                revisions: [None; 4],
                index: Index::default(),
            }),
            read: Mutex::default(),
        }
    }

    /// The current index.
    fn index(&self) -> Arc<Current> {
        let current = self.current.load_full();
        if current.revisions == self.sources.revisions() {
            return current;
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current.load_full();
        if current.revisions == self.sources.revisions() {
            return current;
        }
        let sources = &self.sources;
        let revisions = [
            follow(&sources.roles, &mut read.roles, role),
            follow(&sources.cluster_roles, &mut read.cluster_roles, role),
            follow(&sources.bindings, &mut read.bindings, binding),
            follow(&sources.cluster_bindings, &mut read.cluster_bindings, binding),
        ];
        let bindings = read.cluster_bindings.values().chain(read.bindings.values());
        let bindings = bindings.map(|(_, binding)| binding);
        let index = Index::build(bindings, &read.roles, &read.cluster_roles);
        let current = Arc::new(Current { revisions, index });
        self.current.store(current.clone());
        current
    }

    /// The rules that apply to a user in a namespace, or in the cluster when it is empty.
    pub(crate) fn held(&self, user: &User, namespace: &str) -> Held {
        let mut held = Held::default();
        for given in self.index().index.given(user, namespace) {
            match given.role() {
                Ok(role) => held.rules.extend_from_slice(&role.rules),
                Err(problem) => held.problems.push(problem),
            }
        }
        held
    }
}

impl Authorizer for Rbac {
    fn authorize(&self, user: &User, action: &Action<'_>) -> Decision {
        if user.is_in(MASTERS) {
            return Decision::Allow(String::new());
        }
        let (mut problems, filter) = (Vec::new(), BloomFilter::of_action(action));
        for given in self.index().index.given(user, action.namespace()) {
            match given.role() {
                Ok(role) if role.allows(action, filter) => {
                    return Decision::Allow(format!("RBAC: allowed by {}", given.source()));
                }
                Ok(_) => {}
                Err(problem) => problems.push(problem),
            }
        }
        Decision::NoOpinion(match problems.as_slice() {
            [] => String::new(),
            problems => format!("RBAC: {}", together(problems)),
        })
    }

    fn rules_for(&self, user: &User, namespace: &str) -> Option<Held> {
        Some(self.held(user, namespace))
    }
}

/// Joins errors as Go's `Aggregate` prints them.
pub(crate) fn together(problems: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for problem in problems {
        if !distinct.contains(&problem.as_str()) {
            distinct.push(problem);
        }
    }
    match distinct.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

impl Sources {
    fn revisions(&self) -> Revisions {
        [
            &self.roles,
            &self.cluster_roles,
            &self.bindings,
            &self.cluster_bindings,
        ]
        .map(|bucket| Some(bucket.newest()))
    }
}

fn role(object: &Value) -> Arc<Role> {
    Arc::new(Role::from_json(object))
}

fn binding(object: &Value) -> Arc<Binding> {
    Arc::new(Binding::from_json(object))
}

/// Parses changed objects of a bucket; returns the revision read up to.
fn follow<T: Clone>(bucket: &Bucket, known: &mut Known<T>, read: impl Fn(&Value) -> T) -> Option<u64> {
    let (entries, newest) = bucket.list("");
    let mut before = std::mem::take(known);
    for entry in entries {
        let unchanged = before
            .remove(&entry.key)
            .filter(|(revision, _)| *revision == entry.revision);
        let now = unchanged.unwrap_or_else(|| (entry.revision, read(&entry.value())));
        known.insert(entry.key.clone(), now);
    }
    Some(newest)
}

#[cfg(test)]
mod tests;
