//! Stale views of a cluster: delayed or frozen watches, and lists at an older revision, as from an API server whose watch
//! cache lags behind.

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, Request, Uri};
use http_body::Frame;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{Frames, Line};

/// Query options of watches that a plain list does not have.
const OF_WATCHES: [&str; 6] = [
    "watch",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "resourceVersion",
    "resourceVersionMatch",
];

/// The frames of a watch, delayed by the lag, and withheld while frozen.
pub(super) fn late(mut frames: Frames, line: watch::Receiver<Line>) -> Frames {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = sender.closed() => return,
                frame = frames.next() => {
                    let Some(frame) = frame else { return };
                    if sender.send((Instant::now(), frame)).is_err() {
                        return;
                    }
                }
            }
        }
    });
    let frames = futures::stream::unfold((receiver, line), |(mut receiver, mut line)| async move {
        let (arrived, frame) = receiver.recv().await?;
        let lag = line.borrow().lag;
        tokio::time::sleep_until(arrived + lag).await;
        line.wait_for(|line| !line.frozen).await.ok()?;
        Some((frame, (receiver, line)))
    });
    frames.boxed()
}

/// A streaming list at a revision, and the watch that continues it.
pub(super) struct OlderCopy {
    pub(super) initial: Bytes,
    pub(super) watch: Request<Body>,
}

/// Serves a streaming list at a revision; `None` if the request is not a streaming list that may be stale.
pub(super) async fn older_copy(
    client: &Client,
    uri: &Uri,
    headers: &HeaderMap,
    revision: u64,
) -> Result<Option<OlderCopy>> {
    let query = uri.query().unwrap_or_default();
    let has = |pair: &str| query.split('&').any(|part| part == pair);
    // Without a resource version, or with one, the client must not get an older state.
    if !has("sendInitialEvents=true") || !has("resourceVersion=0") {
        return Ok(None);
    }
    let exactly = format!("resourceVersion={revision}&resourceVersionMatch=Exact");
    let list = Request::get(with_query(uri, &OF_WATCHES, &exactly)?).body(Vec::new())?;
    let list: Value = client.request(list).await.context("the older copy")?;
    let kind = list["kind"].as_str().context("a list has a kind")?;
    let kind = kind.strip_suffix("List").unwrap_or(kind);
    let mut lines = String::new();
    for object in list["items"].as_array().context("a list has items")? {
        let mut object = object.clone();
        (object["apiVersion"], object["kind"]) = (list["apiVersion"].clone(), json!(kind));
        lines += &format!("{}\n", json!({"type": "ADDED", "object": object}));
    }
    let end = json!({
        "resourceVersion": revision.to_string(), "creationTimestamp": null,
        "annotations": {"k8s.io/initial-events-end": "true"},
    });
    let end = json!({"apiVersion": list["apiVersion"], "kind": kind, "metadata": end});
    lines += &format!("{}\n", json!({"type": "BOOKMARK", "object": end}));
    let mut watch = Request::new(Body::empty());
    *watch.uri_mut() = with_query(
        uri,
        &["sendInitialEvents", "resourceVersion", "resourceVersionMatch"],
        &format!("resourceVersion={revision}"),
    )?;
    *watch.headers_mut() = headers.clone();
    let initial = lines.into();
    Ok(Some(OlderCopy { initial, watch }))
}

impl OlderCopy {
    /// All frames, the watch delayed by the lag.
    pub(super) async fn frames(self, client: &Client, line: watch::Receiver<Line>) -> Result<Frames> {
        let answer = client.send(self.watch).await?;
        ensure!(
            answer.status().is_success(),
            "the older copy's watch: {}",
            answer.status()
        );
        let initial = futures::stream::iter([Ok(Frame::data(self.initial))]);
        Ok(initial.chain(late(frames(answer.into_body()), line)).boxed())
    }
}

/// A body, frame by frame.
pub(super) fn frames(body: Body) -> Frames {
    let frames = futures::stream::unfold(body, |mut body| async move {
        let frame = body.frame().await?;
        Some((frame.map_err(Into::into), body))
    });
    frames.boxed()
}

fn with_query(uri: &Uri, without: &[&str], with: &str) -> Result<Uri> {
    let query = uri.query().unwrap_or_default();
    let kept = query.split('&').filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && !without.contains(&name)
    });
    let query: Vec<&str> = kept.chain([with]).collect();
    Ok(format!("{}?{}", uri.path(), query.join("&")).parse()?)
}
