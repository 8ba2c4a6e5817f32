//! A raw watch.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::Value;

/// An open watch.
pub struct Watch {
    lines: futures::stream::BoxStream<'static, Result<String>>,
}

impl Watch {
    /// Opens a watch; `path` is the whole URL, query included.
    pub async fn open(client: &Client, path: &str, accept: &str) -> Result<Self> {
        let request = Request::get(path)
            .header("accept", accept)
            .body(Vec::new().into())?;
        let response = client.send(request).await?;
        if !response.status().is_success() {
            let code = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            bail!("{code}: {}", String::from_utf8_lossy(&body));
        }
        let body = response.into_body().into_data_stream();
        let lines = futures::stream::unfold((body, String::new()), |(mut body, mut rest)| async move {
            loop {
                if let Some((line, after)) = rest.split_once('\n') {
                    let line = line.to_owned();
                    rest = after.to_owned();
                    return Some((Ok(line), (body, rest)));
                }
                match body.next().await? {
                    Ok(bytes) => rest.push_str(&String::from_utf8_lossy(&bytes)),
                    Err(error) => return Some((Err(error.into()), (body, rest))),
                }
            }
        });
        Ok(Self { lines: lines.boxed() })
    }

    /// The next event: its type and its object. `None` at the end.
    pub async fn next(&mut self) -> Result<Option<(String, Value)>> {
        let line = tokio::time::timeout(Duration::from_secs(30), self.lines.next())
            .await
            .context("no event came")?;
        let Some(line) = line.transpose()? else {
            return Ok(None);
        };
        let mut event: Value = serde_json::from_str(&line)?;
        Ok(Some((
            event["type"].as_str().unwrap_or_default().to_owned(),
            event["object"].take(),
        )))
    }

    /// The next `count` events as `TYPE name`.
    pub async fn take(&mut self, count: usize) -> Result<Vec<String>> {
        let mut events = Vec::new();
        for _ in 0..count {
            let (kind, object) = self.next().await?.context("the watch ended")?;
            events.push(format!(
                "{kind} {}",
                object["metadata"]["name"].as_str().unwrap_or_default()
            ));
        }
        Ok(events)
    }
}
