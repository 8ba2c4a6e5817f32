//! Errors of writes, and server-side apply without fields that a kind does not know.

use crate::impersonation::ImpersonatingClient;
use crate::runtime::{Cache, Key, Resource};
use cambium_definitions::application::Object;
use cambium_objects::{unknown_fields, without_fields};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Preconditions, PropagationPolicy};
use kube::core::Status;
use serde_json::Value;

/// How often an apply is retried without fields that the server does not know.
const ROUNDS: usize = 8;

/// A manifest without the fields that the server has refused as unknown: strict field validation refuses the whole apply.
pub(crate) struct KnownFields {
    pub(crate) manifest: Value,
    /// The paths of the fields that were left out.
    pub(crate) left_out: Vec<String>,
    rounds: usize,
}

impl KnownFields {
    pub(crate) fn of(manifest: Value) -> Self {
        Self {
            manifest,
            left_out: Vec::new(),
            rounds: 0,
        }
    }

    /// Leaves out the fields that a refusal names as unknown; whether a retry is worth it.
    pub(crate) fn leave_out(&mut self, refused: &kube::Error) -> bool {
        let kube::Error::Api(refused) = refused else {
            return false;
        };
        let fields = unknown_fields(&refused.message);
        if fields.is_empty() || self.rounds == ROUNDS {
            return false;
        }
        let Some(rest) = without_fields(&self.manifest, &fields) else {
            return false;
        };
        self.manifest = rest;
        self.left_out.extend(fields);
        // A server names them in any order.
        self.left_out.sort_unstable();
        self.rounds += 1;
        true
    }
}

/// Applies a manifest to the object with this UID, or creates it; the object, and the fields that were left out because its kind does not know them.
pub(crate) async fn apply_known_fields(
    acting: &ImpersonatingClient,
    kind: &Resource,
    object: &Object,
    manifest: &Value,
    uid: Option<&str>,
) -> kube::Result<(DynamicObject, Vec<String>)> {
    let mut known = KnownFields::of(manifest.clone());
    loop {
        match acting.put(kind, object, &known.manifest, uid).await {
            Err(refused) if known.leave_out(&refused) => {}
            applied => return applied.map(|applied| (applied, known.left_out)),
        }
    }
}

/// Deletes the object that was judged, by UID, of a kind that is not cached.
pub(crate) async fn delete_unwatched(api: &Api<DynamicObject>, name: &str, uid: &str) -> kube::Result<()> {
    match api.delete(name, &only(uid)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted.map(drop),
    }
}

/// Interprets a 404 for a cached object. Only the watch says that an object is deleted: until it does, the watch is late or the kind is not served at
/// the moment, and the error is a conflict, which requeues.
pub(crate) fn not_found(cache: &Cache, key: &Key) -> kube::Result<()> {
    match cache.get(key) {
        None => Ok(()),
        Some(_) => Err(conflict(format!("{key} was not found"))),
    }
}

/// A conflict: the cache is behind, or ahead of what was judged. The next reconcile decides.
pub(crate) fn conflict(message: String) -> kube::Error {
    let status = Status::failure(&message, "Conflict").with_code(409);
    kube::Error::Api(Box::new(status))
}

/// Delete options with this UID as precondition.
pub(crate) fn only(uid: &str) -> DeleteParams {
    DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Whether another write came first. It is not reported: the next reconcile observes that write.
pub(crate) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict())
}

/// Whether the server has judged the object or failed over it, and was neither unreachable nor throttling. Some servers answer 500 to objects that
/// they cannot decode, or when a webhook of theirs fails.
pub(crate) fn is_invalid(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422)
}

/// Whether a retry will be refused, too: a client error, but for conflicts (409) and throttling (429).
pub(crate) fn is_refusal(code: u16) -> bool {
    (400..500).contains(&code) && code != 409 && code != 429
}

/// Whether RBAC has denied a request. Quotas and policies answer with 403, too.
pub(crate) fn is_denied(status: &kube::core::Status) -> bool {
    status.code == 403 && status.message.contains("User \"") && status.message.contains("\" cannot ")
}

/// Whether the server has judged what it was sent, or failed over it: neither a conflict, nor a pause that it asked for, nor that it was
/// out of reach. Some servers answer 500 to what they cannot read, or if a webhook of theirs does not answer.
pub(crate) fn is_verdict(code: u16) -> bool {
    is_refusal(code) || code == 500
}

/// The object reference of an event.
pub(crate) fn reference(object: &Value) -> ObjectReference {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let metadata = &object["metadata"];
    ObjectReference {
        api_version: text(&object["apiVersion"]),
        kind: text(&object["kind"]),
        namespace: text(&metadata["namespace"]),
        name: text(&metadata["name"]),
        uid: text(&metadata["uid"]),
        resource_version: text(&metadata["resourceVersion"]),
        ..Default::default()
    }
}
