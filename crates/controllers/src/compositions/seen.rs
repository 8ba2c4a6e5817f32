//! What there is of all that a composite resource is composed of.

use super::composite::Run;
use crate::kinds::{Kinds, find};
use crate::runtime::{Key, Record};
use cambium_compositions::composite::{Object, Wanted};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What was seen of all that a composite resource refers to.
pub(super) struct Seen {
    pub(super) kinds: Kinds,
    pub(super) live: BTreeMap<Object, Value>,
}

impl Run<'_> {
    /// What the composite resource says it is composed of.
    pub(super) fn referred(&self) -> Vec<Object> {
        let layout = self.defined.definition.layout();
        let own = self.at.namespace.as_str();
        let references = layout.resource_refs(&self.composite).into_iter();
        references
            .filter_map(|reference| {
                Some(Object {
                    api_version: reference.api_version.to_owned(),
                    kind: reference.kind.to_owned(),
                    namespace: reference.namespace.unwrap_or(own).to_owned(),
                    name: reference.name?.to_owned(),
                })
            })
            .collect()
    }

    /// How to ask for objects of these kinds.
    pub(super) async fn kinds(&self, wanted: BTreeSet<(String, String)>) -> Kinds {
        let misses = |group: &str| self.context.state.kinds_missed.add(group, &self.key);
        find(
            &self.context.cluster.mapper,
            &self.context.composed,
            wanted,
            misses,
        )
        .await
    }

    /// Kinds of what is made may be others than of what it started from.
    pub(super) async fn with_made(&self, mut kinds: Kinds, wanted: &[Wanted]) -> Kinds {
        let made = wanted.iter().filter_map(|wanted| wanted.outcome.as_ref().ok());
        let missing: BTreeSet<_> = made
            .map(|manifest| Object::of(manifest).kind())
            .filter(|kind| !kinds.contains_key(kind))
            .collect();
        kinds.extend(self.kinds(missing).await);
        kinds
    }

    /// What watches show of these objects.
    fn watched(&self, objects: &[Object], kinds: &Kinds) -> BTreeMap<Object, Value> {
        let mut live = BTreeMap::new();
        for object in objects {
            let Some(Ok(resource)) = kinds.get(&object.kind()) else {
                continue;
            };
            let namespace = if resource.namespaced {
                object.namespace.as_str()
            } else {
                ""
            };
            let cache = self.context.composed.get(&resource.gvk());
            if let Some(record) = cache.and_then(|cache| cache.get(&Key::new(namespace, &object.name))) {
                let value = record.value();
                live.insert(Object::of(&value), value);
            }
        }
        live
    }

    /// What there is of all that it refers to. The API server is asked for what was not seen: a watch may be late, or not show an object that has lost
    /// its label. Whoever composes without it would give it another name, and collect it.
    pub(super) async fn live(
        &self,
        referred: &[Object],
        kinds: &Kinds,
    ) -> kube::Result<BTreeMap<Object, Value>> {
        let mut live = self.watched(referred, kinds);
        self.look_for(referred, kinds, &mut live).await?;
        Ok(live)
    }

    /// Asks for objects under names that somebody else gave: they may be somebody else's.
    pub(super) async fn look_for_named(
        &self,
        wanted: &[Wanted],
        kinds: &Kinds,
        live: &mut BTreeMap<Object, Value>,
    ) -> kube::Result<()> {
        let named = wanted.iter().filter(|wanted| wanted.named);
        let named = named.filter_map(|wanted| wanted.outcome.as_ref().ok());
        let named: Vec<Object> = named.map(Object::of).collect();
        self.look_for(&named, kinds, live).await
    }

    /// Asks the API server for these objects, unless they were seen.
    async fn look_for(
        &self,
        objects: &[Object],
        kinds: &Kinds,
        live: &mut BTreeMap<Object, Value>,
    ) -> kube::Result<()> {
        for object in objects {
            let Some(Ok(resource)) = kinds.get(&object.kind()) else {
                continue;
            };
            if live.keys().any(|known| known.is(object))
                || (resource.namespaced && object.namespace.is_empty())
            {
                continue;
            }
            let api = self.context.cluster.objects(resource, &object.namespace);
            if let Some(found) = api.get_opt(&object.name).await? {
                let value = Record::new(found.into(), &resource.api_resource).value();
                live.insert(Object::of(&value), value);
            }
        }
        Ok(())
    }
}
