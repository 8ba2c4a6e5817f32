//! Composite resources: selects, composes, records, applies, collects, and says how it went.

use super::state::Defined;
use super::{CompositeKey, Context};
use crate::kinds::{Kinds, PASSING, Unknown, find};
use crate::patch::merge_patch;
use crate::runtime::events::{Event, Severity};
use crate::runtime::{Cache, Key, Outcome};
use crate::write::{delete_judged, is_conflict, is_refusal, reference, remove_finalizer};
use cambium_api::crossplane::Mode;
use cambium_api::names::{FIELD_MANAGER, annotation, finalizer};
use cambium_compose::{Composition, ConnectionDetails, ObservedResource};
use cambium_composites::composite::{
    Apply, Concluded, Happened, Note, Object, Observed, Plan, Scopes, Wanted, associate, conclude,
    field_manager, paused_status, plan, refused_status, wanted,
};
use cambium_composites::{Fetched, Wish};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Looks at one composite resource: observe, decide, act.
pub(super) async fn reconcile(key: CompositeKey, context: Arc<Context>) -> Outcome {
    let group = key
        .type_
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let Some(defined) = context.state.defined(group, &key.type_.kind) else {
        return Outcome::Done;
    };
    let Some(cache) = context.composites(&defined.composite) else {
        return Outcome::Done;
    };
    let Some(record) = cache.get(&Key::new(&key.namespace, &key.name)) else {
        return Outcome::Done;
    };
    let terminating = record.terminating();
    let mut run = Run {
        composite: record.value(),
        at: Key::new(&key.namespace, &key.name),
        key,
        defined,
        cache,
        context: &context,
    };
    // What defines it may say something else than when it was last seen.
    context
        .state
        .index(&run.key, &run.defined.definition, &run.composite);
    let result = if run.composite["metadata"]["annotations"][annotation::PAUSED] == "true" {
        let status = paused_status(&run.defined.definition, &run.composite, context.now());
        run.write_status(&status).await.map(|()| Outcome::Done)
    } else if terminating {
        run.delete().await
    } else {
        run.keep().await
    };
    result.unwrap_or_else(|error| {
        if !is_conflict(&error) {
            tracing::warn!(composite = %run.key, %error, "failed; trying again");
        }
        Outcome::Retry
    })
}

/// One look at one composite resource.
struct Run<'a> {
    key: CompositeKey,
    /// Where it is among those of its kind.
    at: Key,
    composite: Value,
    defined: Arc<Defined>,
    cache: Arc<Cache>,
    context: &'a Context,
}

impl Run<'_> {
    /// Makes the world as the composite resource and its composition say.
    async fn keep(&mut self) -> kube::Result<Outcome> {
        let wish = Wish::of(&self.defined.definition, &self.composite);
        let fetched = {
            let catalogue = self.context.state.catalogue();
            self.context.state.fetcher().fetch(&catalogue, &wish)
        };
        let fetched = match fetched {
            Ok(fetched) => fetched,
            // Whoever changes that wakes us.
            Err(refusal) => return self.refuse(&refusal.to_string(), Outcome::Done).await,
        };
        match fetched.content.mode() {
            Some(Mode::Resources) => {}
            Some(Mode::Pipeline) | None => {
                let message = "cannot compose resources: mode Pipeline is not served by this manager";
                return self.refuse(message, Outcome::Done).await;
            }
        }
        let content = fetched.content.clone();
        match content.templates() {
            Ok(templates) => self.compose(&wish, &fetched, templates).await,
            Err(problems) => {
                let message = format!("refusing to use invalid Composition: {problems}");
                self.refuse(&message, Outcome::Done).await
            }
        }
    }

    async fn compose(
        &mut self,
        wish: &Wish,
        fetched: &Fetched,
        templates: &Composition,
    ) -> kube::Result<Outcome> {
        let layout = self.defined.definition.layout();
        let referred = self.referred();
        let bases = templates
            .templates()
            .iter()
            .filter_map(|template| template.base.as_ref());
        let mut named: BTreeSet<(String, String)> = referred.iter().map(Object::kind).collect();
        named.extend(bases.map(|base| Object::of(base).kind()));
        let kinds = self.kinds(named).await;
        let mut live = self.live(&referred, &kinds);
        let known = associate(templates, layout, &self.composite, &live);
        let wanted = wanted(templates, &self.composite, &known);
        let kinds = self.with_patched(kinds, &wanted).await;
        let unseen = kinds.values().any(|kind| matches!(kind, Err(Unknown::Unseen(_))));
        if unseen && self.context.state.composites.failures(&self.key) < PASSING {
            return Ok(Outcome::Retry);
        }
        self.look_for(&wanted, &kinds, &mut live).await?;
        let scopes: Scopes = kinds
            .iter()
            .map(|(kind, resource)| {
                let scope = resource
                    .as_ref()
                    .map(|known| known.namespaced)
                    .map_err(ToString::to_string);
                (kind.clone(), scope)
            })
            .collect();
        let definition = self.defined.clone();
        let observed = Observed {
            definition: &definition.definition,
            composite: &self.composite.clone(),
            wish,
            fetched,
            wanted: &wanted,
            live: &live,
            scopes: &scopes,
            secret_namespace: templates.write_connection_secrets_to_namespace(),
            became: &|object, digest| self.context.state.became(object, digest, live.get(object)),
        };
        let plan = plan(&observed);
        let happened = self.act(&plan, &kinds, &live, templates).await?;
        let concluded = conclude(&observed, templates, &plan, &happened, self.context.now());
        let retry = concluded.retry;
        self.finish(concluded).await?;
        Ok(if retry { Outcome::Retry } else { Outcome::Done })
    }

    /// Record, then act: what it will be composed of is durable before any of it is made.
    async fn act(
        &mut self,
        plan: &Plan,
        kinds: &Kinds,
        live: &BTreeMap<Object, Value>,
        templates: &Composition,
    ) -> kube::Result<Happened> {
        for (object, uid) in &plan.collect {
            self.collect(object, uid, kinds).await?;
        }
        if let Some(patch) = &plan.record {
            let written = self
                .api()
                .patch(&self.at.name, &self.composite_params(), &Patch::Merge(patch))
                .await?;
            self.learn(written, true);
        }
        let manager = field_manager(&self.composite);
        let mut happened = Happened::default();
        for apply in &plan.resources {
            let there = match live.get(&apply.object).filter(|_| apply.settled) {
                Some(live) => live.clone(),
                None => match self.apply(apply, kinds, &manager).await {
                    Ok(applied) => applied,
                    Err(kube::Error::Api(status)) if is_refusal(status.code) => {
                        let why = format!(
                            "cannot apply composed resource {:?}: {}",
                            apply.name, status.message
                        );
                        happened.failed.push((apply.name.clone(), why));
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            let secret = self.secret_of(&there, templates).await?;
            happened.there.insert(
                apply.object.clone(),
                ObservedResource {
                    object: there,
                    secret,
                },
            );
        }
        Ok(happened)
    }

    async fn apply(&self, apply: &Apply, kinds: &Kinds, manager: &str) -> kube::Result<Value> {
        let Some(Ok(resource)) = kinds.get(&apply.object.kind()) else {
            return Ok(Value::Null);
        };
        // Watched before it is made, so that nothing that happens to it is missed.
        let cache = self.context.composed.ensure(resource).await.ok();
        let api = resource.api(self.context.client.clone(), &apply.object.namespace);
        let params = PatchParams::apply(manager).force();
        let applied = api
            .patch(&apply.object.name, &params, &Patch::Apply(&apply.manifest))
            .await?;
        let value = crate::runtime::Record::new(applied.clone().into(), &resource.api_resource).value();
        self.context
            .state
            .note_applied(&apply.object, &apply.digest, &apply.manifest, &value);
        if let Some(cache) = cache {
            cache.learn(applied);
        }
        Ok(value)
    }

    async fn collect(&self, object: &Object, uid: &str, kinds: &Kinds) -> kube::Result<()> {
        let Some(Ok(resource)) = kinds.get(&object.kind()) else {
            return Ok(());
        };
        let api = resource.api(self.context.client.clone(), &object.namespace);
        let cache = self.context.composed.get(&resource.gvk());
        let key = Key::new(&object.namespace, &object.name);
        delete_judged(&api, cache.as_deref(), &key, uid).await
    }

    /// Writes what is left to be written, once.
    async fn finish(&mut self, concluded: Concluded) -> kube::Result<()> {
        if let Some(mut patch) = concluded.record {
            if patch["metadata"].is_null() {
                patch["metadata"] = json!({});
            }
            patch["metadata"]["uid"] = self.composite["metadata"]["uid"].clone();
            patch["metadata"]["resourceVersion"] = self.composite["metadata"]["resourceVersion"].clone();
            let written = self
                .api()
                .patch(&self.at.name, &self.composite_params(), &Patch::Merge(patch))
                .await?;
            self.learn(written, true);
        }
        self.publish(&concluded.details).await?;
        for note in concluded.notes {
            self.tell(note);
        }
        self.write_status(&concluded.status).await
    }

    /// Says why nothing can be composed. What is composed stays as it is.
    async fn refuse(&mut self, message: &str, outcome: Outcome) -> kube::Result<Outcome> {
        let status = refused_status(
            &self.defined.definition,
            &self.composite,
            message,
            self.context.now(),
        );
        self.write_status(&status).await?;
        Ok(outcome)
    }

    /// Lets a composite resource go. What it was composed of goes with it, by its owner references.
    async fn delete(&mut self) -> kube::Result<Outcome> {
        let metadata = self
            .cache
            .get(&self.at)
            .map(|record| record.metadata())
            .unwrap_or_default();
        if metadata
            .finalizers
            .iter()
            .flatten()
            .any(|name| name == finalizer::COMPOSITE)
        {
            remove_finalizer(
                &self.api(),
                &self.cache,
                &self.at,
                &metadata,
                finalizer::COMPOSITE,
            )
            .await?;
        }
        Ok(Outcome::Done)
    }

    /// What the composite resource says it is composed of.
    fn referred(&self) -> Vec<Object> {
        let layout = self.defined.definition.layout();
        let own = self.at.namespace.as_str();
        let references = layout.resource_refs(&self.composite).into_iter();
        references
            .filter_map(|reference| {
                Some(Object {
                    api_version: reference.api_version.to_owned(),
                    kind: reference.kind.to_owned(),
                    namespace: reference.namespace.unwrap_or(own).to_owned(),
                    name: reference.name?.to_owned(),
                })
            })
            .collect()
    }

    /// How to ask for objects of these kinds.
    async fn kinds(&self, wanted: BTreeSet<(String, String)>) -> Kinds {
        let misses = |group: &str| self.context.state.misses(&self.key, group);
        find(&self.context.mapper, &self.context.composed, wanted, misses).await
    }

    /// A patch may have made another kind of what a template starts from.
    async fn with_patched(&self, mut kinds: Kinds, wanted: &[Wanted]) -> Kinds {
        let made = wanted.iter().filter_map(|wanted| wanted.outcome.as_ref().ok());
        let missing: BTreeSet<_> = made
            .map(|manifest| Object::of(manifest).kind())
            .filter(|kind| !kinds.contains_key(kind))
            .collect();
        kinds.extend(self.kinds(missing).await);
        kinds
    }

    /// What is there of these objects.
    fn live(&self, objects: &[Object], kinds: &Kinds) -> BTreeMap<Object, Value> {
        let mut live = BTreeMap::new();
        for object in objects {
            let Some(Ok(resource)) = kinds.get(&object.kind()) else {
                continue;
            };
            let namespace = if resource.namespaced {
                object.namespace.as_str()
            } else {
                ""
            };
            let cache = self.context.composed.get(&resource.gvk());
            if let Some(record) = cache.and_then(|cache| cache.get(&Key::new(namespace, &object.name))) {
                let value = record.value();
                live.insert(Object::of(&value), value);
            }
        }
        live
    }

    /// Looks for objects under names that somebody else gave: they may be somebody else's.
    async fn look_for(
        &self,
        wanted: &[Wanted],
        kinds: &Kinds,
        live: &mut BTreeMap<Object, Value>,
    ) -> kube::Result<()> {
        let named = wanted.iter().filter(|wanted| wanted.named);
        for manifest in named.filter_map(|wanted| wanted.outcome.as_ref().ok()) {
            let object = Object::of(manifest);
            let Some(Ok(resource)) = kinds.get(&object.kind()) else {
                continue;
            };
            if live.keys().any(|known| known.is(&object))
                || (resource.namespaced && object.namespace.is_empty())
            {
                continue;
            }
            let api = resource.api(self.context.client.clone(), &object.namespace);
            if let Some(found) = api.get_opt(&object.name).await? {
                let value = crate::runtime::Record::new(found.into(), &resource.api_resource).value();
                live.insert(Object::of(&value), value);
            }
        }
        Ok(())
    }

    /// What the connection secret of a composed resource holds, if the composition reads from it.
    async fn secret_of(&self, object: &Value, templates: &Composition) -> kube::Result<ConnectionDetails> {
        let reads = templates.templates().iter().any(|template| {
            let mut details = template.connection_details.iter();
            details.any(|detail| matches!(detail.source, cambium_compose::DetailSource::Key(_)))
        });
        let reference = &object["spec"]["writeConnectionSecretToRef"];
        let (Some(name), true) = (reference["name"].as_str(), reads) else {
            return Ok(ConnectionDetails::new());
        };
        let namespace = reference["namespace"]
            .as_str()
            .or(object["metadata"]["namespace"].as_str());
        let api: Api<k8s_openapi::api::core::v1::Secret> =
            Api::namespaced(self.context.client.clone(), namespace.unwrap_or_default());
        let secret = api.get_opt(name).await?;
        let data = secret.and_then(|secret| secret.data).unwrap_or_default();
        Ok(data.into_iter().map(|(key, value)| (key, value.0)).collect())
    }

    /// Writes the connection secret, if it has changed.
    async fn publish(&mut self, details: &ConnectionDetails) -> kube::Result<()> {
        let definition = &self.defined.definition;
        let Some(secret) = definition.layout().connection_secret_ref(&self.composite) else {
            return Ok(());
        };
        let Some(namespace) = secret.namespace else {
            return Ok(());
        };
        let allowed = definition.connection_secret_keys();
        let data: BTreeMap<String, k8s_openapi::ByteString> = details
            .iter()
            .filter(|(key, _)| allowed.is_none_or(|allowed| allowed.contains(key)))
            .map(|(key, value)| (key.clone(), k8s_openapi::ByteString(value.clone())))
            .collect();
        let api: Api<k8s_openapi::api::core::v1::Secret> =
            Api::namespaced(self.context.client.clone(), namespace);
        let live = api.get_opt(secret.name).await?;
        let uid = self.composite["metadata"]["uid"].as_str();
        let ours = |live: &k8s_openapi::api::core::v1::Secret| {
            let mut owners = live.metadata.owner_references.iter().flatten();
            owners.any(|owner| owner.controller == Some(true) && Some(owner.uid.as_str()) == uid)
        };
        match &live {
            Some(live) if !ours(live) => {
                self.tell(Note {
                    warning: true,
                    reason: cambium_api::names::reason::PUBLISH_CONNECTION,
                    text: format!(
                        "cannot publish connection details: Secret {namespace}/{} exists and is somebody else's",
                        secret.name
                    ),
                });
                return Ok(());
            }
            Some(live) if live.data.clone().unwrap_or_default() == data => return Ok(()),
            None if data.is_empty() => return Ok(()),
            _ => {}
        }
        let manifest = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1",
            "metadata": {"name": secret.name, "namespace": namespace, "ownerReferences": [{
                "apiVersion": self.composite["apiVersion"], "kind": self.composite["kind"],
                "name": self.at.name, "uid": uid, "controller": true, "blockOwnerDeletion": true,
            }]},
            "data": data,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        api.patch(secret.name, &params, &Patch::Apply(&manifest)).await?;
        self.context.state.tell_claim(&self.composite);
        Ok(())
    }

    /// Writes the status, if it has changed.
    async fn write_status(&mut self, status: &Value) -> kube::Result<()> {
        let Some(change) = merge_patch(&self.composite["status"], status) else {
            return Ok(());
        };
        let patch = json!({"metadata": {"uid": self.composite["metadata"]["uid"]}, "status": change});
        let written = self
            .api()
            .patch_status(&self.at.name, &self.composite_params(), &Patch::Merge(patch))
            .await?;
        self.learn(written, false);
        Ok(())
    }

    fn learn(&mut self, written: DynamicObject, alone: bool) {
        match alone {
            true => self.cache.learn_alone(written),
            false => self.cache.learn(written),
        }
        if let Some(record) = self.cache.get(&self.at) {
            self.composite = record.value();
        }
    }

    fn tell(&self, note: Note) {
        self.context.events.record(Event {
            regarding: reference(&self.composite),
            severity: if note.warning {
                Severity::Warning
            } else {
                Severity::Normal
            },
            reason: note.reason.to_owned(),
            action: "Compose".to_owned(),
            note: note.text,
        });
    }

    fn composite_params(&self) -> PatchParams {
        PatchParams {
            field_manager: Some("apiextensions.crossplane.io/composite".to_owned()),
            ..Default::default()
        }
    }

    fn api(&self) -> Api<DynamicObject> {
        self.defined
            .composite
            .api(self.context.client.clone(), &self.at.namespace)
    }
}
