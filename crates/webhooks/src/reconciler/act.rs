//! Writes the Secret, CRDs and webhook configurations.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use serde_json::Value;

use super::{ReconcileError, Reconciler, Seen};
use crate::certificates::SecretStep;
use crate::names;
use crate::registration::{Target, Write};

impl Reconciler {
    /// Carries out a step in the Secret. A conflict is no error: everything is observed again.
    pub(super) async fn write_secret(
        &self,
        seen: &Seen,
        step: &SecretStep,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        if let SecretStep::Refuse { why } = step {
            return Err(ReconcileError::Refused {
                namespace: self.namespace.clone(),
                name: self.secret.clone(),
                why: why.clone(),
            });
        }
        let Some(authorities) = seen.stored.after(step, &self.lifetimes, now)? else {
            return Ok(());
        };
        let (secrets, parameters) = (self.secrets(), parameters());
        let written = match &seen.secret {
            None => {
                let labels = [(names::MANAGED_BY.to_owned(), names::CAMBIUM.to_owned())];
                let metadata = ObjectMeta {
                    name: Some(self.secret.clone()),
                    labels: Some(labels.into()),
                    ..ObjectMeta::default()
                };
                let secret = Secret {
                    metadata,
                    type_: Some("Opaque".to_owned()),
                    data: Some(authorities.data()),
                    ..Secret::default()
                };
                made(secrets.create(&parameters, &secret).await)
            }
            Some(secret) => {
                let mut secret = secret.clone();
                secret.data = Some(authorities.data());
                replaced(secrets.replace(&self.secret, &parameters, &secret).await)
            }
        };
        match written.map_err(ReconcileError::api("write the Secret", &self.secret))? {
            Some(secret) => {
                self.tell(&secret, step).await;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Carries out a write of the registration.
    pub(super) async fn write_target(&self, target: &Target, write: Write) -> Result<(), ReconcileError> {
        let request = kube::core::Request::new(target.collection());
        let name = target.name();
        let bytes = |object: &Value| object.to_string().into_bytes();
        let written = match &write {
            Write::Nothing => return Ok(()),
            Write::Create(object) => match request.create(&parameters(), bytes(object)) {
                Ok(request) => made(self.client.request_text(request).await),
                Err(error) => Err(kube::Error::BuildRequest(error)),
            },
            Write::Replace(object) => match request.replace(name, &parameters(), bytes(object)) {
                Ok(request) => replaced(self.client.request_text(request).await),
                Err(error) => Err(kube::Error::BuildRequest(error)),
            },
        };
        if written
            .map_err(ReconcileError::api("register in", name))?
            .is_some()
        {
            tracing::info!(name, "registered");
        }
        Ok(())
    }
}

fn parameters() -> PostParams {
    PostParams {
        field_manager: Some(names::CAMBIUM.to_owned()),
        ..PostParams::default()
    }
}

/// `None` if it is not there.
pub(super) fn existing<T>(result: kube::Result<T>) -> kube::Result<Option<T>> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        other => other.map(Some),
    }
}

/// `None` if another client has created it first. That its namespace is missing is an error.
fn made<T>(result: kube::Result<T>) -> kube::Result<Option<T>> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        other => other.map(Some),
    }
}

/// `None` if another client has changed or deleted it first.
fn replaced<T>(result: kube::Result<T>) -> kube::Result<Option<T>> {
    made(existing(result)).map(Option::flatten)
}
