//! Reconciles definitions: one DefinitionRevision per version, retention, and the users of each revision.

use super::Context;
use crate::cluster::Kind;
use crate::runtime::events::Severity;
use crate::runtime::pool::NoResult;
use crate::runtime::{Key, Outcome, Record};
use crate::write::is_conflict;
use cambium_api::names::{annotation, finalizer};
use cambium_api::v2beta1;
use cambium_convert::definition::{WrittenAt, written_at};
use cambium_definitions::Artifact;
use cambium_definitions::definition::{Plan, Renumber, Seen, Templates};
use cambium_lineage::RevisionName;
use cambium_objects::merge_patch;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Reconciles one definition: observe, decide, act.
pub(crate) async fn reconcile(artifact: Artifact, context: Arc<Context>) -> Outcome {
    let seen = observe(&artifact, &context);
    // On the threads for templates: a version that is published is evaluated first.
    let planned = {
        let (artifact, retention, now) = (
            artifact.clone(),
            context.settings.retention(),
            context.cluster.now(),
        );
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
            tracing::error!(definition = %artifact, %error, "failed to publish revisions; requeued with back-off");
            return Outcome::Retry;
        }
    };
    match act(&artifact, &seen, &plan, &context).await {
        Ok(()) => {
            if seen.definition.is_some() {
                context.state.arrived(&artifact);
            }
            match plan.again_at {
                Some(at) => Outcome::After(until(at, context.cluster.now())),
                None => Outcome::Done,
            }
        }
        Err(error) => {
            if !is_conflict(&error) {
                tracing::warn!(definition = %artifact, %error, "failed to publish revisions; requeued with back-off");
            }
            Outcome::Retry
        }
    }
}

/// The requeue delay while the namespace's share of the threads is taken.
const CROWDED: Duration = Duration::from_secs(1);

fn observe(artifact: &Artifact, context: &Context) -> Seen {
    let cache = context.caches.definitions(artifact.type_);
    let record = cache.get(&Key::new(&artifact.namespace, &artifact.name));
    let definition = record.map(|record| record.value());
    let (catalogue, consumers) = (context.state.catalogue(), context.state.consumers());
    Seen::of(artifact, definition, &catalogue, &consumers)
}

async fn act(artifact: &Artifact, seen: &Seen, plan: &Plan, context: &Context) -> kube::Result<()> {
    let (caches, cluster) = (&context.caches, &context.cluster);
    let revisions = Revisions {
        kind: cluster.kind_in(&caches.revisions, &artifact.namespace),
        context,
        namespace: &artifact.namespace,
    };
    if let Some(definition) = seen.definition.as_ref().filter(|_| !plan.publish.is_empty()) {
        let definitions = caches.definitions(artifact.type_);
        let definitions = cluster.kind_in(definitions, &artifact.namespace);
        definitions.still_there(definition).await?;
    }
    for object in &plan.publish {
        revisions.publish(object).await?;
    }
    for name in &plan.hold {
        revisions.add_finalizer(name).await?;
    }
    for Renumber { name, number } in &plan.renumber {
        let patch = json!({"spec": {"revision": number}});
        revisions.kind.patch(name.as_str(), patch).await?;
    }
    let now = context.cluster.now().to_string();
    for name in &plan.mark {
        revisions.annotate(name, json!(now)).await?;
    }
    for name in &plan.unmark {
        revisions.annotate(name, Value::Null).await?;
    }
    for (name, uid) in &plan.delete {
        revisions.kind.delete(name.as_str(), uid).await?;
    }
    for name in &plan.release {
        revisions.remove_finalizer(name).await?;
    }
    for (name, status) in &plan.uses {
        revisions.write_status(name, &json!(status)).await?;
    }
    let Some(definition) = &seen.definition else {
        return Ok(());
    };
    // Before the status: a client that waits for the status finds the events that it refers to.
    for (reason, note) in &plan.events {
        cluster.emit(definition, Severity::Normal, *reason, "Publish", note);
    }
    if let Some(status) = &plan.status {
        write_status(artifact, definition, json!(status), context).await?;
    }
    Ok(())
}

/// Writes the status of a definition at the API version that the definition was written at: a write at another version would own fields for a field
/// manager that no longer applies them.
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
    let definitions = context.caches.definitions(artifact.type_);
    let kind = context
        .cluster
        .served_as(&resource, definitions, &artifact.namespace);
    let patch = json!({
        "metadata": {"resourceVersion": definition["metadata"]["resourceVersion"]},
        "status": change,
    });
    kind.patch_status(&artifact.name, patch).await
}

/// DefinitionRevisions of one namespace.
struct Revisions<'a> {
    kind: Kind<'a>,
    context: &'a Context,
    namespace: &'a str,
}

impl Revisions<'_> {
    /// Creates a DefinitionRevision, or restores one that was edited: fields that were added are removed.
    async fn publish(&self, object: &Value) -> kube::Result<()> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let Some(edited) = self.known(name) else {
            return self.kind.create(object.clone()).await;
        };
        match merge_patch(&edited.value()["spec"], &object["spec"]) {
            Some(change) => {
                let patch = json!({"spec": change});
                self.kind.change(&edited.metadata(), patch).await
            }
            None => Ok(()),
        }
    }

    fn known(&self, name: &str) -> Option<Arc<Record>> {
        self.context.caches.revisions.get(&Key::new(self.namespace, name))
    }

    async fn annotate(&self, name: &RevisionName, since: Value) -> kube::Result<()> {
        let patch = json!({"metadata": {"annotations": {annotation::UNUSED_SINCE: since}}});
        self.kind.patch(name.as_str(), patch).await
    }

    /// Adds the finalizer, which keeps a revision while it is in use.
    async fn add_finalizer(&self, name: &RevisionName) -> kube::Result<()> {
        let Some(metadata) = self.known(name.as_str()).map(|record| record.metadata()) else {
            return Ok(());
        };
        match metadata.deletion_timestamp {
            Some(_) => Ok(()),
            None => self.kind.add_finalizers(&metadata, &[finalizer::IN_USE]).await,
        }
    }

    /// Removes the finalizer of a deleted revision.
    async fn remove_finalizer(&self, name: &RevisionName) -> kube::Result<()> {
        match self.known(name.as_str()) {
            Some(record) => {
                self.kind
                    .remove_finalizers(&record.metadata(), &[finalizer::IN_USE])
                    .await
            }
            None => Ok(()),
        }
    }

    async fn write_status(&self, name: &RevisionName, status: &Value) -> kube::Result<()> {
        match self.known(name.as_str()) {
            Some(record) => self.kind.write_status(&record.value(), status).await,
            None => Ok(()),
        }
    }
}

fn until(at: jiff::Timestamp, now: jiff::Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO)
}
