//! Compositions: keeps a CompositionRevision for each distinct spec, and says who uses which.

use super::{Context, MARKS_LABEL, MARKS_NAME};
use crate::runtime::events::{Event, Severity};
use crate::runtime::{Key, Outcome};
use crate::write::{delete_judged, is_conflict, not_found, reference, still_there};
use cambium_api::names::FIELD_MANAGER;
use cambium_compositions::Content;
use cambium_compositions::revision::{Observed, Plan, plan, retention, to_read};
use cambium_lineage::{Retention, RevisionName, Users};
use cambium_objects::merge_patch;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DynamicObject, Patch, PostParams};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Looks at one composition: observe, decide, act.
pub(super) async fn reconcile(name: String, context: Arc<Context>) -> Outcome {
    let composition = context
        .compositions
        .get(&Key::cluster(&name))
        .map(|record| record.value());
    let issued = issued(&context, &name);
    let unread = {
        let catalogue = context.state.catalogue();
        catalogue.get(&name).map(to_read).unwrap_or_default()
    };
    if !unread.is_empty() {
        let read = move || unread.iter().for_each(Content::read);
        if context.rendering.run_in_time(PAYER, read).await.is_err() {
            return Outcome::Retry;
        }
    }
    let plan = {
        let catalogue = context.state.catalogue();
        let Some(shelf) = catalogue.get(&name) else {
            return Outcome::Done;
        };
        let mut uses = context.state.consumers().uses(&catalogue, &name, Users::SHOWN);
        let type_ = shelf.live().and_then(|live| live.composite_type.as_ref());
        uses.unseen = type_.is_some_and(|type_| context.has_unseen(type_));
        plan(
            &Observed {
                name: &name,
                composition: composition.as_ref(),
                shelf,
                issued,
                taken: &|name| catalogue.revision(name).is_some(),
                uses: &uses,
                edits: context.state.edits(),
                retention: retention(
                    composition.as_ref(),
                    Retention {
                        newest: context.settings.composition_revision_limit,
                        grace: context.settings.revision_grace,
                        delay: context.settings.deletion_delay,
                    },
                ),
            },
            context.now(),
        )
    };
    match act(&name, composition.as_ref(), issued, &plan, &context).await {
        Ok(()) => match plan.again_at {
            Some(at) => {
                Outcome::After(Duration::try_from(at.duration_since(context.now())).unwrap_or_default())
            }
            None => Outcome::Done,
        },
        Err(error) => {
            if !is_conflict(&error) {
                tracing::warn!(composition = name, %error, "failed to publish; trying again");
            }
            Outcome::Retry
        }
    }
}

/// Whose share of the threads reading compositions takes: theirs, which no namespace can be called.
const PAYER: &str = "Composition";

/// The highest number that was issued under this name.
pub(super) fn issued(context: &Context, name: &str) -> u64 {
    let marks = context
        .marks
        .get(&Key::new(&context.settings.namespace, MARKS_NAME));
    let mark = marks.and_then(|record| record.value()["data"][name].as_str()?.parse().ok());
    mark.unwrap_or(0)
}

async fn act(
    name: &str,
    composition: Option<&Value>,
    issued: u64,
    plan: &Plan,
    context: &Context,
) -> kube::Result<()> {
    if let Some(composition) = composition.filter(|_| plan.create.is_some()) {
        let api = Api::all_with(context.client.clone(), context.compositions.resource());
        still_there(&api, &context.compositions, name, composition).await?;
    }
    if let Some(number) = plan.reserve.filter(|number| *number > issued) {
        reserve(context, name, number).await?;
    }
    let revisions = Revisions {
        api: Api::all_with(context.client.clone(), context.revisions.resource()),
        context,
    };
    for (name, patch) in &plan.change {
        revisions.change(name, patch.clone()).await?;
    }
    if let Some(object) = &plan.create {
        revisions.create(object).await?;
    }
    for (name, status) in &plan.statuses {
        revisions.note(name, status).await?;
    }
    for (name, uid) in &plan.delete {
        let key = Key::cluster(name.as_str());
        delete_judged(&revisions.api, Some(&context.revisions), &key, uid).await?;
    }
    let Some(composition) = composition else {
        return Ok(());
    };
    for (reason, note) in &plan.events {
        context.events.record(Event {
            regarding: reference(composition),
            severity: Severity::Normal,
            reason: (*reason).to_owned(),
            action: "Publish".to_owned(),
            note: note.clone(),
        });
    }
    if let Some(status) = &plan.status
        && let Some(change) = merge_patch(&composition["status"], &json!(status))
    {
        let api: Api<DynamicObject> = Api::all_with(context.client.clone(), context.compositions.resource());
        let patch = json!({"metadata": {"uid": composition["metadata"]["uid"]}, "status": change});
        match api
            .patch_status(name, &context.merge_params(), &Patch::Merge(patch))
            .await
        {
            Ok(written) => context.compositions.learn(written),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return not_found(&context.compositions, &Key::cluster(name));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Remembers that a number was issued, outside of the composition: whoever deletes and makes it again goes on counting.
async fn reserve(context: &Context, composition: &str, number: u64) -> kube::Result<()> {
    let api: Api<DynamicObject> = Api::namespaced_with(
        context.client.clone(),
        &context.settings.namespace,
        context.marks.resource(),
    );
    let data = json!({composition: number.to_string()});
    let Some(known) = context
        .marks
        .get(&Key::new(&context.settings.namespace, MARKS_NAME))
    else {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": MARKS_NAME, "namespace": context.settings.namespace, "labels": {MARKS_LABEL: ""}},
            "data": data,
        });
        let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        return match api.create(&post_params(), &object).await {
            Ok(created) => {
                context.marks.learn(created);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                if let Some(found) = api.get_opt(MARKS_NAME).await? {
                    context.marks.learn(found);
                }
                Err(kube::Error::Api(status))
            }
            // A manager without webhooks may be the first who needs it.
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                let namespaces: Api<Namespace> = Api::all(context.client.clone());
                let namespace =
                    serde_json::from_value(json!({"metadata": {"name": context.settings.namespace}}));
                let namespace = namespace.map_err(kube::Error::SerdeError)?;
                namespaces.create(&post_params(), &namespace).await?;
                Err(kube::Error::Api(status))
            }
            Err(error) => Err(error),
        };
    };
    let version = known.metadata().resource_version;
    let patch = json!({"metadata": {"resourceVersion": version}, "data": data});
    match api
        .patch(MARKS_NAME, &context.merge_params(), &Patch::Merge(patch))
        .await
    {
        Ok(written) => context.marks.learn(written),
        Err(error) => {
            if let Ok(Some(found)) = api.get_opt(MARKS_NAME).await {
                context.marks.learn(found);
            }
            return Err(error);
        }
    }
    Ok(())
}

fn post_params() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..Default::default()
    }
}

/// CompositionRevisions.
struct Revisions<'a> {
    api: Api<DynamicObject>,
    context: &'a Context,
}

impl Revisions<'_> {
    async fn create(&self, object: &Value) -> kube::Result<()> {
        let object: DynamicObject =
            serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        match self.api.create(&post_params(), &object).await {
            Ok(created) => self.context.revisions.learn(created),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                // An answer was lost, the watch is late, or the name is somebody else's. Whose it is decides the next look.
                let name = object.metadata.name.unwrap_or_default();
                if let Some(found) = self.api.get_opt(&name).await? {
                    self.context.revisions.learn(found);
                }
                return Err(kube::Error::Api(status));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Changes exactly the revision that was looked at.
    async fn change(&self, name: &RevisionName, mut patch: Value) -> kube::Result<()> {
        let Some(record) = self.context.revisions.get(&Key::cluster(name.as_str())) else {
            return Ok(());
        };
        let metadata = record.metadata();
        if patch["metadata"].is_null() {
            patch["metadata"] = json!({});
        }
        patch["metadata"]["resourceVersion"] = json!(metadata.resource_version);
        patch["metadata"]["uid"] = json!(metadata.uid);
        let params = self.context.merge_params();
        let written = self
            .api
            .patch(name.as_str(), &params, &Patch::Merge(patch))
            .await?;
        self.context.revisions.learn(written);
        Ok(())
    }

    async fn note(&self, name: &RevisionName, status: &Value) -> kube::Result<()> {
        let params = self.context.merge_params();
        let patch = json!({"status": status});
        match self
            .api
            .patch_status(name.as_str(), &params, &Patch::Merge(patch))
            .await
        {
            Ok(written) => self.context.revisions.learn(written),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return not_found(&self.context.revisions, &Key::cluster(name.as_str()));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
