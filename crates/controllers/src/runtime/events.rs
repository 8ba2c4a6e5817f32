//! Kubernetes Events: sent in the background, aggregated into series, dropped when too many wait.
//!
//! Recording never waits and never fails: an event goes into a queue of limited length, and a task of its own sends
//! it. The same event again within a few minutes counts up the first (`series`). What is not the same is not
//! counted together; kube's own recorder leaves the note out of the comparison and shows the first one for
//! all, which is no good for notes that name the old and the new value.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cambium_metrics::Metrics;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The most events that wait to be sent.
const WAITING: usize = 4096;
/// How long equal events are aggregated into a series.
const TOGETHER: Duration = Duration::from_secs(360);
/// The most distinct events that are remembered for series.
const REMEMBERED: usize = 4096;
/// The timeout of sending one event.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest note that API servers accept.
const LONGEST_NOTE: usize = 1024;

/// An event about an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Which object; its namespace is where the event goes (`default` if it has none).
    pub regarding: ObjectReference,
    /// Normal or Warning.
    pub severity: Severity,
    /// The reason, in `PascalCase`.
    pub reason: String,
    /// The action, in `PascalCase`.
    pub action: String,
    /// The note: a sentence for people.
    pub note: String,
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// Records events. Clones share a queue; the last one that is dropped ends the sending.
#[derive(Clone)]
pub struct Events {
    queue: mpsc::Sender<Event>,
    lost: Arc<AtomicU64>,
    metrics: Metrics,
}

impl Events {
    /// Sends events in the background, as this controller and instance of it.
    pub fn start(client: Client, controller: impl Into<String>, instance: impl Into<String>) -> Self {
        let (queue, events) = mpsc::channel(WAITING);
        let sender = Sender {
            client,
            controller: controller.into(),
            instance: instance.into(),
            clock: Arc::new(Timestamp::now),
            sent: HashMap::new(),
            order: VecDeque::new(),
            count: 0,
        };
        tokio::spawn(sender.run(events));
        let lost = Arc::default();
        Self {
            queue,
            lost,
            metrics: Metrics::default(),
        }
    }

    /// Counts dropped events.
    pub fn counted(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Queues an event; it never fails or waits. It is dropped if too many wait.
    pub fn record(&self, event: Event) {
        let regarding = &event.regarding;
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        tracing::info!(
            kind = part(&regarding.kind),
            namespace = part(&regarding.namespace),
            name = part(&regarding.name),
            reason = event.reason,
            "{}",
            event.note
        );
        if self.queue.try_send(event).is_err() {
            self.metrics.event_dropped();
            if self.lost.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!("dropped events: they are emitted faster than they can be sent");
            }
        }
    }

    /// How many events were dropped.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// The fields by which two events belong to one series.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Sameness {
    namespace: String,
    uid: Option<String>,
    name: Option<String>,
    kind: Option<String>,
    severity: Severity,
    reason: String,
    action: String,
    note: String,
}

struct Sent {
    name: String,
    count: i32,
    at: Instant,
}

struct Sender {
    client: Client,
    controller: String,
    instance: String,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    sent: HashMap<Arc<Sameness>, Sent>,
    /// What was sent, by when it was first sent.
    order: VecDeque<(Instant, Arc<Sameness>)>,
    count: u64,
}

impl Sender {
    async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        let mut warned = false;
        while let Some(event) = events.recv().await {
            self.forget(Instant::now());
            let error = match tokio::time::timeout(PATIENCE, self.send(event)).await {
                Ok(Ok(())) => {
                    warned = false;
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            if !std::mem::replace(&mut warned, true) {
                tracing::warn!(%error, "failed to create events");
            }
        }
    }

    async fn send(&mut self, event: Event) -> Result<(), Error> {
        let namespace = event
            .regarding
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned());
        let api: Api<v1::Event> = Api::namespaced(self.client.clone(), &namespace);
        let same = Arc::new(Sameness {
            namespace: namespace.clone(),
            uid: event.regarding.uid.clone(),
            name: event.regarding.name.clone(),
            kind: event.regarding.kind.clone(),
            severity: event.severity,
            reason: event.reason.clone(),
            action: event.action.clone(),
            note: event.note.clone(),
        });
        let now = (self.clock)();
        if let Some(sent) = self.sent.get_mut(&same) {
            let count = sent.count + 1;
            let series = json!({"series": {"count": count, "lastObservedTime": MicroTime(now)}});
            match api
                .patch(&sent.name, &PatchParams::default(), &Patch::Merge(series))
                .await
            {
                Ok(_) => {
                    sent.count = count;
                    return Ok(());
                }
                // Events are deleted after an hour or so.
                Err(Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        let object = self.object(&event, namespace, now);
        let name = object.metadata.name.clone().unwrap_or_default();
        api.create(&PostParams::default(), &object).await?;
        let at = Instant::now();
        self.sent.insert(same.clone(), Sent { name, count: 1, at });
        self.order.push_back((at, same));
        Ok(())
    }

    fn object(&mut self, event: &Event, namespace: String, now: Timestamp) -> v1::Event {
        self.count += 1;
        // As client-go names them, with a count for clocks that stand still.
        let subject = event.regarding.name.as_deref().unwrap_or(&self.controller);
        let name = format!(
            "{}.{:x}{:x}",
            shortened(subject, 200),
            now.as_nanosecond(),
            self.count
        );
        v1::Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            regarding: Some(event.regarding.clone()),
            type_: Some(match event.severity {
                Severity::Normal => "Normal".to_owned(),
                Severity::Warning => "Warning".to_owned(),
            }),
            reason: Some(shortened(&event.reason, 128).to_owned()),
            action: Some(shortened(&event.action, 128).to_owned()),
            note: Some(shortened(&event.note, LONGEST_NOTE).to_owned()),
            event_time: Some(MicroTime(now)),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            ..v1::Event::default()
        }
    }

    /// Forgets events that are too old, or too many, for a series.
    fn forget(&mut self, now: Instant) {
        while let Some((at, same)) = self.order.front()
            && (now.duration_since(*at) > TOGETHER || self.order.len() >= REMEMBERED)
        {
            if self.sent.get(same).is_some_and(|sent| sent.at == *at) {
                self.sent.remove(same);
            }
            self.order.pop_front();
        }
    }
}

/// The beginning of a text that fits into so many bytes.
fn shortened(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}
