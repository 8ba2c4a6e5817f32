//! A stub webhook server on loopback.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use crate::HttpsServer;

/// Handles a review: path and body to response body.
pub type Handler = Arc<dyn Fn(&str, Value) -> Value + Send + Sync>;

/// A webhook server, stopped on drop.
pub struct WebhookServer {
    server: HttpsServer,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl WebhookServer {
    /// Starts a server that answers every POST by `handler`.
    pub async fn start(handler: Handler) -> Result<Self> {
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let log = seen.clone();
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let server = HttpsServer::start(
            &names,
            Arc::new(move |request| {
                let (handler, log) = (handler.clone(), log.clone());
                Box::pin(async move {
                    let path = request.uri().path().to_owned();
                    let body = request.into_body().collect().await;
                    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
                    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
                    log.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(review.clone());
                    let answer = serde_json::to_vec(&handler(&path, review)).unwrap_or_default();
                    let response = hyper::Response::builder()
                        .header("content-type", "application/json")
                        .body(Full::new(answer.into()).boxed_unsync());
                    response.unwrap_or_default()
                })
            }),
        )
        .await?;
        Ok(Self { server, seen })
    }

    /// Its URL, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.server.port())
    }

    /// The CA certificate for its clients, as PEM.
    pub fn authority(&self) -> &str {
        self.server.authority()
    }

    /// Its serving certificate, as PEM.
    pub fn certificate(&self) -> &str {
        self.server.certificate()
    }

    /// The bodies of all requests so far.
    pub fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
