//! Reads the composed resources of a composite resource, from caches first and from the API server where a cache cannot tell.

use super::{Reconciler, Selection};
use crate::compositions::state::Defined;
use crate::kinds::{Kinds, PASSING, Unknown, find};
use crate::runtime::mapper::ResolveError;
use crate::runtime::{Key, Record};
use cambium_compositions::composite::{Became, Object, Observed, Scopes, Wanted};
use cambium_compositions::pipeline;
use cambium_compositions_render::Composition;
use cambium_compositions_render::function::{Requirements, Resource, ResourceSelector, Resources};
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many objects a function is sent for one of its selectors.
const MOST_SELECTED: u32 = 1000;

/// The objects that a composite resource refers to, as they exist before its wanted resources are known.
pub(super) struct Existing {
    pub(super) kinds: Kinds,
    pub(super) live: BTreeMap<Object, Value>,
}

/// Everything that is read about a composite resource before a plan is made for it.
pub(super) struct Observation {
    defined: Arc<Defined>,
    /// The composite resource as it was before this reconcile wrote to it.
    pub(super) composite: Value,
    selection: Selection,
    wanted: Vec<Wanted>,
    /// The kinds of existing and of wanted resources.
    pub(super) kinds: Kinds,
    scopes: Scopes,
    /// The objects that it refers to, and those that have the names of wanted resources.
    pub(super) live: BTreeMap<Object, Value>,
}

impl Observation {
    /// The observation as the pure plan takes it. `became` tells how the API server has rewritten manifests that were applied earlier.
    pub(super) fn observed<'a>(
        &'a self,
        became: &'a (dyn Fn(&Object, &str) -> Option<Became> + Sync),
    ) -> Observed<'a> {
        Observed {
            definition: &self.defined.definition,
            composite: &self.composite,
            wish: &self.selection.wish,
            fetched: &self.selection.fetched,
            wanted: &self.wanted,
            live: &self.live,
            scopes: &self.scopes,
            secret_namespace: self.selection.fetched.content.secret_namespace(),
            became,
        }
    }
}

impl Reconciler<'_> {
    /// Completes the observation with wanted resources: their kinds, and the objects that have their names. Nothing while discovery fails, which may
    /// pass: a kind that cannot be discovered may have objects.
    pub(super) async fn observe(
        &self,
        selection: Selection,
        Existing { kinds, mut live }: Existing,
        wanted: Vec<Wanted>,
    ) -> kube::Result<Option<Observation>> {
        let kinds = self.with_kinds_of(kinds, &wanted).await;
        if undiscovered(&kinds).is_some() && self.context.state.composites.failures(&self.key) < PASSING {
            return Ok(None);
        }
        self.look_for_named(&wanted, &kinds, &mut live).await?;
        let scopes = kinds.iter().map(|(kind, resource)| {
            let scope = resource.as_ref().map(|known| known.namespaced);
            (kind.clone(), scope.map_err(ToString::to_string))
        });
        Ok(Some(Observation {
            scopes: scopes.collect(),
            kinds,
            live,
            wanted,
            ..self.observe_selection(selection)
        }))
    }

    /// The observation of a composite resource that cannot be composed this time: its composed resources are not read.
    pub(super) fn observe_selection(&self, selection: Selection) -> Observation {
        Observation {
            defined: self.defined.clone(),
            composite: self.composite.clone(),
            selection,
            wanted: Vec::new(),
            kinds: Kinds::new(),
            scopes: Scopes::new(),
            live: BTreeMap::new(),
        }
    }

    /// The kinds that it refers to.
    pub(super) async fn kinds_of_references(&self) -> Kinds {
        self.kinds(self.referred().iter().map(Object::kind).collect())
            .await
    }

    /// The kinds that it refers to, and those of the templates' bases.
    pub(super) async fn kinds_of_templates(&self, templates: &Composition) -> Kinds {
        let bases = templates
            .templates()
            .iter()
            .filter_map(|template| template.base.as_ref());
        let mut kinds: BTreeSet<(String, String)> = self.referred().iter().map(Object::kind).collect();
        kinds.extend(bases.map(|base| Object::of(base).kind()));
        self.kinds(kinds).await
    }

    /// Every object that it refers to and that exists. The API server is asked for those that no cache has: a watch may be late, or not show an object
    /// that has lost its label. A resource that is composed without its existing object would get another name, and the object would be garbage collected.
    pub(super) async fn existing(&self, kinds: Kinds) -> kube::Result<Existing> {
        let referred = self.referred();
        let mut live = self.cached(&referred, &kinds);
        self.look_for(&referred, &kinds, &mut live).await?;
        Ok(Existing { kinds, live })
    }

    /// The objects in its resource references.
    fn referred(&self) -> Vec<Object> {
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

    /// Discovers kinds, and begins to watch their objects. A kind that is missing requeues the composite resource when it is defined.
    async fn kinds(&self, wanted: BTreeSet<(String, String)>) -> Kinds {
        let misses = |group: &str| self.context.state.kinds_missed.add(group, &self.key);
        find(
            &self.context.cluster.mapper,
            &self.context.composed,
            wanted,
            misses,
        )
        .await
    }

    /// Adds the kinds of wanted resources: patches may have made them other than those of the bases.
    async fn with_kinds_of(&self, mut kinds: Kinds, wanted: &[Wanted]) -> Kinds {
        let manifests = wanted.iter().filter_map(|wanted| wanted.outcome.as_ref().ok());
        let missing: BTreeSet<_> = manifests
            .map(|manifest| Object::of(manifest).kind())
            .filter(|kind| !kinds.contains_key(kind))
            .collect();
        kinds.extend(self.kinds(missing).await);
        kinds
    }

    /// Those of these objects that are in caches.
    fn cached(&self, objects: &[Object], kinds: &Kinds) -> BTreeMap<Object, Value> {
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

    /// Asks the API server for objects whose names a composition chose: they may belong to another owner.
    async fn look_for_named(
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

    /// Asks the API server for those of these objects that are not known yet.
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

    /// Reads the resources that a function requires.
    pub(super) async fn required_resources(
        &self,
        requirements: &Requirements,
    ) -> Result<pipeline::Found, String> {
        let mut found = pipeline::Found::default();
        for (needed, found) in [
            (&requirements.extra_resources, &mut found.extra),
            (&requirements.required_resources, &mut found.required),
        ] {
            for (name, selector) in needed {
                let resources = self.select_resources(selector).await;
                let resources = resources.map_err(|why| format!("fetching resources for {name}: {why}"))?;
                found.insert(name.clone(), resources);
            }
        }
        Ok(found)
    }

    /// Reads the objects that a selector selects, sorted by namespace and name.
    async fn select_resources(&self, selector: &ResourceSelector) -> Result<Resources, String> {
        let (api_version, kind) = (&selector.api_version, &selector.kind);
        let resolved = self.context.cluster.mapper.resolve(api_version, kind).await;
        if let Err(ResolveError::NoKind { .. }) = &resolved {
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            self.context.state.kinds_missed.add(group, &self.key);
        }
        let resource = resolved.map_err(|error| error.to_string())?;
        // Watched before it is read: a change between the two requeues the composite resource.
        self.context.state.required.add(&self.key, selector);
        self.context.required.listen(&resource).await;
        let cluster = &self.context.cluster;
        let namespace = selector.namespace.as_deref().unwrap_or_default();
        let found: kube::Result<Vec<DynamicObject>> = match &selector.match_name {
            Some(name) if resource.namespaced && namespace.is_empty() => {
                return Err(format!(
                    "{kind} {name:?} is namespaced, and the selector has no namespace"
                ));
            }
            Some(name) => {
                let found = cluster.objects(&resource, namespace).get_opt(name).await;
                found.map(|found| found.into_iter().collect())
            }
            None => {
                let api = match namespace {
                    "" => cluster.everywhere(&resource.api_resource),
                    namespace => cluster.objects(&resource, namespace),
                };
                let labels = selector.match_labels.iter().flat_map(|labels| &labels.labels);
                let labels: Vec<String> = labels.map(|(name, value)| format!("{name}={value}")).collect();
                let params = ListParams::default()
                    .labels(&labels.join(","))
                    .limit(MOST_SELECTED);
                let listed = api.list(&params).await;
                if listed
                    .as_ref()
                    .is_ok_and(|list| list.metadata.continue_.is_some())
                {
                    return Err(format!(
                        "more than {MOST_SELECTED} {kind} have these labels; select fewer"
                    ));
                }
                listed.map(|list| list.items)
            }
        };
        let mut found = found.map_err(|error| error.to_string())?;
        found.sort_by(|left, right| {
            let place =
                |object: &DynamicObject| (object.metadata.namespace.clone(), object.metadata.name.clone());
            place(left).cmp(&place(right))
        });
        let there = found.iter().map(|object| Key::of(&object.metadata)).collect();
        self.context.state.required.found(&self.key, selector, there);
        let items = found.into_iter().map(|object| Resource {
            resource: match Record::new(object.into(), &resource.api_resource).value() {
                Value::Object(fields) => fields,
                _ => serde_json::Map::new(),
            },
            ..Resource::default()
        });
        Ok(Resources {
            items: items.collect(),
        })
    }
}

/// Why a kind could not be discovered, if there is one: it may have objects all the same.
pub(super) fn undiscovered(kinds: &Kinds) -> Option<&str> {
    kinds.values().find_map(|kind| match kind {
        Err(Unknown::Unseen(why)) => Some(why.as_str()),
        _ => None,
    })
}
