//! How commands reach a cluster: as kubectl does.

use anyhow::Context as _;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
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
        (None, None) => match Config::from_kubeconfig(&KubeConfigOptions::default()).await {
            Ok(config) => config,
            Err(error) => Config::incluster().map_err(|_| Unreachable {
                reason: format!(
                    "{}, and this does not run in a cluster; set KUBECONFIG or use --kubeconfig",
                    reason(&error)
                ),
            })?,
        },
        (file, context) => {
            let options = KubeConfigOptions {
                context: context.clone(),
                ..Default::default()
            };
            match file {
                Some(path) => {
                    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| unreachable(&error))?;
                    Config::from_custom_kubeconfig(kubeconfig, &options).await
                }
                None => Config::from_kubeconfig(&options).await,
            }
            .map_err(|error| unreachable(&error))?
        }
    };
    Client::try_from(config).context("the kubeconfig makes no client")
}

fn unreachable(error: &KubeconfigError) -> Unreachable {
    Unreachable {
        reason: reason(error),
    }
}

fn reason(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::LoadContext(name) => format!("the kubeconfig has no context {name:?}"),
        KubeconfigError::ReadConfig(source, path) => format!("cannot read {}: {source}", path.display()),
        other => other.to_string(),
    }
}
