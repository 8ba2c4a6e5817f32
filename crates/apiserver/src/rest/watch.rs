//! `watch`: a cursor into the bucket's log, sent as frames.
//!
//! A watcher has no buffer, only a position in the log: a thousand of them cost little, all see the same order, and
//! one that is too slow gets a 410 when its position has left the log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::get::known_version;
use super::list::Selection;
use super::table::Headings;
use super::{Call, present};
use crate::convert;
use crate::server::Server;
use crate::status::{Result, Status};
use crate::store::{Bucket, Entry, Event, EventKind};
use crate::wire::{self, Encoding, Response, stream_response};
use cambium_builtin::protobuf;

/// Events read from the log at a time.
const BATCH: usize = 128;
/// Bytes after which a frame is sent.
const FRAME: usize = 64 << 10;
/// Bookmark interval of an idle watcher, as upstream.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before its end a watcher gets a last bookmark, so that the next one resumes close by.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Without `timeoutSeconds`, watches end after this to twice this many seconds (upstream's `--min-request-timeout`).
const SHORTEST: u64 = 1800;

/// Responds with a stream of watch events.
pub(super) async fn watch(call: Call) -> Result<Response> {
    let selection = Selection::of(&call)?;
    let start = start(&call)?;
    let bucket = call.server.store.bucket(&call.resource.bucket);
    let deadline = Instant::now() + timeout(&call);
    let mut watcher = Watcher {
        deadline,
        next_bookmark: next_bookmark(deadline),
        news: bucket.subscribe(selection.interest()),
        bookmark_due: false,
        headings: Headings::Shown,
        cursor: 0,
        sent_up_to: 0,
        initial: VecDeque::new(),
        mark_after_initial: false,
        pending: BytesMut::new(),
        ended: false,
        bucket,
        selection,
        _open: Open::count(&call.server),
        call,
    };
    watcher.begin(start);
    let encoding = watcher.call.representation.encoding;
    Ok(stream_response(
        encoding,
        futures::stream::unfold(watcher, |mut watcher| async move {
            let frame = watcher.next().await?;
            Some((frame, watcher))
        }),
    ))
}

/// The start of a watch.
enum Start {
    /// Synthetic ADDED events for existing objects, then changes; `marked` sends a bookmark in between.
    State { marked: bool },
    /// Changes after this revision.
    After(u64),
    /// Changes from now on.
    Now,
}

fn start(call: &Call) -> Result<Start> {
    let options = &call.options;
    let forbidden = |what: &str| Err(Status::invalid_options(what));
    let version = options.resource_version.as_str();
    match options.send_initial_events {
        None if !options.resource_version_match.is_empty() => {
            return forbidden(
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        Some(_) if options.resource_version_match != "NotOlderThan" => {
            return forbidden(
                "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            );
        }
        _ => {}
    }
    match (options.send_initial_events, version) {
        (Some(true), "" | "0") => Ok(Start::State {
            marked: options.allow_bookmarks,
        }),
        (Some(true), text) => known_version(call, text).map(|_| Start::State {
            marked: options.allow_bookmarks,
        }),
        (Some(false), "" | "0") => Ok(Start::Now),
        // Without a resource version, a watch begins with synthetic ADDED events. Their end is only marked for clients that
        // request `sendInitialEvents`: others would not expect the annotated bookmark.
        (None, "" | "0") => Ok(Start::State { marked: false }),
        (_, text) => text
            .parse()
            .map(Start::After)
            .map_err(|_| Status::unexplained(Status::invalid_version(text))),
    }
}

fn timeout(call: &Call) -> Duration {
    let seconds = call
        .options
        .timeout_seconds
        .filter(|seconds| *seconds > 0)
        .unwrap_or_else(|| {
            let mut bytes = [0; 2];
            (call.server.sources.entropy)(&mut bytes);
            // Random, so that watches that were opened together do not all reconnect together.
            SHORTEST + u64::from(u16::from_le_bytes(bytes)) % SHORTEST
        });
    Duration::from_secs(seconds.min(7 * 24 * 3600))
}

/// The time of the next bookmark: regularly, and shortly before the deadline.
fn next_bookmark(deadline: Instant) -> Instant {
    let (now, last) = (Instant::now(), deadline - BOOKMARK_BEFORE_END);
    match last > now {
        true => last.min(now + BOOKMARK_EVERY),
        false => now + BOOKMARK_EVERY,
    }
}

struct Watcher {
    call: Call,
    selection: Selection,
    bucket: Arc<Bucket>,
    news: tokio::sync::watch::Receiver<u64>,
    /// The log was read up to this revision.
    cursor: u64,
    /// The client knows everything up to this revision.
    sent_up_to: u64,
    /// Initial objects that are still to be sent.
    initial: VecDeque<Arc<Entry>>,
    mark_after_initial: bool,
    pending: BytesMut,
    deadline: Instant,
    next_bookmark: Instant,
    bookmark_due: bool,
    /// Whether the next Table includes column definitions.
    headings: Headings,
    ended: bool,
    _open: Open,
}

/// Counts open watches.
struct Open(Arc<Server>);

impl Open {
    fn count(server: &Arc<Server>) -> Self {
        server.watches.fetch_add(1, Ordering::AcqRel);
        Self(server.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.watches.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Watcher {
    fn begin(&mut self, start: Start) {
        match start {
            Start::After(revision) => self.cursor = revision,
            Start::Now => self.cursor = self.call.server.store.revision(),
            Start::State { marked } => {
                let current = self.call.server.store.revision();
                let (entries, newest) = self.bucket.list(&self.selection.prefix);
                self.cursor = current.max(newest);
                self.initial = entries.into();
                self.mark_after_initial = marked;
            }
        }
        self.sent_up_to = self.cursor;
    }

    /// The next frame; `None` when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            while let Some(entry) = self.initial.pop_front() {
                if self.selection.matches(&entry) {
                    self.send("ADDED", &entry).await;
                }
                if self.pending.len() >= FRAME {
                    break;
                }
            }
            if self.initial.is_empty() && std::mem::take(&mut self.mark_after_initial) {
                self.bookmark(json!({"k8s.io/initial-events-end": "true"}));
            }
            if !self.pending.is_empty() {
                return Some(self.pending.split().freeze());
            }
            // A busy log never lets a watcher wait, which is where it notices its deadline.
            if self.ended || Instant::now() >= self.deadline {
                return None;
            }
            self.news.mark_unchanged();
            // Before the log is read: whatever is committed by now is in it.
            let current = self.call.server.store.revision();
            match self.bucket.events_after(self.cursor, BATCH) {
                Err(too_old) => self.expire(too_old.oldest),
                Ok(events) if events.is_empty() => {
                    self.cursor = self.cursor.max(current);
                    match std::mem::take(&mut self.bookmark_due) {
                        // Without news, a bookmark would only repeat the version of the last event.
                        true if self.cursor > self.sent_up_to => self.bookmark(Value::Null),
                        _ => self.wait().await,
                    }
                }
                Ok(events) => {
                    for event in events {
                        self.cursor = event.entry.revision;
                        self.send_event(&event).await;
                    }
                }
            }
        }
    }

    /// Waits for an event, a bookmark, or the end.
    async fn wait(&mut self) {
        tokio::select! {
            changed = self.news.changed() => self.ended |= changed.is_err(),
            () = self.call.server.stopping() => self.ended = true,
            () = tokio::time::sleep_until(self.deadline) => self.ended = true,
            () = tokio::time::sleep_until(self.next_bookmark), if self.call.options.allow_bookmarks => {
                self.next_bookmark = next_bookmark(self.deadline);
                // Told once the log has been read to its end.
                self.bookmark_due = true;
            }
        }
    }

    async fn send_event(&mut self, event: &Event) {
        let is = event.kind == EventKind::Put && self.selection.matches(&event.entry);
        let was = event
            .previous
            .as_ref()
            .filter(|previous| self.selection.matches(previous));
        match (was, is) {
            (None, true) => self.send("ADDED", &event.entry).await,
            (Some(_), true) => self.send("MODIFIED", &event.entry).await,
            // It left the selection, or is gone: the client sees it as it last knew it.
            (Some(_), false) if event.kind == EventKind::Delete => self.send("DELETED", &event.entry).await,
            (Some(previous), false) => {
                let gone = Arc::new(previous.at(event.entry.revision));
                self.send("DELETED", &gone).await;
            }
            (None, false) => {}
        }
    }

    async fn send(&mut self, kind: &str, entry: &Arc<Entry>) {
        self.sent_up_to = self.sent_up_to.max(entry.revision);
        if present::is_plain(&self.call) && self.call.resource.is_sent_as_stored(entry) {
            self.frame(kind, &entry.json);
            return;
        }
        match convert::read(&self.call.server, &self.call.resource, entry).await {
            Ok(value) => {
                let headings = self.headings();
                let shown = present::in_event(&self.call, value, headings);
                self.frame_value(kind, &shown);
            }
            Err(status) => self.fail(&status),
        }
    }

    /// Column definitions are sent with the first Table only.
    fn headings(&mut self) -> Headings {
        std::mem::replace(&mut self.headings, Headings::Known)
    }

    fn bookmark(&mut self, annotations: Value) {
        let resource = &self.call.resource;
        let mut object = json!({
            "kind": resource.kind, "apiVersion": resource.api_version,
            "metadata": {"resourceVersion": self.cursor.to_string(), "creationTimestamp": null},
        });
        if annotations.is_object() {
            object["metadata"]["annotations"] = annotations;
        }
        self.sent_up_to = self.cursor;
        let headings = self.headings();
        let shown = present::in_event(&self.call, object, headings);
        self.frame_value("BOOKMARK", &shown);
    }

    fn expire(&mut self, oldest: u64) {
        // The response has begun with 200, so an expired version is reported in the stream; client-go then relists.
        let status = Status::expired(format!("too old resource version: {} ({oldest})", self.cursor));
        self.fail(&status);
    }

    fn fail(&mut self, status: &Status) {
        self.frame_value("ERROR", &status.to_json());
        self.ended = true;
    }

    fn frame_value(&mut self, kind: &str, value: &Value) {
        let encoding = match self.call.representation.encoding {
            Encoding::Protobuf => Encoding::Protobuf,
            Encoding::Json | Encoding::Yaml => Encoding::Json,
        };
        match wire::encode(encoding, value) {
            Ok(bytes) if encoding == Encoding::Protobuf => {
                self.pending.extend(protobuf::watch_frame(kind, &bytes));
            }
            Ok(bytes) => self.frame(kind, &bytes),
            Err(status) => self.fail(&status),
        }
    }

    fn frame(&mut self, kind: &str, object: &[u8]) {
        self.pending.put_slice(b"{\"type\":\"");
        self.pending.put_slice(kind.as_bytes());
        self.pending.put_slice(b"\",\"object\":");
        self.pending.put_slice(object);
        self.pending.put_slice(b"}\n");
    }
}
