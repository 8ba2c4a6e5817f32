//! A controller over the network across server restarts.

use std::time::Duration;

use crate::clients::control::{control, settled};
use crate::clients::support::{define, write};
use anyhow::Result;
use cambium_apiserver::store::History;
use cambium_testing::NetworkCluster;
use kube::runtime::watcher;

async fn restarts(config: watcher::Config) -> Result<()> {
    let history = History {
        events: 128,
        ..History::default()
    };
    let mut cluster = NetworkCluster::start(history).await?;
    define(&cluster.client()?).await?;
    let remote = cluster.remote_client().await?;
    let stores = [
        ("a controller", "", control(remote.clone(), config.clone())),
        (
            "another one",
            "color=red",
            control(remote.clone(), config.labels("color=red")),
        ),
    ];
    for round in 0..2_u64 {
        let client = cluster.client()?;
        let writers = (0..4).map(|seed| {
            let client = client.clone();
            tokio::spawn(write(client, 10 * round + seed, 150, Duration::ZERO))
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await??;
        }
        // Whoever has a client inside the process has the server, and its store.
        drop(client);
        // With few changes while nobody looks, watches resume; with many, they start over.
        let unseen = if round % 2 == 0 { 300 } else { 20 };
        cluster
            .restart(async |client| {
                write(client, 100 + round, unseen, Duration::ZERO).await?;
                Ok(())
            })
            .await?;
        settled(&cluster.client()?, &stores).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_controller_lives_through_restarts() -> Result<()> {
    restarts(watcher::Config::default()).await
}

#[tokio::test]
async fn a_controller_with_streaming_lists_lives_through_restarts() -> Result<()> {
    restarts(watcher::Config::default().streaming_lists()).await
}
