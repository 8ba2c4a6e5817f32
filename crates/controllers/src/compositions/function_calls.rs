//! Calls functions over gRPC: their endpoints, certificates and connections.

use super::Context;
use crate::runtime::Key;
use cambium_api::crossplane::{Function, FunctionSpec, FunctionTls};
use cambium_compositions_render::ConnectionDetails;
use cambium_compositions_render::function::{Request, Response};
use cambium_functions::{CallError, Endpoint, EndpointError, Functions, Tls};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long certificates are used before their Secret is read again. After a failed call it is read at once: they may have been rotated.
const FRESH: Duration = Duration::from_secs(60);

/// A client of functions, with the endpoints that are known.
#[derive(Default)]
pub(super) struct Calls {
    functions: Functions,
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    address: String,
    tls: Option<FunctionTls>,
    since: Instant,
    endpoint: Endpoint,
}

/// Why a function could not be called.
#[derive(Debug, thiserror::Error)]
pub(super) enum FunctionError {
    #[error("Function {name:?} not found; apply one with spec.endpoint, or pass its endpoint to the manager")]
    Missing { name: String },
    #[error(
        "Function {name:?} has no spec.endpoint, and packages are not installed by this manager; run the function and set spec.endpoint"
    )]
    NoEndpoint { name: String },
    #[error("cannot read Secret {secret} of Function {name:?}: {why}")]
    Secret {
        name: String,
        secret: String,
        why: String,
    },
    #[error("cannot use Secret {secret} of Function {name:?}: it has no {key:?}")]
    Key {
        name: String,
        secret: String,
        key: &'static str,
    },
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Context {
    /// Calls a function.
    pub(super) async fn call(&self, name: &str, request: &Request) -> Result<Response, FunctionError> {
        let endpoint = self.endpoint(name).await?;
        let deadline = self.settings.function_deadline;
        let answer = self.calls.functions.call(&endpoint, request, deadline).await;
        if answer.is_err() {
            self.calls.known().remove(name);
        }
        Ok(answer?)
    }

    /// The data of a Secret; nothing if it does not exist.
    pub(super) async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> kube::Result<Option<ConnectionDetails>> {
        let api: Api<Secret> = self.cluster.namespaced(namespace);
        let data = api
            .get_opt(name)
            .await?
            .map(|secret| secret.data.unwrap_or_default());
        Ok(data.map(|data| data.into_iter().map(|(key, value)| (key, value.0)).collect()))
    }

    /// The endpoint of a function: that of the manager's settings, or else that of the Function object.
    async fn endpoint(&self, name: &str) -> Result<Endpoint, FunctionError> {
        let object = self.functions.get(&Key::new("", name));
        let spec: Option<FunctionSpec> = object
            .and_then(|record| record.read::<Function>().ok())
            .map(|function| function.spec);
        let told = self.settings.functions.get(name).cloned();
        if spec.is_none() && told.is_none() {
            self.calls.forget(name);
            return Err(FunctionError::Missing {
                name: name.to_owned(),
            });
        }
        let spec = spec.unwrap_or_default();
        let Some(address) = told.or(spec.endpoint) else {
            self.calls.forget(name);
            return Err(FunctionError::NoEndpoint {
                name: name.to_owned(),
            });
        };
        if let Some(endpoint) = self.calls.fresh(name, &address, spec.tls.as_ref()) {
            return Ok(endpoint);
        }
        let tls = match &spec.tls {
            Some(tls) => Some(self.certificates(name, tls).await?),
            None => None,
        };
        let endpoint = Endpoint::new(name, &address, tls, self.settings.plain_functions)?;
        let known = Known {
            address,
            tls: spec.tls,
            since: Instant::now(),
            endpoint: endpoint.clone(),
        };
        self.calls.known().insert(name.to_owned(), known);
        Ok(endpoint)
    }

    async fn certificates(&self, name: &str, tls: &FunctionTls) -> Result<Tls, FunctionError> {
        let reference = &tls.secret_ref;
        let secret = format!("{}/{}", reference.namespace, reference.name);
        let unreadable = |why: String| FunctionError::Secret {
            name: name.to_owned(),
            secret: secret.clone(),
            why,
        };
        let data = self.secret(&reference.namespace, &reference.name).await;
        let mut data = data
            .map_err(|error| unreadable(error.to_string()))?
            .ok_or_else(|| unreadable("there is none".to_owned()))?;
        let mut take = |key: &'static str| {
            data.remove(key).ok_or_else(|| FunctionError::Key {
                name: name.to_owned(),
                secret: secret.clone(),
                key,
            })
        };
        Ok(Tls {
            authority: take("ca.crt")?,
            identity: Some((take("tls.crt")?, take("tls.key")?)),
            server_name: tls.server_name.clone(),
        })
    }
}

impl Calls {
    /// The known endpoint of a function, if its address and TLS settings are the same and it is fresh.
    fn fresh(&self, name: &str, address: &str, tls: Option<&FunctionTls>) -> Option<Endpoint> {
        let known = self.known();
        let known = known.get(name)?;
        let same = known.address == address && known.tls.as_ref() == tls;
        (same && known.since.elapsed() < FRESH).then(|| known.endpoint.clone())
    }

    fn forget(&self, name: &str) {
        self.known().remove(name);
        self.functions.forget(name);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
