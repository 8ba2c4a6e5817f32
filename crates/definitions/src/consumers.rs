//! An index from definitions to the Applications that reference them.
//!
//! A published version concerns the applications that would get another answer now, and nobody else.

use crate::application::Recorded;
use crate::definition::Uses;
use crate::resolve::kind_in_lock;
use crate::{Artifact, Asked, Catalogue, Follow, Using, asked, follow, resolve};
use cambium_api::names::{SYSTEM_NAMESPACE, condition};
use cambium_api::v1beta1::{ApplicationStatus, DefinitionType};
use cambium_lineage::{InUse, Lineage, Policy, Reference, Users, Version};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// The namespace and name of a DefinitionRevision.
pub type Place = (String, String);

/// An application, by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Consuming {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Consuming {
    /// The application with this namespace and name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The application that an object is.
    pub fn of(application: &Value) -> Self {
        let text = |field: &str| {
            application["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            namespace: text("namespace"),
            name: text("name"),
        }
    }
}

impl fmt::Display for Consuming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// All applications and their revisions, by what they use.
#[derive(Default)]
pub struct Consumers {
    applications: HashMap<Arc<Consuming>, Consumer>,
    by_definition: HashMap<(DefinitionType, String), HashSet<Arc<Consuming>>>,
    users: HashMap<Place, BTreeMap<User, i64>>,
    /// The revisions of each application.
    recorded: HashMap<Arc<Consuming>, BTreeMap<String, Vec<Place>>>,
}

/// An application, as far as publishing concerns it.
struct Consumer {
    /// The update policy; none if the annotations cannot be read.
    follow: Option<Box<Follow>>,
    asked: Vec<(Asked, Option<Using>)>,
    uses: Vec<Place>,
    /// Whether some reference has no answer, or none that can be rendered.
    failed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum User {
    Application(Arc<Consuming>),
    Revision(Arc<Consuming>, String),
}

impl fmt::Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Application(key) => write!(formatter, "Application {key}"),
            Self::Revision(key, name) => write!(formatter, "ApplicationRevision {}/{name}", key.namespace),
        }
    }
}

impl Consumers {
    /// Takes an application as it is now; the revisions that it uses now and did not before, or the reverse.
    pub fn put(&mut self, key: &Consuming, application: &Value) -> BTreeSet<Place> {
        let mut changed = self.remove(key);
        let key = Arc::new(key.clone());
        let status: ApplicationStatus =
            serde_json::from_value(application["status"].clone()).unwrap_or_default();
        let mut uses = Vec::new();
        let mut in_use = BTreeMap::new();
        for reference in &status.references {
            let running = reference.running.as_ref().map(|running| {
                (
                    running.namespace.clone().unwrap_or_default(),
                    running.revision.clone(),
                )
            });
            let Some(revision) = &reference.revision else {
                uses.extend(running);
                continue;
            };
            let namespace = reference.namespace.clone().unwrap_or_default();
            let got = (namespace.clone(), revision.clone());
            uses.extend(running.filter(|running| *running != got));
            uses.push(got);
            if let Ok(name) = revision.parse() {
                let digest = reference.digest.as_deref().and_then(|digest| digest.parse().ok());
                in_use.insert(
                    (reference.definition_type, reference.asked.clone()),
                    Using {
                        namespace,
                        revision: InUse { name, digest },
                    },
                );
            }
        }
        let asked: Vec<_> = asked(application)
            .into_iter()
            .map(|mut asked| {
                asked.path = String::new();
                let in_use = in_use.get(&(asked.type_, asked.text.clone())).cloned();
                (asked, in_use)
            })
            .collect();
        for (asked, _) in &asked {
            let definition = (asked.type_, asked.definition().to_owned());
            self.by_definition
                .entry(definition)
                .or_default()
                .insert(key.clone());
        }
        for place in &uses {
            let users = self.users.entry(place.clone()).or_default();
            *users.entry(User::Application(key.clone())).or_default() += 1;
            // What it used and still uses has not changed.
            if !changed.remove(place) {
                changed.insert(place.clone());
            }
        }
        let holds = |type_: &str| {
            let mut conditions = status.conditions.iter();
            conditions.any(|known| known.type_ == type_ && known.status == "True")
        };
        let consumer = Consumer {
            follow: follow(application).ok().map(Box::new),
            failed: !(holds(condition::RESOLVED) && holds(condition::RENDERED)),
            asked,
            uses,
        };
        self.applications.insert(key, consumer);
        changed
    }

    /// Forgets an application; the revisions that it used.
    pub fn remove(&mut self, key: &Consuming) -> BTreeSet<Place> {
        let Some((key, consumer)) = self.applications.remove_entry(key) else {
            return BTreeSet::new();
        };
        for (asked, _) in &consumer.asked {
            let definition = (asked.type_, asked.definition().to_owned());
            if let Some(keys) = self.by_definition.get_mut(&definition) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.by_definition.remove(&definition);
                }
            }
        }
        let user = User::Application(key);
        for place in &consumer.uses {
            self.forget_use(place, &user);
        }
        consumer.uses.into_iter().collect()
    }

    /// The definitions, by kind and name, that the lock of an application speaks of, each with the version that it names.
    pub fn locked(&self, key: &Consuming) -> BTreeSet<(DefinitionType, String, String)> {
        let consumer = self.applications.get(key);
        let locked = consumer.and_then(|consumer| Some((consumer, consumer.follow.as_ref()?.lock.as_ref()?)));
        let Some((consumer, lock)) = locked else {
            return BTreeSet::new();
        };
        let named = |asked: &Asked| {
            let entries = lock.entries().filter(|(kind, reference, _)| {
                *kind == kind_in_lock(asked.type_) && reference.artifact() == asked.definition()
            });
            let version = entries.filter_map(|(_, _, locked)| locked.version.as_ref());
            let of = |version: &Version| (asked.type_, asked.definition().to_owned(), version.to_string());
            version.map(of).collect::<Vec<_>>()
        };
        consumer
            .asked
            .iter()
            .flat_map(|(asked, _)| named(asked))
            .collect()
    }

    /// Takes a revision of an application; the revisions that it keeps.
    pub fn put_recorded(&mut self, application: &Consuming, recorded: &Recorded) -> BTreeSet<Place> {
        let name = recorded.revision.name().to_string();
        let mut changed = self.remove_recorded(application, &name);
        let application = self.known(application);
        let places: Vec<Place> = recorded
            .definitions
            .iter()
            .map(|used| (used.namespace.clone().unwrap_or_default(), used.revision.clone()))
            .collect();
        for place in &places {
            let users = self.users.entry(place.clone()).or_default();
            *users
                .entry(User::Revision(application.clone(), name.clone()))
                .or_default() += 1;
            changed.insert(place.clone());
        }
        self.recorded.entry(application).or_default().insert(name, places);
        changed
    }

    /// Forgets a revision of an application; the revisions that it kept.
    pub fn remove_recorded(&mut self, application: &Consuming, name: &str) -> BTreeSet<Place> {
        let application = self.known(application);
        let Some(recorded) = self.recorded.get_mut(&application) else {
            return BTreeSet::new();
        };
        let Some(places) = recorded.remove(name) else {
            return BTreeSet::new();
        };
        if recorded.is_empty() {
            self.recorded.remove(&application);
        }
        let user = User::Revision(application, name.to_owned());
        for place in &places {
            self.forget_use(place, &user);
        }
        places.into_iter().collect()
    }

    /// The names of an application's revisions.
    pub fn recorded(&self, application: &Consuming) -> Vec<String> {
        let names = self
            .recorded
            .get(application)
            .into_iter()
            .flat_map(BTreeMap::keys);
        names.cloned().collect()
    }

    /// Whether any application names this definition.
    pub fn is_named(&self, artifact: &Artifact) -> bool {
        let definition = (artifact.type_, artifact.name.clone());
        self.by_definition.contains_key(&definition)
    }

    /// The applications that would get another answer now than the one they have.
    ///
    /// Thousands may ask the same from the same place and have the same: they get the same answer, which is looked for once.
    pub fn concerned(&self, catalogue: &Catalogue, artifact: &Artifact) -> Vec<Arc<Consuming>> {
        let definition = (artifact.type_, artifact.name.clone());
        let keys = self.by_definition.get(&definition).into_iter().flatten();
        let mut known = HashMap::new();
        keys.filter(|key| self.is_concerned_by(catalogue, artifact, key, &mut known))
            .cloned()
            .collect()
    }

    fn is_concerned_by<'c>(
        &'c self,
        catalogue: &Catalogue,
        artifact: &Artifact,
        key: &'c Consuming,
        known: &mut HashMap<Situation<'c>, bool>,
    ) -> bool {
        if !is_in_sight(artifact, key) {
            return false;
        }
        let Some(consumer) = self.applications.get(key) else {
            return false;
        };
        let Some(follow) = &consumer.follow else {
            return false;
        };
        if follow.publish_version.is_some() && !consumer.failed {
            return false;
        }
        consumer.asked.iter().any(|(asked, using)| {
            let same_definition = asked.type_ == artifact.type_ && asked.definition() == artifact.name;
            if !same_definition {
                return false;
            }
            let differs = || differs(catalogue, key, consumer.failed, follow, asked, using.as_ref());
            if follow.lock.is_some() || !catalogue.closures().is_empty() {
                return differs();
            }
            let situation = Situation {
                namespace: &key.namespace,
                text: &asked.text,
                policy: follow.policy,
                using: using.as_ref(),
                failed: consumer.failed,
            };
            *known.entry(situation).or_insert_with(differs)
        })
    }

    /// The users of the revisions of a definition, with at most `shown` names for each revision.
    pub fn uses(&self, artifact: &Artifact, lineage: Option<&Lineage>, shown: usize) -> Uses {
        let mut uses = Uses::default();
        let revisions = lineage.into_iter().flat_map(Lineage::revisions);
        for revision in revisions {
            let place = (artifact.namespace.clone(), revision.name().to_string());
            let Some(users) = self.users.get(&place) else {
                continue;
            };
            let mut by = Users::default();
            let mut references = 0;
            for (user, count) in users {
                by.add(|| user.to_string(), shown);
                if matches!(user, User::Application(_)) {
                    references += count;
                }
            }
            uses.by.insert(revision.name().clone(), by);
            if references > 0 {
                uses.references.insert(revision.name().clone(), references);
            }
        }
        let definition = (artifact.type_, artifact.name.clone());
        let keys = self.by_definition.get(&definition).into_iter().flatten();
        let consumers = keys.filter(|key| is_in_sight(artifact, key)).filter_map(|key| {
            let consumer = self.applications.get(key)?;
            Some((key, consumer, consumer.follow.as_ref()?))
        });
        let mut texts = HashSet::new();
        for (key, consumer, follow) in consumers {
            if follow.policy != Policy::Pinned || consumer.failed {
                let asked = consumer.asked.iter().map(|(asked, _)| asked);
                texts.extend(
                    asked
                        .filter(|asked| asked.type_ == artifact.type_)
                        .map(|asked| asked.text.as_str()),
                );
            }
            add_locked(artifact, lineage, key, follow, shown, &mut uses);
        }
        let followed = texts
            .into_iter()
            .filter_map(|text| text.parse::<Reference>().ok());
        uses.followed
            .extend(followed.filter(|reference| reference.artifact() == artifact.name));
        uses
    }

    fn forget_use(&mut self, place: &Place, user: &User) {
        if let Some(users) = self.users.get_mut(place) {
            users.remove(user);
            if users.is_empty() {
                self.users.remove(place);
            }
        }
    }

    /// The key that is shared already, if there is one.
    fn known(&self, key: &Consuming) -> Arc<Consuming> {
        let known = self.applications.get_key_value(key).map(|(key, _)| key);
        let recorded = || self.recorded.get_key_value(key).map(|(key, _)| key);
        known
            .or_else(recorded)
            .cloned()
            .unwrap_or_else(|| Arc::new(key.clone()))
    }
}

/// Everything that an answer depends on, where there is no lock and no revision is closed.
#[derive(PartialEq, Eq, Hash)]
struct Situation<'c> {
    namespace: &'c str,
    text: &'c str,
    policy: Policy,
    using: Option<&'c Using>,
    failed: bool,
}

/// Whether a reference would get another answer now than the one it has.
fn differs(
    catalogue: &Catalogue,
    key: &Consuming,
    failed: bool,
    follow: &Follow,
    asked: &Asked,
    using: Option<&Using>,
) -> bool {
    let answer = resolve(catalogue, key, follow, asked, using);
    match (answer.outcome, using) {
        (Ok(_), None) => true,
        (Ok(resolved), Some(using)) => {
            let (revision, in_use) = (&resolved.stored.revision, &using.revision);
            failed
                || resolved.stored.artifact.namespace != using.namespace
                || *revision.name() != in_use.name
                || in_use.digest.is_some_and(|digest| digest != revision.digest())
        }
        (Err(_), _) => !failed,
    }
}

/// Adds what locks name: it may not be deleted, even while no reference resolves to it.
fn add_locked(
    artifact: &Artifact,
    lineage: Option<&Lineage>,
    key: &Consuming,
    follow: &Follow,
    shown: usize,
    uses: &mut Uses,
) {
    let locked = follow.lock.iter().flat_map(|lock| lock.entries());
    for (kind, reference, locked) in locked {
        let meant = kind == kind_in_lock(artifact.type_) && reference.artifact() == artifact.name;
        let version = locked.version.as_ref().filter(|_| meant);
        let revision = version.and_then(|version| lineage?.version(version));
        if let Some(revision) = revision {
            let by = uses.by.entry(revision.name().clone()).or_default();
            by.add(|| format!("the lock of Application {key}"), shown);
        }
    }
}

/// Whether an application looks where a definition is: in its own namespace, and in the system's.
fn is_in_sight(artifact: &Artifact, application: &Consuming) -> bool {
    artifact.namespace == application.namespace || artifact.namespace == SYSTEM_NAMESPACE
}
