//! HTTPS client for webhooks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;
use tokio_rustls::TlsConnector;

use super::connect::{Connector, ServiceReference, ServiceResolver};
use super::services;
use crate::server::Server;
use crate::trust::Bundle;

/// Size limit of a response.
const ANSWER_LIMIT: usize = 10 << 20;

/// A failed webhook call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CallError(pub(crate) String);

/// The CA bundle, and the address to connect to if it is not the URL's.
type Target = (String, Option<String>);

type HttpsClient = Client<Connector, Full<Bytes>>;

/// HTTPS clients by CA bundle and address, so that connections are reused.
#[derive(Default)]
pub(crate) struct Webhooks {
    resolver: Option<ServiceResolver>,
    clients: Mutex<HashMap<Target, HttpsClient>>,
}

impl Webhooks {
    pub(crate) fn new(resolver: Option<ServiceResolver>) -> Self {
        Self {
            resolver,
            clients: Mutex::default(),
        }
    }

    /// Posts a review and returns the response. `config` is the `clientConfig` of a webhook.
    pub(crate) async fn call(
        &self,
        server: &Server,
        config: &Value,
        review: &Value,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let (url, address) = self.place(server, config)?;
        let url = format!("{url}?timeout={}s", timeout.as_secs());
        let bundle = config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
        let client = self.client(bundle, address)?;
        let body = serde_json::to_vec(review).expect("a JSON tree always encodes into memory");
        let request = http::Request::post(&url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, "kube-apiserver-admission")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| CallError(error.to_string()))?;
        let failed = |why: String| CallError(format!("Post {url:?}: {why}"));
        let exchange = async {
            let response = client
                .request(request)
                .await
                .map_err(|error| failed(root_cause(&error)))?;
            let code = response.status();
            let body = Limited::new(response.into_body(), ANSWER_LIMIT).collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
            match code.as_u16() {
                200..=299 => serde_json::from_slice(&body).map_err(|error| failed(error.to_string())),
                404 => Err(CallError(
                    "the server could not find the requested resource".to_owned(),
                )),
                _ => Err(CallError(
                    "the server rejected our request for an unknown reason".to_owned(),
                )),
            }
        };
        match tokio::time::timeout(timeout, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(failed("context deadline exceeded".to_owned())),
        }
    }

    /// The URL to post to, and the address to connect to if it is not the URL's.
    fn place(&self, server: &Server, config: &Value) -> Result<(String, Option<String>), CallError> {
        if let Some(url) = config.get("url").and_then(Value::as_str) {
            let (server, path) = split(url);
            return Ok((format!("{server}{}", clean(path)), None));
        }
        let service = config
            .get("service")
            .ok_or_else(|| CallError("neither url nor service is set".to_owned()))?;
        let text = |field: &str| service.get(field).and_then(Value::as_str).unwrap_or_default();
        let port = service
            .get("port")
            .and_then(Value::as_u64)
            .and_then(|port| port.try_into().ok())
            .unwrap_or(443);
        let reference = ServiceReference {
            namespace: text("namespace").to_owned(),
            name: text("name").to_owned(),
            port,
        };
        let address = self.find(server, &reference)?;
        let host = format!("{}.{}.svc", reference.name, reference.namespace);
        Ok((
            format!("https://{host}:{port}{}", clean(text("path"))),
            Some(address),
        ))
    }

    /// Resolves a Service to an address: by the configured resolver, or by its endpoints.
    pub(crate) fn find(&self, server: &Server, reference: &ServiceReference) -> Result<String, CallError> {
        match self.resolver.as_ref().and_then(|resolver| resolver(reference)) {
            Some(address) => Ok(address.to_string()),
            None => services::find(server, reference),
        }
    }

    fn client(&self, bundle: &str, address: Option<String>) -> Result<HttpsClient, CallError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (bundle.to_owned(), address.clone());
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let connector = Connector {
            tls: trusting(bundle)?,
            address,
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(60))
            .build(connector);
        clients.insert(key, client.clone());
        Ok(client)
    }
}

/// The origin and the path of a URL.
fn split(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    let path = url[host..].find('/').map_or(url.len(), |path| host + path);
    url.split_at(path)
}

/// Normalizes a path as Kubernetes does: `//validate/` is `/validate`.
fn clean(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}

/// TLS that trusts only the CAs of a bundle (base64 of PEM).
fn trusting(bundle: &str) -> Result<TlsConnector, CallError> {
    let broken = |what: &str| CallError(format!("unable to load root certificates: {what}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let bundle = Bundle::read(bundle, provider.clone()).map_err(|error| broken(&error))?;
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(&error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(bundle))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The innermost error of a chain.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_asked_for_without_detours() {
        for (url, server, path) in [
            (
                "https://127.0.0.1:9443//validate",
                "https://127.0.0.1:9443",
                "/validate",
            ),
            ("https://[::1]:9443/a/./b/../c/", "https://[::1]:9443", "/a/c"),
            ("https://example.com", "https://example.com", "/"),
            ("https://example.com/../..", "https://example.com", "/"),
        ] {
            let (found, rest) = split(url);
            assert_eq!((found, clean(rest).as_str()), (server, path), "{url}");
        }
        assert_eq!(clean("convert"), "/convert");
    }
}
