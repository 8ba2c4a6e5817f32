//! Reconciles CompositeResourceDefinitions: applies their CRDs, and watches the objects of these.

use super::Context;
use super::state::{Defined, Served};
use crate::cluster::Kind;
use crate::runtime::{Key, Outcome, Resource};
use crate::write::{delete_unwatched, is_conflict};
use cambium_api::crossplane::CompositeResourceDefinition;
use cambium_api::names::{FIELD_MANAGER, finalizer};
use cambium_compositions::definition::{
    Candidate, CrdState, Definition, Observed, claim_crd, composite_crd, crd_state, read, status,
};
use cambium_objects::is_within;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn resource() -> ApiResource {
    ApiResource::erase::<CompositeResourceDefinition>(&())
}

/// Reconciles one CompositeResourceDefinition: observe, decide, act.
pub(super) async fn reconcile(name: String, context: Arc<Context>) -> Outcome {
    let Some(record) = context.definitions.get(&Key::cluster(&name)) else {
        return Outcome::Done;
    };
    let reconciler = Reconciler {
        object: record.value(),
        metadata: record.metadata(),
        name,
        context: &context,
    };
    let Ok(source) = serde_json::from_value::<CompositeResourceDefinition>(reconciler.object.clone()) else {
        return Outcome::Done;
    };
    let result = match record.terminating() {
        true => reconciler.delete(&source).await,
        false => reconciler.ensure_crds(&source).await,
    };
    result.unwrap_or_else(|error| {
        if !is_conflict(&error) {
            tracing::warn!(definition = reconciler.name, %error, "failed to reconcile; requeued with back-off");
        }
        Outcome::Retry
    })
}

/// A CRD after it was applied.
struct Made {
    state: CrdState,
    /// Whether the API server serves it, perhaps as it was before.
    served: Served,
}

impl Made {
    fn of(state: CrdState) -> Self {
        Self {
            served: Served::by(&state),
            state,
        }
    }
}

/// The kind of a CRD, at its storage version.
pub(super) fn stored(crd: &CustomResourceDefinition) -> Resource {
    let spec = &crd.spec;
    let version = spec.versions.iter().filter(|version| version.served);
    let version = version.max_by_key(|version| version.storage);
    let version = version.map(|version| version.name.clone()).unwrap_or_default();
    Resource {
        api_resource: ApiResource {
            api_version: format!("{}/{version}", spec.group),
            group: spec.group.clone(),
            version,
            kind: spec.names.kind.clone(),
            plural: spec.names.plural.clone(),
        },
        namespaced: spec.scope == "Namespaced",
    }
}

/// One reconcile of one CompositeResourceDefinition.
struct Reconciler<'a> {
    name: String,
    object: Value,
    /// Its metadata, for writes at the resource version that was judged.
    metadata: ObjectMeta,
    context: &'a Context,
}

impl Reconciler<'_> {
    async fn ensure_crds(&self, source: &CompositeResourceDefinition) -> kube::Result<Outcome> {
        // Other definitions are not compared here: of two that take one kind, admission refuses the second.
        let candidate = Candidate::new(None, &self.object, []);
        let meaning = candidate.publish();
        let (mut composite, mut claim) = (CrdState::Waiting, CrdState::Waiting);
        let mut seen = true;
        if let Ok(definition) = &meaning {
            self.add_finalizers(definition).await?;
            let defined = Defined::new(definition.clone(), &self.object);
            let crds = [Some(composite_crd(definition)), claim_crd(definition)];
            let states = [&mut composite, &mut claim];
            for ((crd, state), (name, resource)) in
                crds.into_iter().flatten().zip(states).zip(defined.kinds())
            {
                let made = self.define(crd).await?;
                seen &= self.context.see(&defined, &name, &resource, made.served).await;
                *state = made.state;
            }
        }
        let after = status(&Observed {
            source,
            meaning: meaning.as_ref().map_err(Vec::as_slice),
            composite: &composite,
            claim: &claim,
            now: self.context.cluster.now(),
        });
        self.write_status(json!(after)).await?;
        Ok(match seen {
            true => Outcome::Done,
            false => Outcome::Retry,
        })
    }

    /// Adds the finalizers, before a CRD is created that must be deleted before the definition.
    async fn add_finalizers(&self, definition: &Definition) -> kube::Result<()> {
        let mut wanted = vec![finalizer::DEFINED];
        wanted.extend(definition.claim_names().map(|_| finalizer::OFFERED));
        let definitions = self.definitions().alone();
        definitions.add_finalizers(&self.metadata, &wanted).await
    }

    /// Applies a CRD, unless it has another controller.
    async fn define(&self, wanted: CustomResourceDefinition) -> kube::Result<Made> {
        let api: Api<CustomResourceDefinition> = self.context.cluster.all();
        let name = wanted.metadata.name.clone().unwrap_or_default();
        let live = api.get_opt(&name).await?;
        let state = crd_state(self.uid(), live.as_ref());
        if matches!(state, CrdState::Foreign { .. }) {
            return Ok(Made::of(state));
        }
        let manifest = json!(wanted);
        if live
            .as_ref()
            .is_some_and(|live| is_within(&manifest, &json!(live)))
        {
            return Ok(Made::of(state));
        }
        let mut manifest = manifest;
        manifest["apiVersion"] = json!("apiextensions.k8s.io/v1");
        manifest["kind"] = json!("CustomResourceDefinition");
        // Forced: the definition controls the CRD, so fields that another field manager has changed are put back.
        let params = PatchParams::apply(FIELD_MANAGER).force();
        match api.patch(&name, &params, &Patch::Apply(&manifest)).await {
            Ok(applied) => Ok(Made::of(crd_state(self.uid(), Some(&applied)))),
            // The CRD keeps its last valid version, which stays served.
            Err(kube::Error::Api(status)) if status.code == 422 || status.code == 400 => Ok(Made {
                served: Served::by(&state),
                state: CrdState::Refused(status.message),
            }),
            Err(error) => Err(error),
        }
    }

    /// Deletes claims, then composite resources, then their CRDs, and removes the finalizers.
    async fn delete(&self, source: &CompositeResourceDefinition) -> kube::Result<Outcome> {
        let Ok(definition) = read(source) else {
            return self
                .remove_finalizers(&[finalizer::DEFINED, finalizer::OFFERED])
                .await;
        };
        let waiting = (CrdState::Waiting, CrdState::Waiting);
        let after = status(&Observed {
            source,
            meaning: Ok(&definition),
            composite: &waiting.0,
            claim: &waiting.1,
            now: self.context.cluster.now(),
        });
        self.write_status(json!(after)).await?;
        let defined = Defined::new(definition, &self.object);
        for (name, resource) in defined.kinds().into_iter().rev() {
            if !self.undefine(&defined, &name, &resource).await? {
                return Ok(Outcome::Retry);
            }
        }
        self.remove_finalizers(&[finalizer::DEFINED, finalizer::OFFERED])
            .await
    }

    /// Deletes all objects of a kind and then its CRD, if this definition controls it; whether it is gone.
    async fn undefine(&self, defined: &Defined, name: &str, resource: &Resource) -> kube::Result<bool> {
        let api: Api<CustomResourceDefinition> = self.context.cluster.all();
        let Some(live) = api.get_opt(name).await? else {
            return Ok(true);
        };
        let state = crd_state(self.uid(), Some(&live));
        if matches!(state, CrdState::Foreign { .. }) {
            return Ok(true);
        }
        // A kind that is not served has no objects of this definition. Another definition may serve objects under its name.
        if state == CrdState::Established && live.metadata.deletion_timestamp.is_none() {
            self.context.see(defined, name, resource, Served::Unseen).await;
            let resource = stored(&live);
            let all = self.context.cluster.everywhere(&resource.api_resource);
            let objects = match all.list(&ListParams::default()).await {
                Ok(objects) => objects.items,
                // The answer for a kind that is not served is a text without a reason.
                Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
                Err(error) => return Err(error),
            };
            for object in &objects {
                let namespace = object.metadata.namespace.clone().unwrap_or_default();
                let api = self.context.cluster.objects(&resource, &namespace);
                let name = object.metadata.name.clone().unwrap_or_default();
                let uid = object.metadata.uid.clone().unwrap_or_default();
                if object.metadata.deletion_timestamp.is_none() {
                    delete_unwatched(&api, &name, &uid).await?;
                }
            }
            if !objects.is_empty() {
                return Ok(false);
            }
        }
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: live.metadata.uid.clone(),
                ..Default::default()
            }),
            ..Default::default()
        };
        match api.delete(name, &params).await {
            Ok(_) => Ok(api.get_opt(name).await?.is_none()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Removes finalizers. Each is removed at the resource version that the write before has left.
    async fn remove_finalizers(&self, finalizers: &[&str]) -> kube::Result<Outcome> {
        for name in finalizers {
            let Some(record) = self.context.definitions.get(&Key::cluster(&self.name)) else {
                break;
            };
            let metadata = record.metadata();
            if metadata.finalizers.iter().flatten().any(|held| held == name) {
                self.definitions().remove_finalizers(&metadata, &[name]).await?;
            }
        }
        Ok(Outcome::Done)
    }

    async fn write_status(&self, status: Value) -> kube::Result<()> {
        self.definitions().write_status(&self.object, &status).await
    }

    fn uid(&self) -> &str {
        self.object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    fn definitions(&self) -> Kind<'_> {
        self.context.cluster.kind(&self.context.definitions)
    }
}
