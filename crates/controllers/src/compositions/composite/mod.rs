//! Reconciles composite resources: observe, decide, act.
//!
//! ```text
//!  mod ────────► paused, deleted, or composed; in the mode of the composition that was selected
//!    templates     mode: Resources ┐ observe ─► Observation ─► cambium_compositions::composite::plan ─► act
//!    pipeline      mode: Pipeline  ┘
//!  observe       reads kinds, composed resources, and resources that functions require
//!  act           applies and garbage collects composed resources, writes the composite resource
//!  connection    reads and writes connection secrets
//!  status        conditions and events
//! ```

mod act;
mod connection;
mod observe;
mod pipeline;
mod status;
mod templates;

use super::state::Defined;
use super::{CompositeKey, Context};
use crate::cluster::Kind;
use crate::runtime::pool::{CROWDED, NoResult};
use crate::runtime::{Cache, Key, Outcome};
use cambium_api::crossplane::Mode;
use cambium_api::names::{annotation, finalizer, reason};
use cambium_compositions::composite::{Note, paused_status};
use cambium_compositions::{Fetched, Found, Refusal, Wish};
use serde_json::Value;
use std::sync::Arc;

pub(super) use connection::{CONNECTION, not_ours};

/// Reconciles one composite resource.
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
    let mut reconciler = Reconciler {
        composite: record.value(),
        at: Key::new(&key.namespace, &key.name),
        key,
        defined,
        cache,
        context: &context,
    };
    // Its CompositeResourceDefinition may have changed since it was indexed.
    context.state.index(
        &reconciler.key,
        &reconciler.defined.definition,
        &reconciler.composite,
    );
    let result = if reconciler.composite["metadata"]["annotations"][annotation::PAUSED] == "true" {
        let definition = &reconciler.defined.definition;
        let status = paused_status(definition, &reconciler.composite, context.cluster.now());
        reconciler.write_status(&status).await.map(|()| Outcome::Done)
    } else if terminating {
        reconciler.release().await
    } else {
        reconciler.compose().await
    };
    let error = match result {
        Ok(outcome) => return outcome,
        Err(error) => error,
    };
    let error = match NoResult::of(&error) {
        Some(NoResult::Crowded) => return Outcome::After(CROWDED),
        // What is too expensive now is too expensive until something of it changes.
        Some(NoResult::TooLong) => match reconciler.report_too_expensive().await {
            Ok(()) => return Outcome::Done,
            Err(error) => error,
        },
        _ => error,
    };
    reconciler.report_error(error).await;
    Outcome::Retry
}

/// How often a revision that is not there yet is looked for with back-off, which takes some twelve seconds: one that is still missing then will not be
/// published soon, and the condition says so. Its arrival requeues the composite resources that wait for it.
const PUBLISHED: u32 = 6;

/// One reconcile of one composite resource.
struct Reconciler<'a> {
    key: CompositeKey,
    /// Its namespace and name.
    at: Key,
    /// The composite resource as it is known, own writes included.
    composite: Value,
    defined: Arc<Defined>,
    /// The composite resources of its kind.
    cache: Arc<Cache>,
    context: &'a Context,
}

/// The composition that a composite resource asks for, and the content that was selected for it.
struct Selection {
    wish: Wish,
    fetched: Fetched,
}

impl Reconciler<'_> {
    /// Composes in the mode of the composition that it selects.
    async fn compose(&mut self) -> kube::Result<Outcome> {
        let selection = match self.select().await? {
            Ok(selection) => selection,
            Err(outcome) => return Ok(outcome),
        };
        let content = selection.fetched.content.clone();
        let problems = match content.mode() {
            Some(Mode::Resources) => match content.templates() {
                Ok(templates) => return self.compose_from_templates(selection, templates).await,
                Err(problems) => problems,
            },
            Some(Mode::Pipeline) => match content.steps() {
                Ok(steps) => return self.compose_by_pipeline(selection, steps).await,
                Err(problems) => problems,
            },
            None => "spec.mode: must be Resources or Pipeline",
        };
        let message = format!("refusing to use invalid Composition: {problems}");
        let note = Note::warning(reason::COMPOSE_RESOURCES, message);
        self.refuse(note, Some(&selection.fetched)).await
    }

    /// Selects a composition, and a revision of it; or how the reconcile ends without one.
    async fn select(&mut self) -> kube::Result<Result<Selection, Outcome>> {
        let wish = Wish::of(&self.defined.definition, &self.composite);
        let fetched = match self.context.state.select(&self.key, &wish) {
            Found::Content(fetched) => fetched,
            Found::Publishing(_) if self.context.state.composites.failures(&self.key) < PUBLISHED => {
                return Ok(Err(Outcome::Retry));
            }
            Found::Publishing(refusal) | Found::Refused(refusal) => {
                return self.not_selected(&wish, refusal).await.map(Err);
            }
        };
        let content = fetched.content.clone();
        if !content.is_read() {
            self.evaluate(move || content.read()).await?;
        }
        Ok(Ok(Selection { wish, fetched }))
    }

    /// Reports that no composition is selected, unless the API server has the missing object and its watch is late: then it composes again.
    async fn not_selected(&mut self, wish: &Wish, refusal: Refusal) -> kube::Result<Outcome> {
        let message = refusal.to_string();
        if self.context.look_for_missing(&refusal).await?
            || (self.is_news(&message) && self.context.look_for_selected(&refusal).await?)
        {
            return Ok(Outcome::Again);
        }
        let note = Note::warning(reason::SELECT_COMPOSITION, message.as_str());
        self.refuse(note, None).await?;
        // A change requeues only the composite resources that are indexed as waiting for it: one that came before this was indexed requeues nobody.
        Ok(match self.context.state.select(&self.key, wish) {
            Found::Publishing(still) | Found::Refused(still) if still.to_string() == message => Outcome::Done,
            _ => Outcome::Again,
        })
    }

    /// Evaluates patches and built-in functions on the threads for templates, which have a limit of processor time.
    async fn evaluate<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> kube::Result<T> {
        Ok(self.context.rendering.run_in_time(&self.payer(), work).await?)
    }

    /// The share of the threads for templates that it is charged to: that of its namespace, of its claim's namespace, or of its kind. No namespace has
    /// a name like a kind's.
    fn payer(&self) -> String {
        let claim = self.defined.definition.layout().claim_ref(&self.composite);
        match (self.at.namespace.as_str(), claim) {
            ("", Some(claim)) => claim.namespace.to_owned(),
            ("", None) => format!("{}/{}", self.key.type_.api_version, self.key.type_.kind),
            (namespace, _) => namespace.to_owned(),
        }
    }

    /// Removes the finalizer of a deleted composite resource. Its composed resources are garbage collected, by their owner references.
    async fn release(&mut self) -> kube::Result<Outcome> {
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
            self.kind()
                .remove_finalizers(&metadata, &[finalizer::COMPOSITE])
                .await?;
        }
        Ok(Outcome::Done)
    }

    /// Composite resources of its kind, written under the field manager that Crossplane has for them.
    fn kind(&self) -> Kind<'_> {
        let kind = self.context.cluster.kind_in(&self.cache, &self.at.namespace);
        kind.managed_by("apiextensions.crossplane.io/composite")
    }
}
