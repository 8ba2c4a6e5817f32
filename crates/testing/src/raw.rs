//! Raw HTTP requests, for tests of status codes and messages.

use anyhow::Result;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use serde_json::Value;

/// A raw HTTP client.
#[derive(Clone)]
pub struct Raw {
    client: Client,
    headers: Vec<(String, String)>,
}

/// A response.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The body as JSON; a string if it is not JSON.
    pub body: Value,
    /// The `Warning` headers.
    pub warnings: Vec<String>,
}

impl Answer {
    /// `message` of a `Status`.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// `reason` of a `Status`.
    pub fn reason(&self) -> &str {
        self.body["reason"].as_str().unwrap_or_default()
    }
}

impl Raw {
    /// Requests through this client.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            headers: Vec::new(),
        }
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Impersonates a user, which the client must be allowed to.
    #[must_use]
    pub fn acting_as(self, user: &str) -> Self {
        self.with_header("impersonate-user", user)
    }

    /// Adds a bearer token.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        self.with_header("authorization", &format!("Bearer {token}"))
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, &[], &Value::Null).await
    }

    /// POST of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send(Method::POST, path, &[("content-type", "application/json")], body)
            .await
    }

    /// PUT of JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send(Method::PUT, path, &[("content-type", "application/json")], body)
            .await
    }

    /// PATCH: `json`, `merge`, `strategic` or `apply`.
    pub async fn patch(&self, kind: &str, path: &str, body: &Value) -> Result<Answer> {
        let media = match kind {
            "json" => "application/json-patch+json",
            "merge" => "application/merge-patch+json",
            "strategic" => "application/strategic-merge-patch+json",
            "apply" => "application/apply-patch+yaml",
            other => other,
        };
        self.send(Method::PATCH, path, &[("content-type", media)], body)
            .await
    }

    /// DELETE, with options.
    pub async fn delete(&self, path: &str, options: &Value) -> Result<Answer> {
        self.send(
            Method::DELETE,
            path,
            &[("content-type", "application/json")],
            options,
        )
        .await
    }

    /// GET with an `Accept` header: status code, content type and raw bytes.
    pub async fn fetch(&self, path: &str, accept: &str) -> Result<(u16, String, Bytes)> {
        let request = Request::get(path).header("accept", accept);
        let response = self.client.send(request.body(Vec::new().into())?).await?;
        let code = response.status().as_u16();
        let media = response.headers().get("content-type");
        let media = media.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media = media.to_owned();
        Ok((code, media, response.into_body().collect().await?.to_bytes()))
    }

    /// Any other request.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Answer> {
        let bytes = match body {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            other => serde_json::to_vec(other)?,
        };
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = self.client.send(request.body(bytes.into())?).await?;
        let code = response.status().as_u16();
        let warnings = response
            .headers()
            .get_all("warning")
            .iter()
            .filter_map(|value| value.to_str().ok());
        let warnings = warnings.map(warning).collect();
        let bytes = response.into_body().collect().await?.to_bytes();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into());
        Ok(Answer { code, body, warnings })
    }
}

/// The text of a `Warning` header: `299 - "…"`, unescaped.
fn warning(header: &str) -> String {
    let text = header.trim_start_matches("299 - ");
    let text = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text);
    text.replace("\\\"", "\"")
}
