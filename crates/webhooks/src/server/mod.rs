//! The HTTPS server.
//!
//! ```text
//!   accept ─► handshake ─► HTTP/1.1 or 2 ─► routes ─┬─► /convert         cambium_convert::Registry
//!   (bounded) (resolver:                            ├─► /admit/<path>   admission::ask
//!              swapped at                           ├─► /mutate/<path>  admission::ask_mutator
//!              run time)                            └─► /healthz
//! ```
//!
//! Nobody can hold it up: connections, heads, bodies and the time for each are bounded ([`Limits`]), and what a client does on one
//! connection is seen on no other.

mod connection;
mod limits;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::{ResolvesServerCert, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

pub use limits::Limits;
pub use routes::Hooks;

use connection::connection;
use routes::Routes;

/// Who is answered.
#[derive(Debug, Clone, Default)]
pub enum Clients {
    /// Whoever reaches the server. What is told to them is about the object that they send.
    #[default]
    Anybody,
    /// Whoever shows a certificate that one of these signed; everybody may ask for `/healthz`.
    SignedBy(Arc<RootCertStore>),
}

impl Clients {
    /// Those whose certificates are signed by an authority in this PEM text.
    pub fn signed_by(pem: &[u8]) -> std::io::Result<Self> {
        let mut authorities = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(std::io::Error::other)?;
            authorities.add(certificate).map_err(std::io::Error::other)?;
        }
        match authorities.is_empty() {
            true => Err(std::io::Error::other("no certificate in it")),
            false => Ok(Self::SignedBy(Arc::new(authorities))),
        }
    }
}

/// A server that runs until it is stopped.
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves on a listener, with whatever certificate `resolver` has at the moment of each handshake.
    pub fn start(
        listener: TcpListener,
        resolver: Arc<dyn ResolvesServerCert>,
        hooks: Hooks,
        limits: Limits,
    ) -> std::io::Result<Self> {
        Self::start_for(listener, resolver, hooks, limits, Clients::Anybody)
    }

    /// The same, for some clients only.
    pub fn start_for(
        listener: TcpListener,
        resolver: Arc<dyn ResolvesServerCert>,
        hooks: Hooks,
        limits: Limits,
        clients: Clients,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(std::io::Error::other)?;
        let config = match &clients {
            Clients::Anybody => config.with_no_client_auth(),
            Clients::SignedBy(authorities) => {
                // Probes have no certificate: who has none is turned away by path, and not by the handshake.
                let verifier = WebPkiClientVerifier::builder_with_provider(authorities.clone(), provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(std::io::Error::other)?;
                config.with_client_cert_verifier(verifier)
            }
        };
        let mut config = config.with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let (stop, stopped) = watch::channel(false);
        let accepting = Accepting {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            routes: Arc::new(Routes::new(hooks, limits, clients)),
            limits,
        };
        let task = tokio::spawn(accepting.run(stopped));
        Ok(Self { address, stop, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more, lets open requests end, and returns when no connection is left.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // It cannot be cancelled by anybody else, and what it runs is in tasks of its own.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Accepting {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    routes: Arc<Routes>,
    limits: Limits,
}

impl Accepting {
    async fn run(self, mut stopped: watch::Receiver<bool>) {
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let mut connections = JoinSet::new();
        loop {
            // The place first: who is not accepted waits in the kernel's queue, and costs nothing.
            let next = async {
                let place = places.clone().acquire_owned().await;
                (place, self.listener.accept().await)
            };
            let (place, stream) = tokio::select! {
                (place, accepted) = next => match accepted {
                    Ok((stream, _)) => (place, stream),
                    Err(error) => {
                        // Out of file descriptors, most likely: give others the time to close theirs.
                        tracing::warn!(%error, "failed to accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
                Some(_) = connections.join_next() => continue,
                () = told(&mut stopped) => break,
            };
            let (acceptor, routes, stopped) = (self.acceptor.clone(), self.routes.clone(), stopped.clone());
            let limits = self.limits;
            connections.spawn(async move {
                let _place = place;
                if let Err(error) = connection(stream, acceptor, routes, limits, stopped).await {
                    tracing::debug!(%error, "a connection ended early");
                }
            });
        }
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(self.limits.farewell, all).await;
        connections.shutdown().await;
    }
}

/// Returns when the server is to stop.
async fn told(stopped: &mut watch::Receiver<bool>) {
    // A sender that is gone says the same.
    let _ = stopped.wait_for(|stop| *stop).await;
}
