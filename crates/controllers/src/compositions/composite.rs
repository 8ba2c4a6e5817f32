//! Composite resources: selects, composes, records, applies, collects, and says how it went.

use super::connection::Published;
use super::seen::Seen;
use super::state::Defined;
use super::{CompositeKey, Context};
use crate::cluster::Kind;
use crate::kinds::{Kinds, PASSING, Unknown};
use crate::runtime::events::Severity;
use crate::runtime::pool::{CROWDED, NoResult};
use crate::runtime::{Cache, Key, Outcome, Record};
use crate::write::{KnownFields, delete_unwatched, is_conflict, is_invalid, is_refusal, is_verdict};
use cambium_api::crossplane::Mode;
use cambium_api::names::{annotation, finalizer, reason};
use cambium_compositions::composite::{
    Apply, Called, Concluded, Happened, Note, Object, Observed, Plan, Report, Scopes, Wanted, associate,
    conclude, field_manager, has_changed, hold, paused_status, plan, refused_status, too_expensive_status,
    wanted,
};
use cambium_compositions::{Fetched, Found, Refusal, Wish};
use cambium_compositions_render::{Composition, ObservedResource};
use cambium_objects::{controller_of, fit_to_show};
use kube::api::{Patch, PatchParams};
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
        let status = paused_status(&run.defined.definition, &run.composite, context.cluster.now());
        run.write_status(&status).await.map(|()| Outcome::Done)
    } else if terminating {
        run.delete().await
    } else {
        run.keep().await
    };
    let error = match result {
        Ok(outcome) => return outcome,
        Err(error) => error,
    };
    let error = match NoResult::of(&error) {
        Some(NoResult::Crowded) => return Outcome::After(CROWDED),
        // What is too expensive now is too expensive until something of it changes.
        Some(NoResult::TooLong) => match run.too_expensive().await {
            Ok(()) => return Outcome::Done,
            Err(error) => error,
        },
        _ => error,
    };
    run.give_up(error).await;
    Outcome::Retry
}

/// A revision that is not there after so many looks, which take some twelve seconds, is not about to be: whoever publishes says why. Its arrival
/// wakes those who wait at once.
const PUBLISHED: u32 = 6;

/// One look at one composite resource.
pub(super) struct Run<'a> {
    pub(super) key: CompositeKey,
    /// Where it is among those of its kind.
    pub(super) at: Key,
    pub(super) composite: Value,
    pub(super) defined: Arc<Defined>,
    cache: Arc<Cache>,
    pub(super) context: &'a Context,
}

/// Who composes.
pub(super) enum Composer {
    /// Templates, which read from what was made.
    Templates(Arc<Composition>),
    /// Functions, which have said everything already.
    Functions(Report),
}

impl Run<'_> {
    /// Makes the world as the composite resource and its composition say.
    async fn keep(&mut self) -> kube::Result<Outcome> {
        let wish = Wish::of(&self.defined.definition, &self.composite);
        let fetched = match self.context.state.look(&self.key, &wish) {
            Found::Content(fetched) => fetched,
            Found::Publishing(_) if self.context.state.composites.failures(&self.key) < PUBLISHED => {
                return Ok(Outcome::Retry);
            }
            Found::Publishing(refusal) | Found::Refused(refusal) => {
                return self.not_fetched(&wish, refusal).await;
            }
        };
        let content = fetched.content.clone();
        if !content.is_read() {
            let content = content.clone();
            self.evaluate(move || content.read()).await?;
        }
        let composed = match content.mode() {
            Some(Mode::Resources) => match content.templates() {
                Ok(templates) => Ok(self.compose(&wish, &fetched, templates).await),
                Err(problems) => Err(problems),
            },
            Some(Mode::Pipeline) => match content.steps() {
                Ok(steps) => Ok(self.run_pipeline(&wish, &fetched, steps).await),
                Err(problems) => Err(problems),
            },
            None => Err("spec.mode: it is neither Resources nor Pipeline"),
        };
        match composed {
            Ok(outcome) => outcome,
            Err(problems) => {
                let message = format!("refusing to use invalid Composition: {problems}");
                let note = Note::warning(reason::COMPOSE_RESOURCES, message);
                self.refuse(note, Some(&fetched)).await
            }
        }
    }

    /// Nothing can be composed, unless what is missing is there already and was not seen: then nothing is said.
    async fn not_fetched(&mut self, wish: &Wish, refusal: Refusal) -> kube::Result<Outcome> {
        let message = refusal.to_string();
        if self.context.look_for_missing(&refusal).await?
            || (self.is_news(&message) && self.context.look_for_selected(&refusal).await?)
        {
            return Ok(Outcome::Again);
        }
        let note = Note::warning(reason::SELECT_COMPOSITION, message.as_str());
        self.refuse(note, None).await?;
        // Whoever changes that wakes us, if we are known to wait. What came before that was known wakes nobody.
        Ok(match self.context.state.look(&self.key, wish) {
            Found::Publishing(still) | Found::Refused(still) if still.to_string() == message => Outcome::Done,
            _ => Outcome::Again,
        })
    }

    /// Composes with templates.
    async fn compose(
        &mut self,
        wish: &Wish,
        fetched: &Fetched,
        templates: &Arc<Composition>,
    ) -> kube::Result<Outcome> {
        let layout = self.defined.definition.layout();
        self.context.state.required.settle(&self.key, &[]);
        let referred = self.referred();
        let bases = templates
            .templates()
            .iter()
            .filter_map(|template| template.base.as_ref());
        let mut named: BTreeSet<(String, String)> = referred.iter().map(Object::kind).collect();
        named.extend(bases.map(|base| Object::of(base).kind()));
        let kinds = self.kinds(named).await;
        let live = self.live(&referred, &kinds).await?;
        let known = associate(Called::ByTemplates(templates), layout, &self.composite, &live);
        let (composition, composite) = (templates.clone(), self.composite.clone());
        let wanted = self
            .evaluate(move || wanted(&composition, &composite, &known))
            .await?;
        let found = Seen { kinds, live };
        let composer = Composer::Templates(templates.clone());
        self.carry_out(wish, fetched, &wanted, found, composer).await
    }

    /// Runs what users wrote where nobody else has to wait for it.
    pub(super) async fn evaluate<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> kube::Result<T> {
        Ok(self.context.rendering.run_in_time(&self.payer(), work).await?)
    }

    /// Whose share of the threads it takes: its namespace's or its claim's, or else its kind's, which no namespace can be called.
    fn payer(&self) -> String {
        let claim = self.defined.definition.layout().claim_ref(&self.composite);
        match (self.at.namespace.as_str(), claim) {
            ("", Some(claim)) => claim.namespace.to_owned(),
            ("", None) => format!("{}/{}", self.key.type_.api_version, self.key.type_.kind),
            (namespace, _) => namespace.to_owned(),
        }
    }

    /// Says that composing takes too long. What is composed stays as it is.
    async fn too_expensive(&mut self) -> kube::Result<()> {
        let text = format!(
            "cannot compose resources: evaluating the patches or the built-in functions of the composition takes longer than {:?}; \
             simplify the composition, or make the composite resource smaller. It is composed again when either of them, or a composed resource, changes",
            self.context.rendering.limit()
        );
        let now = self.context.cluster.now();
        let status = too_expensive_status(&self.defined.definition, &self.composite, &text, now);
        if self.is_news(&text) {
            self.tell(Note::warning(reason::TEMPLATE_TOO_EXPENSIVE, text));
        }
        self.write_status(&status).await
    }

    /// Makes what is wanted, in whichever mode, and says how it went.
    pub(super) async fn carry_out(
        &mut self,
        wish: &Wish,
        fetched: &Fetched,
        wanted: &[Wanted],
        Seen { kinds, mut live }: Seen,
        composer: Composer,
    ) -> kube::Result<Outcome> {
        let kinds = self.with_made(kinds, wanted).await;
        let unseen = kinds.values().any(|kind| matches!(kind, Err(Unknown::Unseen(_))));
        if unseen && self.context.state.composites.failures(&self.key) < PASSING {
            return Ok(Outcome::Retry);
        }
        self.look_for_named(wanted, &kinds, &mut live).await?;
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
        let composite = self.composite.clone();
        let observed = Observed {
            definition: &definition.definition,
            composite: &composite,
            wish,
            fetched,
            wanted,
            live: &live,
            scopes: &scopes,
            secret_namespace: fetched.content.secret_namespace(),
            became: &|object, digest| self.context.state.became(object, digest),
        };
        let plan = plan(&observed);
        let mut happened = self.act(&plan, &kinds, &live).await?;
        let (report, unread) = match composer {
            Composer::Templates(templates) => {
                self.read_secrets(&mut happened, &templates).await?;
                let there = happened.there_by_name(&plan);
                let composite = composite.clone();
                let report = move || Report::of_templates(&templates, &composite, &there);
                (self.evaluate(report).await?, false)
            }
            // Functions have not seen yet what their answer came to.
            Composer::Functions(report) => (report, plan.changes()),
        };
        let concluded = conclude(&observed, &report, &plan, &happened, self.context.cluster.now());
        let failed = concluded.retry;
        self.say(report.notes);
        let finished = self.finish(concluded).await?;
        // What composed resources patched into it, its references, labels and conditions may be what others are made of: composing goes on until it
        // changes nothing. Whoever never comes to rest is composed less and less often.
        Ok(match failed || !finished {
            _ if has_changed(&composite, &self.composite) => Outcome::Again,
            true => Outcome::Retry,
            false if unread => Outcome::Again,
            false => Outcome::Done,
        })
    }

    /// Record, then act: what it will be composed of is durable before any of it is made.
    pub(super) async fn act(
        &mut self,
        plan: &Plan,
        kinds: &Kinds,
        live: &BTreeMap<Object, Value>,
    ) -> kube::Result<Happened> {
        for (object, uid) in &plan.collect {
            self.collect(object, uid, kinds).await?;
        }
        if let Some(patch) = &plan.record {
            self.write(patch.clone()).await?;
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
                    // The others do not depend on it.
                    Err(kube::Error::Api(status)) if is_verdict(status.code) => {
                        let said = fit_to_show(&apply.manifest, &status.message);
                        let why = format!("cannot apply composed resource {:?}: {said}", apply.name);
                        happened.failed.push((apply.name.clone(), why));
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            if !ignored.is_empty() {
                // Its kind may learn them.
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

    /// Applies a resource, or says whose it is; the object as it is now, and the fields that its kind does not know. What was seen is applied by its
    /// identity: another object that has taken its place is not overwritten. What was not seen is made without force: what somebody else has made
    /// in the meantime is not overwritten either.
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
        // Watched before it is made, so that nothing that happens to it is missed.
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
                // A conflict with whoever has made it, or two controllers of one object.
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
                    for field in ["uid", "resourceVersion"] {
                        known.manifest["metadata"][field] = found["metadata"][field].clone();
                    }
                    params = params.force();
                }
                applied => break applied?,
            }
        };
        let value = Record::new(applied.clone().into(), &resource.api_resource).value();
        self.context.state.note_applied(
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

    /// Writes what is left to be written, once; whether all of it could be.
    async fn finish(&mut self, concluded: Concluded) -> kube::Result<bool> {
        let recorded = match concluded.record {
            Some(patch) => self.record(patch).await,
            None => Ok(()),
        };
        if let Err(error) = recorded {
            let facts = concluded.notes.into_iter().filter(|note| !note.warning);
            facts.for_each(|note| self.tell(note));
            return self.cannot_update(error).await;
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
            self.tell(note);
        }
        match self.write_status(&status).await {
            Ok(()) => Ok(finished),
            Err(error) => self.cannot_update(error).await,
        }
    }

    /// Writes what composed resources patched into the composite resource.
    async fn record(&mut self, mut patch: Value) -> kube::Result<()> {
        if patch["metadata"].is_null() {
            patch["metadata"] = json!({});
        }
        patch["metadata"]["uid"] = self.composite["metadata"]["uid"].clone();
        patch["metadata"]["resourceVersion"] = self.composite["metadata"]["resourceVersion"].clone();
        self.write(patch).await
    }

    /// Says that the composite resource does not take what was patched into it. The rest of its status stays as it is.
    async fn cannot_update(&mut self, error: kube::Error) -> kube::Result<bool> {
        match error {
            kube::Error::Api(status) if is_refusal(status.code) && status.code != 404 => {
                let why = format!("cannot update composite resource: {}", status.message);
                self.admit(&why).await?;
                Ok(false)
            }
            error => Err(error),
        }
    }

    /// Says why a look ended early, unless that passes by itself.
    async fn give_up(&mut self, error: kube::Error) {
        if is_conflict(&error) {
            return;
        }
        tracing::warn!(composite = %self.key, %error, "failed; trying again");
        let failures = self.context.state.composites.failures(&self.key);
        let kube::Error::Api(status) = error else {
            return;
        };
        let lasts = is_refusal(status.code) || failures >= PASSING;
        if is_verdict(status.code) && status.code != 404 && lasts {
            let why = format!("cannot reconcile composite resource: {}", status.message);
            if let Err(error) = self.admit(&why).await {
                tracing::debug!(composite = %self.key, %error, "cannot say so");
            }
        }
    }

    /// Says why something could not be done. It is told once: as long as the condition says the same, it is known.
    async fn admit(&mut self, why: &str) -> kube::Result<()> {
        if self.is_news(why) {
            self.tell(Note::warning(reason::COMPOSE_RESOURCES, why));
        }
        let status = refused_status(
            &self.defined.definition,
            &self.composite,
            why,
            self.context.cluster.now(),
        );
        self.write_status(&status).await
    }

    /// Whether no condition says this.
    pub(super) fn is_news(&self, message: &str) -> bool {
        let conditions = self.composite["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.all(|known| known["message"] != message)
    }

    /// Says why nothing can be composed. What is composed stays as it is. It is told once: as long as the condition says the same, it is known.
    async fn refuse(&mut self, note: Note, fetched: Option<&Fetched>) -> kube::Result<Outcome> {
        if let Some(patch) = hold(self.defined.definition.layout(), &self.composite, fetched) {
            self.write(patch.clone()).await?;
        }
        let status = refused_status(
            &self.defined.definition,
            &self.composite,
            &note.text,
            self.context.cluster.now(),
        );
        if self.is_news(&note.text) {
            self.tell(note);
        }
        self.write_status(&status).await?;
        Ok(Outcome::Done)
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
            self.kind().release(&metadata, &[finalizer::COMPOSITE]).await?;
        }
        Ok(Outcome::Done)
    }

    /// Writes the status, if it has changed.
    pub(super) async fn write_status(&mut self, status: &Value) -> kube::Result<()> {
        self.kind().write_status(&self.composite, status).await?;
        self.look_again();
        Ok(())
    }

    /// Writes what was decided about the composite resource as it is known.
    async fn write(&mut self, patch: Value) -> kube::Result<()> {
        self.kind().alone().patch(&self.at.name, patch).await?;
        self.look_again();
        Ok(())
    }

    fn look_again(&mut self) {
        if let Some(record) = self.cache.get(&self.at) {
            self.composite = record.value();
        }
    }

    /// Tells what functions say, unless they said the same the last time.
    pub(super) fn say(&self, notes: Vec<Note>) {
        if self.context.state.told.is_news(&self.key, &notes) {
            notes.into_iter().for_each(|note| self.tell(note));
        }
    }

    pub(super) fn tell(&self, note: Note) {
        let record = |object: &Value, text: String| {
            let severity = match note.warning {
                true => Severity::Warning,
                false => Severity::Normal,
            };
            let cluster = &self.context.cluster;
            cluster.tell(object, severity, note.reason.clone(), "Compose", text);
        };
        record(&self.composite, note.text);
        if let Some((claim, text)) = self.claim().zip(note.claim) {
            record(&claim, text);
        }
    }

    /// The claim that it is for.
    fn claim(&self) -> Option<Value> {
        let claim = self.defined.definition.layout().claim_ref(&self.composite)?;
        let cache = self.context.composites(self.defined.claim.as_ref()?)?;
        Some(cache.get(&Key::new(claim.namespace, claim.name))?.value())
    }

    pub(super) fn kind(&self) -> Kind<'_> {
        let kind = self.context.cluster.kind_in(&self.cache, &self.at.namespace);
        kind.managed_by("apiextensions.crossplane.io/composite")
    }
}
