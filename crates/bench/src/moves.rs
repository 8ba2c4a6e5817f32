//! Counts updated objects by a watch.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch;

/// The observed value of each object, by name.
pub(crate) struct Moves(watch::Receiver<HashMap<String, String>>);

impl Moves {
    /// Watches objects; `says` reads the value of an object, if it has one yet.
    pub(crate) fn watch(
        api: Api<DynamicObject>,
        config: watcher::Config,
        says: fn(&DynamicObject) -> Option<String>,
    ) -> Self {
        let (tell, moves) = watch::channel(HashMap::new());
        tokio::spawn(async move {
            let mut events = watcher::watcher(api, config).boxed();
            while let Some(event) = events.next().await {
                let Ok(Event::Apply(object) | Event::InitApply(object)) = event else {
                    continue;
                };
                if let Some(says) = says(&object) {
                    let name = object.metadata.name.unwrap_or_default();
                    tell.send_modify(|moves| drop(moves.insert(name, says)));
                }
            }
        });
        Self(moves)
    }

    /// Waits until the first object has this value.
    pub(crate) async fn first_at(&self, says: &str) {
        let mut moves = self.0.clone();
        // The sender ends with the runtime.
        let _ = moves
            .wait_for(|moves| moves.values().any(|known| known == says))
            .await;
    }

    /// Waits until `count` objects have this value. Counts at intervals, as counting at each event would distort the result.
    pub(crate) async fn all_at(&self, says: &str, count: usize) {
        let there = || self.0.borrow().values().filter(|known| *known == says).count();
        while there() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
