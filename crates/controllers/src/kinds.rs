//! Kinds that come and go: whoever waits for one looks again when it is defined.

use crate::manager::Context;
use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use std::sync::Arc;

/// Follows CustomResourceDefinitions, of which only metadata is sent: a definition that changes makes its group be asked for again.
pub(crate) async fn follow(client: Client, context: Arc<Context>) {
    let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut events = watcher(definitions, watcher::Config::default())
        .default_backoff()
        .boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(definition) | Event::InitApply(definition)) => {
                if let Some(group) = group(&definition) {
                    context.mapper.forget(group);
                    context.state.kind_changed(group);
                }
            }
            Ok(Event::Delete(definition)) => {
                if let Some(group) = group(&definition) {
                    context.mapper.forget(group);
                    context.children.forget(group);
                    context.state.kind_changed(group);
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
fn group(definition: &PartialObjectMeta<CustomResourceDefinition>) -> Option<&str> {
    let (_, group) = definition.metadata.name.as_deref()?.split_once('.')?;
    Some(group)
}
