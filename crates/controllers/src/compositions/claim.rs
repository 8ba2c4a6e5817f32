//! Reconciles claims: binds each to a composite resource, syncs the two, and propagates connection details.

use super::composite::{CONNECTION, not_ours};
use super::state::Defined;
use super::{CompositeKey, Context};
use crate::cluster::Kind;
use crate::runtime::events::Severity;
use crate::runtime::{Cache, Key, Outcome, Record};
use crate::write::{is_conflict, is_refusal, is_verdict};
use cambium_api::crossplane::CompositeDeletePolicy;
use cambium_api::names::{condition, finalizer, reason};
use cambium_compositions::claim::{
    Bind, FIELD_MANAGER, Manifest, Observed, Plan, Synced, deleting_status, failed_status, leftover,
    paused_status, plan, synced_status,
};
use cambium_compositions::composite::Note;
use cambium_compositions::{Layout, composite_of};
use cambium_objects::{Object, is_within, without_secret_values};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use serde_json::{Value, json};
use std::sync::Arc;

/// Reconciles one claim.
pub(super) async fn reconcile(key: CompositeKey, context: Arc<Context>) -> Outcome {
    let group = key
        .type_
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let Some(defined) = context.state.claimed(group, &key.type_.kind) else {
        return Outcome::Done;
    };
    let claims = defined.claim.as_ref().and_then(|claim| context.composites(claim));
    let at = Key::new(&key.namespace, &key.name);
    let Some((claims, record)) = claims.and_then(|claims| Some((claims.clone(), claims.get(&at)?))) else {
        return Outcome::Done;
    };
    // Without a synced cache, a composite resource that exists would be taken for missing.
    let Some(composites) = context.composites(&defined.composite) else {
        return Outcome::Retry;
    };
    let mut reconciler = Reconciler {
        claim: record.value(),
        at,
        defined,
        claims,
        composites,
        context: &context,
    };
    context
        .state
        .index_claim(&key, &reconciler.defined.definition, &reconciler.claim);
    let result = match reconciler.plan() {
        Plan::Pause => {
            let status = paused_status(&reconciler.claim, context.cluster.now());
            reconciler.write_status(&status).await.map(|()| Outcome::Done)
        }
        // A change of the claim requeues it.
        Plan::Refuse(why) => reconciler.fail(&why, reason::BIND_COMPOSITE, Outcome::Done).await,
        Plan::Delete(_) => reconciler.delete().await,
        Plan::Bind(bind) => reconciler.bind(&bind).await,
    };
    result.unwrap_or_else(|error| {
        if !is_conflict(&error) {
            tracing::warn!(claim = %key, %error, "failed to reconcile; requeued with back-off");
        }
        Outcome::Retry
    })
}

/// One reconcile of one claim.
struct Reconciler<'a> {
    /// Its namespace and name.
    at: Key,
    claim: Value,
    defined: Arc<Defined>,
    claims: Arc<Cache>,
    composites: Arc<Cache>,
    context: &'a Context,
}

impl Reconciler<'_> {
    fn plan(&self) -> Plan {
        let composite = |name: &str| {
            self.composites
                .get(&Key::cluster(name))
                .map(|found| found.value())
        };
        plan(&Observed {
            definition: &self.defined.definition,
            claim: &self.claim,
            composite: &composite,
            became: &|wanted, live| {
                let became = self.context.state.became(&Object::of(live), &wanted.digest);
                is_within(&wanted.object["metadata"], &live["metadata"])
                    && became.is_some_and(|became| became.is(live))
            },
        })
    }

    /// Binds and syncs. The claim refers to its composite resource before that is created: a crash between the two leaves no composite resource that
    /// no claim knows.
    async fn bind(&mut self, bind: &Bind) -> kube::Result<Outcome> {
        if let Some(record) = &bind.record {
            self.kind().alone().patch(&self.at.name, record.clone()).await?;
            self.reread();
        }
        let composite = match &bind.apply {
            Some(manifest) => match self.apply(&bind.name, manifest).await {
                Ok(applied) => applied,
                Err(kube::Error::Api(status)) if is_verdict(status.code) => {
                    if is_refusal(status.code) && self.clear(&bind.name, manifest).await? {
                        return Ok(Outcome::Retry);
                    }
                    let why = format!(
                        "cannot bind and sync claim with composite resource: cannot apply composite resource: {}",
                        status.message
                    );
                    return self.fail(&why, reason::BIND_COMPOSITE, Outcome::Retry).await;
                }
                Err(error) => return Err(error),
            },
            None => match self.composites.get(&Key::cluster(&bind.name)) {
                Some(found) => found.value(),
                // Deleted just now, which requeues the claim.
                None => return Ok(Outcome::Done),
            },
        };
        let connection = self.propagate(&composite).await?;
        let outcome = match connection {
            Ok(_) => Outcome::Done,
            Err(_) => Outcome::Retry,
        };
        let synced = Synced {
            composite: &composite,
            bound: bind.binds && bind.apply.is_some(),
            connection,
        };
        let (status, notes) = synced_status(&self.claim, &synced, self.context.cluster.now());
        for note in notes {
            self.emit(note);
        }
        self.write_status(&status).await?;
        Ok(outcome)
    }

    async fn apply(&self, name: &str, manifest: &Manifest) -> kube::Result<Value> {
        let resource = &self.defined.composite;
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let applied = self
            .context
            .cluster
            .objects(resource, "")
            .patch(name, &params, &Patch::Apply(&manifest.object))
            .await?;
        let value = Record::new(applied.clone().into(), &resource.api_resource).value();
        let object = Object::of(&value);
        self.context
            .state
            .remember_applied(&object, &manifest.digest, &manifest.object, &value, &[]);
        self.composites.learn(applied);
        Ok(value)
    }

    /// Removes selectors that the claim no longer has from the composite resource, where a server-side apply cannot; whether there was one.
    async fn clear(&self, name: &str, manifest: &Manifest) -> kube::Result<bool> {
        let found = self
            .composites
            .get(&Key::cluster(name))
            .map(|found| found.value());
        let Some(patch) = found.and_then(|found| leftover(manifest, &found)) else {
            return Ok(false);
        };
        let composites = self.context.cluster.kind(&self.composites);
        composites.patch(name, patch).await?;
        Ok(true)
    }

    /// Propagates connection details to the claim's namespace; whether they have changed, or why they cannot be.
    async fn propagate(&self, composite: &Value) -> kube::Result<Result<bool, String>> {
        let layout = Layout::Legacy;
        let from = layout.connection_secret_ref(composite);
        let to = layout.connection_secret_ref(&self.claim);
        let (Some(from), Some(to), true) = (from, to, is_ready(composite)) else {
            return Ok(Ok(false));
        };
        let cluster = &self.context.cluster;
        let there: Api<Secret> = cluster.namespaced(from.namespace.unwrap_or_default());
        // The composite resource publishes its Secret later, and requeues the claim then.
        let Some(source) = there.get_opt(from.name).await? else {
            return Ok(Ok(false));
        };
        let cannot =
            |why: String| format!("cannot propagate connection details from composite resource: {why}");
        // A user who may write composite resources could name any Secret of the cluster: only one that the composite resource controls is copied.
        if controller_of(&source) != composite["metadata"]["uid"].as_str() {
            let why = "cannot establish control of existing connection secret";
            return Ok(Err(cannot(why.to_owned())));
        }
        let here: Api<Secret> = cluster.namespaced(&self.at.namespace);
        let uid = self.claim["metadata"]["uid"].as_str();
        if let Some(live) = here.get_opt(to.name).await? {
            if let Some(why) = not_ours(&live, uid.unwrap_or_default()) {
                let why = format!("cannot create or update connection secret: {why}");
                return Ok(Err(cannot(why)));
            }
            if live.data.unwrap_or_default() == source.data.clone().unwrap_or_default() {
                return Ok(Ok(false));
            }
        }
        let manifest = json!({
            "apiVersion": "v1", "kind": "Secret", "type": CONNECTION,
            "metadata": {"name": to.name, "namespace": self.at.namespace, "ownerReferences": [{
                "apiVersion": self.claim["apiVersion"], "kind": self.claim["kind"],
                "name": self.at.name, "uid": uid, "controller": true, "blockOwnerDeletion": true,
            }]},
            "data": source.data.unwrap_or_default(),
        });
        // Forced: `not_ours` has checked that the claim may write this Secret.
        let params = PatchParams::apply(cambium_api::names::FIELD_MANAGER).force();
        match here.patch(to.name, &params, &Patch::Apply(&manifest)).await {
            Ok(_) => Ok(Ok(true)),
            Err(kube::Error::Api(status)) if is_verdict(status.code) => {
                let said = without_secret_values(&manifest, &status.message);
                let why = format!("cannot create or update connection secret: {said}");
                Ok(Err(cannot(why)))
            }
            Err(error) => Err(error),
        }
    }

    /// Deletes the composite resource of a deleted claim, and removes the finalizer: at once or, with `Foreground`, afterwards.
    async fn delete(&mut self) -> kube::Result<Outcome> {
        self.make_sure().await?;
        let Plan::Delete(deletion) = self.plan() else {
            return Ok(Outcome::Done);
        };
        let Some(record) = self.claims.get(&self.at) else {
            return Ok(Outcome::Done);
        };
        let metadata = record.metadata();
        let mut held = metadata.finalizers.iter().flatten();
        if !held.any(|name| name == finalizer::CLAIM) {
            return Ok(Outcome::Done);
        }
        if let Some((name, uid)) = &deletion.delete {
            match self.delete_composite(name, uid, deletion.policy).await {
                Ok(()) => {}
                Err(kube::Error::Api(status)) if is_refusal(status.code) => {
                    let why = format!("cannot delete bound composite resource: {}", status.message);
                    return self.fail(&why, reason::DELETE_COMPOSITE, Outcome::Retry).await;
                }
                Err(error) => return Err(error),
            }
        }
        if !deletion.let_go {
            let status = deleting_status(&self.claim, self.context.cluster.now());
            self.write_status(&status).await?;
            // The deletion of the composite resource requeues the claim.
            return Ok(Outcome::Done);
        }
        let stays = |record: Arc<Record>| deletion.delete.is_none() && !record.terminating();
        let is_foreign = self
            .named()
            .and_then(|name| self.composites.get(&name))
            .is_some_and(stays);
        self.kind()
            .remove_finalizers(&metadata, &[finalizer::CLAIM])
            .await?;
        if !is_foreign {
            self.emit(Note::normal(
                reason::DELETE_COMPOSITE,
                "Successfully deleted composite resource",
            ));
        }
        Ok(Outcome::Done)
    }

    /// Gets the composite resource if no cache has it: an earlier leader may have just created it, and a claim that is deleted without it would
    /// orphan it.
    async fn make_sure(&self) -> kube::Result<()> {
        let Some(name) = self.named().filter(|name| self.composites.get(name).is_none()) else {
            return Ok(());
        };
        let composites = self.context.cluster.kind(&self.composites);
        composites.ask(&name.name).await.map(drop)
    }

    /// The key of the composite resource that the claim refers to.
    fn named(&self) -> Option<Key> {
        let reference = composite_of(&self.claim)?;
        reference.name.map(Key::cluster)
    }

    async fn delete_composite(
        &self,
        name: &str,
        uid: &str,
        policy: CompositeDeletePolicy,
    ) -> kube::Result<()> {
        let params = DeleteParams {
            propagation_policy: Some(match policy {
                CompositeDeletePolicy::Background => PropagationPolicy::Background,
                CompositeDeletePolicy::Foreground => PropagationPolicy::Foreground,
            }),
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                ..Default::default()
            }),
            ..Default::default()
        };
        let api = self.context.cluster.objects(&self.defined.composite, "");
        match api.delete(name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sets Synced to False. An event is emitted when the message is new.
    async fn fail(&mut self, why: &str, reason: &'static str, outcome: Outcome) -> kube::Result<Outcome> {
        let conditions = self.claim["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        if !conditions.any(|known| known["type"] == condition::SYNCED && known["message"] == why) {
            self.emit(Note::warning(reason, why));
        }
        let status = failed_status(&self.claim, why, self.context.cluster.now());
        self.write_status(&status).await?;
        Ok(outcome)
    }

    /// Writes the status, if it has changed.
    async fn write_status(&mut self, status: &Value) -> kube::Result<()> {
        self.kind().write_status(&self.claim, status).await?;
        self.reread();
        Ok(())
    }

    fn reread(&mut self) {
        if let Some(record) = self.claims.get(&self.at) {
            self.claim = record.value();
        }
    }

    fn emit(&self, note: Note) {
        let severity = match note.warning {
            true => Severity::Warning,
            false => Severity::Normal,
        };
        let cluster = &self.context.cluster;
        cluster.emit(&self.claim, severity, note.reason, "Claim", note.text);
    }

    fn kind(&self) -> Kind<'_> {
        self.context.cluster.kind_in(&self.claims, &self.at.namespace)
    }
}

fn is_ready(composite: &Value) -> bool {
    let conditions = composite["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|known| known["type"] == condition::READY && known["status"] == "True")
}

/// The UID of a Secret's controller.
fn controller_of(secret: &Secret) -> Option<&str> {
    let mut owners = secret.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true));
    owner.map(|owner| owner.uid.as_str())
}
