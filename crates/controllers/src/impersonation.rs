//! A client that impersonates: requests with `Impersonate-User` headers, so that the API server authorizes them as that identity.

use crate::runtime::{Key, Resource};
use crate::write::{conflict, only};
use cambium_api::names::FIELD_MANAGER;
use cambium_definitions::application::Object;
use cambium_definitions::identity::Identity;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Request};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{DynamicObject, GetParams, Patch, PatchParams};
use kube::core::Status;
use kube::{Client, Resource as _};
use serde::Serialize;
use serde_json::{Value, json};

/// A client that impersonates one identity.
pub(crate) struct ImpersonatingClient {
    client: Client,
    identity: Identity,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ImpersonatingClient {
    pub(crate) fn new(client: Client, identity: Identity) -> kube::Result<Self> {
        let headers = identity.headers().into_iter().map(|(name, value)| {
            let value = HeaderValue::from_bytes(value.as_bytes())?;
            Ok((HeaderName::from_static(name), value))
        });
        let headers: Result<_, http::Error> = headers.collect();
        Ok(Self {
            headers: headers.map_err(kube::Error::HttpError)?,
            client,
            identity,
        })
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Gets an object, if it exists and the identity may get it.
    pub(crate) async fn visible(
        &self,
        kind: &Resource,
        object: &Object,
    ) -> kube::Result<Option<DynamicObject>> {
        let request = requests(kind, object).get(&object.name, &GetParams::default());
        match self.client.request(self.signed(request)?).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Creates an object by server-side apply; a conflict if it exists.
    ///
    /// An apply creates an object that does not exist, and changes one that does. With a resource version that no object has it only creates: the API
    /// server compares it with that of the object that it finds, if it finds one.
    async fn create(
        &self,
        kind: &Resource,
        object: &Object,
        manifest: &Value,
    ) -> kube::Result<DynamicObject> {
        if !manifest["metadata"]["resourceVersion"].is_null() {
            // A template with a resource version of its own gets the API server's refusal: nothing can be created with one.
            return self.post(kind, object, manifest).await;
        }
        let mut new = manifest.clone();
        new["metadata"]["resourceVersion"] = NO_OBJECTS_VERSION.into();
        let params = PatchParams::apply(FIELD_MANAGER).force();
        match self.patch(kind, object, &params, &Patch::Apply(new)).await {
            // It exists, or the server does not create by apply with a resource version. A POST tells which: it never changes an existing object.
            Err(kube::Error::Api(status)) if status.is_conflict() || is_about_version(&status) => {
                self.post(kind, object, manifest).await
            }
            created => created,
        }
    }

    /// Creates an object by POST. Its fields then become owned as if they had been applied, so that a later apply removes those that are no longer
    /// wanted.
    async fn post(&self, kind: &Resource, object: &Object, manifest: &Value) -> kube::Result<DynamicObject> {
        let body = serde_json::to_vec(manifest).map_err(kube::Error::SerdeError)?;
        let path = requests(kind, object).url_path;
        // Strict, as an apply is: unknown fields are refused.
        let uri = format!("{path}?fieldManager={FIELD_MANAGER}&fieldValidation=Strict");
        let request = Request::post(uri)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let request = request.map_err(kube::Error::HttpError)?;
        let created: DynamicObject = self.client.request(self.with_headers(request)).await?;
        match owned(&created) {
            // Managed fields that have moved are converted by the next apply.
            Some(change) => match self.own(kind, object, &change).await {
                Err(kube::Error::Api(status)) if is_elsewhere(&status) => Ok(created),
                owned => owned,
            },
            None => Ok(created),
        }
    }

    /// Creates an object, or applies the one with this UID.
    pub(crate) async fn put(
        &self,
        kind: &Resource,
        object: &Object,
        manifest: &Value,
        uid: Option<&str>,
    ) -> kube::Result<DynamicObject> {
        match uid {
            None => self.create(kind, object, manifest).await,
            Some(uid) => self.apply(kind, object, manifest, uid).await,
        }
    }

    /// Applies an object that exists, if it still has this UID.
    async fn apply(
        &self,
        kind: &Resource,
        object: &Object,
        manifest: &Value,
        uid: &str,
    ) -> kube::Result<DynamicObject> {
        let mut manifest = manifest.clone();
        manifest["metadata"]["uid"] = uid.into();
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&manifest);
        let applied = self.patch(kind, object, &params, &patch).await?;
        match owned(&applied) {
            // The manager stopped between the POST and the conversion of managed fields.
            Some(change) => match self.own(kind, object, &change).await {
                Err(kube::Error::Api(status)) if is_elsewhere(&status) => {
                    Err(conflict(format!("{object} has changed")))
                }
                owned => {
                    owned?;
                    self.patch(kind, object, &params, &patch).await
                }
            },
            None => Ok(applied),
        }
    }

    async fn own(&self, kind: &Resource, object: &Object, change: &Value) -> kube::Result<DynamicObject> {
        let body = serde_json::to_vec(change).map_err(kube::Error::SerdeError)?;
        let path = requests(kind, object).url_path;
        let request = Request::patch(format!("{path}/{}?fieldManager={FIELD_MANAGER}", object.name))
            .header(CONTENT_TYPE, "application/json-patch+json")
            .body(body);
        let request = request.map_err(kube::Error::HttpError)?;
        self.client.request(self.with_headers(request)).await
    }

    /// Merges a patch into an object that exists.
    pub(crate) async fn merge(
        &self,
        kind: &Resource,
        object: &Object,
        patch: Value,
    ) -> kube::Result<DynamicObject> {
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.patch(kind, object, &params, &Patch::Merge(patch)).await
    }

    async fn patch<P: Serialize + std::fmt::Debug>(
        &self,
        kind: &Resource,
        object: &Object,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> kube::Result<DynamicObject> {
        let request = requests(kind, object).patch(&object.name, params, patch);
        self.client.request(self.signed(request)?).await
    }

    /// Deletes the object that was judged, by UID. Returns the object if finalizers keep it.
    pub(crate) async fn delete(&self, kind: &Resource, object: &Object, uid: &str) -> kube::Result<Left> {
        let request = requests(kind, object).delete(&object.name, &only(uid));
        match self
            .client
            .request_status::<DynamicObject>(self.signed(request)?)
            .await
        {
            Ok(answer) => Ok(match answer.left() {
                Some(marked) if marked.metadata.deletion_timestamp.is_some() => {
                    Left::Marked(Box::new(marked))
                }
                _ => Left::Nothing(Key::new(&object.namespace, &object.name)),
            }),
            // Deleted already. A new object of that name is judged by the next reconcile.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Left::Unknown),
            Err(error) => Err(error),
        }
    }

    fn signed(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> kube::Result<Request<Vec<u8>>> {
        request
            .map(|request| self.with_headers(request))
            .map_err(kube::Error::BuildRequest)
    }

    fn with_headers(&self, mut request: Request<Vec<u8>>) -> Request<Vec<u8>> {
        for (name, value) in &self.headers {
            // Appended, not inserted: Impersonate-Group is repeated for each group.
            request.headers_mut().append(name.clone(), value.clone());
        }
        request
    }
}

/// The JSON patch that turns the managed fields of a create (`Update`) into those of an apply. Nothing if there are none.
///
/// It names no resource version: controllers write to a new object at once, and that must not fail it. It tests that the entries are where they were.
fn owned(object: &DynamicObject) -> Option<Value> {
    let metadata = &object.metadata;
    let entries = metadata.managed_fields.as_deref().unwrap_or_default();
    let place = |operation| entries.iter().position(|entry| is_entry(entry, operation));
    let created = place("Update")?;
    let test = |place: usize, operation: &str| {
        [("manager", FIELD_MANAGER), ("operation", operation)].map(|(field, value)| {
            json!({"op": "test", "path": format!("/metadata/managedFields/{place}/{field}"), "value": value})
        })
    };
    let mut patch = vec![json!({"op": "test", "path": "/metadata/uid", "value": metadata.uid})];
    patch.extend(test(created, "Update"));
    let operation = format!("/metadata/managedFields/{created}/operation");
    let replace = json!({"op": "replace", "path": operation, "value": "Apply"});
    match place("Apply") {
        // What was applied since is applied once more.
        Some(applied) => {
            patch.extend(test(applied, "Apply"));
            patch.push(replace);
            patch.push(json!({"op": "remove", "path": format!("/metadata/managedFields/{applied}")}));
        }
        None => patch.push(replace),
    }
    Some(Value::Array(patch))
}

/// A resource version that no object has: etcd's revisions are signed 64-bit numbers that count writes.
const NO_OBJECTS_VERSION: &str = "18446744073709551615";

/// Whether a server refuses to create an object because of its resource version.
fn is_about_version(status: &Status) -> bool {
    status.message.contains("resourceVersion")
}

/// Whether managed fields have moved: a `test` of the JSON patch has failed (422), or another write came first (409).
fn is_elsewhere(status: &Status) -> bool {
    matches!(status.code, 409 | 422)
}

fn is_entry(entry: &ManagedFieldsEntry, operation: &str) -> bool {
    entry.manager.as_deref() == Some(FIELD_MANAGER)
        && entry.operation.as_deref() == Some(operation)
        && entry.subresource.as_deref().unwrap_or_default().is_empty()
}

/// The result of a deletion.
pub(crate) enum Left {
    /// The object with a deletion timestamp: finalizers keep it.
    Marked(Box<DynamicObject>),
    /// Deleted.
    Nothing(Key),
    /// It was gone already.
    Unknown,
}

fn requests(kind: &Resource, object: &Object) -> kube::core::Request {
    let namespace = kind.namespaced.then_some(object.namespace.as_str());
    kube::core::Request::new(DynamicObject::url_path(&kind.api_resource, namespace))
}
