//! An index of waiting watchers by interest: an event wakes only the watchers that it may concern.
//!
//! Otherwise, every write would wake all watches of the resource, also those whose selectors do not match.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::{Event, History};

/// All watchers are woken when this fraction of the log was written, long before it wraps around.
const PART: usize = 8;

/// The events that a watcher waits for; may be wider than its selector, never narrower.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Interest {
    /// All events.
    Everything,
    /// Events of one object.
    Key(Box<str>),
    /// Events of one namespace.
    Namespace(Box<str>),
    /// Events of objects that have, or had, this label.
    Label(Box<str>, Box<str>),
}

pub(super) struct Waiting {
    history: History,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    channels: HashMap<Interest, watch::Sender<u64>>,
    /// Events since all watchers were woken.
    events: usize,
    bytes: usize,
}

impl Waiting {
    pub(super) fn new(history: History) -> Self {
        Self {
            history,
            state: Mutex::default(),
        }
    }

    pub(super) fn subscribe(&self, interest: Interest) -> watch::Receiver<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = state.channels.entry(interest);
        channel.or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Wakes the watchers that are interested in an event.
    pub(super) fn wake(&self, event: &Event, weight: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = event.entry.revision;
        state.events += 1;
        state.bytes += weight;
        if state.events >= self.history.events / PART || state.bytes >= self.history.bytes / PART {
            (state.events, state.bytes) = (0, 0);
            state.channels.retain(|_, channel| {
                channel.send_replace(revision);
                channel.receiver_count() > 0
            });
            return;
        }
        if state.channels.is_empty() {
            return;
        }
        let only_everything = state.channels.len() == 1;
        state.wake_one(&Interest::Everything, revision);
        if only_everything && state.channels.contains_key(&Interest::Everything) {
            return;
        }
        state.wake_one(&Interest::Key(event.entry.key.as_ref().into()), revision);
        if let Some((namespace, _)) = event.entry.key.split_once('/') {
            state.wake_one(&Interest::Namespace(namespace.into()), revision);
        }
        let labels = &event.entry.labels;
        for (key, value) in labels {
            state.wake_one(&Interest::Label(key.clone(), value.clone()), revision);
        }
        let previous = event.previous.iter().flat_map(|previous| &previous.labels);
        for (key, value) in previous.filter(|label| !labels.contains(label)) {
            state.wake_one(&Interest::Label(key.clone(), value.clone()), revision);
        }
    }
}

impl State {
    fn wake_one(&mut self, interest: &Interest, revision: u64) {
        let Some(channel) = self.channels.get(interest) else {
            return;
        };
        channel.send_replace(revision);
        if channel.receiver_count() == 0 {
            self.channels.remove(interest);
        }
    }
}
