//! What is known of compositions and composite resources, and who is told of changes.

mod claims;
mod followers;
mod kinds;

use super::emitted_events::EmittedEvents;
use super::required_resources::Required;
use super::waiters::Waiters;
use crate::debounce::{SETTLE, requeue, same_intent};
use crate::runtime::{Change, MetadataEvent, Origin, Queue, Record, Resource};
use cambium_api::crossplane::{CompositeResourceDefinition, Scope, TypeReference};
use cambium_compositions::composite::Became;
use cambium_compositions::definition::{self, Definition};
use cambium_compositions::revision::{LabelEdits, Stored};
use cambium_compositions::{
    Catalogue, CompositionFetcher, Consumer, Consumers, Consuming, Found, Live, RateLimit, Selector, Wish,
};
use cambium_objects::{Object, is_within};
use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::watch;

pub(super) use kinds::Served;

/// Which composite resource or claim.
pub(crate) type CompositeKey = Arc<Consuming>;

/// EmittedEvents that an object of a kind has changed.
pub(super) type ChildChanged = fn(&State, &GroupVersionKind, &Change);

/// What is known of a cluster. Locks are taken in the order of the fields.
pub(crate) struct State {
    defined: RwLock<BTreeMap<String, Arc<Defined>>>,
    /// What is known of the CRDs of definitions, by their names.
    served: RwLock<HashMap<String, Served>>,
    /// The groups and kinds of definitions that cannot be read and could not be before, by the definitions' names.
    unread: RwLock<BTreeMap<String, (String, String)>>,
    catalogue: RwLock<Catalogue>,
    consumers: RwLock<Consumers>,
    /// Composite resources that miss a kind, by its group.
    pub(super) kinds_missed: Waiters,
    /// Composite resources that could not have a function called.
    pub(super) functions_missed: Waiters,
    /// What functions look at.
    pub(super) required: Required,
    /// What functions said about composite resources.
    pub(super) emitted: EmittedEvents,
    /// Which connection secrets of composite resources were not read.
    pub(super) emitted_about_secrets: EmittedEvents,
    fetcher: Box<dyn CompositionFetcher + Send + Sync>,
    edits: LabelEdits,
    /// Definitions to look at.
    pub(super) definitions: Queue<String>,
    /// Compositions to look at.
    pub(super) compositions: Queue<String>,
    /// Composite resources to look at.
    pub(super) composites: Queue<CompositeKey>,
    /// Claims to look at.
    pub(super) claims: Queue<CompositeKey>,
    /// When those whom a publish concerns are looked at; at once without it.
    rate_limit: Option<Mutex<RateLimit>>,
    /// Whether everything was seen once. Before that, nobody can say who is concerned.
    ready: AtomicBool,
    /// EmittedEvents when other kinds are defined than before.
    kinds_changed: watch::Sender<()>,
    /// What became of what was applied, where the API server made something else of it, with the digest of the manifest.
    rewritten: Mutex<HashMap<Object, (String, Became)>>,
}

/// A kind of composite resources.
#[derive(Debug)]
pub(super) struct Defined {
    pub(super) definition: Definition,
    pub(super) type_: Arc<TypeReference>,
    pub(super) composite: Resource,
    pub(super) claim: Option<Resource>,
    claim_type: Option<Arc<TypeReference>>,
    /// The identity of the definition, which controls its CRDs.
    pub(super) uid: String,
    /// Whether composite resources were served, as far as the status of the definition says.
    established: bool,
    /// Whether claims were, as far as it says.
    offered: bool,
}

impl Defined {
    pub(super) fn new(definition: Definition, object: &Value) -> Self {
        let resource = |names: &cambium_api::crossplane::Names, namespaced: bool| {
            let (group, version) = (definition.group(), definition.referenceable());
            Resource {
                api_resource: ApiResource {
                    group: group.to_owned(),
                    version: version.to_owned(),
                    api_version: format!("{group}/{version}"),
                    kind: names.kind.clone(),
                    plural: names.plural.clone(),
                },
                namespaced,
            }
        };
        // A condition may be false because of an edit: what is worked on is still there.
        let worked_on = |field: &str, names: Option<&cambium_api::crossplane::Names>| {
            names.is_some_and(|names| object["status"]["controllers"][field]["kind"] == names.kind)
        };
        Self {
            type_: Arc::new(definition.composite_type()),
            composite: resource(definition.names(), definition.scope() == Scope::Namespaced),
            claim: definition.claim_names().map(|names| resource(names, true)),
            claim_type: definition.claim_type().map(Arc::new),
            uid: object["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            established: worked_on("compositeResourceType", Some(definition.names())),
            offered: worked_on("compositeResourceClaimType", definition.claim_names()),
            definition,
        }
    }

    /// The plurals of its kinds.
    fn plurals(&self) -> Vec<String> {
        let kinds = [Some(&self.composite), self.claim.as_ref()].into_iter().flatten();
        kinds.map(|kind| kind.api_resource.plural.clone()).collect()
    }
}

impl State {
    pub(super) fn new(
        fetcher: Box<dyn CompositionFetcher + Send + Sync>,
        edits: LabelEdits,
        rate_limit: Option<RateLimit>,
    ) -> Self {
        Self {
            defined: RwLock::default(),
            served: RwLock::default(),
            unread: RwLock::default(),
            catalogue: RwLock::default(),
            consumers: RwLock::default(),
            kinds_missed: Waiters::default(),
            functions_missed: Waiters::default(),
            required: Required::default(),
            emitted: EmittedEvents::default(),
            emitted_about_secrets: EmittedEvents::default(),
            fetcher,
            edits,
            definitions: Queue::default(),
            compositions: Queue::default(),
            composites: Queue::default(),
            claims: Queue::default(),
            rate_limit: rate_limit.map(Mutex::new),
            ready: AtomicBool::new(false),
            kinds_changed: watch::Sender::new(()),
            rewritten: Mutex::default(),
        }
    }

    pub(super) fn catalogue(&self) -> RwLockReadGuard<'_, Catalogue> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn consumers(&self) -> RwLockReadGuard<'_, Consumers> {
        self.consumers.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is for a composite resource that asks for this.
    pub(super) fn look(&self, consumer: &Consuming, wish: &Wish) -> Found {
        cambium_compositions::look(&*self.fetcher, &self.catalogue(), consumer, wish)
    }

    pub(super) fn fetcher(&self) -> &dyn CompositionFetcher {
        &*self.fetcher
    }

    pub(super) fn edits(&self) -> LabelEdits {
        self.edits
    }

    pub(super) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
        self.kinds_changed.send_replace(());
    }

    /// Whether everything was seen once.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Remembers what an applied object has become, if that is not what was applied.
    pub(super) fn remember_applied(
        &self,
        object: &Object,
        digest: &str,
        manifest: &Value,
        applied: &Value,
        ignored: &[String],
    ) {
        let mut rewritten = self.rewritten.lock().unwrap_or_else(PoisonError::into_inner);
        if is_within(manifest, applied) {
            rewritten.remove(object);
        } else {
            let became = Became {
                generation: applied["metadata"]["generation"].as_i64(),
                ignored: ignored.to_vec(),
            };
            rewritten.insert(object.clone(), (digest.to_owned(), became));
        }
    }

    /// What became of an object's manifest with this digest, if that is something else.
    pub(super) fn became(&self, object: &Object, digest: &str) -> Option<Became> {
        let rewritten = self.rewritten.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, became) = rewritten.get(object)?;
        (of == digest).then(|| became.clone())
    }

    /// The kinds of a group may be others now.
    pub(super) fn kind_changed(&self, crd: &str, group: &str) {
        let waiting = {
            let defined = self.defined.read().unwrap_or_else(PoisonError::into_inner);
            let made_by = |(name, defined): (&String, &Arc<Defined>)| {
                let claim = defined.definition.claim_crd_name();
                (name == crd || claim.as_deref() == Some(crd)).then(|| name.clone())
            };
            defined.iter().filter_map(made_by).collect::<Vec<_>>()
        };
        for name in waiting {
            self.definitions.add(name);
        }
        {
            // A field that was left out may be known now.
            let mut rewritten = self.rewritten.lock().unwrap_or_else(PoisonError::into_inner);
            rewritten.retain(|object, (_, became)| became.ignored.is_empty() || object.group() != group);
        }
        self.wake(self.kinds_missed.take(group));
    }

    /// A Function has changed.
    pub(super) fn function_changed(&self, change: &Change) {
        if !change.same_content() {
            self.wake(self.functions_missed.take(&change.key.name));
        }
    }

    /// Those who failed for want of something look again, as if for the first time.
    fn wake(&self, waiting: HashSet<CompositeKey>) {
        for key in waiting {
            self.composites.reset(&key);
            self.composites.add(key);
        }
    }

    /// A CompositeResourceDefinition has changed.
    pub(super) fn definition_changed(&self, change: &Change) {
        if change.same_content() {
            return;
        }
        let name = change.key.name.clone();
        let after = change.after.as_ref().and_then(|record| {
            let object = record.value();
            let typed: CompositeResourceDefinition = serde_json::from_value(object.clone()).ok()?;
            let definition = definition::read(&typed).ok()?;
            Some(Arc::new(Defined::new(definition, &object)))
        });
        let before = {
            let mut defined = self.defined.write().unwrap_or_else(PoisonError::into_inner);
            match &after {
                Some(after) => defined.insert(name.clone(), after.clone()),
                // One that can no longer be read leaves what it defined before in force.
                None if change.after.is_some() => defined.get(&name).cloned(),
                None => defined.remove(&name),
            }
        };
        self.set_unread(&name, change, before.is_none() && after.is_none());
        if let (Some(before), None) = (&before, &change.after) {
            self.forget_served(before);
        }
        if let Some(after) = &after {
            self.forget_refuted(before.as_deref(), after);
        }
        let plurals = |defined: &Option<Arc<Defined>>| defined.as_ref().map(|defined| defined.plurals());
        if plurals(&before) != plurals(&after) {
            self.kinds_changed.send_replace(());
        }
        if let Some(after) = after.as_ref().filter(|after| self.answers(after)) {
            let labels = after
                .definition
                .default_revision_selector()
                .map(|selector| Selector::new(selector.match_labels.clone().unwrap_or_default()));
            self.consumers_mut().set_default(&after.type_, labels);
        }
        requeue(&self.definitions, name, change, same_intent(change));
        // What it enforces or adds may be something else now.
        if let (Some(before), Some(after)) = (before, after)
            && !before.definition.says_the_same(&after.definition)
        {
            let all = self.consumers().of_kind(&after.type_);
            self.requeue_rate_limited(all);
            let claims = after.claim_type.as_ref();
            let claims = claims.map(|type_| self.consumers().of_kind(type_));
            self.claims.add_all(claims.into_iter().flatten());
        }
    }

    /// A Composition has changed.
    pub(super) fn composition_changed(&self, change: &Change) {
        if change.same_content() {
            return;
        }
        let name = &change.key.name;
        let live = change.after.as_ref().map(|record| Live::read(&record.value()));
        let types: BTreeSet<TypeReference> = {
            let before = change.before.as_ref().map(|record| Live::read(&record.value()));
            let both = [before, live.clone()].into_iter().flatten();
            both.filter_map(|live| live.composite_type).collect()
        };
        self.catalogue_mut().declare(name, live);
        requeue(&self.compositions, name.clone(), change, same_intent(change));
        if !same_intent(change) {
            self.requeue_concerned(name, &types);
        }
    }

    /// A CompositionRevision has changed.
    pub(super) fn revision_changed(&self, change: &Change) {
        if change.same_content() {
            return;
        }
        let read = |record: &Arc<Record>| match Stored::read(&record.value(), self.edits) {
            Ok(stored) => Some(Arc::new(stored)),
            Err(error) => {
                tracing::warn!(revision = %change.key, %error, "invalid CompositionRevision; it is not used");
                None
            }
        };
        let (before, after) = (
            change.before.as_ref().and_then(read),
            change.after.as_ref().and_then(read),
        );
        match &after {
            Some(stored) => self.catalogue_mut().put(stored.clone()),
            None => drop(self.catalogue_mut().remove(&change.key.name)),
        }
        let same = match (&before, &after) {
            (Some(before), Some(after)) => {
                (before.revision == after.revision && before.owner == after.owner)
                    && (before.labels == after.labels && before.composition == after.composition)
            }
            _ => false,
        };
        let both = [&before, &after].into_iter().flatten();
        let compositions: BTreeSet<&String> = both.clone().map(|stored| &stored.composition).collect();
        if before.is_none() || after.is_none() || compositions.len() > 1 {
            // Who pins it for another composition was told that it is not there, or that it is.
            for composition in &compositions {
                let misnaming = self.consumers().misnaming(&change.key.name, composition);
                self.composites.add_all(misnaming);
            }
        }
        let types: BTreeSet<TypeReference> =
            both.filter_map(|stored| stored.composite_type.clone()).collect();
        for composition in compositions {
            requeue(&self.compositions, composition.clone(), change, same);
            if !same {
                self.requeue_concerned(composition, &types);
            }
        }
    }

    /// The numbers that were issued: whoever needs them reads them.
    pub(super) fn marks_changed(&self, _: &Change) {}

    /// A composite resource or a claim has changed.
    pub(super) fn composite_changed(&self, gvk: &GroupVersionKind, change: &Change) {
        if change.same_content() {
            return;
        }
        let (defined, type_, claims) = match self.defined(&gvk.group, &gvk.kind) {
            Some(defined) => (defined.clone(), Some(defined.type_.clone()), false),
            None => match self.claimed(&gvk.group, &gvk.kind) {
                Some(defined) => (defined.clone(), defined.claim_type.clone(), true),
                None => return,
            },
        };
        let Some(type_) = type_ else {
            return;
        };
        let key = Arc::new(Consuming {
            type_,
            namespace: change.key.namespace.clone(),
            name: change.key.name.clone(),
        });
        match &change.after {
            Some(record) if claims => self.index_claim(&key, &defined.definition, &record.value()),
            Some(record) => self.index(&key, &defined.definition, &record.value()),
            None => {
                self.emitted.forget(&key);
                self.emitted_about_secrets.forget(&key);
                self.required.settle(&key, &[]);
                let changed = self.consumers_mut().remove(&key);
                self.uses_changed(&changed);
            }
        }
        let nothing_new = match change.origin {
            Origin::OurselvesAlone => true,
            Origin::Ourselves => same_intent(change),
            Origin::Watch => false,
        };
        match claims {
            _ if nothing_new => {}
            true => self.claims.add(key),
            false if self.is_behind(&key) => self.requeue_rate_limited([key]),
            false => self.composites.add(key),
        }
        // Whoever wrote it: a claim shows what its composite resource says.
        if !claims && defined.claim.is_some() {
            for record in [&change.before, &change.after].into_iter().flatten() {
                self.requeue_claim(&record.value());
            }
        }
    }

    /// Notes what a composite resource asks for.
    pub(super) fn index(&self, key: &CompositeKey, definition: &Definition, composite: &Value) {
        let consumer = Consumer::composite(definition, composite);
        let changed = self.consumers_mut().put(key.clone(), consumer);
        self.uses_changed(&changed);
    }

    /// Something that a composite resource is composed of has changed.
    pub(super) fn composed_changed(&self, gvk: &GroupVersionKind, change: &Change) {
        if change.after.is_none() {
            let mut rewritten = self.rewritten.lock().unwrap_or_else(PoisonError::into_inner);
            rewritten.remove(&Object {
                api_version: gvk.api_version(),
                kind: gvk.kind.clone(),
                namespace: change.key.namespace.clone(),
                name: change.key.name.clone(),
            });
        }
        if change.same_content() || change.origin != Origin::Watch {
            return;
        }
        for record in [&change.before, &change.after].into_iter().flatten() {
            let owners = record.metadata().owner_references.unwrap_or_default();
            let Some(owner) = owners.into_iter().find(|owner| owner.controller == Some(true)) else {
                continue;
            };
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            if let Some(defined) = self.defined(group, &owner.kind) {
                let namespace = match defined.composite.namespaced {
                    true => change.key.namespace.clone(),
                    false => String::new(),
                };
                self.composites.add(Arc::new(Consuming {
                    type_: defined.type_.clone(),
                    namespace,
                    name: owner.name,
                }));
            }
        }
    }

    /// Something that functions ask to see may have changed. Some objects change all the time: those who look at them do so now and then.
    pub(super) fn required_changed(&self, gvk: &GroupVersionKind, heard: &MetadataEvent) {
        let api_version = gvk.api_version();
        let kind = (api_version.as_str(), gvk.kind.as_str());
        let concerned = match heard {
            MetadataEvent::Changed(object, labels) => self.required.of(kind, object, labels),
            MetadataEvent::Missed => self.required.of_kind(kind),
        };
        for key in concerned {
            self.composites.add_after(key, SETTLE);
        }
    }

    /// Wakes the compositions whose revisions are used by others than before.
    fn uses_changed(&self, changed: &BTreeSet<String>) {
        if changed.is_empty() {
            return;
        }
        let compositions: BTreeSet<String> = {
            let catalogue = self.catalogue();
            let revisions = changed.iter().filter_map(|name| catalogue.revision(name));
            revisions.map(|stored| stored.composition.clone()).collect()
        };
        for composition in compositions {
            self.compositions.add_after(composition, SETTLE);
        }
    }

    fn catalogue_mut(&self) -> RwLockWriteGuard<'_, Catalogue> {
        self.catalogue.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn consumers_mut(&self) -> RwLockWriteGuard<'_, Consumers> {
        self.consumers.write().unwrap_or_else(PoisonError::into_inner)
    }
}
