//! Carries out the plan of a composite resource: garbage collects, records, applies, and writes the results.

use super::Reconciler;
use super::connection::Published;
use super::observe::Observation;
use crate::kinds::Kinds;
use crate::runtime::{Outcome, Record};
use crate::write::{KnownFields, delete_unwatched, is_conflict, is_invalid, is_verdict};
use cambium_compositions::Direction;
use cambium_compositions::composite::{
    Apply, Concluded, Happened, Object, Observed, Plan, Report, conclude, field_manager, has_changed,
    refused_status,
};
use cambium_compositions_render::ObservedResource;
use cambium_objects::{controller_of, without_secret_values};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

impl Reconciler<'_> {
    /// Garbage collects, records and applies, in this order: the composite resource refers to a resource before that is created, so that a crash
    /// between the two leaves no object behind that nothing refers to.
    pub(super) async fn act(&mut self, plan: &Plan, observation: &Observation) -> kube::Result<Happened> {
        let Observation { kinds, live, .. } = observation;
        for (object, uid) in &plan.collect {
            self.collect(object, uid, kinds).await?;
        }
        if let Some(patch) = &plan.record {
            self.write(patch.clone()).await?;
            self.count_move(plan);
        }
        let manager = field_manager(&self.composite);
        let mut happened = Happened::default();
        for apply in &plan.resources {
            let (there, ignored) = match live.get(&apply.object).filter(|_| apply.settled) {
                Some(live) => (live.clone(), apply.ignored.clone()),
                None => match self.apply(apply, live.get(&apply.object), kinds, &manager).await {
                    Ok(Ok(applied)) => applied,
                    Ok(Err(why)) => {
                        let why = format!("cannot apply composed resource {:?}: {why}", apply.name);
                        happened.failed.push((apply.name.clone(), why));
                        continue;
                    }
                    // One resource that is refused does not keep the others from being applied.
                    Err(kube::Error::Api(status)) if is_verdict(status.code) => {
                        let said = without_secret_values(&apply.manifest, &status.message);
                        let why = format!("cannot apply composed resource {:?}: {said}", apply.name);
                        happened.failed.push((apply.name.clone(), why));
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            if !ignored.is_empty() {
                // A changed CRD may know the fields that were left out.
                let group = apply.object.group();
                self.context.state.kinds_missed.add(group, &self.key);
                happened.ignored.push((apply.name.clone(), ignored));
            }
            let there = ObservedResource {
                object: there,
                ..ObservedResource::default()
            };
            happened.there.insert(apply.object.clone(), there);
        }
        Ok(happened)
    }

    /// Counts in `cambium_moves_total` a move that was just recorded.
    fn count_move(&self, plan: &Plan) {
        let Some((Some(from), to)) = &plan.moved else {
            return;
        };
        let direction = self.context.state.catalogue().direction(from, to);
        let result = match direction {
            Some(Direction::Up) => "upgraded",
            Some(Direction::Down) => "downgraded",
            None => "moved",
        };
        self.context.settings.metrics.moved("CompositeResource", result);
    }

    /// Applies a resource; the object as it is now and the fields that its kind does not know, or why it belongs to another owner.
    ///
    /// An existing object is applied with its UID: a new object of the same name is not overwritten. One that was not seen is first applied without
    /// force: an object that another client has created in the meantime answers with a conflict, and its owner is checked.
    async fn apply(
        &self,
        apply: &Apply,
        live: Option<&Value>,
        kinds: &Kinds,
        manager: &str,
    ) -> kube::Result<Result<(Value, Vec<String>), String>> {
        let Some(Ok(resource)) = kinds.get(&apply.object.kind()) else {
            return Ok(Ok((Value::Null, Vec::new())));
        };
        // Watched before it is applied: whatever changes it afterwards requeues the composite resource.
        let cache = self.context.composed.ensure(resource).await.ok();
        let api = self.context.cluster.objects(resource, &apply.object.namespace);
        let mut params = PatchParams::apply(manager);
        let name = &apply.object.name;
        let mut known = KnownFields::of(apply.manifest.clone());
        if let Some(live) = live {
            known.manifest["metadata"]["uid"] = live["metadata"]["uid"].clone();
            params = params.force();
        }
        let applied = loop {
            match api.patch(name, &params, &Patch::Apply(&known.manifest)).await {
                Err(refused) if known.leave_out(&refused) => {}
                // Another field manager owns a field (409), or the apply would give the object a second controller (422).
                Err(error) if !params.force && (is_conflict(&error) || is_invalid(&error)) => {
                    let Some(found) = api.get_opt(name).await? else {
                        return Err(error);
                    };
                    let found = Record::new(found.into(), &resource.api_resource).value();
                    let uid = self.composite["metadata"]["uid"].as_str().unwrap_or_default();
                    if let Some((owner, called)) = controller_of(&found)
                        && owner != uid
                    {
                        let object = &apply.object;
                        return Ok(Err(format!(
                            "{object} exists and is controlled by {called} (UID {owner})"
                        )));
                    }
                    // Forced onto exactly the object whose owner was checked.
                    for field in ["uid", "resourceVersion"] {
                        known.manifest["metadata"][field] = found["metadata"][field].clone();
                    }
                    params = params.force();
                }
                applied => break applied?,
            }
        };
        let value = Record::new(applied.clone().into(), &resource.api_resource).value();
        self.context.state.remember_applied(
            &apply.object,
            &apply.digest,
            &apply.manifest,
            &value,
            &known.left_out,
        );
        if let Some(cache) = cache {
            cache.learn(applied);
        }
        Ok(Ok((value, known.left_out)))
    }

    /// Deletes an object that is composed no longer.
    async fn collect(&self, object: &Object, uid: &str, kinds: &Kinds) -> kube::Result<()> {
        let Some(Ok(resource)) = kinds.get(&object.kind()) else {
            return Ok(());
        };
        let cluster = &self.context.cluster;
        match self.context.composed.get(&resource.gvk()) {
            Some(cache) => {
                let composed = cluster.kind_in(&cache, &object.namespace);
                composed.delete(&object.name, uid).await
            }
            None => {
                let api = cluster.objects(resource, &object.namespace);
                delete_unwatched(&api, &object.name, uid).await
            }
        }
    }

    /// Writes the composite resource, its connection secret, its status and events after the plan was carried out.
    pub(super) async fn conclude(
        &mut self,
        observed: &Observed<'_>,
        plan: &Plan,
        happened: &Happened,
        report: Report,
    ) -> kube::Result<Outcome> {
        let concluded = conclude(observed, &report, plan, happened, self.context.cluster.now());
        let failed = concluded.retry;
        self.emit_news(report.notes);
        let finished = self.finish(concluded).await?;
        // Patches and functions may read everything that was just written to the composite resource, so it is composed again until nothing changes. The
        // queue delays requeues after the first few: a composition that never settles does not spin.
        Ok(match failed || !finished {
            _ if has_changed(observed.composite, &self.composite) => Outcome::Again,
            true => Outcome::Retry,
            false => Outcome::Done,
        })
    }

    /// Writes the results, the status last; whether all of them could be written.
    async fn finish(&mut self, concluded: Concluded) -> kube::Result<bool> {
        let recorded = match concluded.record {
            Some(patch) => self.record(patch).await,
            None => Ok(()),
        };
        if let Err(error) = recorded {
            let facts = concluded.notes.into_iter().filter(|note| !note.warning);
            facts.for_each(|note| self.emit(note));
            return self.report_not_updated(error).await;
        }
        let (mut status, mut finished) = (concluded.status, true);
        match self.publish(&concluded.details).await? {
            Published::AsBefore => {}
            Published::Anew => {
                status["connectionDetails"] =
                    json!({"lastPublishedTime": self.context.cluster.now().to_string()});
            }
            Published::Refused(why) => {
                status["conditions"] = self.composite["status"]["conditions"].clone();
                let mut said = self.composite.clone();
                said["status"] = status;
                status = refused_status(&self.defined.definition, &said, &why, self.context.cluster.now());
                finished = false;
            }
        }
        for note in concluded.notes {
            self.emit(note);
        }
        match self.write_status(&status).await {
            Ok(()) => Ok(finished),
            Err(error) => self.report_not_updated(error).await,
        }
    }

    /// Writes the patches from composed resources to the composite resource.
    async fn record(&mut self, mut patch: Value) -> kube::Result<()> {
        if patch["metadata"].is_null() {
            patch["metadata"] = json!({});
        }
        // A conflict if another client has changed it: the patches were made from what it was.
        patch["metadata"]["uid"] = self.composite["metadata"]["uid"].clone();
        patch["metadata"]["resourceVersion"] = self.composite["metadata"]["resourceVersion"].clone();
        self.write(patch).await
    }

    /// Patches the composite resource, at the resource version that the patch names.
    pub(super) async fn write(&mut self, patch: Value) -> kube::Result<()> {
        self.kind().alone().patch(&self.at.name, patch).await?;
        self.reread();
        Ok(())
    }

    /// Writes the status, if it has changed.
    pub(super) async fn write_status(&mut self, status: &Value) -> kube::Result<()> {
        self.kind().write_status(&self.composite, status).await?;
        self.reread();
        Ok(())
    }

    /// Takes the composite resource from the cache, which has learned the answer to the last write.
    fn reread(&mut self) {
        if let Some(record) = self.cache.get(&self.at) {
            self.composite = record.value();
        }
    }
}
