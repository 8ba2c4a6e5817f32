//! Kinds that come and go: whoever waits for one looks again when it is defined.

use crate::composites;
use crate::manager::Context;
use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use std::sync::Arc;

/// Follows CustomResourceDefinitions, of which only metadata is sent: a definition that changes makes its group be asked for again.
pub(crate) async fn follow(client: Client, context: Arc<Context>, composites: Arc<composites::Context>) {
    let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut events = watcher(definitions, watcher::Config::default())
        .default_backoff()
        .boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(definition) | Event::InitApply(definition)) => {
                if let Some((name, group)) = named(&definition) {
                    context.mapper.forget(group);
                    context.state.kind_changed(group);
                    composites.kind_changed(name, group, false);
                }
            }
            Ok(Event::Delete(definition)) => {
                if let Some((name, group)) = named(&definition) {
                    context.mapper.forget(group);
                    context.children.forget(group);
                    context.state.kind_changed(group);
                    composites.kind_changed(name, group, true);
                }
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => {
                tracing::debug!(%error, "cannot watch CustomResourceDefinitions, and will keep trying")
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
