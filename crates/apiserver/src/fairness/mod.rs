//! API priority and fairness: no client can use up the whole server.
//!
//! ```text
//!  request ─► flow_schemas: FlowSchema and priority level ─► seats: execute, queue, or reject (429) ─► handler
//!                     (named in response headers)              │
//!                                            seat released ◄───┘ when the response is made
//! ```
//!
//! [`flow_schemas`] parses FlowSchemas and PriorityLevelConfigurations and classifies requests; [`seats`] executes, queues
//! or rejects them. Both are plain data: only this file is async.

pub(crate) mod bootstrap;
mod flow_schemas;
mod seats;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use tokio::sync::oneshot;

use crate::auth::{Action, User};
use crate::store::{Derived, Store};
use crate::wire::{Response, text_response};
use flow_schemas::{Level, Rules};
pub(crate) use seats::Occupancy;
use seats::{Outcome, Seats, Waiter};

/// Concurrent requests over all limited levels: upstream's `--max-requests-inflight` (400) plus
/// `--max-mutating-requests-inflight` (200).
pub(crate) const SEATS: usize = 600;
/// Maximum queue wait: a quarter of the request timeout, as upstream.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// The bucket of FlowSchemas.
pub(crate) const FLOW_SCHEMAS: &str = "flowcontrol.apiserver.k8s.io/flowschemas";
/// The bucket of PriorityLevelConfigurations.
pub(crate) const PRIORITY_LEVELS: &str = "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations";

/// Classifies requests and hands out seats.
pub(crate) struct Fairness {
    rules: Derived<Rules, 2>,
    seats: Arc<Mutex<Seats<Turn>>>,
}

/// The flow schema and priority level of a request.
pub(crate) struct Classification {
    flow_schema: HeaderValue,
    priority_level: HeaderValue,
}

/// A seat: the right to execute a request, released on drop.
pub(crate) struct Seat {
    seats: Arc<Mutex<Seats<Turn>>>,
    /// `None` once it is released.
    level: Option<Arc<Level>>,
}

/// Hands the seat to a queued request.
type Turn = oneshot::Sender<Seat>;

impl Waiter for Turn {
    fn is_gone(&self) -> bool {
        self.is_closed()
    }
}

/// The request was rejected: queues full or timed out.
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
            seats: Arc::new(Mutex::new(Seats::new(SEATS))),
        }
    }

    /// Classifies a request and waits for a seat; `None` if it is exempt. The classification is set even on rejection.
    pub(crate) async fn acquire_seat(
        &self,
        user: &User,
        action: &Action<'_>,
        classification: &mut Option<Classification>,
    ) -> Result<Option<Seat>, TooMany> {
        let rules = self.rules.get();
        let Some(flow) = rules.classify(user, action) else {
            return Ok(None);
        };
        *classification = Some(Classification {
            flow_schema: flow.uid.clone(),
            priority_level: flow.level.uid.clone(),
        });
        if flow.level.limits.is_none() {
            return Ok(None);
        }
        let level = flow.level.clone();
        let turn = {
            let mut seats = lock(&self.seats);
            seats.update_levels(rules.levels());
            let (sender, turn) = oneshot::channel();
            match seats.acquire(&level, flow.hash(user, action), sender) {
                Outcome::Execute => return Ok(Some(self.seat(level))),
                Outcome::Queue => turn,
                Outcome::Reject => return Err(TooMany),
            }
        };
        // A cancelled request drops `turn`, which is noticed when its turn comes.
        match tokio::time::timeout(QUEUE_TIMEOUT, turn).await {
            Ok(Ok(seat)) => Ok(Some(seat)),
            _ => Err(TooMany),
        }
    }

    /// The occupancy of each level.
    pub(crate) fn occupancy(&self) -> Vec<Occupancy> {
        let mut seats = lock(&self.seats);
        seats.update_levels(self.rules.get().levels());
        seats.occupancy()
    }

    fn seat(&self, level: Arc<Level>) -> Seat {
        Seat {
            seats: self.seats.clone(),
            level: Some(level),
        }
    }
}

impl Classification {
    /// Sets the `X-Kubernetes-PF-*` response headers.
    pub(crate) fn write_headers(self, headers: &mut HeaderMap) {
        headers.insert(FLOW_SCHEMA_UID, self.flow_schema);
        headers.insert(PRIORITY_LEVEL_UID, self.priority_level);
    }
}

impl TooMany {
    /// Upstream's 429 response, which is plain text and not a `Status`.
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
        let mut next = lock(&self.seats).release(&level);
        while let Some((level, turn)) = next.pop() {
            let seat = Seat {
                seats: self.seats.clone(),
                level: Some(level),
            };
            // The request was cancelled meanwhile: its seat goes to the next one.
            if let Err(mut unwanted) = turn.send(seat)
                && let Some(level) = unwanted.level.take()
            {
                next.extend(lock(&self.seats).release(&level));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
