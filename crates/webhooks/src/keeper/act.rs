//! The writes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use serde_json::Value;

use super::{KeepError, Keeper, Seen};
use crate::certificates::{
    Authorities, Authority, AuthorityCertificate, Fingerprint, Next, SecretStep, Stored,
};
use crate::names;
use crate::registration::{Target, Write};

impl Keeper {
    /// Carries out a step in the Secret. That somebody else was faster is no error: it is looked at again.
    pub(super) async fn write_secret(
        &self,
        seen: &Seen,
        step: &SecretStep,
        now: Timestamp,
    ) -> Result<(), KeepError> {
        let Some(authorities) = self.after(&seen.stored, step, now)? else {
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
                secrets.create(&parameters, &secret).await
            }
            Some(secret) => {
                let mut secret = secret.clone();
                secret.data = Some(authorities.data());
                secrets.replace(&self.secret, &parameters, &secret).await
            }
        };
        match raced(written).map_err(KeepError::api("write the Secret", &self.secret))? {
            Some(secret) => {
                self.tell(&secret, step).await;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// What the Secret holds after a step.
    fn after(
        &self,
        stored: &Stored,
        step: &SecretStep,
        now: Timestamp,
    ) -> Result<Option<Authorities>, KeepError> {
        let new = || Authority::generate(now, self.lifetimes.authority);
        let published = |authorities: &Authorities, at| {
            let next = authorities.next.clone();
            next.map(|next| Next {
                published: at,
                ..next
            })
        };
        Ok(match (step, stored) {
            (SecretStep::Create, _) => Some(Authorities::only(new()?)),
            (SecretStep::Replace { keep, .. }, _) => Some(Authorities {
                previous: chosen(stored, keep),
                ..Authorities::only(new()?)
            }),
            (SecretStep::Refuse { why }, _) => {
                return Err(KeepError::Refused {
                    namespace: self.namespace.clone(),
                    name: self.secret.clone(),
                    why: why.clone(),
                });
            }
            (SecretStep::AddNext, Stored::Whole(authorities)) => {
                let next = Next {
                    authority: new()?,
                    published: None,
                };
                Some(Authorities {
                    next: Some(next),
                    ..Authorities::clone(authorities)
                })
            }
            (SecretStep::RecordPublished, Stored::Whole(authorities)) => Some(Authorities {
                next: published(authorities, Some(now)),
                ..Authorities::clone(authorities)
            }),
            (SecretStep::ForgetPublished, Stored::Whole(authorities)) => Some(Authorities {
                next: published(authorities, None),
                ..Authorities::clone(authorities)
            }),
            (SecretStep::Promote, Stored::Whole(authorities)) => Some(authorities.clone().promoted()),
            (SecretStep::Forget { expired }, Stored::Whole(authorities)) => {
                Some(authorities.clone().without(expired))
            }
            _ => None,
        })
    }

    /// Carries out a write of the registration.
    pub(super) async fn write_target(&self, target: &Target, write: Write) -> Result<(), KeepError> {
        let request = kube::core::Request::new(target.collection());
        let name = target.name();
        let bytes = |object: &Value| object.to_string().into_bytes();
        let request = match &write {
            Write::Nothing => return Ok(()),
            Write::Create(object) => request.create(&parameters(), bytes(object)),
            Write::Replace(object) => request.replace(name, &parameters(), bytes(object)),
        };
        let request = request.map_err(kube::Error::BuildRequest);
        let written = match request {
            Ok(request) => raced(self.client.request::<Value>(request).await),
            Err(error) => Err(error),
        };
        if written.map_err(KeepError::api("register in", name))?.is_some() {
            tracing::info!(name, "registered");
        }
        Ok(())
    }
}

/// Certificates by their fingerprints.
fn chosen(stored: &Stored, ids: &[Fingerprint]) -> Vec<AuthorityCertificate> {
    let all = stored.certificates().into_iter();
    all.filter(|one| ids.contains(&one.facts().id)).cloned().collect()
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

/// `None` if somebody else was faster: made it, changed it, removed it.
fn raced<T>(result: kube::Result<T>) -> kube::Result<Option<T>> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        other => existing(other),
    }
}
