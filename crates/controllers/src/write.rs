//! What answers to writes mean, and manifests whose kinds do not know all of their fields.

use crate::impersonation::ImpersonatingClient;
use crate::runtime::{Cache, Key, Resource};
use cambium_definitions::application::Object;
use cambium_objects::{unknown_fields, without_fields};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Preconditions, PropagationPolicy};
use kube::core::Status;
use serde_json::Value;

/// How often an apply is tried again without fields that the server does not know.
const ROUNDS: usize = 8;

/// A manifest without the fields that the server has said it does not know. An apply with one of them is refused as a whole.
pub(crate) struct KnownFields {
    pub(crate) manifest: Value,
    /// The paths of what was left out.
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

    /// Leaves out what a refusal names as unknown; whether that makes another try worth it.
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

/// Applies a manifest, to the object with this uid or to none that is there; the object as it is now, and the fields that were left out because its kind does not know them.
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

/// Deletes the object that was judged, and no other of that name, of a kind that is not watched.
pub(crate) async fn delete_unwatched(api: &Api<DynamicObject>, name: &str, uid: &str) -> kube::Result<()> {
    match api.delete(name, &only(uid)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted.map(drop),
    }
}

/// What a 404 says of an object that is watched. Only the watch says that an object is gone: as long as it does not, the watch is late, or the
/// kind is not served at this moment, and the write is tried again.
pub(crate) fn not_found(cache: &Cache, key: &Key) -> kube::Result<()> {
    match cache.get(key) {
        None => Ok(()),
        Some(_) => Err(conflict(format!("{key} was not found"))),
    }
}

/// What is not as it was seen, or not seen as it is: the next look decides.
pub(crate) fn conflict(message: String) -> kube::Error {
    let status = Status::failure(&message, "Conflict").with_code(409);
    kube::Error::Api(Box::new(status))
}

/// How to delete the object with this uid, and no other of its name.
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

/// Whether somebody else was faster, which is nobody's business: the next look sees what they did.
pub(crate) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict())
}

/// Whether the server takes the object for invalid.
pub(crate) fn is_invalid(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422)
}

/// Whether the server will say the same again: neither a conflict nor a pause that it asked for.
pub(crate) fn is_refusal(code: u16) -> bool {
    (400..500).contains(&code) && code != 409 && code != 429
}

/// Whether somebody has no right to do something, as authorization says it. Quotas and policies are refusals of another kind, and say 403, too.
pub(crate) fn is_denied(status: &kube::core::Status) -> bool {
    status.code == 403 && status.message.contains("User \"") && status.message.contains("\" cannot ")
}

/// Whether the server has judged what it was sent, or failed over it: neither a conflict, nor a pause that it asked for, nor that it was
/// out of reach. Some servers answer 500 to what they cannot read, or if a webhook of theirs does not answer.
pub(crate) fn is_verdict(code: u16) -> bool {
    is_refusal(code) || code == 500
}

/// What an event is about.
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
