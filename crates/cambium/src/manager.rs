//! `cambium manager`: the controllers and webhooks against an existing Kubernetes cluster.

use std::time::Duration;

use anyhow::Context as _;
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::rbac;
use cambium_compositions::revision::LabelEdits;
use cambium_controllers::{Plain, Settings};
use cambium_webhooks::registration::Reach;
use cambium_webhooks::server::Clients;

use crate::cli;
use crate::client;
use crate::output;
use crate::platform::{Plan, Platform, Served};
use crate::probes::Probes;
use crate::up::stop_signal;

/// Runs until it is told to stop.
pub(crate) fn run(options: &cli::Manager) -> anyhow::Result<()> {
    if options.print_rbac {
        return output::write(&rbac_for(&options.namespace));
    }
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
            instance: identity.clone(),
            ..settings(&options.work)
        },
        webhooks: (!options.no_webhooks).then_some(Served {
            listen: options.webhook_listen,
            reach,
            clients: match &options.webhook_client_ca {
                None => Clients::Anybody,
                Some(path) => std::fs::read(path)
                    .and_then(|pem| Clients::signed_by(&pem))
                    .with_context(|| format!("--webhook-client-ca {}", path.display()))?,
            },
        }),
        identity: (!options.no_leader_election).then_some(identity),
    };
    let probes = match options.work.metrics_bind_address {
        Some(address) => Some(Probes::start(address, plan.settings.metrics.clone()).await?),
        None => None,
    };
    let platform = Platform::start(client, plan)
        .await
        .context("the manager did not start")?;
    probes.iter().for_each(Probes::set_ready);
    tracing::info!("ready");
    stop_signal().await?;
    tracing::info!("stopping");
    platform.stop().await;
    Ok(())
}

/// The settings of the controllers, from the command line.
pub(crate) fn settings(work: &cli::Work) -> Settings {
    Settings {
        definition_revision_limit: work.definition_revision_limit,
        application_revision_limit: work.application_revision_limit,
        composition_revision_limit: work.composition_revision_limit,
        composition_revisions: work.features.is_on(cli::Gate::CompositionRevisions, true),
        label_edits: match work.features.is_on(cli::Gate::CompositionLabelRevisions, false) {
            true => LabelEdits::Issue,
            false => LabelEdits::Follow,
        },
        functions: work.functions.iter().cloned().collect(),
        plain_functions: match work.allow_plain_functions {
            true => Plain::Anywhere,
            false => Plain::OnLoopback,
        },
        function_deadline: Duration::from_secs(work.function_deadline),
        workers: work.max_concurrent_reconciles,
        automatic_moves_per_second: work.automatic_moves_per_second,
        identities: work.identities.identities(),
        local_definitions: work.identities.local_definitions(),
        ..Settings::default()
    }
}

/// The RBAC manifests that an administrator applies before the manager is started in a cluster.
fn rbac_for(namespace: &str) -> String {
    let manager = rbac::MANAGER.replace(
        &format!("namespace: {SYSTEM_NAMESPACE}\n"),
        &format!("namespace: {namespace}\n"),
    );
    format!("{}---\n{manager}---\n{}", rbac::SHARED, rbac::PEOPLE)
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
