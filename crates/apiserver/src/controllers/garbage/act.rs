//! Carries out the plans of the garbage collector.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::ObjectKey;
use super::graph::ORPHAN;
use super::plan::Plan;
use crate::loopback::{Loopback, Refused};
use crate::object;
use crate::server::Server;
use crate::store::Entry;

/// Carries out a plan for the object that `entry` was.
pub(super) async fn act(
    server: Arc<Server>,
    client: Loopback,
    object_key: ObjectKey,
    entry: Arc<Entry>,
    plan: Plan,
) -> Result<(), Refused> {
    let Some(path) = object_key.path(&server) else {
        return Ok(());
    };
    match plan {
        Plan::Keep | Plan::KeepUnverified | Plan::Press(_) => Ok(()),
        Plan::DropOwners(uids) => change(&client, &path, &entry, |object| drop_owners(object, &uids)).await,
        Plan::RemoveFinalizer(finalizer) => {
            change(
                &client,
                &path,
                &entry,
                |object| json!({"finalizers": without_finalizer(object, finalizer)}),
            )
            .await
        }
        Plan::Orphan(dependents) => {
            let owner = [entry.uid.to_string()];
            for dependent in dependents {
                let (Some(path), Some(entry)) = (dependent.path(&server), dependent.entry(&server)) else {
                    continue;
                };
                change(&client, &path, &entry, |object| drop_owners(object, &owner)).await?;
            }
            change(
                &client,
                &path,
                &entry,
                |object| json!({"finalizers": without_finalizer(object, ORPHAN)}),
            )
            .await
        }
        Plan::Delete { propagation, unblock } => {
            let mut version = entry.revision.to_string();
            if unblock {
                let metadata = json!({"uid": entry.uid, "resourceVersion": version, "ownerReferences": unblocked(&entry.value())});
                let changed = client.merge_patch(&path, &json!({"metadata": metadata})).await?;
                version = object::meta_text(&changed, "resourceVersion").to_owned();
            }
            // Owners may have changed since the decision: then the resource version conflicts, and the object is reconciled again.
            let preconditions = json!({"uid": entry.uid, "resourceVersion": version});
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions, "propagationPolicy": propagation});
            forgive_absence(client.delete(&path, &options).await)
        }
    }
}

/// Patches metadata with the observed UID and resource version as preconditions.
async fn change(
    client: &Loopback,
    path: &str,
    entry: &Entry,
    metadata: impl FnOnce(&Value) -> Value,
) -> Result<(), Refused> {
    let mut metadata = metadata(&entry.value());
    metadata["uid"] = json!(entry.uid);
    metadata["resourceVersion"] = json!(entry.revision.to_string());
    forgive_absence(client.merge_patch(path, &json!({"metadata": metadata})).await)
}

fn drop_owners(object: &Value, uids: &[String]) -> Value {
    let gone = |owner: &&Value| {
        !uids
            .iter()
            .any(|uid| owner.get("uid").and_then(Value::as_str) == Some(uid))
    };
    let owners = object::metadata(object)
        .get("ownerReferences")
        .and_then(Value::as_array);
    let kept: Vec<&Value> = owners.into_iter().flatten().filter(gone).collect();
    json!({"ownerReferences": or_null(kept)})
}

fn unblocked(object: &Value) -> Value {
    let mut owners = object::metadata(object)
        .get("ownerReferences")
        .cloned()
        .unwrap_or_default();
    for owner in owners.as_array_mut().into_iter().flatten() {
        owner["blockOwnerDeletion"] = json!(false);
    }
    owners
}

fn without_finalizer(object: &Value, finalizer: &str) -> Value {
    or_null(
        object::finalizers(object)
            .into_iter()
            .filter(|one| *one != finalizer)
            .collect::<Vec<_>>(),
    )
}

/// An empty list as null, which removes the field in a merge patch.
fn or_null<T: serde::Serialize>(list: Vec<T>) -> Value {
    if list.is_empty() { Value::Null } else { json!(list) }
}

/// Treats 404 as success: the object is already gone.
fn forgive_absence(result: Result<Value, Refused>) -> Result<(), Refused> {
    match result {
        Err(refused) if refused.code != 404 => Err(refused),
        _ => Ok(()),
    }
}
