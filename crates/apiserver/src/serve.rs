//! Serves HTTPS: TLS, client certificates, HTTP/1.1 and HTTP/2.

mod timeouts;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower_service::Service;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::auth::User;
use crate::builder::ApiServer;
use crate::pki::Identity;
use timeouts::TimeoutStream;

/// Connection timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout for the TLS handshake, and again for the first bytes after it.
    pub handshake: Duration,
    /// Timeout for an idle HTTP/1.1 connection, and for the headers of a request.
    pub idle: Duration,
    /// Write timeout for a client that reads nothing.
    pub write: Duration,
    /// Grace period for requests in flight when the server stops.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            write: Duration::from_secs(60),
            shutdown: Duration::from_secs(5),
        }
    }
}

/// Invalid TLS configuration.
#[derive(Debug, thiserror::Error)]
#[error("invalid serving certificate: {0}")]
pub struct TlsError(String);

/// The TLS configuration: the serving certificate, and the CA of client certificates.
pub fn tls(identity: &Identity, client_authority: &str) -> Result<TlsAcceptor, TlsError> {
    let broken = |error: &dyn std::fmt::Display| TlsError(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(client_authority.as_bytes()) {
        roots
            .add(certificate.map_err(|error| broken(&error))?)
            .map_err(|error| broken(&error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|error| broken(&error))?;
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<_, _>>();
    let chain = chain.map_err(|error| broken(&error))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|error| broken(&error))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(&error))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|error| broken(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Accepts connections until `stop` resolves, then drains requests in flight.
pub async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    server: ApiServer,
    stop: impl Future<Output = ()>,
) {
    serve_with(listener, acceptor, server, Timeouts::default(), stop).await;
}

/// The same with other timeouts. When it returns, all connections are closed.
pub async fn serve_with(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    server: ApiServer,
    timeouts: Timeouts,
    stop: impl Future<Output = ()>,
) {
    let graceful = hyper_util::server::graceful::GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely: give others the time to close theirs.
                    tracing::warn!(%error, "failed to accept connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
            () = &mut stop => break,
        };
        let (acceptor, server, watcher) = (acceptor.clone(), server.clone(), graceful.watcher());
        connections.spawn(async move {
            if let Err(error) = connection(stream, acceptor, server, timeouts, watcher).await {
                tracing::debug!(error, "connection closed with error");
            }
        });
    }
    drop(listener);
    server.stop();
    let _ = tokio::time::timeout(timeouts.shutdown, graceful.shutdown()).await;
    connections.shutdown().await;
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    server: ApiServer,
    timeouts: Timeouts,
    watcher: hyper_util::server::graceful::Watcher,
) -> Result<(), String> {
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let handshake = tokio::time::timeout(timeouts.handshake, acceptor.accept(stream));
    let stream = handshake
        .await
        .map_err(|_| "no TLS handshake")?
        .map_err(|error| error.to_string())?;
    let session = stream.get_ref().1;
    let certificates = session.peer_certificates().unwrap_or_default();
    // Who shows no certificate may still show a token.
    let server = server.as_user(certificates.first().and_then(|certificate| user(certificate)));
    let service =
        hyper::service::service_fn(move |request: hyper::Request<Incoming>| server.clone().call(request));
    // The handshake has settled the protocol; looking at the first bytes instead would wait for them for ever.
    let builder = auto::Builder::new(TokioExecutor::new());
    let (mut builder, hello) = match session.alpn_protocol() {
        Some(b"h2") => (builder.http2_only(), H2_PREFACE),
        _ => (builder.http1_only(), 1),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.idle);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1000)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    let stream = TimeoutStream::new(stream, hello, timeouts.handshake, timeouts.write);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    watcher
        .watch(connection.into_owned())
        .await
        .map_err(|error| error.to_string())
}

/// Length of the HTTP/2 connection preface.
const H2_PREFACE: usize = 24;

/// The user of a client certificate: common name, and organizations as groups.
fn user(certificate: &CertificateDer<'_>) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups: Vec<&str> = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok())
        .collect();
    Some(User::authenticated(name, &groups))
}
