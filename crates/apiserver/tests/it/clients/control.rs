//! A controller of probes, and the invariants once the writers have stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::Store;
use kube::runtime::watcher;
use kube::{Client, ResourceExt as _};
use serde_json::json;

use crate::clients::support::probes;

/// Runs a controller that writes `observedGeneration` into each probe's status; returns its store.
pub(crate) fn control(client: Client, config: watcher::Config) -> Store<DynamicObject> {
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &probes());
    let controller = Controller::new_with(api.clone(), config, probes());
    let store = controller.store();
    let reconcile = |probe: Arc<DynamicObject>, api: Arc<Api<DynamicObject>>| async move {
        let generation = json!(probe.metadata.generation);
        if probe.data["status"]["observedGeneration"] != generation {
            let seen = json!({"status": {"observedGeneration": generation}});
            let patch = Patch::Merge(seen);
            match api
                .patch_status(&probe.name_any(), &PatchParams::default(), &patch)
                .await
            {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => drop(other?),
            }
        }
        Ok::<_, kube::Error>(Action::await_change())
    };
    let run = controller.run(
        reconcile,
        |_, _, _| Action::requeue(Duration::from_secs(1)),
        Arc::new(api),
    );
    tokio::spawn(run.for_each(|_| async {}));
    store
}

/// Name and resource version of all probes that match a selector.
async fn listed(client: &Client, selector: &str) -> Result<BTreeMap<String, String>> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &probes());
    let list = api.list(&ListParams::default().labels(selector)).await?;
    list.items
        .iter()
        .map(|probe| {
            Ok((
                probe.name_any(),
                probe.resource_version().context("it has a version")?,
            ))
        })
        .collect()
}

/// The same from a store.
fn stored(store: &Store<DynamicObject>) -> BTreeMap<String, String> {
    let state = store.state();
    state
        .iter()
        .map(|probe| (probe.name_any(), probe.resource_version().unwrap_or_default()))
        .collect()
}

/// Waits until every probe's generation is observed, and every store equals a list.
pub(crate) async fn settled(
    client: &Client,
    stores: &[(&'static str, &'static str, Store<DynamicObject>)],
) -> Result<()> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &probes());
    cambium_testing::eventually("every probe is reconciled at its last generation", || async {
        let list = api.list(&ListParams::default()).await?;
        Ok(list
            .items
            .iter()
            .all(|probe| probe.data["status"]["observedGeneration"] == json!(probe.metadata.generation)))
    })
    .await?;
    for (name, selector, store) in stores {
        let equal = cambium_testing::eventually(name, || async {
            Ok(stored(store) == listed(client, selector).await?)
        });
        if let Err(error) = equal.await {
            let (is, should_be) = (stored(store), listed(client, selector).await?);
            anyhow::bail!("{error:#}\nthe store of {name}: {is:?}\nthe list: {should_be:?}");
        }
    }
    Ok(())
}
