//! Reconciles Compositions: one CompositionRevision per distinct spec, retention, and the users of each revision.

use super::{Context, ISSUED_NUMBERS_LABEL, ISSUED_NUMBERS_NAME};
use crate::runtime::events::Severity;
use crate::runtime::{Key, Outcome};
use crate::write::is_conflict;
use cambium_compositions::Content;
use cambium_compositions::revision::{Observed, Plan, plan, retention, to_judge, to_read};
use cambium_lineage::{Retention, Users};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Reconciles one Composition: observe, decide, act.
pub(super) async fn reconcile(name: String, context: Arc<Context>) -> Outcome {
    let composition = context
        .compositions
        .get(&Key::cluster(&name))
        .map(|record| record.value());
    let issued = issued(&context, &name);
    let (unread, unjudged) = {
        let catalogue = context.state.catalogue();
        let shelf = catalogue.get(&name);
        (shelf.map(to_read).unwrap_or_default(), shelf.and_then(to_judge))
    };
    if !unread.is_empty() || unjudged.is_some() {
        let prepare = move || {
            unread.iter().for_each(Content::read);
            unjudged.iter().for_each(Content::judge);
        };
        if context.rendering.run_in_time(PAYER, prepare).await.is_err() {
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
            context.cluster.now(),
        )
    };
    match act(&name, composition.as_ref(), issued, &plan, &context).await {
        Ok(()) => match plan.again_at {
            Some(at) => Outcome::After(
                Duration::try_from(at.duration_since(context.cluster.now())).unwrap_or_default(),
            ),
            None => Outcome::Done,
        },
        Err(error) => {
            if !is_conflict(&error) {
                tracing::warn!(composition = name, %error, "failed to publish revisions; requeued with back-off");
            }
            Outcome::Retry
        }
    }
}

/// The share of the threads for templates that reading Compositions is charged to. No namespace has an upper-case name.
const PAYER: &str = "Composition";

/// The highest revision number that was issued for a Composition of this name.
pub(super) fn issued(context: &Context, name: &str) -> u64 {
    let marks = context
        .issued_numbers
        .get(&Key::new(&context.settings.namespace, ISSUED_NUMBERS_NAME));
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
    let cluster = &context.cluster;
    let compositions = cluster.kind(&context.compositions);
    let revisions = cluster.kind(&context.revisions);
    if let Some(composition) = composition.filter(|_| plan.create.is_some()) {
        // The watch may be late: composite resources must not follow a revision of a Composition that is deleted or has changed.
        compositions.still_there(composition).await?;
    }
    // Before the revision is created: a crash between the two skips a number, and none is issued twice.
    if let Some(number) = plan.reserve.filter(|number| *number > issued) {
        reserve(context, name, number).await?;
    }
    for (name, patch) in &plan.change {
        // At the resource version that was judged: an edit in between is a conflict.
        if let Some(record) = context.revisions.get(&Key::cluster(name.as_str())) {
            revisions.change(&record.metadata(), patch.clone()).await?;
        }
    }
    if let Some(object) = &plan.create {
        revisions.create(object.clone()).await?;
    }
    for (name, status) in &plan.statuses {
        let patch = json!({"status": status});
        revisions.patch_status(name.as_str(), patch).await?;
    }
    for (name, uid) in &plan.delete {
        revisions.delete(name.as_str(), uid).await?;
    }
    let Some(composition) = composition else {
        return Ok(());
    };
    for (reason, note) in &plan.events {
        cluster.emit(composition, Severity::Normal, *reason, "Publish", note);
    }
    match &plan.status {
        Some(status) => compositions.write_status(composition, &json!(status)).await,
        None => Ok(()),
    }
}

/// Stores in a ConfigMap that a number was issued: a Composition that is deleted and created again continues with the next one.
async fn reserve(context: &Context, composition: &str, number: u64) -> kube::Result<()> {
    let namespace = &context.settings.namespace;
    let marks = context.cluster.kind_in(&context.issued_numbers, namespace);
    let data = json!({composition: number.to_string()});
    let Some(known) = context
        .issued_numbers
        .get(&Key::new(namespace, ISSUED_NUMBERS_NAME))
    else {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": ISSUED_NUMBERS_NAME, "namespace": namespace, "labels": {ISSUED_NUMBERS_LABEL: ""}},
            "data": data,
        });
        return match marks.create(object).await {
            // A manager without webhooks may be the first who needs it.
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                let wanted = json!({"metadata": {"name": namespace}});
                let wanted = serde_json::from_value(wanted).map_err(kube::Error::SerdeError)?;
                let namespaces: Api<Namespace> = context.cluster.all();
                namespaces.create(&PostParams::default(), &wanted).await?;
                Err(kube::Error::Api(status))
            }
            created => created,
        };
    };
    let version = known.metadata().resource_version;
    let patch = json!({"metadata": {"resourceVersion": version}, "data": data});
    if let Err(error) = marks.patch(ISSUED_NUMBERS_NAME, patch).await {
        // Somebody else has remembered something in between.
        let _ = marks.ask(ISSUED_NUMBERS_NAME).await;
        return Err(error);
    }
    Ok(())
}
