//! Lists and watches a resource into a [`Cache`].
//!
//! kube's `watcher` does the talking: it lists, watches, resumes, and starts over after a 410. Here its events
//! become changes of a cache, so that starting over is told as the few differences that it found.
//!
//! The first list is a streaming one (objects come one by one, and the watch goes on where they end), which
//! every Kubernetes since 1.34 has; a server that refuses it is listed in pages.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Api, ApiResource};
use kube::core::Status;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Error};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::cache::{Cache, Doubt, State};
use super::record::{Key, Object};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Errors longer ago than this are forgotten by the back-off.
const CALM: Duration = Duration::from_secs(60);

/// What to watch, in all namespaces.
pub struct Watch {
    client: Client,
    selector: Option<String>,
    missing: Missing,
}

/// How to handle a resource that the server does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Retry: its CRD will be installed.
    Wait,
    /// Empty the cache and end.
    End,
}

impl Watch {
    /// A watch of every object, which waits for the resource if there is none.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            selector: None,
            missing: Missing::Wait,
        }
    }

    /// Only objects with these labels.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.selector = Some(selector.into());
        self
    }

    /// What to do when the server does not have the resource.
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Runs in the background until what is returned is dropped.
    pub fn spawn(self, cache: Arc<Cache>) -> Watching {
        Watching(tokio::spawn(self.run(cache)))
    }

    /// Lists and watches until it is dropped. It ends by itself only if the resource is missing and [`Missing::End`] was asked for.
    pub async fn run(self, cache: Arc<Cache>) {
        let api: Api<Object> = Api::all_with(self.client, cache.resource());
        let mut config = watcher::Config::default().streaming_lists();
        config.label_selector = self.selector;
        let mut events = watcher(api.clone(), config.clone()).boxed();
        let (mut listed, mut doubts) = (HashSet::new(), Vec::new());
        let mut trouble = Trouble::default();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => {
                    listed.clear();
                    doubts.clear();
                }
                Ok(Event::InitApply(object)) => {
                    let (key, doubt) = cache.listed(object);
                    listed.insert(key);
                    doubts.extend(doubt);
                }
                Ok(Event::InitDone) => {
                    ask_for_doubtful(&api, &cache, &listed).await;
                    for doubt in std::mem::take(&mut doubts) {
                        ask_whether_it_is_older(&api, &cache, &doubt).await;
                    }
                    listed = HashSet::new();
                    cache.set_state(State::Synced);
                    trouble.over(cache.resource());
                }
                Ok(Event::Apply(object)) => {
                    cache.seen(object);
                    trouble.over(cache.resource());
                }
                Ok(Event::Delete(object)) => {
                    cache.seen_gone(object);
                    trouble.over(cache.resource());
                }
                Err(error) => match Kind::of(&error) {
                    Kind::NoStreaming
                        if config.initial_list_strategy == watcher::InitialListStrategy::StreamingList =>
                    {
                        config.initial_list_strategy = watcher::InitialListStrategy::ListWatch;
                        events = watcher(api.clone(), config.clone()).boxed();
                    }
                    Kind::Missing if self.missing == Missing::End => {
                        cache.clear();
                        cache.set_state(State::Gone);
                        return;
                    }
                    kind => {
                        if matches!(kind, Kind::Missing | Kind::Refused)
                            && *cache.state().borrow() != State::Synced
                        {
                            cache.set_state(State::Refused(error.to_string()));
                        }
                        trouble.pause(cache.resource(), kind, &error).await;
                        // kube goes on asking for what the server no longer has, or does not have yet, unless an event says so.
                        if kind == Kind::Behind && matches!(error, watcher::Error::WatchStartFailed(_)) {
                            events = watcher(api.clone(), config.clone()).boxed();
                        }
                    }
                },
            }
        }
    }
}

/// A watch in the background; it ends when this is dropped.
pub struct Watching(JoinHandle<()>);

impl Watching {
    /// Whether it has ended by itself.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reads objects that a list did not have and that were written not long ago: the list may be older than the writes.
async fn ask_for_doubtful(api: &Api<Object>, cache: &Cache, listed: &HashSet<Key>) {
    for key in cache.vanished(|key| listed.contains(key)) {
        let Some(record) = cache.get(&key) else { continue };
        let one = api.clone().constrain(&key.namespace);
        // Whoever cannot be asked is taken for gone: if it is not, the watch says so next.
        if let Ok(Some(object)) = one.get_opt(&key.name).await
            && object.uid() == Some(record.uid())
        {
            cache.learn(object);
        } else {
            cache.drop_if(&key, record.version());
        }
    }
}

/// Reads an object that a list showed at an older version than the cache has: if the API server says so too, its store was restored from a backup.
async fn ask_whether_it_is_older(api: &Api<Object>, cache: &Cache, doubt: &Doubt) {
    let one = api.clone().constrain(&doubt.key.namespace);
    match one.get_opt(&doubt.key.name).await {
        Ok(Some(object)) => cache.settle(doubt, object),
        // The watch tells of its deletion.
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(object = %doubt.key, %error, "cannot tell whether it was restored");
            cache.forget(doubt);
        }
    }
}

/// How an error of a watch is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The server does not know streaming lists.
    NoStreaming,
    /// The server does not know the resource.
    Missing,
    /// The server refuses the request.
    Refused,
    /// The watch is too old (410), or ahead of the server, whose store was restored from a backup. It is listed again.
    Behind,
    /// Anything else: retried with back-off.
    Passing,
}

impl Kind {
    fn of(error: &watcher::Error) -> Self {
        match error {
            watcher::Error::WatchStartFailed(Error::Api(status))
            | watcher::Error::InitialListFailed(Error::Api(status)) => match status.code {
                400 | 422 => Self::NoStreaming,
                404 => Self::Missing,
                401 | 403 | 405 | 415 => Self::Refused,
                410 => Self::Behind,
                504 if is_too_large(status) => Self::Behind,
                _ => Self::Passing,
            },
            watcher::Error::WatchError(status) if status.code == 410 => Self::Behind,
            _ => Self::Passing,
        }
    }
}

/// Whether a server says that it has not reached the version that it was asked for.
fn is_too_large(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "ResourceVersionTooLarge")
}

/// Exponential back-off of a watch, with one warning in the log for all errors in a row.
#[derive(Default)]
struct Trouble {
    pauses: u32,
    last: Option<Instant>,
    warned: bool,
}

impl Trouble {
    async fn pause(&mut self, resource: &ApiResource, kind: Kind, error: &watcher::Error) {
        if self.last.is_some_and(|last| last.elapsed() > CALM) {
            self.pauses = 0;
        }
        let (kind_name, api_version) = (&resource.kind, &resource.api_version);
        if kind == Kind::Behind || self.warned {
            tracing::debug!(kind = %kind_name, %api_version, %error, "the watch expired; relisting");
        } else {
            self.warned = true;
            tracing::warn!(kind = %kind_name, %api_version, %error, "failed to watch; retrying with back-off");
        }
        let pause = FIRST_PAUSE
            .saturating_mul(1 << self.pauses.min(16))
            .min(LONGEST_PAUSE);
        self.pauses += 1;
        tokio::time::sleep(pause).await;
        self.last = Some(Instant::now());
    }

    /// What failed works again: what comes next is another trouble.
    fn over(&mut self, resource: &ApiResource) {
        self.pauses = 0;
        if std::mem::take(&mut self.warned) {
            tracing::info!(kind = %resource.kind, api_version = %resource.api_version, "watching again");
        }
    }
}
