//! Applications: resolves, renders, records, applies, prunes, and says how it went.

use super::Context;
use crate::acting::{Acting, Left};
use crate::cluster::Kind;
use crate::kinds::{Kinds, PASSING, Unknown, find};
use crate::runtime::events::Severity;
use crate::runtime::pool::{CROWDED, NoResult};
use crate::runtime::{Key, Outcome, Resource};
use crate::write::{apply_known_fields, conflict, is_conflict, is_denied, is_refusal, is_verdict, not_found};
use cambium_api::names::{condition, finalizer, label, reason};
use cambium_api::v1beta1::ApplicationStatus;
use cambium_definitions::Refused;
use cambium_definitions::application::{
    Draft, Events, Happened, Object, Plan, Record, Recorded, Scopes, Work, applied, deleting_status, events,
    ever_wanted, is_made_by, is_orphaning, kinds_with_ignored_fields, not_ours, plan as plan_objects,
    plan_deletion, resolved, status, stuck_status, superfluous, without_ignored_fields,
};
use cambium_definitions::identity::{forbidden, identity};
use cambium_objects::{fit_to_show, merge_patch};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Looks at one application: observe, decide, act.
pub(crate) async fn reconcile(key: Key, context: Arc<Context>) -> Outcome {
    let Some(record) = context.caches.applications.get(&key) else {
        return Outcome::Done;
    };
    let run = Run {
        application: Arc::new(record.value()),
        key,
        context: &context,
    };
    let result = match record.terminating() {
        true => run.delete().await,
        false => run.keep().await,
    };
    result.unwrap_or_else(|error| {
        if NoResult::of(&error) == Some(NoResult::Crowded) {
            return Outcome::After(CROWDED);
        }
        if !is_conflict(&error) {
            tracing::warn!(application = %run.key, %error, "failed; trying again");
        }
        Outcome::Retry
    })
}

/// One look at one application.
struct Run<'a> {
    key: Key,
    application: Arc<Value>,
    context: &'a Context,
}

impl Run<'_> {
    /// Makes the world as the application says.
    async fn keep(&self) -> kube::Result<Outcome> {
        let recorded = Arc::new(self.recorded());
        let to_render = resolved(
            &self.application,
            &recorded,
            &self.context.state.catalogue(),
            &self.context.cluster_version,
        );
        let draft = Arc::new(self.rendering(move || to_render.render()).await?);
        let Ok(work) = &draft.outcome else {
            self.write_status(&draft, None, &Arc::default()).await?;
            return Ok(Outcome::Done);
        };
        let mut wanted = work.kinds();
        wanted.extend(self.kinds_made(&recorded));
        let kinds = self.kinds(wanted).await;
        let scopes: Scopes = kinds
            .iter()
            .map(|(kind, resource)| {
                (
                    kind.clone(),
                    resource
                        .as_ref()
                        .map(|known| known.namespaced)
                        .map_err(ToString::to_string),
                )
            })
            .collect();
        let scopes = Arc::new(scopes);
        let unseen = kinds.values().any(|kind| matches!(kind, Err(Unknown::Unseen(_))));
        if unseen && self.context.state.applications.failures(&self.key) < PASSING {
            return Ok(Outcome::Retry);
        }
        let acting = self.acting(&work.snapshot)?;
        let live = self.live(work, &kinds, acting.as_ref().ok()).await?;
        let compare = |application: Arc<Value>, live: BTreeMap<Object, Value>| {
            let (recorded, draft, scopes) = (recorded.clone(), draft.clone(), scopes.clone());
            self.comparing(cost(&draft, &live), move || {
                let work = draft.outcome.as_ref().ok();
                let plan = work.map(|work| plan_objects(&application, &recorded, work, &scopes, &live));
                (plan.unwrap_or_default(), live)
            })
        };
        let (mut plan, live) = compare(self.to_compare(), live).await?;
        let happened = match &acting {
            Ok(acting) => self.act(acting, &recorded, work, &plan, &kinds, live).await?,
            Err(refused) => {
                plan.refused.push(refused.clone());
                Happened {
                    live,
                    ..Default::default()
                }
            }
        };
        let (plan, happened) = (Arc::new(plan), Arc::new(happened));
        let after = self.write_status(&draft, Some(plan.clone()), &happened).await?;
        self.wait_for_fields(&after);
        // Nothing tells when somebody else's object goes. What cannot be seen now may hold something to prune.
        if !plan.refused.is_empty() || happened.problems().next().is_some() || unseen {
            return Ok(Outcome::Retry);
        }
        // What was applied just now may be healthy already, and nobody tells us of what we did ourselves.
        if plan.waiting.is_empty() {
            return Ok(Outcome::Done);
        }
        let now = json!({"metadata": self.application["metadata"], "status": after});
        let (next, _) = compare(Arc::new(now), happened.live.clone()).await?;
        match next.apply.iter().any(|index| plan.waiting.contains(index)) {
            true => Ok(Outcome::After(Duration::ZERO)),
            false => Ok(Outcome::Done),
        }
    }

    /// The application to compare with what is there. Fields that were left out are tried again when their kinds have changed, and once by
    /// each manager, which may not have been there when they did.
    fn to_compare(&self) -> Arc<Value> {
        match self.context.state.has_tried(&self.key) {
            true => self.application.clone(),
            false => Arc::new(without_ignored_fields(&self.application)),
        }
    }

    /// Looks again when a kind changes of which fields were left out.
    fn wait_for_fields(&self, status: &ApplicationStatus) {
        let kinds = kinds_with_ignored_fields(status);
        for (api_version, _) in &kinds {
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            self.context.state.misses(&self.key, group);
        }
        // Of the others, nothing has to be remembered.
        if !kinds.is_empty() {
            self.context.state.set_tried(&self.key);
        }
    }

    /// Removes what the application made, or leaves it to nobody, and then lets the application go.
    async fn delete(&self) -> kube::Result<Outcome> {
        let metadata = &self.application["metadata"];
        let ours = [finalizer::APPLICATION, finalizer::ORPHAN];
        let mut finalizers = metadata["finalizers"].as_array().into_iter().flatten();
        if !finalizers.any(|name| ours.iter().any(|ours| name == ours)) {
            return Ok(Outcome::Done);
        }
        let recorded = self.recorded();
        let kinds = self.kinds(self.kinds_made(&recorded)).await;
        // A kind that cannot be looked at may hold something of ours; one that is gone holds nothing.
        if let Some(Err(error)) = kinds
            .values()
            .find(|kind| matches!(kind, Err(Unknown::Unseen(_))))
        {
            tracing::warn!(application = %self.key, %error, "cannot see what the application made");
            return Ok(Outcome::Retry);
        }
        let live = self.made();
        let doomed = plan_deletion(&self.application, &recorded, &live);
        let refused = self.remove(&doomed, &live, &recorded, &kinds).await?;
        if !refused.is_empty() {
            return self.stuck(&refused).await;
        }
        let left = plan_deletion(&self.application, &recorded, &self.made());
        if !left.is_empty() {
            let status = deleting_status(&self.application, left.len(), self.context.cluster.now());
            self.patch_status(json!(status)).await?;
            return Ok(Outcome::Done);
        }
        let seen = |resource: &Resource| self.context.children.get(&resource.gvk()).is_some();
        if !kinds.values().flatten().all(seen) {
            // A watch ended in between: what it showed last is not the truth.
            return Ok(Outcome::Retry);
        }
        let mut others = ever_wanted(&self.application, &recorded);
        others.retain(|object| !doomed.iter().any(|(removed, _)| removed.is(object)));
        if !self.unseen(others, &kinds).await?.is_empty() {
            return Ok(Outcome::Retry);
        }
        // As it was when this was decided: whoever changed it since is asked again.
        let judged = serde_json::from_value(metadata.clone()).map_err(kube::Error::SerdeError)?;
        self.applications().release(&judged, &ours).await?;
        Ok(Outcome::Done)
    }

    /// Runs what evaluates templates where nobody else has to wait for it.
    async fn rendering<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> kube::Result<T> {
        Ok(self.context.rendering.run_soon(&self.key.namespace, work).await?)
    }

    /// Runs what compares objects with what they should be, which may run health policies: here if handing it over would cost more than doing it.
    async fn comparing<T: Send + 'static>(
        &self,
        cost: Cost,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> kube::Result<T> {
        match cost {
            Cost::Little => Ok(work()),
            Cost::Unknown => self.rendering(work).await,
        }
    }

    /// Whose rights this application's objects are written with, or why nobody's.
    fn acting(&self, rendered: &Value) -> kube::Result<Result<Acting, Refused>> {
        let rules = &self.context.settings.identities;
        match identity(&self.application, rendered, rules) {
            Ok(identity) => self.context.cluster.acting(identity).map(Ok),
            Err(refused) => Ok(Err(refused)),
        }
    }

    /// Removes what a deleted application made, or lets go of it; all that is refused.
    async fn remove(
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
        let acting = match self.acting(current(&self.application, recorded))? {
            Ok(acting) => acting,
            Err(refused) => return Ok(vec![refused]),
        };
        let mut refused = Vec::new();
        for (object, uid) in left {
            let removed = match orphaning {
                true => self.let_go(&acting, object, uid, kinds).await,
                false => self.prune(&acting, object, uid, kinds).await,
            };
            match removed {
                Err(kube::Error::Api(status)) if is_denied(&status) => {
                    refused.push(forbidden(object, acting.identity(), &status.message));
                }
                removed => removed?,
            }
        }
        Ok(refused)
    }

    /// Says that what a deleted application made may not be removed. It is tried again: rights can be given back.
    async fn stuck(&self, refused: &[Refused]) -> kube::Result<Outcome> {
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
            cluster.tell(&self.application, Severity::Warning, reason, "Delete", note);
        }
        self.patch_status(told).await?;
        Ok(Outcome::Retry)
    }

    fn recorded(&self) -> Vec<Recorded> {
        let uid = self.application["metadata"]["uid"].as_str();
        self.context.recorded(&self.key, uid)
    }

    /// The kinds of which this application may have made something.
    fn kinds_made(&self, recorded: &[Recorded]) -> BTreeSet<(String, String)> {
        let objects = ever_wanted(&self.application, recorded);
        objects
            .into_iter()
            .map(|object| (object.api_version, object.kind))
            .collect()
    }

    /// Finds out about kinds, and begins to watch those that are there.
    async fn kinds(&self, wanted: BTreeSet<(String, String)>) -> Kinds {
        let misses = |group: &str| self.context.state.misses(&self.key, group);
        find(
            &self.context.cluster.mapper,
            &self.context.children,
            wanted,
            misses,
        )
        .await
    }

    /// Everything that is wanted and exists, whoever made it, and everything else that this application made. What somebody else
    /// made is there only if the application's identity may see it: nobody is told of more.
    async fn live(
        &self,
        work: &Work,
        kinds: &Kinds,
        acting: Option<&Acting>,
    ) -> kube::Result<BTreeMap<Object, Value>> {
        let mut live = self.made();
        let mut applied = applied(&self.application);
        applied.retain(|object| !live.keys().any(|known| known.is(object)));
        live.extend(self.unseen(applied, kinds).await?);
        let Some(acting) = acting else {
            return Ok(live);
        };
        for (_, manifest) in work.manifests() {
            let mut object = Object::of(&manifest.object);
            let kind = (object.api_version.clone(), object.kind.clone());
            let Some(Ok(resource)) = kinds.get(&kind) else {
                continue;
            };
            if !resource.namespaced {
                object.namespace = String::new();
            }
            if live.contains_key(&object) {
                continue;
            }
            // Ours are watched: what is not among them is not there, or somebody else's.
            if let Some(found) = acting.visible(resource, &object).await? {
                // With its managed fields, which tell whether we applied it.
                live.insert(
                    object,
                    serde_json::to_value(found).map_err(kube::Error::SerdeError)?,
                );
            }
        }
        Ok(live)
    }

    /// Of these objects, which were not seen, those that this application made and that are there all the same: a watch may be late, and what is
    /// forgotten is never removed.
    async fn unseen(
        &self,
        objects: impl IntoIterator<Item = Object>,
        kinds: &Kinds,
    ) -> kube::Result<BTreeMap<Object, Value>> {
        let mut unseen = BTreeMap::new();
        for object in objects {
            let kind = (object.api_version.clone(), object.kind.clone());
            let Some(Ok(resource)) = kinds.get(&kind) else {
                continue;
            };
            let api = self.context.cluster.objects(resource, &object.namespace);
            let Some(found) = api.get_opt(&object.name).await? else {
                continue;
            };
            let value = crate::runtime::Record::new(found.clone().into(), &resource.api_resource).value();
            if !is_made_by(&value, &self.key.namespace, &self.key.name) {
                continue;
            }
            if let Some(cache) = self.context.children.get(&resource.gvk()) {
                cache.learn(found);
            }
            unseen.insert(Object::of(&value), value);
        }
        Ok(unseen)
    }

    /// Everything that this application made, of the kinds that are watched.
    fn made(&self) -> BTreeMap<Object, Value> {
        let mut live = BTreeMap::new();
        for (gvk, key) in self.context.state.made_by(&self.key) {
            let cache = self.context.children.get(&gvk);
            if let Some(record) = cache.and_then(|cache| cache.get(&key)) {
                let value = record.value();
                live.insert(Object::of(&value), value);
            }
        }
        live
    }

    /// Record, then act: the revision is durable before anything is applied, and nothing is pruned before all is applied.
    async fn act(
        &self,
        acting: &Acting,
        recorded: &[Recorded],
        work: &Work,
        plan: &Plan,
        kinds: &Kinds,
        live: BTreeMap<Object, Value>,
    ) -> kube::Result<Happened> {
        let mut happened = Happened {
            live,
            ..Default::default()
        };
        if !plan.refused.is_empty() {
            return Ok(happened);
        }
        let is_new = |&index: &usize| !happened.live.contains_key(&plan.wanted[index].object);
        match self.is_held() {
            true if plan.apply.iter().any(is_new) => self.ensure_still_there().await?,
            true => {}
            false => self.hold().await?,
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
        // What a server fails over may pass, or it is what it was sent; then the others are not kept waiting for it.
        let failures = self.context.state.applications.failures(&self.key);
        let lasts = |code: u16| is_verdict(code) && failures >= PASSING;
        for &index in &plan.apply {
            let wanted = &plan.wanted[index];
            let live = happened.live.get(&wanted.object);
            let uid = live.and_then(|live| live["metadata"]["uid"].as_str());
            match self
                .apply(acting, &wanted.object, &wanted.manifest, uid, kinds)
                .await
            {
                Ok((applied, ignored)) => {
                    happened.live.insert(wanted.object.clone(), applied);
                    happened.applied.insert(index);
                    happened.ignored.insert(index, ignored);
                }
                Err(kube::Error::Api(status)) if is_denied(&status) => {
                    let refused = forbidden(&wanted.object, acting.identity(), &status.message);
                    happened.not_applied.insert(index, refused);
                }
                // Made in between, or where this identity does not see it. What we made ourselves is seen by the next look.
                Err(kube::Error::Api(status)) if status.is_already_exists() => {
                    happened.not_applied.insert(index, not_ours(&wanted.object));
                }
                Err(kube::Error::Api(status)) if is_refusal(status.code) || lasts(status.code) => {
                    let said = fit_to_show(&wanted.manifest, &status.message);
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
            match self.prune(acting, object, uid, kinds).await {
                Ok(()) => {
                    happened.live.remove(object);
                }
                Err(kube::Error::Api(status)) if is_denied(&status) => {
                    happened
                        .failed
                        .push(forbidden(object, acting.identity(), &status.message));
                }
                Err(error) => return Err(error),
            }
        }
        if !happened.failed.is_empty() {
            // What could not be pruned is found by the revision that made it: that one stays.
            return Ok(happened);
        }
        let current = work.record.name();
        for (name, uid) in superfluous(
            recorded,
            current,
            self.context.settings.application_revision_limit,
        ) {
            self.revisions().delete(name.as_str(), &uid).await?;
        }
        Ok(happened)
    }

    /// Whether the application cannot go before what it made.
    fn is_held(&self) -> bool {
        let names = self.application["metadata"]["finalizers"].as_array();
        names.is_some_and(|names| names.iter().any(|name| name == finalizer::APPLICATION))
    }

    /// Adds our finalizer, so that the application cannot go before what it made.
    async fn hold(&self) -> kube::Result<()> {
        let metadata = serde_json::from_value(self.application["metadata"].clone());
        let metadata = metadata.map_err(kube::Error::SerdeError)?;
        self.applications()
            .hold(&metadata, &[finalizer::APPLICATION])
            .await
    }

    /// Before something is created for an application, it must be there: nobody would delete it again.
    async fn ensure_still_there(&self) -> kube::Result<()> {
        self.applications().still_there(&self.application).await
    }

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

    /// Refuses, as a conflict, to issue a revision while the newest one that the status names has not been seen: its watch is later than that of
    /// the Application, and what it recorded would be recorded twice.
    async fn latest_is_seen(&self) -> kube::Result<()> {
        let Some(name) = self.application["status"]["latestRevision"]["name"].as_str() else {
            return Ok(());
        };
        let recorded = &self.context.caches.recorded;
        if recorded.get(&Key::new(&self.key.namespace, name)).is_some() {
            return Ok(());
        }
        match self.revisions().ask(name).await? {
            true => Err(conflict(format!("{name} was not seen yet"))),
            false => Ok(()),
        }
    }

    /// Applies an object; the object as it is now, and the fields that its kind does not know.
    async fn apply(
        &self,
        acting: &Acting,
        object: &Object,
        manifest: &Value,
        uid: Option<&str>,
        kinds: &Kinds,
    ) -> kube::Result<(Value, Vec<String>)> {
        let kind = (object.api_version.clone(), object.kind.clone());
        let Some(Ok(resource)) = kinds.get(&kind) else {
            return Ok((Value::Null, Vec::new()));
        };
        let (applied, ignored) = apply_known_fields(acting, resource, object, manifest, uid).await?;
        let value = crate::runtime::Record::new(applied.clone().into(), &resource.api_resource).value();
        if let Some(cache) = self.context.children.get(&resource.gvk()) {
            cache.learn(applied);
        }
        Ok((value, ignored))
    }

    async fn prune(&self, acting: &Acting, object: &Object, uid: &str, kinds: &Kinds) -> kube::Result<()> {
        let kind = (object.api_version.clone(), object.kind.clone());
        let Some(Ok(resource)) = kinds.get(&kind) else {
            return Ok(());
        };
        let left = acting.delete(resource, object, uid).await?;
        if let Some(cache) = self.context.children.get(&resource.gvk()) {
            match left {
                Left::Marked(marked) => cache.learn(*marked),
                Left::Nothing(key) => cache.learn_gone(&key, uid),
                Left::Unknown => return not_found(&cache, &Key::new(&object.namespace, &object.name)),
            }
        }
        Ok(())
    }

    /// Takes off an object that stays what says whose it is.
    async fn let_go(&self, acting: &Acting, object: &Object, uid: &str, kinds: &Kinds) -> kube::Result<()> {
        let kind = (object.api_version.clone(), object.kind.clone());
        let Some(Ok(resource)) = kinds.get(&kind) else {
            return Ok(());
        };
        let patch = json!({"metadata": {"uid": uid, "labels": {
            (label::APPLICATION): null, (label::APPLICATION_NAMESPACE): null,
        }}});
        match acting.merge(resource, object, patch).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                let key = Key::new(&object.namespace, &object.name);
                let cache = self.context.children.get(&resource.gvk());
                cache.map_or(Ok(()), |cache| not_found(&cache, &key))
            }
            Err(error) => Err(error),
            // The watch tells when it has ceased to be ours.
            Ok(_) => Ok(()),
        }
    }

    /// Writes the status once, if it has changed, and tells of references that moved.
    async fn write_status(
        &self,
        draft: &Arc<Draft>,
        plan: Option<Arc<Plan>>,
        happened: &Arc<Happened>,
    ) -> kube::Result<ApplicationStatus> {
        let (application, draft, happened) = (self.application.clone(), draft.clone(), happened.clone());
        let now = self.context.cluster.now();
        let after = self
            .comparing(cost(&draft, &happened.live), move || {
                status(&application, &draft, plan.as_deref(), &happened, now)
            })
            .await?;
        let before: ApplicationStatus =
            serde_json::from_value(self.application["status"].clone()).unwrap_or_default();
        // Told once it is written: what is tried again is not told again.
        self.patch_status(json!(after)).await?;
        let told = events(&before, &after);
        self.count_moves(&told);
        let normal = told.normal.into_iter();
        let normal = normal.map(|(reason, note)| (Severity::Normal, reason.to_owned(), note));
        let warnings = told.warnings.into_iter();
        let warnings = warnings.map(|(reason, note)| (Severity::Warning, reason, note));
        for (severity, reason, note) in normal.chain(warnings) {
            let cluster = &self.context.cluster;
            cluster.tell(&self.application, severity, reason, "Reconcile", note);
        }
        Ok(after)
    }

    fn count_moves(&self, told: &Events) {
        let normal = told.normal.iter().map(|(reason, _)| *reason);
        let warnings = told.warnings.iter().map(|(reason, _)| reason.as_str());
        for said in normal.chain(warnings) {
            let result = match said {
                reason::UPGRADED => "upgraded",
                reason::DOWNGRADED => "downgraded",
                reason::UPGRADE_FAILED => "failed",
                _ => continue,
            };
            self.context.settings.metrics.moved("Application", result);
        }
    }

    async fn patch_status(&self, status: Value) -> kube::Result<()> {
        self.applications().write_status(&self.application, &status).await
    }

    fn applications(&self) -> Kind<'_> {
        let cluster = &self.context.cluster;
        cluster.kind_in(&self.context.caches.applications, &self.key.namespace)
    }

    fn revisions(&self) -> Kind<'_> {
        let cluster = &self.context.cluster;
        cluster.kind_in(&self.context.caches.recorded, &self.key.namespace)
    }
}

/// What it costs to compare objects with what they should be.
enum Cost {
    /// Next to nothing.
    Little,
    /// As much as templates and the number of objects make it cost.
    Unknown,
}

fn cost(draft: &Draft, live: &BTreeMap<Object, Value>) -> Cost {
    match draft.outcome.as_ref().map_or(true, Work::is_quickly_compared) && live.len() <= FEW {
        true => Cost::Little,
        false => Cost::Unknown,
    }
}

/// How many objects are few.
const FEW: usize = 64;

/// What an application's objects were rendered from: the revision that it is frozen at, or what it is.
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
