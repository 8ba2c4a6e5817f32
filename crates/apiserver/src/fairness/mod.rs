//! Priority and fairness: no client can take the whole server.
//!
//! ```text
//!  request ─► rules: which FlowSchema? which level? ─► hall: a seat, a place in a queue, or 429 ─► handler
//!                     (named in the answer's headers)            │
//!                                            seat given back ◄───┘ when the answer is made
//! ```
//!
//! [`rules`] reads FlowSchemas and PriorityLevelConfigurations and says where a request belongs; [`hall`] is who sits
//! and who waits. Both are plain data: only this file waits.

pub(crate) mod bootstrap;
mod hall;
mod rules;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use tokio::sync::oneshot;

use crate::auth::{Action, User};
use crate::store::{Derived, Store};
use crate::wire::{Response, text_response};
pub(crate) use hall::Occupancy;
use hall::{Hall, Place, Waiter};
use rules::{Level, Rules};

/// Requests that are carried out at one time, over all levels that are limited: upstream's 400 and 200.
pub(crate) const SEATS: usize = 600;
/// How long a request waits for a seat: a quarter of what a request may take.
const PATIENCE: Duration = Duration::from_secs(15);

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// Where FlowSchemas are kept.
pub(crate) const FLOW_SCHEMAS: &str = "flowcontrol.apiserver.k8s.io/flowschemas";
/// Where PriorityLevelConfigurations are kept.
pub(crate) const PRIORITY_LEVELS: &str = "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations";

/// Says which requests go first, and which wait.
pub(crate) struct Fairness {
    rules: Derived<Rules, 2>,
    hall: Arc<Mutex<Hall<Turn>>>,
}

/// Where a request was found to belong.
pub(crate) struct Belonging {
    flow_schema: HeaderValue,
    priority_level: HeaderValue,
}

/// The right to be carried out, given back when dropped.
pub(crate) struct Seat {
    hall: Arc<Mutex<Hall<Turn>>>,
    /// `None` once it is given back.
    level: Option<Arc<Level>>,
}

/// Tells somebody who waits that it is their turn.
type Turn = oneshot::Sender<Seat>;

impl Waiter for Turn {
    fn is_gone(&self) -> bool {
        self.is_closed()
    }
}

/// Nobody could be seated in time.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Fairness {
    pub(crate) fn new(store: &Store) -> Self {
        Self {
            rules: Derived::new(store, [FLOW_SCHEMAS, PRIORITY_LEVELS], |[schemas, levels]| {
                let values = |entries: Vec<Arc<crate::store::Entry>>| -> Vec<_> {
                    entries.iter().map(|entry| entry.value()).collect()
                };
                Rules::read(&values(schemas), &values(levels), SEATS)
            }),
            hall: Arc::new(Mutex::new(Hall::new(SEATS))),
        }
    }

    /// Waits for the request's turn. Says where it belongs, even if its turn never comes.
    pub(crate) async fn admit(
        &self,
        user: &User,
        action: &Action<'_>,
        belonging: &mut Option<Belonging>,
    ) -> Result<Option<Seat>, TooMany> {
        let rules = self.rules.get();
        let Some(flow) = rules.classify(user, action) else {
            return Ok(None);
        };
        *belonging = Some(Belonging {
            flow_schema: flow.uid.clone(),
            priority_level: flow.level.uid.clone(),
        });
        if flow.level.limits.is_none() {
            return Ok(None);
        }
        let level = flow.level.clone();
        let turn = {
            let mut hall = lock(&self.hall);
            hall.follow(rules.levels());
            let (sender, turn) = oneshot::channel();
            match hall.enter(&level, flow.hash(user, action), sender) {
                Place::Seat => return Ok(Some(self.seat(level))),
                Place::Queue => turn,
                Place::None => return Err(TooMany),
            }
        };
        // Whoever goes away drops `turn`: the hall finds that out when it wants to seat them.
        match tokio::time::timeout(PATIENCE, turn).await {
            Ok(Ok(seat)) => Ok(Some(seat)),
            _ => Err(TooMany),
        }
    }

    /// How full each level is.
    pub(crate) fn occupancy(&self) -> Vec<Occupancy> {
        let mut hall = lock(&self.hall);
        hall.follow(self.rules.get().levels());
        hall.occupancy()
    }

    fn seat(&self, level: Arc<Level>) -> Seat {
        Seat {
            hall: self.hall.clone(),
            level: Some(level),
        }
    }
}

impl Belonging {
    /// Names both objects in an answer.
    pub(crate) fn tell(self, headers: &mut HeaderMap) {
        headers.insert(FLOW_SCHEMA_UID, self.flow_schema);
        headers.insert(PRIORITY_LEVEL_UID, self.priority_level);
    }
}

impl TooMany {
    /// Upstream's answer, which is not even a `Status`.
    pub(crate) fn response(self) -> Response {
        let text = "Too many requests, please try again later.\n";
        let mut response = text_response(StatusCode::TOO_MANY_REQUESTS, text);
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        response
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(level) = self.level.take() else {
            return;
        };
        let mut next = lock(&self.hall).leave(&level);
        while let Some((level, turn)) = next.pop() {
            let seat = Seat {
                hall: self.hall.clone(),
                level: Some(level),
            };
            // Whoever has gone away in the meantime leaves the seat to the next one.
            if let Err(mut unwanted) = turn.send(seat)
                && let Some(level) = unwanted.level.take()
            {
                next.extend(lock(&self.hall).leave(&level));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
