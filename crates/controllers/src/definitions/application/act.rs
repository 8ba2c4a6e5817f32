//! Carries out the plan of an Application: adds the finalizer, records an ApplicationRevision, applies, prunes.

use super::Reconciler;
use super::observe::Observation;
use crate::impersonation::{ImpersonatingClient, Left};
use crate::kinds::{Kinds, PASSING};
use crate::runtime::Key;
use crate::write::{apply_known_fields, conflict, is_denied, is_refusal, is_verdict, not_found};
use cambium_api::names::{finalizer, reason};
use cambium_definitions::Refused;
use cambium_definitions::application::{Happened, Object, Plan, Record, Work, not_ours, revisions_to_delete};
use cambium_definitions::identity::forbidden;
use cambium_objects::{merge_patch, without_secret_values};
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Reconciler<'_> {
    /// Carries out the plan. The ApplicationRevision is stored before anything is applied, so that a crash leaves no object that no revision knows; and
    /// nothing is pruned before everything is applied.
    pub(super) async fn act(
        &self,
        client: &ImpersonatingClient,
        Observation {
            recorded,
            draft,
            kinds,
            ..
        }: &Observation,
        plan: &Plan,
        live: BTreeMap<Object, Value>,
    ) -> kube::Result<Happened> {
        let mut happened = Happened {
            live,
            ..Default::default()
        };
        let Ok(work) = &draft.outcome else {
            return Ok(happened);
        };
        if !plan.refused.is_empty() {
            return Ok(happened);
        }
        let is_new = |&index: &usize| !happened.live.contains_key(&plan.wanted[index].object);
        match self.has_finalizer() {
            // Adding the finalizer is a write at the resource version that was judged. Where it is there already, the API server is asked.
            true if plan.apply.iter().any(is_new) => self.ensure_still_there().await?,
            true => {}
            false => self.add_finalizer().await?,
        }
        match self.record(work, plan).await {
            Err(kube::Error::Api(status)) if is_refusal(status.code) => {
                happened.failed.push(Refused {
                    reason: reason::APPLY_FAILED,
                    message: format!("ApplicationRevision {}: {}", work.record.name(), status.message),
                });
                return Ok(happened);
            }
            recorded => recorded?,
        }
        happened.recorded = true;
        // A server error may pass. One that does not is taken for a refusal of that object, so that the others are applied.
        let failures = self.context.state.applications.failures(&self.key);
        let lasts = |code: u16| is_verdict(code) && failures >= PASSING;
        for &index in &plan.apply {
            let wanted = &plan.wanted[index];
            let live = happened.live.get(&wanted.object);
            let uid = live.and_then(|live| live["metadata"]["uid"].as_str());
            match self
                .apply(client, &wanted.object, &wanted.manifest, uid, kinds)
                .await
            {
                Ok((applied, ignored)) => {
                    happened.live.insert(wanted.object.clone(), applied);
                    happened.applied.insert(index);
                    happened.ignored.insert(index, ignored);
                }
                Err(kube::Error::Api(status)) if is_denied(&status) => {
                    let refused = forbidden(&wanted.object, client.identity(), &status.message);
                    happened.not_applied.insert(index, refused);
                }
                // Created in between, or not readable with this identity. An object that this Application made itself is observed by the next reconcile.
                Err(kube::Error::Api(status)) if status.is_already_exists() => {
                    happened.not_applied.insert(index, not_ours(&wanted.object));
                }
                Err(kube::Error::Api(status)) if is_refusal(status.code) || lasts(status.code) => {
                    let said = without_secret_values(&wanted.manifest, &status.message);
                    let refused = Refused {
                        reason: reason::APPLY_FAILED,
                        message: format!("{}: {said}", wanted.object),
                    };
                    happened.not_applied.insert(index, refused);
                }
                Err(error) => return Err(error),
            }
        }
        if !happened.not_applied.is_empty() {
            return Ok(happened);
        }
        for (object, uid) in &plan.prune {
            match self.prune(client, object, uid, kinds).await {
                Ok(()) => {
                    happened.live.remove(object);
                }
                Err(kube::Error::Api(status)) if is_denied(&status) => {
                    happened
                        .failed
                        .push(forbidden(object, client.identity(), &status.message));
                }
                Err(error) => return Err(error),
            }
        }
        if !happened.failed.is_empty() {
            // An object that could not be pruned is known by the ApplicationRevision that made it: no revision is deleted.
            return Ok(happened);
        }
        let current = work.record.name();
        for (name, uid) in revisions_to_delete(
            recorded,
            current,
            self.context.settings.application_revision_limit,
        ) {
            self.revisions().delete(name.as_str(), &uid).await?;
        }
        Ok(happened)
    }

    /// Whether the finalizer keeps the Application until everything that it made is pruned.
    fn has_finalizer(&self) -> bool {
        let names = self.application["metadata"]["finalizers"].as_array();
        names.is_some_and(|names| names.iter().any(|name| name == finalizer::APPLICATION))
    }

    /// Adds the finalizer, before anything is created that would have to be pruned.
    async fn add_finalizer(&self) -> kube::Result<()> {
        let finalizers = [finalizer::APPLICATION];
        self.applications()
            .add_finalizers(&self.metadata, &finalizers)
            .await
    }

    /// Fails with a conflict if the Application is gone: nothing would prune what is created for it now.
    async fn ensure_still_there(&self) -> kube::Result<()> {
        self.applications().still_there(&self.application).await
    }

    /// Stores the ApplicationRevision that the plan is for.
    async fn record(&self, work: &Work, plan: &Plan) -> kube::Result<()> {
        let revisions = self.revisions();
        let objects: Vec<Object> = plan.wanted.iter().map(|wanted| wanted.object.clone()).collect();
        match &work.record {
            Record::Keep(_) => Ok(()),
            Record::Renumber { name, number } => {
                let patch = json!({"spec": {"revision": number}});
                revisions.patch(name.as_str(), patch).await
            }
            Record::Restore { name, .. } => {
                let key = Key::new(&self.key.namespace, name.as_str());
                let (Some(edited), Some(object)) = (
                    self.context.caches.recorded.get(&key),
                    work.revision_object(&self.application, &objects),
                ) else {
                    return Ok(());
                };
                let patch = json!({"spec": merge_patch(&edited.value()["spec"], &object["spec"])});
                revisions.change(&edited.metadata(), patch).await
            }
            Record::Issue { .. } => {
                self.latest_is_seen().await?;
                match work.revision_object(&self.application, &objects) {
                    Some(object) => revisions.create(object).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Fails with a conflict while the latest ApplicationRevision in the status is not in the cache: its watch is behind that of the Application, and the
    /// same content would be recorded twice.
    async fn latest_is_seen(&self) -> kube::Result<()> {
        let Some(name) = self.application["status"]["latestRevision"]["name"].as_str() else {
            return Ok(());
        };
        let recorded = &self.context.caches.recorded;
        if recorded.get(&Key::new(&self.key.namespace, name)).is_some() {
            return Ok(());
        }
        match self.revisions().ask(name).await? {
            true => Err(conflict(format!("{name} is not in the cache yet"))),
            false => Ok(()),
        }
    }

    /// Applies an object as the identity of the Application; the object as it is now, and the fields that its kind does not know.
    async fn apply(
        &self,
        client: &ImpersonatingClient,
        object: &Object,
        manifest: &Value,
        uid: Option<&str>,
        kinds: &Kinds,
    ) -> kube::Result<(Value, Vec<String>)> {
        let kind = (object.api_version.clone(), object.kind.clone());
        let Some(Ok(resource)) = kinds.get(&kind) else {
            return Ok((Value::Null, Vec::new()));
        };
        let (applied, ignored) = apply_known_fields(client, resource, object, manifest, uid).await?;
        let value = crate::runtime::Record::new(applied.clone().into(), &resource.api_resource).value();
        if let Some(cache) = self.context.children.get(&resource.gvk()) {
            cache.learn(applied);
        }
        Ok((value, ignored))
    }

    /// Deletes an object as the identity of the Application.
    pub(super) async fn prune(
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
        let left = client.delete(resource, object, uid).await?;
        if let Some(cache) = self.context.children.get(&resource.gvk()) {
            match left {
                Left::Marked(marked) => cache.learn(*marked),
                Left::Nothing(key) => cache.learn_gone(&key, uid),
                Left::Unknown => return not_found(&cache, &Key::new(&object.namespace, &object.name)),
            }
        }
        Ok(())
    }
}
