//! Starts the controllers and the webhooks: the same for an embedded cluster and for a real one.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use cambium_controllers::runtime::{Election, lease};
use cambium_controllers::{Authors, Identities, LEASE, Manager, Settings};
use cambium_webhooks::registration::Reach;
use cambium_webhooks::server::Clients;
use cambium_webhooks::{Options, Webhooks};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The options of a platform.
pub(crate) struct Plan {
    /// The system namespace.
    pub(crate) namespace: String,
    /// The settings of the manager.
    pub(crate) settings: Settings,
    /// The webhook server; none are served without it.
    pub(crate) webhooks: Option<Served>,
    /// Whether others may run beside this one, and under which name this one stands for election.
    pub(crate) identity: Option<String>,
}

/// The address that webhooks listen on, and the one that the API server calls.
pub(crate) struct Served {
    pub(crate) listen: SocketAddr,
    /// By the address that they listen on, if nothing is said.
    pub(crate) reach: Option<Reach>,
    pub(crate) clients: Clients,
}

/// A running platform.
pub(crate) struct Platform {
    task: JoinHandle<()>,
    webhooks: Option<Webhooks>,
    election: Option<Election>,
}

impl Platform {
    /// Installs the kinds, serves the webhooks, and starts the controllers. Returns when everything has been seen once.
    pub(crate) async fn start(client: Client, plan: Plan) -> anyhow::Result<Self> {
        ensure_namespace(&client, &plan.namespace).await?;
        let served = plan.webhooks.is_some();
        let settings = Settings {
            serves_v2beta1: served,
            identities: Identities {
                authors: match served {
                    true => Authors::Recorded,
                    false => Authors::Unknown,
                },
                ..plan.settings.identities
            },
            namespace: plan.namespace.clone(),
            ..plan.settings
        };
        let metrics = settings.metrics.clone();
        let manager = Manager::new(client.clone(), settings)
            .await
            .context("failed to ask the API server for its version")?;
        let manager = Arc::new(manager);
        let webhooks = match plan.webhooks {
            Some(webhooks) => {
                let listener = TcpListener::bind(webhooks.listen)
                    .await
                    .with_context(|| format!("cannot listen for webhooks on {}", webhooks.listen))?;
                let address = listener.local_addr()?;
                let reach = webhooks.reach.unwrap_or_else(|| Reach::local(address));
                let options = Options {
                    clients: webhooks.clients,
                    metrics,
                    ..Options::new(plan.namespace.clone(), reach)
                };
                Some(Webhooks::start(client.clone(), listener, options, manager.admission()).await?)
            }
            None => {
                install(&client).await?;
                None
            }
        };
        manager.synced().await;
        let election = plan
            .identity
            .map(|identity| Election::start(client, lease::Settings::new(plan.namespace, LEASE, identity)));
        let leadership = election.as_ref().map(Election::leadership);
        let task = tokio::spawn(async move {
            match leadership {
                Some(leadership) => manager.run_while_leading(leadership).await,
                None => manager.run().await,
            }
        });
        Ok(Self {
            task,
            webhooks,
            election,
        })
    }

    /// Stops writing, then lets others lead, then stops answering.
    pub(crate) async fn stop(self) {
        self.task.abort();
        // Cancelled, as it should be.
        let _ = self.task.await;
        if let Some(election) = self.election {
            election.release().await;
        }
        if let Some(webhooks) = self.webhooks {
            webhooks.stop().await;
        }
    }
}

/// Creates a namespace unless it is there.
pub(crate) async fn ensure_namespace(client: &Client, name: &str) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if namespaces.get_opt(name).await?.is_some() {
        return Ok(());
    }
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..Default::default()
        },
        ..Default::default()
    };
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other
            .map(drop)
            .with_context(|| format!("failed to create namespace {name}")),
    }
}

/// Installs the kinds as they are without webhooks: definitions at v1beta1 alone.
async fn install(client: &Client) -> anyhow::Result<()> {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in cambium_api::crds::each() {
        let name = crd.metadata.name.clone().unwrap_or_default();
        // Whoever serves v2beta1 does so for good: what is there is left as it is.
        if api.get_opt(&name).await?.is_none() {
            api.create(&PostParams::default(), &crd)
                .await
                .with_context(|| format!("failed to install {name}"))?;
        }
    }
    Ok(())
}
