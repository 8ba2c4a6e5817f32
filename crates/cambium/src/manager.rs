//! `cambium manager`: the controllers and webhooks against a Kubernetes that is there already.

use std::time::Duration;

use anyhow::Context as _;
use cambium_composites::revision::LabelEdits;
use cambium_controllers::{Plain, Settings};
use cambium_webhooks::registration::Reach;

use crate::cli;
use crate::client;
use crate::platform::{Plan, Platform, Served};
use crate::up::stop_signal;

/// Runs until it is told to stop.
pub(crate) fn run(options: &cli::Manager) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(manage(options));
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    result
}

async fn manage(options: &cli::Manager) -> anyhow::Result<()> {
    let client = client::connect(&options.cluster).await?;
    let identity = options.identity.clone().unwrap_or_else(own_name);
    let reach = match (&options.webhook_url, &options.webhook_service) {
        (Some(url), _) => Some(Reach::Url(url.clone())),
        (None, Some(name)) => Some(Reach::Service {
            namespace: options.namespace.clone(),
            name: name.clone(),
            port: 443,
        }),
        (None, None) => None,
    };
    let plan = Plan {
        namespace: options.namespace.clone(),
        settings: Settings {
            definition_revision_limit: options.definition_revision_limit,
            application_revision_limit: options.application_revision_limit,
            composition_revision_limit: options.composition_revision_limit,
            composition_revisions: options.features.is_on(cli::Gate::CompositionRevisions, true),
            label_edits: match options
                .features
                .is_on(cli::Gate::CompositionLabelRevisions, false)
            {
                true => LabelEdits::Issue,
                false => LabelEdits::Follow,
            },
            functions: options.functions.iter().cloned().collect(),
            plain_functions: match options.allow_plain_functions {
                true => Plain::Anywhere,
                false => Plain::OnLoopback,
            },
            function_deadline: Duration::from_secs(options.function_deadline),
            workers: options.max_concurrent_reconciles,
            automatic_moves_per_second: options.automatic_moves_per_second,
            instance: identity.clone(),
            ..Settings::default()
        },
        webhooks: (!options.no_webhooks).then_some(Served {
            listen: options.webhook_listen,
            reach,
        }),
        identity: (!options.no_leader_election).then_some(identity),
    };
    let platform = Platform::start(client, plan)
        .await
        .context("the manager did not start")?;
    tracing::info!("ready");
    stop_signal().await?;
    tracing::info!("stopping");
    platform.stop().await;
    Ok(())
}

/// A name that no other replica has: the pod's, or this host's with our process number.
fn own_name() -> String {
    let host = std::env::var("HOSTNAME")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(|| std::fs::read_to_string("/etc/hostname").ok())
        .map_or_else(|| "cambium".to_owned(), |name| name.trim().to_owned());
    format!("{host}_{}", std::process::id())
}
