//! Deletes what a deleted Application has made, or orphans it, and then removes the finalizers.

use super::Reconciler;
use crate::impersonation::ImpersonatingClient;
use crate::kinds::{Kinds, Unknown};
use crate::runtime::events::Severity;
use crate::runtime::{Key, Outcome, Resource};
use crate::write::{is_denied, not_found};
use cambium_api::names::{condition, finalizer, label, reason};
use cambium_definitions::Refused;
use cambium_definitions::application::{
    Object, Recorded, deleting_status, ever_wanted, is_orphaning, plan_deletion, stuck_status,
};
use cambium_definitions::identity::forbidden;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Reconciler<'_> {
    /// Prunes or orphans what the Application made, and then removes the finalizers.
    pub(super) async fn delete(&self) -> kube::Result<Outcome> {
        let ours = [finalizer::APPLICATION, finalizer::ORPHAN];
        let mut finalizers = self.metadata.finalizers.iter().flatten();
        if !finalizers.any(|name| ours.contains(&name.as_str())) {
            return Ok(Outcome::Done);
        }
        let recorded = self.recorded();
        let kinds = self.kinds(self.kinds_made(&recorded)).await;
        // A kind that cannot be discovered may have objects of this Application; one that is gone has none.
        if let Some(Err(error)) = kinds
            .values()
            .find(|kind| matches!(kind, Err(Unknown::Unseen(_))))
        {
            tracing::warn!(application = %self.key, %error, "failed to list what the Application made; requeued with back-off");
            return Ok(Outcome::Retry);
        }
        let live = self.made();
        let doomed = plan_deletion(&self.application, &recorded, &live);
        let refused = self.prune_or_orphan(&doomed, &live, &recorded, &kinds).await?;
        if !refused.is_empty() {
            return self.report_stuck(&refused).await;
        }
        let left = plan_deletion(&self.application, &recorded, &self.made());
        if !left.is_empty() {
            let status = deleting_status(&self.application, left.len(), self.context.cluster.now());
            self.patch_status(json!(status)).await?;
            return Ok(Outcome::Done);
        }
        let seen = |resource: &Resource| self.context.children.get(&resource.gvk()).is_some();
        if !kinds.values().flatten().all(seen) {
            // A watch has ended in between: its cache may lack objects.
            return Ok(Outcome::Retry);
        }
        let mut others = ever_wanted(&self.application, &recorded);
        others.retain(|object| !doomed.iter().any(|(removed, _)| removed.is(object)));
        if !self.unseen(others, &kinds).await?.is_empty() {
            return Ok(Outcome::Retry);
        }
        // Last: without the finalizer the Application is gone, and nothing would prune what is left. At the resource version that was judged: a change since then, of the deletion policy for instance, is a conflict.
        self.applications()
            .remove_finalizers(&self.metadata, &ours)
            .await?;
        Ok(Outcome::Done)
    }

    /// Prunes or orphans objects; the refusals.
    async fn prune_or_orphan(
        &self,
        doomed: &[(Object, String)],
        live: &BTreeMap<Object, Value>,
        recorded: &[Recorded],
        kinds: &Kinds,
    ) -> kube::Result<Vec<Refused>> {
        let orphaning = is_orphaning(&self.application);
        let marked = |object: &Object| !live[object]["metadata"]["deletionTimestamp"].is_null();
        let left: Vec<&(Object, String)> = doomed
            .iter()
            .filter(|(object, _)| orphaning || !marked(object))
            .collect();
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let client = match self.impersonate(current(&self.application, recorded))? {
            Ok(client) => client,
            Err(refused) => return Ok(vec![refused]),
        };
        let mut refused = Vec::new();
        for (object, uid) in left {
            let removed = match orphaning {
                true => self.orphan(&client, object, uid, kinds).await,
                false => self.prune(&client, object, uid, kinds).await,
            };
            match removed {
                Err(kube::Error::Api(status)) if is_denied(&status) => {
                    refused.push(forbidden(object, client.identity(), &status.message));
                }
                removed => removed?,
            }
        }
        Ok(refused)
    }

    /// Removes the labels that name the Application from an object that stays.
    async fn orphan(
        &self,
        client: &ImpersonatingClient,
        object: &Object,
        uid: &str,
        kinds: &Kinds,
    ) -> kube::Result<()> {
        let kind = (object.api_version.clone(), object.kind.clone());
        let Some(Ok(resource)) = kinds.get(&kind) else {
            return Ok(());
        };
        let patch = json!({"metadata": {"uid": uid, "labels": {
            (label::APPLICATION): null, (label::APPLICATION_NAMESPACE): null,
        }}});
        match client.merge(resource, object, patch).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                let key = Key::new(&object.namespace, &object.name);
                let cache = self.context.children.get(&resource.gvk());
                cache.map_or(Ok(()), |cache| not_found(&cache, &key))
            }
            Err(error) => Err(error),
            // The watch selects by these labels: it tells that the object is no longer among them.
            Ok(_) => Ok(()),
        }
    }

    /// Reports that objects may not be deleted, and requeues with back-off: permissions can be granted again.
    async fn report_stuck(&self, refused: &[Refused]) -> kube::Result<Outcome> {
        let status = stuck_status(&self.application, refused, self.context.cluster.now());
        let ready = |status: &Value| {
            let mut all = status["conditions"].as_array().into_iter().flatten();
            all.find(|one| one["type"] == condition::READY)
                .map(|one| one["message"].clone())
        };
        let told = json!(status);
        if ready(&told) != ready(&self.application["status"]) {
            let reason = refused.first().map_or(reason::FORBIDDEN, |one| one.reason);
            let note = ready(&told);
            let note = note.as_ref().and_then(Value::as_str).unwrap_or_default();
            let cluster = &self.context.cluster;
            cluster.emit(&self.application, Severity::Warning, reason, "Delete", note);
        }
        self.patch_status(told).await?;
        Ok(Outcome::Retry)
    }
}

/// What the objects of an Application were rendered from: the ApplicationRevision that it is frozen at, or else the Application.
fn current<'a>(application: &'a Value, recorded: &'a [Recorded]) -> &'a Value {
    let status = &application["status"];
    let frozen = status["publishVersion"].as_str().and_then(|_| {
        let name = status["latestRevision"]["name"].as_str();
        recorded
            .iter()
            .find(|recorded| Some(recorded.revision.name().as_str()) == name)
    });
    frozen.map_or(application, |frozen| &frozen.application)
}
