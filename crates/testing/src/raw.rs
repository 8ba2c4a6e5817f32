//! Requests as they go over the wire: for tests that look at codes and messages.

use anyhow::Result;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use serde_json::Value;

/// A client that hides nothing.
#[derive(Clone)]
pub struct Raw {
    client: Client,
    headers: Vec<(String, String)>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The body, as JSON; a string when it was none.
    pub body: Value,
    /// The texts of `Warning` headers.
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

    /// The same, with a header in every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same in the name of somebody else, whom the client must have the right to be.
    #[must_use]
    pub fn acting_as(self, user: &str) -> Self {
        self.with_header("impersonate-user", user)
    }

    /// The same with a bearer token.
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

    /// GET of whatever the client accepts: the code, the content type, and the bytes as they came.
    pub async fn fetch(&self, path: &str, accept: &str) -> Result<(u16, String, Bytes)> {
        let request = Request::get(path).header("accept", accept);
        let response = self.client.send(request.body(Vec::new().into())?).await?;
        let code = response.status().as_u16();
        let media = response.headers().get("content-type");
        let media = media.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media = media.to_owned();
        Ok((code, media, response.into_body().collect().await?.to_bytes()))
    }

    /// Anything else.
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
