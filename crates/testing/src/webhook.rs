//! An HTTPS server on loopback that answers reviews as a test wants.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use cambium_apiserver::pki::Authority;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::net::TcpListener;

/// Turns the body of a request into the body of an answer.
pub type Handler = Arc<dyn Fn(&str, Value) -> Value + Send + Sync>;

/// A webhook server; it ends with the value.
pub struct WebhookServer {
    url: String,
    authority: String,
    seen: Arc<Mutex<Vec<Value>>>,
    task: tokio::task::JoinHandle<()>,
}

impl WebhookServer {
    /// Starts a server that answers every POST with what `handler` makes of its path and body.
    pub async fn start(handler: Handler) -> Result<Self> {
        let now = jiff::Timestamp::now();
        let authority = Authority::generate(now)?;
        let identity = authority.server(&["127.0.0.1".to_owned(), "localhost".to_owned()], now)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain =
            CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<_, _>>()?;
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?)?;
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://127.0.0.1:{}", listener.local_addr()?.port());
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let log = seen.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, handler, log) = (acceptor.clone(), handler.clone(), log.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = hyper::service::service_fn(move |request| {
                        answer(request, handler.clone(), log.clone())
                    });
                    let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    // A client that goes away is a client that has what it wants.
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Ok(Self {
            url,
            authority: authority.certificate().to_owned(),
            seen,
            task,
        })
    }

    /// Its URL, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// What its clients must trust, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The bodies of all requests so far.
    pub fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for WebhookServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    handler: Handler,
    log: Arc<Mutex<Vec<Value>>>,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request
        .into_body()
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    log.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(review.clone());
    let answer = serde_json::to_vec(&handler(&path, review)).unwrap_or_default();
    let response = hyper::Response::builder()
        .header("content-type", "application/json")
        .body(Full::new(answer.into()));
    Ok(response.unwrap_or_default())
}
