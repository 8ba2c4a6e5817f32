//! Managed fields of every write, server-side apply, and strategic merge patch.

use std::sync::Arc;

use cambium_apply::fieldpath::{Path, Set};
use cambium_apply::managers::{ApplyError, FieldManager, Force, ManagedFields, Timestamp, Versions};
use cambium_apply::strategic::{self, StrategicErrorClass};
use cambium_schema::{ListType, Schema};
use serde_json::{Value, json};

use super::Call;
use crate::registry::{Origin as Kind, Served};
use crate::server::Server;
use crate::status::{Cause, Result, Status};
use crate::{convert, object};

/// The operation that a new state results from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Update: ownership follows from the changed fields.
    Update,
    /// Server-side apply, which has updated managed fields already.
    Apply,
}

/// Updates managed fields for a create, update or patch.
pub(super) async fn record(call: &Call, old: Option<&Value>, new: &mut Value) -> Result<()> {
    let manager = call.manager();
    let update = |fields: &FieldManager<'_>, old: Option<&Value>, new: &mut Value| {
        // As upstream, a write never fails because of managed fields: the object is stored without them.
        if let Err(error) = fields.update(old, new, &manager) {
            tracing::warn!(%error, "failed to update managed fields");
        }
    };
    // Entries of another API version may need the conversion webhook, which `cambium-apply` calls synchronously: that must
    // not block an async worker.
    if !needs_conversion_webhook(call, [old, Some(new)]) {
        Tracking::of(call).with(|fields| update(fields, old, new));
        return Ok(());
    }
    let (tracking, manager, old, mut given) = (
        Tracking::of(call),
        manager.clone(),
        old.cloned(),
        std::mem::take(new),
    );
    *new = on_blocking_thread(move || {
        tracking.with(|fields| {
            if let Err(error) = fields.update(old.as_ref(), &mut given, &manager) {
                tracing::warn!(%error, "failed to update managed fields");
            }
        });
        given
    })
    .await?;
    Ok(())
}

/// Server-side applies a configuration.
pub(super) async fn apply(call: &Call, old: Option<&Value>, config: &Value) -> Result<Value> {
    let manager = call.manager();
    let force = if call.options.force == Some(true) {
        Force::Yes
    } else {
        Force::No
    };
    let mut config = config.clone();
    if let Kind::Builtin(row) = &call.resource.origin {
        complete_keys(row.schema, &mut config);
    }
    if !needs_conversion_webhook(call, [old, Some(&config)]) {
        return Tracking::of(call)
            .with(|fields| fields.apply(old, &config, &manager, force))
            .map_err(refusal);
    }
    let (tracking, old) = (Tracking::of(call), old.cloned());
    let applied = on_blocking_thread(move || {
        tracking.with(|fields| fields.apply(old.as_ref(), &config, &manager, force))
    });
    applied.await?.map_err(refusal)
}

/// Defaults the keys of map-list items: a container port without `protocol` is TCP.
fn complete_keys(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(schema) = schema.field(name) {
                    complete_keys(schema, value);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &schema.items else { return };
            let keys: &[_] = if let ListType::Map(keys) = &schema.list {
                keys
            } else {
                &[]
            };
            for item in list {
                for key in keys {
                    if let (Some(item), Some(default)) =
                        (item.as_object_mut(), cambium_builtin::field_default(items, key))
                    {
                        item.entry(key.to_string()).or_insert(default);
                    }
                }
                complete_keys(items, item);
            }
        }
        _ => {}
    }
}

/// Restores managed fields that admission made unreadable.
pub(super) fn restore_if_broken(before: &Value, new: &mut Value) {
    if ManagedFields::of(new).is_err() {
        let metadata = object::metadata_mut(new);
        match object::metadata(before).get("managedFields") {
            Some(fields) => metadata.insert("managedFields".to_owned(), fields.clone()),
            None => metadata.remove("managedFields"),
        };
    }
}

/// Applies a strategic merge patch.
pub(super) fn strategic(call: &Call, old: &Value, patch: &Value) -> Result<Value> {
    strategic::apply(call.resource.schema(), old, patch).map_err(|error| match error.class() {
        StrategicErrorClass::BadRequest => Status::bad_request(error.to_string()),
        StrategicErrorClass::Unprocessable => Status::unprocessable(error.to_string()),
        StrategicErrorClass::Internal => Status::unexplained(error.to_string()),
    })
}

/// Whether two states are equal apart from the timestamps of managed fields.
pub(super) fn same_but_for_times(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return new == old;
    };
    new.len() == old.len()
        && new
            .iter()
            .all(|(name, value)| match (name.as_str(), old.get(name)) {
                ("metadata", Some(before)) => same_metadata(value, before),
                (_, before) => before == Some(value),
            })
}

fn same_metadata(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return new == old;
    };
    new.len() == old.len()
        && new
            .iter()
            .all(|(name, value)| match (name.as_str(), old.get(name)) {
                ("managedFields", Some(before)) => same_owners(value, before),
                (_, before) => before == Some(value),
            })
}

fn same_owners(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_array(), old.as_array()) else {
        return new == old;
    };
    let timeless = |entry: &Value| -> Vec<(String, Value)> {
        let fields = entry
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| *name != "time");
        fields
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    new.len() == old.len()
        && new
            .iter()
            .zip(old)
            .all(|(new, old)| new == old || timeless(new) == timeless(old))
}

fn refusal(error: ApplyError) -> Status {
    match error {
        ApplyError::BadRequest(message) => Status::bad_request(message),
        ApplyError::Conflicts(conflicts) => {
            let causes = conflicts.causes().into_iter().map(|cause| Cause {
                reason: cause.reason.to_owned(),
                message: cause.message,
                field: cause.field,
            });
            Status::apply_conflict(conflicts.to_string(), causes.collect())
        }
        ApplyError::ManagedFields(_) | ApplyError::Internal(_) => Status::unexplained(error.to_string()),
    }
}

/// Whether managed fields must be converted by a webhook, as an entry has another API version.
fn needs_conversion_webhook(call: &Call, objects: [Option<&Value>; 2]) -> bool {
    let by_webhook = call
        .resource
        .custom()
        .is_some_and(|(definition, _)| definition.converts_by_webhook());
    by_webhook
        && objects
            .into_iter()
            .flatten()
            .any(|object| speaks_other_versions(&call.resource, object))
}

/// Runs on a blocking thread.
async fn on_blocking_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Status::internal)
}

/// The inputs of managed-field tracking for a request.
struct Tracking {
    versions: AllVersions,
    subresource: String,
    reset_fields: Set,
    now: Timestamp,
}

impl Tracking {
    fn of(call: &Call) -> Self {
        Self {
            versions: AllVersions {
                server: call.server.clone(),
                resource: call.resource.clone(),
            },
            subresource: call.path.subresource.clone(),
            reset_fields: reset_fields(&call.resource, &call.path.subresource),
            now: timestamp(call),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&FieldManager<'_>) -> T) -> T {
        let resource = &self.versions.resource;
        work(&FieldManager {
            api_version: &resource.api_version,
            kind: &resource.kind,
            subresource: &self.subresource,
            versions: &self.versions,
            reset_fields: &self.reset_fields,
            blank: None,
            now: self.now,
        })
    }
}

fn timestamp(call: &Call) -> Timestamp {
    let now = object::timestamp(call.server.sources.now());
    Timestamp::parse(&now).expect("this server writes times as RFC 3339")
}

fn speaks_other_versions(resource: &Served, value: &Value) -> bool {
    let entries = object::metadata(value)
        .get("managedFields")
        .and_then(Value::as_array);
    entries
        .into_iter()
        .flatten()
        .any(|entry| entry.get("apiVersion") != Some(&json!(resource.api_version)))
}

/// Reset fields: fields that the strategy ignores in a request, and that it must not own.
fn reset_fields(resource: &Served, subresource: &str) -> Set {
    let custom = matches!(resource.origin, Kind::Custom(..));
    let paths: &[&[&str]] = match (subresource, custom) {
        ("status", true) => &[&["metadata"], &["spec"]],
        ("status", false) => &[&["spec"], &["metadata", "labels"]],
        _ if resource.status => &[&["status"]],
        _ => &[],
    };
    Set::of(paths.iter().map(|path| Path::fields(path.iter().copied())))
}

/// The served versions of a resource, as a converter of managed fields.
struct AllVersions {
    server: Arc<Server>,
    resource: Arc<Served>,
}

impl Versions for AllVersions {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        if *api_version == *self.resource.api_version {
            return Some(self.resource.schema());
        }
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        match &self.resource.origin {
            Kind::Builtin(row) => Some(cambium_builtin::find(group, version, row.plural)?.schema),
            Kind::Custom(definition, _) => {
                let version = definition.versions.iter().find(|one| one.name == version)?;
                (group == definition.group).then_some(version.pipeline.schema())
            }
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        self.schema(api_version)?;
        let convert = convert::between(&self.server, &self.resource, object.clone(), api_version);
        match &self.resource.custom() {
            Some((definition, _)) if definition.converts_by_webhook() => {
                tokio::runtime::Handle::current().block_on(convert).ok()
            }
            // Without a webhook nothing is waited for, so the first poll is the last.
            _ => futures::FutureExt::now_or_never(convert)?.ok(),
        }
    }
}
