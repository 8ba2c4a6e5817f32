//! Readiness from the condition that most resources have.

use serde_json::Value;

use super::message::{Ready, Request, Response};
use crate::readiness::condition_status;

/// Marks desired resources as ready whose observed counterpart has a true condition `Ready`, where no function before had an opinion.
#[must_use]
pub fn auto_ready(request: &Request) -> Response {
    let mut response = Response::to(request);
    for (name, desired) in &mut response.desired.resources {
        let Some(observed) = request.observed.resources.get(name) else {
            continue;
        };
        let observed = Value::Object(observed.resource.clone());
        if desired.ready.is_unspecified() && condition_status(&observed, "Ready") == "True" {
            desired.ready = Ready::True;
        }
    }
    response
}
