//! Definitions: keeps one DefinitionRevision for each version, and says who uses which.

use crate::manager::Context;
use crate::runtime::events::{Event, Severity};
use crate::runtime::pool::NoResult;
use crate::runtime::{Key, Outcome, Record};
use crate::write::{delete_judged, is_conflict, not_found, reference, remove_finalizers, still_there};
use cambium_api::names::{FIELD_MANAGER, annotation, finalizer};
use cambium_api::{v1beta1, v2beta1};
use cambium_convert::definition::{WrittenAt, written_at};
use cambium_definitions::Artifact;
use cambium_definitions::definition::{Plan, Renumber, Seen, Templates};
use cambium_lineage::RevisionName;
use cambium_objects::merge_patch;
use kube::Api;
use kube::api::{DynamicObject, Patch, PostParams};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Looks at one definition: observe, decide, act.
pub(crate) async fn reconcile(artifact: Artifact, context: Arc<Context>) -> Outcome {
    let seen = observe(&artifact, &context);
    // What is published is tried first, which runs its template.
    let planned = {
        let (artifact, retention, now) = (artifact.clone(), context.settings.retention(), context.now());
        let namespace = artifact.namespace.clone();
        let decide = move || {
            let plan = seen.plan(&artifact, retention, Templates::Unchecked, now);
            (seen, plan)
        };
        context.rendering.run_soon(&namespace, decide).await
    };
    let (seen, plan) = match planned {
        Ok(planned) => planned,
        Err(NoResult::Crowded) => return Outcome::After(CROWDED),
        Err(error) => {
            tracing::error!(definition = %artifact, %error, "failed to publish; trying again");
            return Outcome::Retry;
        }
    };
    match act(&artifact, &seen, &plan, &context).await {
        Ok(()) => match plan.again_at {
            Some(at) => Outcome::After(until(at, context.now())),
            None => Outcome::Done,
        },
        Err(error) => {
            if !is_conflict(&error) {
                tracing::warn!(definition = %artifact, %error, "failed to publish; trying again");
            }
            Outcome::Retry
        }
    }
}

/// When to look again, when other templates of the namespace take its share of the threads.
const CROWDED: Duration = Duration::from_secs(1);

fn observe(artifact: &Artifact, context: &Context) -> Seen {
    let cache = context.caches.definitions(artifact.type_);
    let record = cache.get(&Key::new(&artifact.namespace, &artifact.name));
    let definition = record.map(|record| record.value());
    let (catalogue, consumers) = (context.state.catalogue(), context.state.consumers());
    Seen::of(artifact, definition, &catalogue, &consumers)
}

async fn act(artifact: &Artifact, seen: &Seen, plan: &Plan, context: &Context) -> kube::Result<()> {
    let revisions = Revisions {
        api: Api::namespaced_with(
            context.client.clone(),
            &artifact.namespace,
            context.caches.revisions.resource(),
        ),
        context,
        namespace: &artifact.namespace,
    };
    if let Some(definition) = seen.definition.as_ref().filter(|_| !plan.publish.is_empty()) {
        let definitions = context.caches.definitions(artifact.type_);
        let api = Api::namespaced_with(
            context.client.clone(),
            &artifact.namespace,
            definitions.resource(),
        );
        still_there(&api, definitions, &artifact.name, definition).await?;
    }
    for object in &plan.publish {
        revisions.publish(object).await?;
    }
    for name in &plan.hold {
        revisions.hold(name).await?;
    }
    for Renumber { name, number } in &plan.renumber {
        revisions
            .patch(name, json!({"spec": {"revision": number}}))
            .await?;
    }
    let now = context.now().to_string();
    for name in &plan.mark {
        revisions.annotate(name, json!(now)).await?;
    }
    for name in &plan.unmark {
        revisions.annotate(name, Value::Null).await?;
    }
    for (name, uid) in &plan.delete {
        revisions.delete(name, uid).await?;
    }
    for name in &plan.release {
        revisions.release(name).await?;
    }
    for (name, status) in &plan.uses {
        revisions.note_uses(name, json!(status)).await?;
    }
    let Some(definition) = &seen.definition else {
        return Ok(());
    };
    // Before the status: whoever sees the status finds what it tells about.
    for (reason, note) in &plan.events {
        context.events.record(Event {
            regarding: reference(definition),
            severity: Severity::Normal,
            reason: (*reason).to_owned(),
            action: "Publish".to_owned(),
            note: note.clone(),
        });
    }
    if let Some(status) = &plan.status {
        write_status(artifact, definition, json!(status), context).await?;
    }
    Ok(())
}

/// Writes a definition's status at the API version that the definition was written at: whoever writes at another one keeps fields
/// alive that their owner no longer applies.
async fn write_status(
    artifact: &Artifact,
    definition: &Value,
    status: Value,
    context: &Context,
) -> kube::Result<()> {
    let Some(change) = merge_patch(&definition["status"], &status) else {
        return Ok(());
    };
    let mut resource = context.caches.definitions(artifact.type_).resource().clone();
    if written_at(definition) == Some(WrittenAt::V2beta1) && context.settings.serves_v2beta1 {
        resource.version = "v2beta1".to_owned();
        resource.api_version = v2beta1::API_VERSION.to_owned();
    }
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.client.clone(), &artifact.namespace, &resource);
    let patch = json!({
        "metadata": {"resourceVersion": definition["metadata"]["resourceVersion"]},
        "status": change,
    });
    let written = api
        .patch_status(&artifact.name, &context.merge_params(), &Patch::Merge(patch))
        .await?;
    if resource.api_version == v1beta1::API_VERSION {
        context.caches.definitions(artifact.type_).learn(written);
    }
    Ok(())
}

/// DefinitionRevisions of one namespace.
struct Revisions<'a> {
    api: Api<DynamicObject>,
    context: &'a Context,
    namespace: &'a str,
}

impl Revisions<'_> {
    /// Creates a revision. One that is known and was edited gets back what was published.
    async fn publish(&self, object: &Value) -> kube::Result<()> {
        let object: DynamicObject =
            serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        let name = object.metadata.name.clone().unwrap_or_default();
        let key = Key::new(self.namespace, &name);
        if let Some(edited) = self.context.caches.revisions.get(&key) {
            return self.restore(&name, &edited, &object.data["spec"]).await;
        }
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..Default::default()
        };
        match self.api.create(&params, &object).await {
            Ok(created) => self.context.caches.revisions.learn(created),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                // An answer was lost, the watch is late, or another kind was faster to take the name. Whose it is decides the next look.
                if let Some(found) = self.api.get_opt(&name).await? {
                    self.context.caches.revisions.learn(found);
                }
                return Err(kube::Error::Api(status));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Puts back exactly what was published: fields that were added go, too.
    async fn restore(&self, name: &str, edited: &Record, spec: &Value) -> kube::Result<()> {
        let Some(change) = merge_patch(&edited.value()["spec"], spec) else {
            return Ok(());
        };
        let metadata = edited.metadata();
        let patch = json!({
            "metadata": {"resourceVersion": metadata.resource_version, "uid": metadata.uid},
            "spec": change,
        });
        let written = self
            .api
            .patch(name, &self.context.merge_params(), &Patch::Merge(patch))
            .await?;
        self.context.caches.revisions.learn(written);
        Ok(())
    }

    async fn patch(&self, name: &RevisionName, patch: Value) -> kube::Result<()> {
        let params = self.context.merge_params();
        match self.api.patch(name.as_str(), &params, &Patch::Merge(patch)).await {
            Ok(written) => self.context.caches.revisions.learn(written),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let key = Key::new(self.namespace, name.as_str());
                return not_found(&self.context.caches.revisions, &key);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn annotate(&self, name: &RevisionName, since: Value) -> kube::Result<()> {
        let patch = json!({"metadata": {"annotations": {annotation::UNUSED_SINCE: since}}});
        self.patch(name, patch).await
    }

    async fn delete(&self, name: &RevisionName, uid: &str) -> kube::Result<()> {
        let key = Key::new(self.namespace, name.as_str());
        delete_judged(&self.api, Some(&self.context.caches.revisions), &key, uid).await
    }

    /// Makes a revision wait for us before it goes.
    async fn hold(&self, name: &RevisionName) -> kube::Result<()> {
        let key = Key::new(self.namespace, name.as_str());
        let Some(record) = self.context.caches.revisions.get(&key) else {
            return Ok(());
        };
        let metadata = record.metadata();
        let mut finalizers = metadata.finalizers.unwrap_or_default();
        let going = metadata.deletion_timestamp.is_some();
        if going || finalizers.iter().any(|name| name == finalizer::IN_USE) {
            return Ok(());
        }
        finalizers.push(finalizer::IN_USE.to_owned());
        let patch = json!({"metadata": {
            "finalizers": finalizers, "resourceVersion": metadata.resource_version, "uid": metadata.uid,
        }});
        self.patch(name, patch).await
    }

    /// Lets a revision go whose deletion was asked for.
    async fn release(&self, name: &RevisionName) -> kube::Result<()> {
        let key = Key::new(self.namespace, name.as_str());
        let revisions = &self.context.caches.revisions;
        match revisions.get(&key) {
            Some(record) => {
                remove_finalizers(
                    &self.api,
                    revisions,
                    &key,
                    &record.metadata(),
                    &[finalizer::IN_USE],
                )
                .await
            }
            None => Ok(()),
        }
    }

    async fn note_uses(&self, name: &RevisionName, status: Value) -> kube::Result<()> {
        let key = Key::new(self.namespace, name.as_str());
        let Some(record) = self.context.caches.revisions.get(&key) else {
            return Ok(());
        };
        let known = record.value()["status"].clone();
        let Some(change) = merge_patch(&known, &status) else {
            return Ok(());
        };
        let patch = json!({"status": change});
        let params = self.context.merge_params();
        match self
            .api
            .patch_status(name.as_str(), &params, &Patch::Merge(patch))
            .await
        {
            Ok(written) => self.context.caches.revisions.learn(written),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return not_found(&self.context.caches.revisions, &key);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn until(at: jiff::Timestamp, now: jiff::Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO)
}
