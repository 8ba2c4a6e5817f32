//! One embedded cluster: its store, certificate authority and listener.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use cambium_apiserver::pki::{Authority, Identity};
use cambium_apiserver::store::{History, Store};
use cambium_apiserver::{ApiServer, SigningKey, serve};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Listen, UpError, make_private};

/// A cluster that is up.
pub(crate) struct Cluster {
    /// The name of its context.
    pub(crate) name: String,
    /// The address that it listens on.
    pub(crate) address: SocketAddr,
    /// Its certificate authority's certificate.
    pub(crate) authority: String,
    /// The administrator's certificate.
    pub(crate) admin: Identity,
    /// The server itself, in-process.
    pub(crate) server: ApiServer,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Cluster {
    /// Opens its data (or none), and listens.
    pub(crate) async fn start(name: &str, data: Option<PathBuf>, listen: Listen) -> anyhow::Result<Self> {
        let now = jiff::Timestamp::now();
        let path = data.clone().unwrap_or_default();
        let refused = |source| UpError::Store {
            path: path.clone(),
            source,
        };
        // The store first: it is what tells a second instance to stay away.
        let store = match &data {
            Some(data) => {
                make_private(data)?;
                Store::open(&data.join("store.redb"), History::default()).map_err(refused)?
            }
            None => Store::in_memory(History::default()),
        };
        let (authority, front_proxy, signing_key) = match &data {
            Some(data) => {
                let front_proxy = data.join("front-proxy");
                make_private(&front_proxy)?;
                (
                    Authority::load_or_generate(data, now)?,
                    Authority::load_or_generate(&front_proxy, now)?,
                    SigningKey::load_or_generate(data)?,
                )
            }
            None => (
                Authority::generate(now)?,
                Authority::generate(now)?,
                SigningKey::generate()?,
            ),
        };
        let server = ApiServer::builder()
            .store(store)
            .signing_key(signing_key)
            .authority(authority.certificate())
            .front_proxy(front_proxy)
            .build()
            .await
            .map_err(refused)?;
        let listener = bind(listen).await?;
        let address = listener.local_addr()?;
        let names = [
            "127.0.0.1",
            "::1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "10.96.0.1",
        ];
        let mut names: Vec<String> = names.map(str::to_owned).to_vec();
        names.push(address.ip().to_string());
        names.dedup();
        let acceptor = serve::tls(&authority.server(&names, now)?, authority.certificate())?;
        let admin = authority.client("cambium-admin", &[cambium_apiserver::MASTERS], now)?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve::serve(listener, acceptor, server.clone(), async {
            // A dropped sender means the same: stop.
            let _ = stopped.await;
        }));
        tracing::info!(cluster = name, %address, "listening");
        Ok(Self {
            name: name.to_owned(),
            address,
            authority: authority.certificate().to_owned(),
            admin,
            server,
            stop,
            task,
        })
    }

    /// Lets open requests end, then closes.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        if let Err(error) = self.task.await {
            tracing::warn!(%error, cluster = self.name, "failed to stop the listener");
        }
    }
}

async fn bind(listen: Listen) -> Result<TcpListener, UpError> {
    let (address, elsewhere) = match listen {
        Listen::Exactly(address) => (address, false),
        Listen::Preferably(address) => (address, true),
    };
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if elsewhere => {
            tracing::info!(%address, %error, "address in use: listening on a free port");
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            TcpListener::bind(any)
                .await
                .map_err(|source| UpError::Listen { address: any, source })
        }
        Err(source) => Err(UpError::Listen { address, source }),
    }
}
