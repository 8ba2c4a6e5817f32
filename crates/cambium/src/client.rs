//! How commands reach a cluster: as kubectl does.

use anyhow::Context as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::cli::Cluster;

/// No cluster can be reached with what was given.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach a cluster: {reason}")]
pub(crate) struct Unreachable {
    reason: String,
}

/// A client for the cluster that the command line, the environment or the default kubeconfig names.
pub(crate) async fn connect(cluster: &Cluster) -> anyhow::Result<Client> {
    let config = match (&cluster.kubeconfig, &cluster.context) {
        (None, None) => Config::infer().await.map_err(unreachable)?,
        (file, context) => {
            let options = KubeConfigOptions {
                context: context.clone(),
                ..Default::default()
            };
            match file {
                Some(path) => {
                    let kubeconfig = Kubeconfig::read_from(path).map_err(unreachable)?;
                    Config::from_custom_kubeconfig(kubeconfig, &options).await
                }
                None => Config::from_kubeconfig(&options).await,
            }
            .map_err(unreachable)?
        }
    };
    Client::try_from(config).context("the kubeconfig makes no client")
}

fn unreachable(error: impl std::fmt::Display) -> Unreachable {
    Unreachable {
        reason: error.to_string(),
    }
}
