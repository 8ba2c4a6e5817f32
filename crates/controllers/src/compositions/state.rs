//! Indexes of compositions and composite resources, and the handlers of watch events that requeue what a change concerns.

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

/// The kind, namespace and name of a composite resource or a claim.
pub(crate) type CompositeKey = Arc<Consuming>;

/// Called when an object of a kind has changed.
pub(super) type ChildChanged = fn(&State, &GroupVersionKind, &Change);

/// Indexes of a cluster. Locks are taken in the order of the fields, which excludes deadlocks.
pub(crate) struct State {
    defined: RwLock<BTreeMap<String, Arc<Defined>>>,
    /// Whether CRDs are served, by their names.
    served: RwLock<HashMap<String, Served>>,
    /// The groups and kinds of definitions that are invalid and have never been valid, by the names of the definitions.
    unread: RwLock<BTreeMap<String, (String, String)>>,
    catalogue: RwLock<Catalogue>,
    consumers: RwLock<Consumers>,
    /// Composite resources that wait for a kind, by its group.
    pub(super) kinds_missed: Waiters,
    /// Composite resources that wait for a Function, by its name.
    pub(super) functions_missed: Waiters,
    /// Resources that functions require.
    pub(super) required: Required,
    /// Events with results of functions.
    pub(super) emitted: EmittedEvents,
    /// Events about connection secrets that may not be read.
    pub(super) emitted_about_secrets: EmittedEvents,
    fetcher: Box<dyn CompositionFetcher + Send + Sync>,
    edits: LabelEdits,
    /// CompositeResourceDefinitions to reconcile.
    pub(super) definitions: Queue<String>,
    /// Compositions to reconcile.
    pub(super) compositions: Queue<String>,
    /// Composite resources to reconcile.
    pub(super) composites: Queue<CompositeKey>,
    /// Claims to reconcile.
    pub(super) claims: Queue<CompositeKey>,
    /// Limits how fast composite resources follow a publish; no limit without it.
    rate_limit: Option<Mutex<RateLimit>>,
    /// Whether all caches have been synced. Before that, the consumers that a change concerns are not known.
    ready: AtomicBool,
    /// Notified when other kinds are defined than before.
    kinds_changed: watch::Sender<()>,
    /// Applied objects that the API server has rewritten, with the digests of their manifests: defaulting webhooks and unknown fields.
    rewritten: Mutex<HashMap<Object, (String, Became)>>,
}

/// A CompositeResourceDefinition, and the kinds that it defines.
#[derive(Debug)]
pub(super) struct Defined {
    pub(super) definition: Definition,
    pub(super) type_: Arc<TypeReference>,
    pub(super) composite: Resource,
    pub(super) claim: Option<Resource>,
    claim_type: Option<Arc<TypeReference>>,
    /// The UID of the definition, which controls its CRDs.
    pub(super) uid: String,
    /// Whether composite resources were served, by the status of the definition.
    established: bool,
    /// Whether claims were served, by the status of the definition.
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

    /// Selects a revision for a composite resource.
    pub(super) fn select(&self, consumer: &Consuming, wish: &Wish) -> Found {
        cambium_compositions::select(&*self.fetcher, &self.catalogue(), consumer, wish)
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

    /// Whether all caches have been synced.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Remembers how the API server has rewritten an applied object, so that the next reconcile does not apply it again.
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

    /// How the API server has rewritten the manifest with this digest, if it has.
    pub(super) fn became(&self, object: &Object, digest: &str) -> Option<Became> {
        let rewritten = self.rewritten.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, became) = rewritten.get(object)?;
        (of == digest).then(|| became.clone())
    }

    /// Requeues what waits for a kind of this group.
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
        self.requeue_waiters(self.kinds_missed.take(group));
    }

    /// Requeues the composite resources that wait for a Function.
    pub(super) fn function_changed(&self, change: &Change) {
        if !change.same_content() {
            self.requeue_waiters(self.functions_missed.take(&change.key.name));
        }
    }

    /// Requeues composite resources that waited for something missing, without their back-off.
    fn requeue_waiters(&self, waiting: HashSet<CompositeKey>) {
        for key in waiting {
            self.composites.reset(&key);
            self.composites.add(key);
        }
    }

    /// Handles a change of a CompositeResourceDefinition.
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
                // A definition that has become invalid leaves its last valid version in force.
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
        // Its enforced policy, default selector or schemas may have changed.
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

    /// Handles a change of a Composition.
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

    /// Handles a change of a CompositionRevision.
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
            // A composite resource that pins it for another Composition shows whether it exists.
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

    /// Handles a change of the issued numbers: nothing is requeued, since they are read when a revision is issued.
    pub(super) fn issued_numbers_changed(&self, _: &Change) {}

    /// Handles a change of a composite resource or a claim.
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
        // Own writes included: a claim shows the status of its composite resource.
        if !claims && defined.claim.is_some() {
            for record in [&change.before, &change.after].into_iter().flatten() {
                self.requeue_claim(&record.value());
            }
        }
    }

    /// Indexes the composition that a composite resource asks for.
    pub(super) fn index(&self, key: &CompositeKey, definition: &Definition, composite: &Value) {
        let consumer = Consumer::composite(definition, composite);
        let changed = self.consumers_mut().put(key.clone(), consumer);
        self.uses_changed(&changed);
    }

    /// Handles a change of a composed resource: requeues its composite resource.
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

    /// Handles a change of a resource that functions require. It is debounced: some objects change all the time.
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

    /// Requeues the Compositions whose revisions have other users than before.
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
