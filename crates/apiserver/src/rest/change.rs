//! The read-modify-write loop of `update`, `patch`, and writes to subresources.

use std::sync::Arc;

use cambium_schema::{ErrorKind, FieldError, FieldPath};
use http::StatusCode;
use serde_json::{Value, json};

use super::write::{self, Current, Proposal};
use super::{Call, managed, patch};
use crate::auth::{Action, ResourceAction, require};
use crate::status::{Result, Status};
use crate::store::Entry;
use crate::{convert, object};

/// Attempts on conflict, for writes without a resource version; upstream's patch retries as often.
const ATTEMPTS: usize = 6;

/// The change that a client requests.
pub(super) enum Intent {
    /// Replace the object (PUT).
    Replace(Value),
    /// Patch the object.
    Patch(patch::Patch),
}

/// The result of a change.
pub(super) struct Outcome {
    pub(super) value: Value,
    pub(super) created: bool,
}

impl Outcome {
    pub(super) fn code(&self) -> StatusCode {
        if self.created {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        }
    }
}

/// Applies a change, retrying on conflict unless the client insists on a resource version.
pub(super) async fn carry_out(call: &Call, intent: &Intent, options: &Value) -> Result<Outcome> {
    let bucket = call.server.store.bucket(&call.resource.bucket);
    for _ in 0..ATTEMPTS {
        let Some(entry) = bucket.get(&call.key()) else {
            match create_instead(call, intent, options).await {
                // Created concurrently: retry as an update.
                Err(status) if status.reason == "AlreadyExists" => continue,
                Err(status) => return Err(status),
                Ok(value) => return Ok(Outcome { value, created: true }),
            }
        };
        if let Some(value) = attempt(call, intent, options, &entry).await? {
            return Ok(Outcome {
                value,
                created: false,
            });
        }
    }
    Err(modified(call))
}

async fn create_instead(call: &Call, intent: &Intent, options: &Value) -> Result<Value> {
    let whole = call.path.subresource.is_empty();
    let (mut value, origin) = match intent {
        Intent::Patch(patch) if patch.is_apply() && whole => {
            let value = patch::apply_to_nothing(call, patch).await?;
            (value, managed::Origin::Apply)
        }
        Intent::Replace(value) if call.resource.strategy().allow_create_on_update && whole => {
            (value.clone(), managed::Origin::Update)
        }
        _ => return Err(call.not_found()),
    };
    // Creating by PUT or apply needs the verb `create` beside `update` or `patch`.
    let create = Action::on("create", ResourceAction::of(&call.path));
    require(&*call.server.authorizer, &call.user, &create)?;
    // As upstream, a resource version is only compared with an existing object. Clients rely on it: an apply with a
    // version that no object has creates an object, and never changes one.
    let version = object::metadata_mut(&mut value).remove("resourceVersion");
    check_version(version.as_ref().and_then(Value::as_str).unwrap_or_default())?;
    write::create(call, Proposal { value, origin }, options).await
}

/// One attempt. `None` is a conflict that may be retried.
async fn attempt(call: &Call, intent: &Intent, options: &Value, entry: &Arc<Entry>) -> Result<Option<Value>> {
    let old = convert::read(&call.server, &call.resource, entry).await?;
    let (mut value, origin) = match intent {
        Intent::Replace(value) => (value.clone(), managed::Origin::Update),
        Intent::Patch(patch) => patch::compute(call, patch, &old).await?,
    };
    let on_conflict = check_preconditions(call, &mut value, &old)?;
    let current = Current { entry, value: old };
    match write::replace(call, current, Proposal { value, origin }, options).await? {
        write::Replaced::Done(value) => Ok(Some(value)),
        write::Replaced::Changed if on_conflict == OnConflict::Retry => Ok(None),
        write::Replaced::Gone if on_conflict == OnConflict::Retry => Ok(None),
        write::Replaced::Changed => Err(modified(call)),
        write::Replaced::Gone => Err(call.not_found()),
    }
}

fn modified(call: &Call) -> Status {
    Status::conflict(
        &call.resource.group,
        &call.resource.plural,
        &call.path.name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

/// The reaction to a concurrent write of the object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnConflict {
    /// 409: the client requires the resource version that it sent.
    Fail,
    /// Another attempt on the new state.
    Retry,
}

/// Checks the UID and resource version preconditions.
fn check_preconditions(call: &Call, new: &mut Value, old: &Value) -> Result<OnConflict> {
    let resource = &call.resource;
    let (given, actual) = (object::meta_text(new, "uid"), object::meta_text(old, "uid"));
    if call.is_update() && !given.is_empty() && given != actual {
        let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {actual}");
        let (group, plural) = (&resource.group, &resource.plural);
        return Err(Status::conflict(group, plural, &call.path.name, &why));
    }
    let current = object::meta_text(old, "resourceVersion").to_owned();
    let given = object::meta_text(new, "resourceVersion").to_owned();
    match given.as_str() {
        "" | "0" if !resource.strategy().allow_unconditional_update => {
            let error = FieldError {
                kind: ErrorKind::Invalid,
                path: FieldPath::new("metadata.resourceVersion"),
                shown: "0x0".to_owned(),
                detail: "must be specified for an update".to_owned(),
            };
            let (group, kind) = (&resource.group, &resource.kind);
            Err(Status::invalid(group, kind, &call.path.name, &[error]))
        }
        "" | "0" => {
            object::metadata_mut(new).insert("resourceVersion".to_owned(), json!(current));
            Ok(OnConflict::Retry)
        }
        text => {
            check_version(text)?;
            if given != current {
                return Err(modified(call));
            }
            let whole = matches!(call.path.subresource.as_str(), "" | "status");
            // Only a PUT insists on the version that it sent. A patch is computed again from the new state, where a version that
            // it names no longer matches and conflicts.
            Ok(match call.is_update() && whole {
                true => OnConflict::Fail,
                false => OnConflict::Retry,
            })
        }
    }
}

/// Resource versions are numbers.
fn check_version(version: &str) -> Result<()> {
    match version.is_empty() || version.parse::<u64>().is_ok() {
        true => Ok(()),
        false => Err(Status::unexplained(format!(
            "strconv.ParseUint: parsing {version:?}: invalid syntax"
        ))),
    }
}
