//! The inventory of compositions, CompositionRevisions, composite resources and claims.

use super::{Change, ObjectName, group_of};
use cambium_api::crossplane::{CompositeResourceDefinition, TypeReference};
use cambium_api::names::{condition, reason};
use cambium_compositions::definition::{Definition, read};
use cambium_compositions::revision::{LabelEdits, Stored};
use cambium_compositions::{Catalogue, Consumer, Consumers, Consuming, Live, Selector};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Compositions, and who uses them.
#[derive(Default)]
pub struct Compositions {
    edits: LabelEdits,
    catalogue: Catalogue,
    consumers: Consumers,
    objects: BTreeMap<String, Value>,
    /// By the name of the CompositeResourceDefinition.
    kinds: BTreeMap<String, CompositeKind>,
    /// The group and kind of CompositeResourceDefinitions that cannot be read.
    unreadable: BTreeMap<String, (String, String)>,
}

/// A kind of composite resources, all of them, and all of their claims.
pub struct CompositeKind {
    /// The CompositeResourceDefinition that defines it.
    pub definition: Definition,
    type_: Arc<TypeReference>,
    claim_type: Option<Arc<TypeReference>>,
    composites: BTreeMap<ObjectName, Value>,
    claims: BTreeMap<ObjectName, Value>,
    is_seen: bool,
    /// Whether its CRD is another's, so that there may be objects of the kind that are none of ours.
    is_foreign: bool,
}

impl CompositeKind {
    /// All composite resources of the kind.
    pub fn composites(&self) -> impl Iterator<Item = &Value> {
        self.composites.values()
    }

    /// All claims for the kind.
    pub fn claims(&self) -> impl Iterator<Item = &Value> {
        self.claims.values()
    }

    fn objects(&mut self, is_claim: bool) -> &mut BTreeMap<ObjectName, Value> {
        match is_claim {
            true => &mut self.claims,
            false => &mut self.composites,
        }
    }

    fn consumer(&self, is_claim: bool, object: &Value) -> (Arc<Consuming>, Consumer) {
        let (type_, consumer) = match (is_claim, &self.claim_type) {
            (true, Some(type_)) => (type_, Consumer::claim(&self.definition, object)),
            _ => (&self.type_, Consumer::composite(&self.definition, object)),
        };
        (Arc::new(Consuming::of(type_, object)), consumer)
    }
}

impl Compositions {
    /// As a manager sees them for which edits of labels mean this.
    pub fn with_label_edits(edits: LabelEdits) -> Self {
        Self {
            edits,
            ..Self::default()
        }
    }

    /// Whether edits of a composition's labels make revisions.
    pub fn label_edits(&self) -> LabelEdits {
        self.edits
    }

    /// The catalogue of published revisions.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The index of consumers.
    pub fn consumers(&self) -> &Consumers {
        &self.consumers
    }

    /// The Composition with this name.
    pub fn object(&self, name: &str) -> Option<&Value> {
        self.objects.get(name)
    }

    /// All kinds of composite resources.
    pub fn kinds(&self) -> impl Iterator<Item = &CompositeKind> {
        self.kinds.values()
    }

    /// Notes that all composite resources and claims of a CompositeResourceDefinition are here, or that the API server does not serve them.
    pub fn set_seen(&mut self, definition: &str) {
        if let Some(kind) = self.kinds.get_mut(definition) {
            kind.is_seen = true;
        }
    }

    /// The CompositeResourceDefinitions whose composite resources may use compositions for this kind, and are not all known.
    pub fn unseen_for(&self, type_: &TypeReference) -> Vec<&str> {
        let group = group_of(&type_.api_version);
        let unreadable = self.unreadable.iter();
        let unreadable = unreadable.filter(|(_, (its, kind))| *its == group && *kind == type_.kind);
        let unreadable = unreadable.map(|(name, _)| name);
        let unseen = self.kinds.iter().filter(|(_, kind)| {
            let definition = &kind.definition;
            definition.group() == group
                && definition.names().kind == type_.kind
                && (!kind.is_seen || kind.is_foreign)
        });
        unreadable
            .chain(unseen.map(|(name, _)| name))
            .map(String::as_str)
            .collect()
    }

    pub(super) fn change(&mut self, kind: &str, object: &Value, change: Change) -> Result<(), String> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match (kind, change) {
            ("Composition", Change::Put) => {
                self.catalogue.declare(name, Some(Live::read(object)));
                self.objects.insert(name.to_owned(), object.clone());
            }
            ("Composition", Change::Remove) => {
                self.catalogue.declare(name, None);
                self.objects.remove(name);
            }
            ("CompositionRevision", Change::Put) => {
                let stored = Stored::read(object, self.edits).map_err(|error| error.to_string())?;
                self.catalogue.put(Arc::new(stored));
            }
            ("CompositionRevision", Change::Remove) => drop(self.catalogue.remove(name)),
            ("CompositeResourceDefinition", Change::Put) => return self.put_definition(name, object),
            ("CompositeResourceDefinition", Change::Remove) => self.remove_definition(name),
            _ => return Err("not a kind of compositions".to_owned()),
        }
        Ok(())
    }

    fn put_definition(&mut self, name: &str, object: &Value) -> Result<(), String> {
        let typed: Result<CompositeResourceDefinition, _> = serde_json::from_value(object.clone());
        let typed = typed.map_err(|error| error.to_string());
        let definition = match typed.and_then(|typed| read(&typed).map_err(|problems| problems.to_string())) {
            Ok(definition) => definition,
            Err(why) => {
                // One that can no longer be read leaves what it defined before in force.
                if !self.kinds.contains_key(name) {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    let spec = &object["spec"];
                    let kind = (text(&spec["group"]), text(&spec["names"]["kind"]));
                    self.unreadable.insert(name.to_owned(), kind);
                }
                return Err(why);
            }
        };
        self.unreadable.remove(name);
        let before = self.kinds.remove(name);
        if let Some(kind) = &before {
            self.forget_consumers(kind);
        }
        let type_ = Arc::new(definition.composite_type());
        let default = definition.default_revision_selector();
        let default =
            default.map(|selector| Selector::new(selector.match_labels.clone().unwrap_or_default()));
        self.consumers.set_default(&type_, default);
        let (composites, claims, is_seen) = before.map_or_else(Default::default, |before| {
            (before.composites, before.claims, before.is_seen)
        });
        let kind = CompositeKind {
            claim_type: definition.claim_type().map(Arc::new),
            type_,
            definition,
            composites,
            claims,
            is_seen,
            is_foreign: is_foreign(object),
        };
        for (is_claim, objects) in [(false, &kind.composites), (true, &kind.claims)] {
            for object in objects.values() {
                let (key, consumer) = kind.consumer(is_claim, object);
                self.consumers.put(key, consumer);
            }
        }
        self.kinds.insert(name.to_owned(), kind);
        Ok(())
    }

    fn remove_definition(&mut self, name: &str) {
        self.unreadable.remove(name);
        if let Some(kind) = self.kinds.remove(name) {
            self.forget_consumers(&kind);
            self.consumers.set_default(&kind.type_, None);
        }
    }

    fn forget_consumers(&mut self, kind: &CompositeKind) {
        for (is_claim, objects) in [(false, &kind.composites), (true, &kind.claims)] {
            for object in objects.values() {
                let (key, _) = kind.consumer(is_claim, object);
                self.consumers.remove(&key);
            }
        }
    }

    /// A composite resource or a claim.
    pub(super) fn change_composite(
        &mut self,
        group: &str,
        kind: &str,
        object: &Value,
        change: Change,
    ) -> Result<(), String> {
        let found = self.kinds.values_mut().find_map(|one| {
            if one.definition.group() != group {
                return None;
            }
            let claims = one.definition.claim_names();
            let is_claim = claims.is_some_and(|names| names.kind == kind);
            (is_claim || one.definition.names().kind == kind).then_some((one, is_claim))
        });
        let Some((found, is_claim)) = found else {
            return Err(format!(
                "no CompositeResourceDefinition defines {kind} of {group:?}"
            ));
        };
        let (key, consumer) = found.consumer(is_claim, object);
        let name = ObjectName::of(object);
        match change {
            Change::Put => {
                found.objects(is_claim).insert(name, object.clone());
                self.consumers.put(key, consumer);
            }
            Change::Remove => {
                found.objects(is_claim).remove(&name);
                self.consumers.remove(&key);
            }
        }
        Ok(())
    }
}

/// Whether a CompositeResourceDefinition says that its CRD, or that of its claims, is another's.
fn is_foreign(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| {
        [condition::ESTABLISHED, condition::OFFERED]
            .iter()
            .any(|type_| one["type"] == *type_)
            && one["status"] == "False"
            && one["reason"] == reason::CRD_NOT_CONTROLLED
    })
}
