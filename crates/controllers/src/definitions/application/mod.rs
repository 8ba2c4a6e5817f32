//! Reconciles Applications: observe, decide, act.
//!
//! ```text
//!  mod ──────► draft (resolve, render) ─► observe ─► cambium_definitions::application::plan ─► act ─► status
//!  observe     reads kinds, objects that the Application has made, and objects that are in their way
//!  act         finalizer, ApplicationRevision, apply, prune: as the identity of the Application
//!  deletion    prunes or orphans what a deleted Application has made
//!  status      status, events, metrics
//! ```

mod act;
mod deletion;
mod observe;
mod status;

use super::Context;
use crate::cluster::Kind;
use crate::runtime::pool::{CROWDED, NoResult};
use crate::runtime::{Key, Outcome};
use crate::write::is_conflict;
use cambium_definitions::application::{
    Draft, Happened, Object, Plan, Recorded, Work, plan, resolved, without_ignored_fields,
};
use kube::core::ObjectMeta;
use observe::Observation;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Reconciles one Application.
pub(crate) async fn reconcile(key: Key, context: Arc<Context>) -> Outcome {
    let Some(record) = context.caches.applications.get(&key) else {
        return Outcome::Done;
    };
    let reconciler = Reconciler {
        application: Arc::new(record.value()),
        metadata: record.metadata(),
        key,
        context: &context,
    };
    let result = match record.terminating() {
        true => reconciler.delete().await,
        false => reconciler.apply_all().await,
    };
    result.unwrap_or_else(|error| {
        if NoResult::of(&error) == Some(NoResult::Crowded) {
            return Outcome::After(CROWDED);
        }
        if !is_conflict(&error) {
            tracing::warn!(application = %reconciler.key, %error, "failed to reconcile; requeued with back-off");
        }
        Outcome::Retry
    })
}

/// One reconcile of one Application.
struct Reconciler<'a> {
    key: Key,
    application: Arc<Value>,
    /// Its metadata, for writes at the resource version that was judged.
    metadata: ObjectMeta,
    context: &'a Context,
}

impl Reconciler<'_> {
    /// Applies what the Application renders to, and prunes what it renders to no longer.
    async fn apply_all(&self) -> kube::Result<Outcome> {
        let recorded = Arc::new(self.recorded());
        let draft = self.draft(&recorded).await?;
        let Ok(work) = &draft.outcome else {
            self.write_status(&draft, None, &Arc::default()).await?;
            return Ok(Outcome::Done);
        };
        let Some((observation, live)) = self.observe(&recorded, &draft, work).await? else {
            return Ok(Outcome::Retry);
        };

        let (mut plan, live) = self.plan(&observation, self.to_compare(), live).await?;

        let happened = match &observation.client {
            Ok(client) => self.act(client, &observation, &plan, live).await?,
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
        // Objects of other owners are not watched, so nothing tells when one that is in the way is deleted. A kind that cannot be discovered now may have
        // objects to prune.
        if !plan.refused.is_empty() || happened.problems().next().is_some() || observation.undiscovered {
            return Ok(Outcome::Retry);
        }
        // Own writes are not told as changes, and what was just applied may be healthy already: then the components that wait for it are applied now.
        if plan.waiting.is_empty() {
            return Ok(Outcome::Done);
        }
        let now = json!({"metadata": self.application["metadata"], "status": after});
        let (next, _) = self
            .plan(&observation, Arc::new(now), happened.live.clone())
            .await?;
        match next.apply.iter().any(|index| plan.waiting.contains(index)) {
            true => Ok(Outcome::After(Duration::ZERO)),
            false => Ok(Outcome::Done),
        }
    }

    /// Resolves the references of the Application and renders its components.
    async fn draft(&self, recorded: &Arc<Vec<Recorded>>) -> kube::Result<Arc<Draft>> {
        let to_render = resolved(
            &self.application,
            recorded,
            &self.context.state.catalogue(),
            &self.context.cluster_version,
        );
        let draft = self.rendering(move || to_render.render()).await?;
        Ok(Arc::new(draft))
    }

    /// Compares the manifests with the objects that exist; the plan, and the objects again.
    async fn plan(
        &self,
        observation: &Observation,
        application: Arc<Value>,
        live: BTreeMap<Object, Value>,
    ) -> kube::Result<(Plan, BTreeMap<Object, Value>)> {
        let Observation {
            recorded,
            draft,
            scopes,
            ..
        } = observation;
        let (recorded, draft, scopes) = (recorded.clone(), draft.clone(), scopes.clone());
        self.comparing(cost(&draft, &live), move || {
            let work = draft.outcome.as_ref().ok();
            let plan = work.map(|work| plan(&application, &recorded, work, &scopes, &live));
            (plan.unwrap_or_default(), live)
        })
        .await
    }

    /// The Application that is compared with existing objects. Fields that were left out of an apply are tried again when their kinds have changed, and
    /// once by each manager, which may not have been running when they did.
    fn to_compare(&self) -> Arc<Value> {
        match self.context.state.has_tried(&self.key) {
            true => self.application.clone(),
            false => Arc::new(without_ignored_fields(&self.application)),
        }
    }

    /// Evaluates templates on the threads for templates, in the namespace's share of them.
    async fn rendering<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> kube::Result<T> {
        Ok(self.context.rendering.run_soon(&self.key.namespace, work).await?)
    }

    /// Compares objects with their manifests, which may evaluate health policies: in this task if handing it over would cost more than doing it.
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

    fn applications(&self) -> Kind<'_> {
        let cluster = &self.context.cluster;
        cluster.kind_in(&self.context.caches.applications, &self.key.namespace)
    }

    fn revisions(&self) -> Kind<'_> {
        let cluster = &self.context.cluster;
        cluster.kind_in(&self.context.caches.recorded, &self.key.namespace)
    }
}

/// The cost of comparing objects with their manifests.
enum Cost {
    /// Few objects, and no health policy of a user.
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

/// The most objects that are compared without handing it over.
const FEW: usize = 64;
