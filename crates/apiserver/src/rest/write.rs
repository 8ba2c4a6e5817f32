//! The write path of create, update, patch and apply.
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

/// Size limit of a stored object: etcd's default request limit.
const OBJECT_LIMIT: usize = 1_572_864;

/// The state that a client wants to store.
pub(super) struct Proposal {
    pub(super) value: Value,
    pub(super) origin: managed::Origin,
}

/// The stored state.
pub(super) struct Current<'a> {
    pub(super) entry: &'a Arc<Entry>,
    /// At the version of the request.
    pub(super) value: Value,
}

/// The result of a replace.
pub(super) enum Replaced {
    /// The stored object.
    Done(Value),
    /// A conflict: the object was changed concurrently.
    Changed,
    /// The object was deleted concurrently.
    Gone,
}

/// Creates an object; also used by an apply that creates.
pub(super) async fn create(call: &Call, proposal: Proposal, options: &Value) -> Result<Value> {
    if !call.options.dry_run && !object::meta_text(&proposal.value, "resourceVersion").is_empty() {
        return Err(Status::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let accepted = accept(call, None, proposal, options).await?;
    insert(call, accepted).await
}

/// Replaces the current state.
pub(super) async fn replace(
    call: &Call,
    current: Current<'_>,
    proposal: Proposal,
    options: &Value,
) -> Result<Replaced> {
    let accepted = accept(call, Some(&current.value), proposal, options).await?;
    exchange(call, current, accepted).await
}

/// A state that passed admission and validation.
struct Accepted {
    value: Value,
    /// Reservations are held until the write is done.
    _addresses: Option<allocate::Reservation>,
    _quota: Option<quota::Reservation>,
}

/// Prepares, admits and validates an object, in upstream's order.
async fn accept(call: &Call, old: Option<&Value>, proposal: Proposal, options: &Value) -> Result<Accepted> {
    let Proposal { mut value, origin } = proposal;
    match old {
        None => prepare::for_create(call, &mut value),
        Some(old) => prepare::for_update(call, &mut value, old),
    }
    // After `prepare` has restored fields that this request cannot change, so that only effective changes take
    // ownership. Server-side apply has updated managed fields already.
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
    let mut value = run_mutating_admission(call, &attributes, value).await?;
    prepare::after_admission(call, &mut value, old);

    // After mutating admission, or a webhook could add rules that the writer does not hold.
    checks::check_grants(call, &value, old)?;
    // Before validation, as upstream's BeginCreate: validation sees the allocated values. If the write is refused, the
    // reservation is dropped and the values are free again.
    let addresses = checks::allocate(call, &mut value, old)?;
    checks::validate(call, &value, old)?;
    admission::validate(&call.server, &attributes, Some(&value)).await?;
    // Last, as in upstream's plugin order: a write that is refused for another reason must not reserve quota.
    let quota = quota::charge(&call.server, &attributes, &value)?;
    Ok(Accepted {
        value,
        _addresses: addresses,
        _quota: quota,
    })
}

/// Runs mutating admission; prunes and defaults the object if it was changed.
async fn run_mutating_admission(call: &Call, attributes: &Attributes<'_>, object: Value) -> Result<Value> {
    // The copy is only needed to detect changes of webhooks and policies; built-in plugins keep objects in shape.
    let before = admission::may_change(&call.server).then(|| object.clone());
    let mut object = admission::mutate(&call.server, attributes, Some(object))
        .await?
        .unwrap_or_default();
    if let Some(before) = before.filter(|before| *before != object) {
        identity::in_place(call, &mut object)?;
        intake::normalise(&call.resource, &mut object);
        // A webhook that does not know managedFields may corrupt them; as upstream, the old ones are kept then.
        managed::restore_if_broken(&before, &mut object);
    }
    Ok(object)
}

/// Stores a new object.
async fn insert(call: &Call, accepted: Accepted) -> Result<Value> {
    let resource = &call.resource;
    let settled = convert::settle(&call.server, resource, accepted.value).await?;
    let mut value = settled.value;
    let taken =
        |value: &Value| Status::already_exists(&resource.group, &resource.plural, object::name(value));
    let key = object::key(call.namespace(), object::name(&value));
    // A dry run never reaches the store, so it checks for an existing object itself.
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

/// Stores the new state, or removes a deleted object whose last finalizer is gone.
async fn exchange(call: &Call, current: Current<'_>, accepted: Accepted) -> Result<Replaced> {
    let Accepted { mut value, .. } = accepted;
    // A no-op update is not written: the resource version stays and watchers get no event. New timestamps of managed
    // fields alone do not count, or controllers that apply unchanged configurations would trigger each other.
    if managed::same_but_for_times(&value, &current.value) {
        return Ok(Replaced::Done(current.value));
    }
    // Removing the last finalizer of a deleted object deletes it in the same write.
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
        // etcd's error, which upstream passes through without a reason.
        true => Err(Status::unexplained("etcdserver: request is too large")),
        false => Ok(()),
    }
}

fn set_revision(value: &mut Value, revision: u64) {
    object::metadata_mut(value).insert("resourceVersion".to_owned(), json!(revision.to_string()));
}
