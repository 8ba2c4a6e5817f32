//! One way to get a cluster, whichever it is.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::{Context as _, Result};
use cambium_apiserver::{ApiServer, User};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

use crate::real::Plane;
use crate::rights::Refused;
use crate::{Raw, rights};

/// Which cluster tests run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Our own server, in this process.
    Embedded,
    /// Kubernetes itself.
    Kubernetes,
}

impl Backend {
    /// What `CAMBIUM_TEST_BACKEND` says; embedded when it says nothing.
    pub fn from_environment() -> Result<Self> {
        match std::env::var("CAMBIUM_TEST_BACKEND").unwrap_or_default().as_str() {
            "" | "embedded" => Ok(Self::Embedded),
            "kubernetes" => Ok(Self::Kubernetes),
            other => anyhow::bail!("CAMBIUM_TEST_BACKEND={other}: expected embedded or kubernetes"),
        }
    }
}

/// The certificate that embedded clusters tell their clients to trust. None of them listens, so any will do.
static AUTHORITY: LazyLock<String> = LazyLock::new(|| {
    let authority = cambium_apiserver::pki::Authority::generate(jiff::Timestamp::now());
    authority.map_or_else(
        |error| error.to_string(),
        |authority| authority.certificate().to_owned(),
    )
});

/// A cluster for one test.
pub struct TestCluster {
    client: Client,
    place: Place,
    refused: Refused,
}

enum Place {
    Embedded(ApiServer),
    Kubernetes(Arc<Plane>),
}

impl TestCluster {
    /// A cluster of the kind that the environment asks for. A real one is shared with other tests.
    pub async fn start() -> Result<Self> {
        match Backend::from_environment()? {
            Backend::Embedded => Self::fresh().await,
            Backend::Kubernetes => Self::real(Plane::shared().await).await,
        }
    }

    /// The same, and no other test uses it as long as this value lives. What the test before has left in a real one is still there.
    pub async fn alone() -> Result<Self> {
        match Backend::from_environment()? {
            Backend::Embedded => Self::fresh().await,
            Backend::Kubernetes => Self::real(Plane::alone().await).await,
        }
    }

    /// The same cluster once more, if it is a real one.
    pub fn again(&self) -> Option<Self> {
        match &self.place {
            Place::Embedded(_) => None,
            Place::Kubernetes(plane) => Some(Self {
                client: self.client.clone(),
                place: Place::Kubernetes(plane.clone()),
                refused: self.refused.clone(),
            }),
        }
    }

    async fn fresh() -> Result<Self> {
        Self::embedded(ApiServer::builder().authority(AUTHORITY.as_str())).await
    }

    async fn real(plane: Result<Plane>) -> Result<Self> {
        let plane = plane.context("a real cluster")?;
        Ok(Self {
            client: plane.client().await?,
            place: Place::Kubernetes(Arc::new(plane)),
            refused: Refused::default(),
        })
    }

    /// An embedded cluster with settings of its own, whatever the environment says.
    pub async fn embedded(builder: cambium_apiserver::Builder) -> Result<Self> {
        let server = builder.build().await?;
        let client = Client::new(server.clone(), "default");
        Ok(Self {
            client,
            place: Place::Embedded(server),
            refused: Refused::default(),
        })
    }

    /// Which kind it is.
    pub fn backend(&self) -> Backend {
        match &self.place {
            Place::Embedded(_) => Backend::Embedded,
            Place::Kubernetes(_) => Backend::Kubernetes,
        }
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client with the rights that the manager's ClusterRole gives, and no others. [`TestCluster::refused`] tells what was missing.
    pub async fn manager(&self) -> Result<Client> {
        let client = match &self.place {
            Place::Embedded(server) => {
                let user = User {
                    name: rights::MANAGER.to_owned(),
                    groups: vec!["system:authenticated".to_owned()],
                    ..User::default()
                };
                Client::new(server.as_user(Some(user)), "default")
            }
            Place::Kubernetes(plane) => plane.manager().await?,
        };
        rights::grant(&self.raw()).await?;
        // A server hears of a role a little later than it is told.
        let namespaces: Api<Namespace> = Api::all(client.clone());
        crate::eventually("the manager has its rights", || async {
            Ok(namespaces.get_opt("default").await.is_ok())
        })
        .await?;
        Ok(rights::watched(&client, &self.refused))
    }

    /// What authorization has refused to the manager so far.
    pub fn refused(&self) -> Vec<String> {
        self.refused.so_far()
    }

    /// A client that shows no credentials but those that its requests carry.
    pub async fn stranger(&self) -> Result<Client> {
        match &self.place {
            Place::Embedded(server) => Ok(Client::new(server.as_user(None), "default")),
            Place::Kubernetes(plane) => plane.stranger().await,
        }
    }

    /// Requests as they go over the wire.
    pub fn raw(&self) -> Raw {
        Raw::new(self.client())
    }

    /// The embedded server, if it is one.
    pub fn server(&self) -> Option<&ApiServer> {
        match &self.place {
            Place::Embedded(server) => Some(server),
            Place::Kubernetes(_) => None,
        }
    }

    /// A name that nobody else in this cluster has.
    pub fn unique(&self, prefix: &str) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        format!(
            "{prefix}-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        )
    }

    /// A namespace of the test's own.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let name = self.unique(prefix);
        let metadata = ObjectMeta {
            name: Some(name.clone()),
            ..ObjectMeta::default()
        };
        let namespace = Namespace {
            metadata,
            ..Namespace::default()
        };
        Api::all(self.client())
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(name)
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        if let Place::Embedded(server) = &self.place {
            server.stop();
        }
    }
}
