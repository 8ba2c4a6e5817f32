//! The verb `get`.

use http::StatusCode;

use super::{Call, present};
use crate::status::{Cause, Result, Status};
use crate::wire::Response;

/// Responds with one object.
pub(super) async fn get(call: &Call) -> Result<Response> {
    not_ahead_of(call)?;
    let bucket = call.server.store.bucket(&call.resource.bucket);
    let entry = bucket.get(&call.key()).ok_or_else(|| call.not_found())?;
    present::entry(call, StatusCode::OK, &entry).await
}

/// Fails if the client requests a resource version that is not reached yet.
pub(super) fn not_ahead_of(call: &Call) -> Result<()> {
    match call.options.resource_version.as_str() {
        // `0` means any version; every read is of the latest one here.
        "" | "0" => Ok(()),
        text => known_version(call, text).map(|_| ()),
    }
}

/// Parses a resource version; fails if it is not reached yet.
pub(super) fn known_version(call: &Call, text: &str) -> Result<u64> {
    let wanted = text
        .parse()
        .map_err(|_| Status::unexplained(Status::invalid_version(text)))?;
    let current = call.server.store.revision();
    match wanted > current {
        true => Err(too_large(wanted, current)),
        false => Ok(wanted),
    }
}

fn too_large(wanted: u64, current: u64) -> Status {
    let cause = Cause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        field: String::new(),
    };
    let message = format!("Too large resource version: {wanted}, current: {current}");
    let mut status = Status::timeout(message).with_causes(vec![cause]);
    status.details.get_or_insert_default().retry_after_seconds = 1;
    status
}
