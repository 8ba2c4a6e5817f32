//! The path of every write, be it of a new object or of the next state of one.
//!
//! ```text
//!   create ─┐                                                                              ┌─► insert
//!           ├─► accept: prepare ─► managed fields ─► admission ─► checks ─► validation ────┤
//!   replace ┘                     (of plain writes)  (mutating)            (and admission) └─► exchange
//! ```

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Call, checks, identity, intake, managed, prepare};
use crate::admission::{self, Attributes, Operation};
use crate::status::{Result, Status};
use crate::store::{Draft, Entry, Expect, Write, WriteError};
use crate::{allocate, convert, object, quota};

/// The largest stored object.
const OBJECT_LIMIT: usize = 1_572_864;

/// The state that somebody wants an object to have.
pub(super) struct Proposal {
    pub(super) value: Value,
    pub(super) origin: managed::Origin,
}

/// The state that an object has.
pub(super) struct Current<'a> {
    pub(super) entry: &'a Arc<Entry>,
    /// At the version of the request.
    pub(super) value: Value,
}

/// What became of a write to an object that was there.
pub(super) enum Replaced {
    /// The object as it is now.
    Done(Value),
    /// Somebody else was faster, and nothing was written.
    Changed,
    /// Somebody else has deleted it.
    Gone,
}

/// Stores a new object; also what an apply to nothing does.
pub(super) async fn create(call: &Call, proposal: Proposal, options: &Value) -> Result<Value> {
    if !call.options.dry_run && !object::meta_text(&proposal.value, "resourceVersion").is_empty() {
        return Err(Status::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let accepted = accept(call, None, proposal, options).await?;
    insert(call, accepted).await
}

/// Puts another state in the place of the current one.
pub(super) async fn replace(
    call: &Call,
    current: Current<'_>,
    proposal: Proposal,
    options: &Value,
) -> Result<Replaced> {
    let accepted = accept(call, Some(&current.value), proposal, options).await?;
    exchange(call, current, accepted).await
}

/// A state that nothing speaks against.
struct Accepted {
    value: Value,
    /// Held until the object is in the store, or is not going to be.
    _addresses: Option<allocate::Reservation>,
    _quota: Option<quota::Reservation>,
}

/// Everything that happens to an object before it is stored, in order.
async fn accept(call: &Call, old: Option<&Value>, proposal: Proposal, options: &Value) -> Result<Accepted> {
    let Proposal { mut value, origin } = proposal;
    match old {
        None => prepare::for_create(call, &mut value),
        Some(old) => prepare::for_update(call, &mut value, old),
    }
    if let managed::Origin::Update = origin {
        managed::record(call, old, &mut value).await?;
    }

    let name = object::name(&value).to_owned();
    let attributes = Attributes {
        operation: match old {
            None => Operation::Create,
            Some(_) => Operation::Update,
        },
        resource: &call.resource,
        subresource: &call.path.subresource,
        namespace: call.namespace(),
        name: &name,
        user: &call.user,
        dry_run: call.options.dry_run,
        options,
        old,
        warnings: &call.warnings,
    };
    let mut value = admit(call, &attributes, value).await?;
    prepare::after_admission(call, &mut value, old);

    checks::check_grants(call, &value, old)?;
    let addresses = checks::allocate(call, &mut value, old)?;
    checks::validate(call, &value, old)?;
    admission::validate(&call.server, &attributes, Some(&value)).await?;
    let quota = quota::charge(&call.server, &attributes, &value)?;
    Ok(Accepted {
        value,
        _addresses: addresses,
        _quota: quota,
    })
}

/// Lets admission change or refuse an object, and brings what it changed back into shape.
async fn admit(call: &Call, attributes: &Attributes<'_>, object: Value) -> Result<Value> {
    let before = admission::may_change(&call.server).then(|| object.clone());
    let mut object = admission::mutate(&call.server, attributes, Some(object))
        .await?
        .unwrap_or_default();
    if let Some(before) = before.filter(|before| *before != object) {
        identity::in_place(call, &mut object)?;
        intake::normalise(&call.resource, &mut object);
        managed::restore_if_broken(&before, &mut object);
    }
    Ok(object)
}

/// Stores what was not there.
async fn insert(call: &Call, accepted: Accepted) -> Result<Value> {
    let resource = &call.resource;
    let settled = convert::settle(&call.server, resource, accepted.value).await?;
    let mut value = settled.value;
    let taken =
        |value: &Value| Status::already_exists(&resource.group, &resource.plural, object::name(value));
    let key = object::key(call.namespace(), object::name(&value));
    if call.options.dry_run {
        return match call.server.store.bucket(&resource.bucket).get(&key) {
            Some(_) => Err(taken(&value)),
            None => Ok(value),
        };
    }
    check_size(&settled.draft)?;
    let write = Write {
        bucket: resource.bucket.clone(),
        key: key.into(),
        expect: Expect::Absent,
        put: Some(settled.draft),
    };
    match call.server.store.write(write).await {
        Ok(entry) => {
            set_revision(&mut value, entry.revision);
            Ok(value)
        }
        Err(WriteError::Exists) => Err(taken(&value)),
        Err(error) => Err(Status::internal(error)),
    }
}

/// Stores the next state; removes an object that only its finalizers kept.
async fn exchange(call: &Call, current: Current<'_>, accepted: Accepted) -> Result<Replaced> {
    let Accepted { mut value, .. } = accepted;
    if managed::same_but_for_times(&value, &current.value) {
        return Ok(Replaced::Done(current.value));
    }
    let draft = match prepare::is_finished(call, &value) {
        true => None,
        false => {
            let settled = convert::settle(&call.server, &call.resource, value).await?;
            check_size(&settled.draft)?;
            value = settled.value;
            Some(settled.draft)
        }
    };
    if call.options.dry_run {
        return Ok(Replaced::Done(value));
    }
    let write = Write {
        bucket: call.resource.bucket.clone(),
        key: current.entry.key.clone(),
        expect: Expect::Revision(current.entry.revision),
        put: draft,
    };
    match call.server.store.write(write).await {
        Ok(entry) => {
            set_revision(&mut value, entry.revision);
            Ok(Replaced::Done(value))
        }
        Err(WriteError::Changed) => Ok(Replaced::Changed),
        Err(WriteError::Missing) => Ok(Replaced::Gone),
        Err(WriteError::Exists) => Err(call.not_found()),
        Err(error) => Err(Status::internal(error)),
    }
}

fn check_size(draft: &Draft) -> Result<()> {
    match draft.len() > OBJECT_LIMIT {
        true => Err(Status::unexplained("etcdserver: request is too large")),
        false => Ok(()),
    }
}

fn set_revision(value: &mut Value, revision: u64) {
    object::metadata_mut(value).insert("resourceVersion".to_owned(), json!(revision.to_string()));
}
