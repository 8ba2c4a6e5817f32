//! Kinds of objects that others define: they are there or not, and come and go. Whoever waits for one looks again when it is defined.

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

/// Follows CustomResourceDefinitions, of which only metadata is sent: a definition that changes makes its group be asked for again.
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

/// A definition is called by its plural and its group.
fn named(definition: &PartialObjectMeta<CustomResourceDefinition>) -> Option<(&str, &str)> {
    let name = definition.metadata.name.as_deref()?;
    let (_, group) = name.split_once('.')?;
    Some((name, group))
}

/// Kinds by API version and name: how to ask for their objects, or why that is not known.
pub(crate) type Kinds = BTreeMap<(String, String), Result<Resource, Unknown>>;

/// Why objects of a kind cannot be asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unknown {
    /// There is no such kind, so there is nothing of it.
    #[error("{0}")]
    Missing(String),
    /// It could not be found out. There may be something of it.
    #[error("{0}")]
    Unseen(String),
}

/// What fails this often in a row does not pass by itself, and people are told.
pub(crate) const PASSING: u32 = 3;

/// Finds out about kinds, and begins to watch those that are there: everything that is ours is seen before anything is decided. The groups
/// of those that are not there are told.
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
