//! An embedded cluster on the network that can be restarted, for clients that must survive it.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use cambium_apiserver::pki::{Authority, Identity};
use cambium_apiserver::store::{History, OpenError};
use cambium_apiserver::{ApiServer, MASTERS, serve};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A cluster with a data directory and a fixed port.
pub struct NetworkCluster {
    directory: tempfile::TempDir,
    history: History,
    authority: Authority,
    admin: Identity,
    address: SocketAddr,
    server: Option<ApiServer>,
    listening: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl NetworkCluster {
    /// Starts a new cluster.
    pub async fn start(history: History) -> Result<Self> {
        let now = jiff::Timestamp::now();
        let authority = Authority::generate(now)?;
        let admin = authority.client("tester", &[MASTERS], now)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut cluster = Self {
            directory: tempfile::tempdir()?,
            history,
            admin,
            authority,
            address: listener.local_addr()?,
            server: None,
            listening: None,
        };
        cluster.open().await?;
        cluster.listen_on(listener)?;
        Ok(cluster)
    }

    /// An in-process client.
    pub fn client(&self) -> Result<Client> {
        let server = self.server.clone().context("the cluster is closed")?;
        Ok(Client::new(server, "default"))
    }

    /// A client over the network.
    pub async fn remote_client(&self) -> Result<Client> {
        let config = Kubeconfig::from_yaml(&self.kubeconfig())?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }

    /// Writes the administrator's kubeconfig next to the data.
    pub fn write_kubeconfig(&self) -> Result<PathBuf> {
        let path = self.directory.path().join("kubeconfig");
        std::fs::write(&path, self.kubeconfig())?;
        Ok(path)
    }

    /// Ends every connection and closes the store.
    pub async fn close(&mut self) -> Result<()> {
        if let Some((stop, task)) = self.listening.take() {
            // An error means that the server has stopped already.
            let _ = stop.send(());
            task.await?;
        }
        if let Some(server) = self.server.take() {
            server.stop();
        }
        Ok(())
    }

    /// Reopens the store, without listening yet.
    pub async fn open(&mut self) -> Result<()> {
        let server = crate::eventually_some("the store is free", || async {
            let builder = ApiServer::builder()
                .file(self.directory.path().join("store.redb"))
                .history(self.history);
            match builder.build().await {
                Ok(server) => Ok(Some(server)),
                // The last tasks of the server before this one are still on their way out.
                Err(OpenError::InUse) => Ok(None),
                Err(error) => Err(error.into()),
            }
        });
        self.server = Some(server.await?);
        Ok(())
    }

    /// Listens on the port again.
    pub async fn listen(&mut self) -> Result<()> {
        self.listen_on(TcpListener::bind(self.address).await?)
    }

    /// Closes, runs `meanwhile` unseen by remote clients, and listens again.
    pub async fn restart<F: Future<Output = Result<()>>>(
        &mut self,
        unseen: impl FnOnce(Client) -> F,
    ) -> Result<()> {
        self.close().await?;
        self.open().await?;
        unseen(self.client()?).await?;
        self.listen().await
    }

    fn listen_on(&mut self, listener: TcpListener) -> Result<()> {
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = self.authority.server(&names, jiff::Timestamp::now())?;
        let acceptor = serve::tls(&certificate, self.authority.certificate())?;
        let server = self.server.clone().context("the cluster is closed")?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve::serve(listener, acceptor, server, async {
            // A dropped sender means the same: stop.
            let _ = stopped.await;
        }));
        self.listening = Some((stop, task));
        Ok(())
    }

    fn kubeconfig(&self) -> String {
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters: [{{name: test, cluster: {{server: \"https://{}\", certificate-authority-data: {}}}}}]\n\
             users: [{{name: test, user: {{client-certificate-data: {}, client-key-data: {}}}}}]\n\
             contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n",
            self.address,
            encode(self.authority.certificate()),
            encode(&self.admin.certificate),
            encode(&self.admin.key),
        )
    }
}

impl Drop for NetworkCluster {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            server.stop();
        }
    }
}
