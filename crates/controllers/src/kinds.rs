//! Kinds that CRDs define: discovery, and requeueing of objects that wait for a kind.

use crate::runtime::dynamic_caches::WatchError;
use crate::runtime::mapper::ResolveError;
use crate::runtime::{DynamicCaches, Mapper, Resource};
use crate::{compositions, definitions};
use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use std::collections::{BTreeMap, BTreeSet};

/// Watches the metadata of CustomResourceDefinitions: each change invalidates the discovery of its group, and requeues the objects that wait for it.
pub(crate) async fn follow(context: &definitions::Context, compositions: &compositions::Context) {
    let mapper = &context.cluster.mapper;
    let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> = context.cluster.all();
    let mut events = watcher(definitions, watcher::Config::default())
        .default_backoff()
        .boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(definition) | Event::InitApply(definition)) => {
                if let Some((name, group)) = named(&definition) {
                    mapper.forget(group);
                    context.state.kind_changed(group);
                    compositions.kind_changed(name, group, false);
                }
            }
            Ok(Event::Delete(definition)) => {
                if let Some((name, group)) = named(&definition) {
                    mapper.forget(group);
                    context.children.forget(group);
                    context.state.kind_changed(group);
                    compositions.kind_changed(name, group, true);
                }
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => {
                tracing::debug!(%error, "failed to watch CustomResourceDefinitions; retrying with back-off")
            }
        }
    }
}

/// The name of a CRD and the group in it: `<plural>.<group>`.
fn named(definition: &PartialObjectMeta<CustomResourceDefinition>) -> Option<(&str, &str)> {
    let name = definition.metadata.name.as_deref()?;
    let (_, group) = name.split_once('.')?;
    Some((name, group))
}

/// Kinds by API version and name: their resources, or why those are unknown.
pub(crate) type Kinds = BTreeMap<(String, String), Result<Resource, Unknown>>;

/// Why the resource of a kind is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unknown {
    /// There is no such kind, so it has no objects.
    #[error("{0}")]
    Missing(String),
    /// Discovery or the watch failed. The kind may have objects.
    #[error("{0}")]
    Unseen(String),
}

/// Failures in a row after which an error is taken for lasting, and reported in conditions.
pub(crate) const PASSING: u32 = 3;

/// Discovers kinds, and waits until their objects are cached: decisions need all of them. `misses` is told the groups of missing kinds.
pub(crate) async fn find(
    mapper: &Mapper,
    children: &DynamicCaches,
    wanted: BTreeSet<(String, String)>,
    misses: impl Fn(&str),
) -> Kinds {
    let mut kinds = Kinds::new();
    for (api_version, kind) in wanted {
        let resource = match mapper.resolve(&api_version, &kind).await {
            Ok(resource) => match children.ensure(&resource).await {
                Ok(_) => Ok(resource),
                Err(error @ WatchError::Gone { .. }) => Err(Unknown::Missing(error.to_string())),
                Err(error) => Err(Unknown::Unseen(error.to_string())),
            },
            Err(error @ ResolveError::Discovery { .. }) => Err(Unknown::Unseen(error.to_string())),
            Err(error) => Err(Unknown::Missing(error.to_string())),
        };
        if let Err(Unknown::Missing(_)) = &resource {
            misses(api_version.split_once('/').map_or("", |(group, _)| group));
        }
        kinds.insert((api_version, kind), resource);
    }
    kinds
}
