//! A stub HTTPS server on loopback.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Result;
use cambium_apiserver::pki::Authority;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;

/// Handles a request.
pub type Respond = Arc<
    dyn Fn(
            hyper::Request<Incoming>,
        ) -> Pin<Box<dyn Future<Output = hyper::Response<UnsyncBoxBody<Bytes, Infallible>>> + Send>>
        + Send
        + Sync,
>;

/// The server, stopped on drop.
pub struct HttpsServer {
    port: u16,
    authority: String,
    certificate: String,
    task: tokio::task::JoinHandle<()>,
}

impl HttpsServer {
    /// Starts a server with a certificate for `names`.
    pub async fn start(names: &[String], respond: Respond) -> Result<Self> {
        let now = jiff::Timestamp::now();
        let authority = Authority::generate(now)?;
        let identity = authority.server(names, now)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain =
            CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<_, _>>()?;
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?)?;
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(async move {
            // They end with the task.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, respond) = (acceptor.clone(), respond.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = hyper::service::service_fn(move |request| {
                        let answer = respond(request);
                        async move { Ok::<_, Infallible>(answer.await) }
                    });
                    let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    // A client that goes away is a client that has what it wants.
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Ok(Self {
            port,
            authority: authority.certificate().to_owned(),
            certificate: identity.certificate,
            task,
        })
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The CA certificate for its clients, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Its serving certificate, as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}

impl Drop for HttpsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
