//! Definitions of composite resources: keeps the CRDs that they ask for, and has their objects watched.

use super::Context;
use crate::runtime::{Key, Outcome};
use crate::write::{is_conflict, remove_finalizer};
use cambium_api::crossplane::CompositeResourceDefinition;
use cambium_api::names::{FIELD_MANAGER, finalizer};
use cambium_composites::definition::{
    CrdState, Definition, Observed, claim_crd, composite_crd, crd_state, read, status,
};
use cambium_objects::is_within;
use cambium_objects::merge_patch;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn resource() -> ApiResource {
    ApiResource::erase::<CompositeResourceDefinition>(&())
}

/// Looks at one definition: observe, decide, act.
pub(super) async fn reconcile(name: String, context: Arc<Context>) -> Outcome {
    let Some(record) = context.definitions.get(&Key::cluster(&name)) else {
        return Outcome::Done;
    };
    let run = Run {
        object: record.value(),
        name,
        context: &context,
    };
    let Ok(source) = serde_json::from_value::<CompositeResourceDefinition>(run.object.clone()) else {
        return Outcome::Done;
    };
    let result = match record.terminating() {
        true => run.delete(&source).await,
        false => run.keep(&source).await,
    };
    result.unwrap_or_else(|error| {
        if !is_conflict(&error) {
            tracing::warn!(definition = run.name, %error, "failed; trying again");
        }
        Outcome::Retry
    })
}

/// One look at one definition.
struct Run<'a> {
    name: String,
    object: Value,
    context: &'a Context,
}

impl Run<'_> {
    async fn keep(&self, source: &CompositeResourceDefinition) -> kube::Result<Outcome> {
        let meaning = read(source);
        let (mut composite, mut claim) = (CrdState::Waiting, CrdState::Waiting);
        if let Ok(definition) = &meaning {
            self.hold(definition).await?;
            composite = self.define(composite_crd(definition)).await?;
            if let Some(crd) = claim_crd(definition) {
                claim = self.define(crd).await?;
            }
            self.watch(definition, &composite, &claim).await;
        }
        let after = status(&Observed {
            source,
            meaning: meaning.as_ref(),
            composite: &composite,
            claim: &claim,
            now: self.context.now(),
        });
        self.write_status(json!(after)).await?;
        Ok(Outcome::Done)
    }

    /// Makes sure that the definition does not go before what it defines.
    async fn hold(&self, definition: &Definition) -> kube::Result<()> {
        let metadata = &self.object["metadata"];
        let mut names = metadata["finalizers"].as_array().cloned().unwrap_or_default();
        let mut wanted = vec![finalizer::DEFINED];
        wanted.extend(definition.claim_names().map(|_| finalizer::OFFERED));
        let missing: Vec<_> = wanted
            .into_iter()
            .filter(|name| !names.contains(&json!(name)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        names.extend(missing.into_iter().map(|name| json!(name)));
        let patch = json!({"metadata": {
            "finalizers": names, "resourceVersion": metadata["resourceVersion"], "uid": metadata["uid"],
        }});
        let params = self.context.merge_params();
        let written = self
            .api()
            .patch(&self.name, &params, &Patch::Merge(patch))
            .await?;
        self.context.definitions.learn_alone(written);
        Ok(())
    }

    /// Makes a CRD as it should be, unless it is somebody else's.
    async fn define(&self, wanted: CustomResourceDefinition) -> kube::Result<CrdState> {
        let api: Api<CustomResourceDefinition> = Api::all(self.context.client.clone());
        let name = wanted.metadata.name.clone().unwrap_or_default();
        let live = api.get_opt(&name).await?;
        let state = crd_state(self.uid(), live.as_ref());
        if matches!(state, CrdState::Foreign { .. }) {
            return Ok(state);
        }
        let manifest = json!(wanted);
        if live
            .as_ref()
            .is_some_and(|live| is_within(&manifest, &json!(live)))
        {
            return Ok(state);
        }
        let mut manifest = manifest;
        manifest["apiVersion"] = json!("apiextensions.k8s.io/v1");
        manifest["kind"] = json!("CustomResourceDefinition");
        let params = PatchParams::apply(FIELD_MANAGER).force();
        match api.patch(&name, &params, &Patch::Apply(&manifest)).await {
            Ok(applied) => Ok(crd_state(self.uid(), Some(&applied))),
            Err(kube::Error::Api(status)) if status.code == 422 || status.code == 400 => {
                Ok(CrdState::Refused(status.message))
            }
            Err(error) => Err(error),
        }
    }

    /// Has what is served watched.
    async fn watch(&self, definition: &Definition, composite: &CrdState, claim: &CrdState) {
        let Some(defined) = self
            .context
            .state
            .defined(definition.group(), &definition.names().kind)
        else {
            return;
        };
        let served = [
            (Some(&defined.composite), composite),
            (defined.claim.as_ref(), claim),
        ];
        for (resource, state) in served {
            let Some(resource) = resource.filter(|_| *state == CrdState::Established) else {
                continue;
            };
            if let Err(error) = self.context.kinds.ensure(resource).await {
                tracing::debug!(definition = self.name, %error, "not watched yet");
            }
        }
    }

    /// Removes what was defined: claims first, then composite resources, then their kinds.
    async fn delete(&self, source: &CompositeResourceDefinition) -> kube::Result<Outcome> {
        let Ok(definition) = read(source) else {
            return self.release(&[finalizer::DEFINED, finalizer::OFFERED]).await;
        };
        let waiting = (CrdState::Waiting, CrdState::Waiting);
        let after = status(&Observed {
            source,
            meaning: Ok(&definition),
            composite: &waiting.0,
            claim: &waiting.1,
            now: self.context.now(),
        });
        self.write_status(json!(after)).await?;
        let defined = self
            .context
            .state
            .defined(definition.group(), &definition.names().kind);
        let (composite, claim) = match &defined {
            Some(defined) => (Some(&defined.composite), defined.claim.as_ref()),
            None => (None, None),
        };
        if let Some(name) = definition.claim_crd_name()
            && !self.undefine(&name, claim).await?
        {
            return Ok(Outcome::Retry);
        }
        if !self.undefine(definition.name(), composite).await? {
            return Ok(Outcome::Retry);
        }
        self.release(&[finalizer::DEFINED, finalizer::OFFERED]).await
    }

    /// Deletes all objects of a kind, and then the kind. Whether it is gone.
    async fn undefine(&self, name: &str, resource: Option<&crate::runtime::Resource>) -> kube::Result<bool> {
        let api: Api<CustomResourceDefinition> = Api::all(self.context.client.clone());
        let Some(live) = api.get_opt(name).await? else {
            return Ok(true);
        };
        if matches!(crd_state(self.uid(), Some(&live)), CrdState::Foreign { .. }) {
            return Ok(true);
        }
        if let Some(resource) = resource.filter(|_| live.metadata.deletion_timestamp.is_none()) {
            let all: Api<DynamicObject> = Api::all_with(self.context.client.clone(), &resource.api_resource);
            let objects = match all.list(&ListParams::default()).await {
                Ok(objects) => objects.items,
                Err(kube::Error::Api(status)) if status.is_not_found() => Vec::new(),
                Err(error) => return Err(error),
            };
            for object in &objects {
                let namespace = object.metadata.namespace.clone().unwrap_or_default();
                let api = resource.api(self.context.client.clone(), &namespace);
                let key = Key::of(&object.metadata);
                let uid = object.metadata.uid.clone().unwrap_or_default();
                if object.metadata.deletion_timestamp.is_none() {
                    crate::write::delete_judged(&api, None, &key, &uid).await?;
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
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Lets the definition go.
    async fn release(&self, finalizers: &[&str]) -> kube::Result<Outcome> {
        for name in finalizers {
            let Some(record) = self.context.definitions.get(&Key::cluster(&self.name)) else {
                break;
            };
            let metadata = record.metadata();
            if metadata.finalizers.iter().flatten().any(|held| held == name) {
                remove_finalizer(
                    &self.api(),
                    &self.context.definitions,
                    &Key::cluster(&self.name),
                    &metadata,
                    name,
                )
                .await?;
            }
        }
        Ok(Outcome::Done)
    }

    async fn write_status(&self, status: Value) -> kube::Result<()> {
        let Some(change) = merge_patch(&self.object["status"], &status) else {
            return Ok(());
        };
        let patch = json!({"metadata": {"uid": self.object["metadata"]["uid"]}, "status": change});
        let params = self.context.merge_params();
        let written = self
            .api()
            .patch_status(&self.name, &params, &Patch::Merge(patch))
            .await?;
        self.context.definitions.learn(written);
        Ok(())
    }

    fn uid(&self) -> &str {
        self.object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    fn api(&self) -> Api<DynamicObject> {
        Api::all_with(self.context.client.clone(), self.context.definitions.resource())
    }
}
