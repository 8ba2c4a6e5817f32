//! Readiness of resources about which no function had an opinion.

use serde_json::Value;

use super::health::health;
use super::message::{Ready, Request, Response};
use crate::readiness::condition_status;

/// Marks desired resources as ready whose observed counterpart is: by a true condition `Ready`, or by what is known of kinds that Kubernetes
/// itself has. Where a function before had an opinion, that stays.
#[must_use]
pub fn auto_ready(request: &Request) -> Response {
    let mut response = Response::to(request);
    for (name, desired) in &mut response.desired.resources {
        let Some(observed) = request.observed.resources.get(name) else {
            continue;
        };
        let observed = Value::Object(observed.resource.clone());
        let ready = health(&observed).unwrap_or_else(|| condition_status(&observed, "Ready") == "True");
        if desired.ready.is_unspecified() && ready {
            desired.ready = Ready::True;
        }
    }
    response
}
