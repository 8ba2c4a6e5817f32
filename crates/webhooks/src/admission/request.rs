//! The request of an `AdmissionReview`.

use serde::Deserialize;
use serde_json::Value;

/// A write that waits for a verdict. Objects are JSON trees as they were sent: nothing in them is lost, metadata included.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionRequest {
    /// Names this one question; the answer repeats it.
    pub uid: String,
    /// The kind of `object`, at the version that the webhook registered for.
    #[serde(default)]
    pub kind: GroupVersionKind,
    /// The resource, at the version that the webhook registered for.
    #[serde(default)]
    pub resource: GroupVersionResource,
    /// `status`, `scale`, or empty.
    #[serde(default)]
    pub sub_resource: String,
    /// The kind at the version that the client wrote. With `matchPolicy: Equivalent` it may differ from `kind`.
    #[serde(default)]
    pub request_kind: Option<GroupVersionKind>,
    /// The resource at the version that the client wrote.
    #[serde(default)]
    pub request_resource: Option<GroupVersionResource>,
    /// The name of the object. Empty when the server is to make one up.
    #[serde(default)]
    pub name: String,
    /// The namespace of the object. Empty when it has none.
    #[serde(default)]
    pub namespace: String,
    /// The operation.
    pub operation: Operation,
    /// The user.
    #[serde(default)]
    pub user_info: UserInfo,
    /// The object as it would become. `None` when it is deleted.
    #[serde(default)]
    pub object: Option<Value>,
    /// The object as it is. `None` when it is created.
    #[serde(default)]
    pub old_object: Option<Value>,
    /// Nothing will be stored, whatever the verdict.
    #[serde(default)]
    pub dry_run: bool,
    /// `CreateOptions`, `UpdateOptions` or `DeleteOptions`.
    #[serde(default)]
    pub options: Value,
}

impl AdmissionRequest {
    /// The API version that the client wrote: `core.oam.dev/v2beta1`.
    pub fn requested_api_version(&self) -> String {
        self.request_kind.as_ref().unwrap_or(&self.kind).api_version()
    }
}

/// A kind, fully named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GroupVersionKind {
    /// The group, empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl GroupVersionKind {
    /// Group and version as an object has them.
    pub fn api_version(&self) -> String {
        match self.group.is_empty() {
            true => self.version.clone(),
            false => format!("{}/{}", self.group, self.version),
        }
    }
}

/// A resource, fully named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GroupVersionResource {
    /// The group, empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural.
    pub resource: String,
}

/// An operation on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// It is connected to, as `exec` does.
    Connect,
}

/// The user who writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UserInfo {
    /// The user's name.
    pub username: String,
    /// The user's `uid`, where users have one.
    pub uid: String,
    /// The user's groups.
    pub groups: Vec<String>,
}
