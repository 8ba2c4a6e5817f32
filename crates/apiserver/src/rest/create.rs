//! The verb `create`.

use http::StatusCode;
use serde_json::{Value, json};

use super::write::{self, Proposal};
use super::{Call, intake, managed, present};
use crate::object;
use crate::status::{Result, Status};
use crate::wire::Response;

/// Creates the object of the request body.
pub(super) async fn create(call: &Call) -> Result<Response> {
    let proposal = Proposal {
        value: intake::object(call)?,
        origin: managed::Origin::Update,
    };
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
        "dryRun": if call.options.dry_run { json!(["All"]) } else { Value::Null }, "fieldManager": call.options.field_manager});
    let value = write::create(call, proposal, &options).await?;
    Ok(present::object(call, StatusCode::CREATED, value))
}

/// 403 for creating an object of a terminating CRD.
pub(super) fn refuse_while_terminating(call: &Call) -> Result<Response> {
    let decoded = call.decode()?;
    let why = "create not allowed while custom resource definition is terminating";
    let name = object::name(&decoded.value);
    Err(Status::forbidden(
        &call.resource.group,
        &call.resource.plural,
        name,
        why,
    ))
}
