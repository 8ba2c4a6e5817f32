//! Watches of metadata, without a cache: they tell which objects have changed.
//!
//! For kinds of which few objects matter to few reconcilers: nothing is stored, and a reconciler reads the objects that it needs.

use super::mapper::Resource;
use super::record::Key;
use futures::StreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The metadata of an object, all that is sent of it.
type Metadata = PartialObjectMeta<DynamicObject>;

/// An event of a metadata watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataEvent {
    /// An object was created, changed or deleted: its key, and its present or last labels.
    Changed(Key, BTreeMap<String, String>),
    /// Events may have been missed between two watches.
    Missed,
}

/// Called with each event of each kind.
pub type Handler = Arc<dyn Fn(&GroupVersionKind, MetadataEvent) + Send + Sync>;

/// Metadata watches of kinds, each from its first use on. Dropping it ends them.
pub struct MetadataWatches {
    client: Client,
    handler: Handler,
    kinds: Mutex<HashMap<GroupVersionKind, Kind>>,
}

struct Kind {
    state: watch::Receiver<State>,
    task: JoinHandle<()>,
}

impl Drop for Kind {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Listening,
    /// The server refuses the watch, which is retried.
    Refused,
}

impl MetadataWatches {
    /// No watches yet.
    pub fn new(
        client: Client,
        handler: impl Fn(&GroupVersionKind, MetadataEvent) + Send + Sync + 'static,
    ) -> Self {
        Self {
            client,
            handler: Arc::new(handler),
            kinds: Mutex::default(),
        }
    }

    /// Watches a kind: changes after this returns are told, unless the server refuses the watch.
    pub async fn listen(&self, resource: &Resource) {
        let mut state = {
            let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
            let kind = kinds
                .entry(resource.gvk())
                .or_insert_with(|| self.start(resource));
            kind.state.clone()
        };
        // An error says that nobody listens any more.
        let _ = state.wait_for(|state| *state != State::Starting).await;
    }

    /// Ends the watches of a group.
    pub fn forget(&self, group: &str) {
        let gone: Vec<GroupVersionKind> = {
            let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
            let gone: Vec<_> = kinds.keys().filter(|gvk| gvk.group == group).cloned().collect();
            kinds.retain(|gvk, _| gvk.group != group);
            gone
        };
        for gvk in gone {
            (self.handler)(&gvk, MetadataEvent::Missed);
        }
    }

    fn start(&self, resource: &Resource) -> Kind {
        let api: Api<Metadata> = Api::all_with(self.client.clone(), &resource.api_resource);
        let (told, state) = watch::channel(State::Starting);
        let task = tokio::spawn(follow(api, resource.gvk(), self.handler.clone(), told));
        Kind { state, task }
    }
}

async fn follow(api: Api<Metadata>, gvk: GroupVersionKind, handler: Handler, state: watch::Sender<State>) {
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::Delete(object)) => handler(&gvk, changed(&object)),
            Ok(Event::Init | Event::InitApply(_)) => {}
            Ok(Event::InitDone) => {
                if state.send_replace(State::Listening) != State::Starting {
                    handler(&gvk, MetadataEvent::Missed);
                }
            }
            Err(error) => {
                tracing::debug!(kind = %gvk.kind, %error, "failed to watch metadata; retrying with back-off");
                state.send_if_modified(|state| {
                    let starting = *state == State::Starting;
                    *state = if starting { State::Refused } else { *state };
                    starting
                });
            }
        }
    }
}

fn changed(object: &Metadata) -> MetadataEvent {
    let key = Key::of(&object.metadata);
    MetadataEvent::Changed(key, object.labels().clone())
}
