//! Test clusters, embedded or real.

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

/// The type of cluster that tests run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// The embedded API server, in this process.
    Embedded,
    /// A real Kubernetes control plane.
    Kubernetes,
}

impl Backend {
    /// The value of `CAMBIUM_TEST_BACKEND`; embedded by default.
    pub fn from_environment() -> Result<Self> {
        match std::env::var("CAMBIUM_TEST_BACKEND").unwrap_or_default().as_str() {
            "" | "embedded" => Ok(Self::Embedded),
            "kubernetes" => Ok(Self::Kubernetes),
            other => anyhow::bail!("CAMBIUM_TEST_BACKEND={other}: expected embedded or kubernetes"),
        }
    }
}

/// The CA certificate of embedded clusters. None of them listens, so one serves for all.
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
    /// A cluster of the configured backend. A real one is shared with other tests.
    pub async fn start() -> Result<Self> {
        match Backend::from_environment()? {
            Backend::Embedded => Self::fresh().await,
            Backend::Kubernetes => Self::real(Plane::shared().await).await,
        }
    }

    /// A cluster for exclusive use while this value lives. A real one may contain objects of earlier tests.
    pub async fn alone() -> Result<Self> {
        match Backend::from_environment()? {
            Backend::Embedded => Self::fresh().await,
            Backend::Kubernetes => Self::real(Plane::alone().await).await,
        }
    }

    /// Another handle to the same cluster, if it is a real one.
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

    /// An embedded cluster with custom settings, regardless of the environment.
    pub async fn embedded(builder: cambium_apiserver::Builder) -> Result<Self> {
        let server = builder.build().await?;
        let client = Client::new(server.clone(), "default");
        Ok(Self {
            client,
            place: Place::Embedded(server),
            refused: Refused::default(),
        })
    }

    /// Its backend.
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

    /// A client with exactly the rights of the manager's ClusterRole. [`TestCluster::refused`] lists denied requests.
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
        // A server sees a new role with a delay.
        let namespaces: Api<Namespace> = Api::all(client.clone());
        crate::eventually("the manager has its rights", || async {
            Ok(namespaces.get_opt("default").await.is_ok())
        })
        .await?;
        Ok(rights::watched(&client, &self.refused))
    }

    /// The requests of the manager that authorization denied so far.
    pub fn refused(&self) -> Vec<String> {
        self.refused.so_far()
    }

    /// A client without credentials of its own.
    pub async fn stranger(&self) -> Result<Client> {
        match &self.place {
            Place::Embedded(server) => Ok(Client::new(server.as_user(None), "default")),
            Place::Kubernetes(plane) => plane.stranger().await,
        }
    }

    /// A raw HTTP client.
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

    /// A unique name in this cluster.
    pub fn unique(&self, prefix: &str) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        format!(
            "{prefix}-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        )
    }

    /// Creates a namespace for the test.
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
