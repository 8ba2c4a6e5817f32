//! Loopback client: built-in controllers make requests to their own server without a connection.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use crate::auth::User;
use crate::server::{Server, handle};

/// A request that failed, with its `Status` as JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refused {
    pub(crate) code: u16,
    pub(crate) status: Value,
}

impl Refused {
    pub(crate) fn reason(&self) -> &str {
        self.status
            .get("reason")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn message(&self) -> &str {
        self.status
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// A client whose requests take the same path as everybody's (authorization, admission, validation), without a connection.
#[derive(Clone)]
pub(crate) struct Loopback {
    server: Arc<Server>,
    user: Arc<User>,
    name: String,
    agent: String,
}

impl Loopback {
    pub(crate) fn new(server: Arc<Server>, name: &str) -> Self {
        let user = User::master(&format!("system:serviceaccount:kube-system:{name}"));
        Self {
            server,
            user: Arc::new(user),
            name: name.to_owned(),
            agent: name.to_owned(),
        }
    }

    /// The same client with another field manager.
    pub(crate) fn with_agent(self, agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            ..self
        }
    }

    /// The name of its user.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.send(Method::POST, path, "application/json", encode(object))
            .await
    }

    pub(crate) async fn update(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.send(Method::PUT, path, "application/json", encode(object))
            .await
    }

    pub(crate) async fn merge_patch(&self, path: &str, patch: &Value) -> Result<Value, Refused> {
        self.send(Method::PATCH, path, "application/merge-patch+json", encode(patch))
            .await
    }

    /// Server-side applies a configuration with `force`: takes over fields that other managers own.
    pub(crate) async fn apply(&self, path: &str, manager: &str, object: &Value) -> Result<Value, Refused> {
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.send(
            Method::PATCH,
            &path,
            "application/apply-patch+yaml",
            encode(object),
        )
        .await
    }

    pub(crate) async fn delete(&self, path: &str, options: &Value) -> Result<Value, Refused> {
        self.send(Method::DELETE, path, "application/json", encode(options))
            .await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Value, Refused> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(USER_AGENT, &self.agent);
        if !content_type.is_empty() {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let request = request
            .body(Full::new(body))
            .expect("paths of objects are valid URIs");
        // Boxed: admission may call controllers' paths again, and futures must have a size.
        let response = Box::pin(handle(&self.server, Some(self.user.clone()), request)).await;
        let code = response.status();
        let bytes = response
            .into_body()
            .collect()
            .await
            .map(http_body_util::Collected::to_bytes)
            .unwrap_or_default();
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if code.is_success() {
            Ok(value)
        } else {
            Err(Refused {
                code: code.as_u16(),
                status: value,
            })
        }
    }
}

fn encode(value: &Value) -> Bytes {
    serde_json::to_vec(value)
        .expect("a JSON tree always encodes into memory")
        .into()
}
