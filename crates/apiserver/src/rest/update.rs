//! The verb `update`.

use serde_json::{Value, json};

use super::change::{self, Intent};
use super::{Call, intake, present};
use crate::status::Result;
use crate::wire::Response;

/// Updates an object and responds with it.
pub(super) async fn update(call: &Call) -> Result<Response> {
    let object = intake::object(call)?;
    let options = json!({"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1",
        "dryRun": if call.options.dry_run { json!(["All"]) } else { Value::Null }, "fieldManager": call.options.field_manager});
    let outcome = change::carry_out(call, &Intent::Replace(object), &options).await?;
    Ok(present::object(call, outcome.code(), outcome.value))
}
