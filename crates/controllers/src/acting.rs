//! Requests that are made as an identity: the same requests, with headers that say as whom.

use crate::runtime::{Key, Resource};
use cambium_oam::application::Object;
use cambium_oam::identity::Identity;
use http::{HeaderName, HeaderValue, Request};
use kube::api::{
    DeleteParams, DynamicObject, GetParams, Patch, PatchParams, Preconditions, PropagationPolicy,
};
use kube::{Client, Resource as _};
use serde::Serialize;

/// A client that acts as somebody.
pub(crate) struct Acting {
    client: Client,
    identity: Identity,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Acting {
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

    /// An object, if it is there and this identity may see it.
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

    pub(crate) async fn patch<P: Serialize + std::fmt::Debug>(
        &self,
        kind: &Resource,
        object: &Object,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> kube::Result<DynamicObject> {
        let request = requests(kind, object).patch(&object.name, params, patch);
        self.client.request(self.signed(request)?).await
    }

    /// Deletes the object that was judged, and no other of that name. What is left of it, if others hold it; nothing, if it is gone.
    pub(crate) async fn delete(&self, kind: &Resource, object: &Object, uid: &str) -> kube::Result<Left> {
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                ..Default::default()
            }),
            ..Default::default()
        };
        let request = requests(kind, object).delete(&object.name, &params);
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
            // Gone already. If it is another one by now, the next look judges that.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Left::Unknown),
            Err(error) => Err(error),
        }
    }

    fn signed(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> kube::Result<Request<Vec<u8>>> {
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        for (name, value) in &self.headers {
            request.headers_mut().append(name.clone(), value.clone());
        }
        Ok(request)
    }
}

/// What a deletion left.
pub(crate) enum Left {
    /// The object, which others hold.
    Marked(Box<DynamicObject>),
    /// Nothing.
    Nothing(Key),
    /// It was gone already.
    Unknown,
}

fn requests(kind: &Resource, object: &Object) -> kube::core::Request {
    let namespace = kind.namespaced.then_some(object.namespace.as_str());
    kube::core::Request::new(DynamicObject::url_path(&kind.api_resource, namespace))
}
