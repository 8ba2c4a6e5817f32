//! Caches of kinds that are known at run time only, each watched from its first use on.
//!
//! Each watch is one open request. Over HTTP/1.1, which is what kube's client speaks, that is one connection for
//! each kind; there are as many as there are kinds in use, not as there are applications.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Client;
use kube::core::GroupVersionKind;

use super::cache::{Cache, Change, State};
use super::mapper::Resource;
use super::watch::{Missing, Watch, Watching};

/// Called with each change of each kind. See [`crate::runtime::cache::Handler`].
pub type Handler = Arc<dyn Fn(&GroupVersionKind, Change) + Send + Sync>;

/// Caches of kinds, each filled from its first use on. Dropping it ends its watches.
pub struct DynamicCaches {
    client: Client,
    selector: Option<String>,
    handler: Handler,
    kinds: Mutex<HashMap<GroupVersionKind, Kind>>,
}

struct Kind {
    cache: Arc<Cache>,
    /// No watch, if the kind was found to be gone.
    watching: Option<Watching>,
}

/// Why a kind cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// The server does not serve it.
    #[error("no kind {kind:?} in {api_version:?}; is its CRD installed?")]
    Gone {
        /// The API version that does not have it.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// The server refuses to list it. The watch is retried.
    #[error("failed to watch {kind:?} in {api_version:?}: {reason}")]
    Refused {
        /// The API version of the kind.
        api_version: String,
        /// The kind.
        kind: String,
        /// The answer of the server.
        reason: String,
    },
}

impl DynamicCaches {
    /// No watches yet. Of each kind, only objects that the label selector selects will be cached.
    pub fn new(
        client: Client,
        selector: Option<String>,
        handler: impl Fn(&GroupVersionKind, Change) + Send + Sync + 'static,
    ) -> Self {
        Self {
            client,
            selector,
            handler: Arc::new(handler),
            kinds: Mutex::default(),
        }
    }

    /// The synced cache of a kind. The first use starts its watch, and so does the first one after the kind was gone.
    pub async fn ensure(&self, resource: &Resource) -> Result<Arc<Cache>, WatchError> {
        let cache = self.start(resource);
        let mut state = cache.state();
        let settled = state.wait_for(|state| *state != State::Filling).await;
        let settled = settled.expect("the sender is the cache's own").clone();
        let (api_version, kind) = (
            resource.api_resource.api_version.clone(),
            resource.api_resource.kind.clone(),
        );
        match settled {
            State::Filling | State::Synced => Ok(cache),
            State::Gone => Err(WatchError::Gone { api_version, kind }),
            State::Refused(reason) => Err(WatchError::Refused {
                api_version,
                kind,
                reason,
            }),
        }
    }

    /// The cache of a kind, if it is synced.
    pub fn get(&self, gvk: &GroupVersionKind) -> Option<Arc<Cache>> {
        let cache = self.kinds().get(gvk)?.cache.clone();
        let synced = *cache.state().borrow() == State::Synced;
        synced.then_some(cache)
    }

    /// All synced caches, by kind.
    pub fn all(&self) -> Vec<(GroupVersionKind, Arc<Cache>)> {
        let gvks: Vec<_> = self.kinds().keys().cloned().collect();
        gvks.into_iter()
            .filter_map(|gvk| Some((gvk.clone(), self.get(&gvk)?)))
            .collect()
    }

    /// Ends the caches of a group whose CRD was deleted. A watch would find out itself, but not at once on every server.
    pub fn forget(&self, group: &str) {
        let mut gone = Vec::new();
        self.kinds().retain(|gvk, kind| {
            let stays = gvk.group != group;
            if !stays {
                gone.push((gvk.clone(), kind.cache.clone()));
            }
            stays
        });
        for (gvk, cache) in gone {
            cache.clear();
            cache.set_state(State::Gone);
            let watching = None;
            self.kinds().entry(gvk).or_insert(Kind { cache, watching });
        }
    }

    fn start(&self, resource: &Resource) -> Arc<Cache> {
        self.leave_moved(resource);
        let mut kinds = self.kinds();
        let gvk = resource.gvk();
        match kinds.get(&gvk) {
            Some(kind) if !kind.over() => kind.cache.clone(),
            before => {
                // The same cache again, for those who hold it.
                let cache = match before {
                    Some(kind) => {
                        kind.cache.set_state(State::Filling);
                        kind.cache.clone()
                    }
                    None => {
                        let (handler, gvk) = (self.handler.clone(), gvk.clone());
                        Cache::new(resource.api_resource.clone(), move |change| handler(&gvk, change))
                    }
                };
                let mut watch = Watch::new(self.client.clone()).missing(Missing::End);
                if let Some(selector) = &self.selector {
                    watch = watch.labels(selector.clone());
                }
                let watching = Some(watch.spawn(cache.clone()));
                kinds.insert(
                    gvk,
                    Kind {
                        cache: cache.clone(),
                        watching,
                    },
                );
                cache
            }
        }
    }

    /// Ends the cache of a kind that another CRD serves now under another plural: its watch has the old path.
    fn leave_moved(&self, resource: &Resource) {
        let gvk = resource.gvk();
        let moved = |kind: &Kind| kind.cache.resource().plural != resource.api_resource.plural;
        let left = {
            let mut kinds = self.kinds();
            match kinds.get(&gvk).is_some_and(moved) {
                true => kinds.remove(&gvk),
                false => None,
            }
        };
        if let Some(kind) = left {
            kind.cache.clear();
            kind.cache.set_state(State::Gone);
        }
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<GroupVersionKind, Kind>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kind {
    fn over(&self) -> bool {
        self.watching.as_ref().is_none_or(Watching::is_finished)
            || *self.cache.state().borrow() == State::Gone
    }
}
