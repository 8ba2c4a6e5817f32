//! Watches the objects that the webhook reconciler keeps, and emits its events.

use futures::stream::{BoxStream, SelectAll, Stream, StreamExt, select_all, unfold};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use tokio::sync::watch::Receiver;

use super::Reconciler;
use crate::certificates::SecretStep;
use crate::names;

impl Reconciler {
    /// Requeues the reconciler when an object that it keeps has changed. Only metadata is watched: the objects are read by the reconcile.
    pub(crate) async fn watch(&self) {
        let named = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
        let kept = format!("{}={}", names::KEPT_BY, self.registration.configuration);
        let crds: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(self.client.clone());
        let validating: Api<PartialObjectMeta<ValidatingWebhookConfiguration>> =
            Api::all(self.client.clone());
        let mutating: Api<PartialObjectMeta<MutatingWebhookConfiguration>> = Api::all(self.client.clone());
        let secrets: Api<PartialObjectMeta<Secret>> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut changes = self.rules_changed();
        changes.push(changes_of(crds, watcher::Config::default().labels(&kept)).boxed());
        changes.push(changes_of(validating, named(&self.registration.configuration)).boxed());
        changes.push(changes_of(mutating, named(&self.registration.configuration)).boxed());
        changes.push(changes_of(secrets, named(&self.secret)).boxed());
        while changes.next().await.is_some() {
            self.wake.notify_one();
        }
    }

    /// Notified when the rules of a validator change.
    pub(super) fn rules_changed(&self) -> SelectAll<BoxStream<'static, ()>> {
        let rules = self.admission.validators.iter();
        let rules = rules.filter_map(|one| one.rules_changed());
        select_all(rules.map(|rules| told(rules).boxed()))
    }

    /// Logs a step, and emits an event for the Secret.
    pub(super) async fn tell(&self, secret: &Secret, step: &SecretStep) {
        let (type_, reason, note) = match step {
            SecretStep::Create => (
                EventType::Normal,
                "AuthorityMade",
                "Created a certificate authority".to_owned(),
            ),
            SecretStep::Replace { why, .. } => {
                let note = format!("Replaced the certificate authority: the Secret was unusable: {why}");
                (EventType::Warning, "AuthorityReplaced", note)
            }
            SecretStep::AddNext => {
                let note = "Created the next certificate authority; it signs once every caBundle contains it";
                (EventType::Normal, "AuthorityRenewed", note.to_owned())
            }
            SecretStep::Promote => {
                let note = "The next certificate authority signs from now on";
                (EventType::Normal, "AuthorityPromoted", note.to_owned())
            }
            SecretStep::Forget { expired } => {
                let note = format!("Removed expired certificate authorities from the caBundles: {expired:?}");
                (EventType::Normal, "AuthorityForgotten", note)
            }
            SecretStep::Keep
            | SecretStep::LookAgain
            | SecretStep::Refuse { .. }
            | SecretStep::RecordPublished
            | SecretStep::ForgetPublished => return,
        };
        match step {
            SecretStep::Replace { .. } => tracing::warn!(secret = self.secret, "{note}"),
            _ => tracing::info!(secret = self.secret, "{note}"),
        }
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: "Rotate".to_owned(),
            secondary: None,
        };
        let reporter = Reporter {
            controller: "cambium-webhooks".to_owned(),
            instance: None,
        };
        let reference: ObjectReference = secret.object_ref(&());
        // The log has it in any case.
        if let Err(error) = Recorder::new(self.client.clone(), reporter)
            .publish(&event, &reference)
            .await
        {
            tracing::debug!(%error, "failed to create an event");
        }
    }
}

/// An item for every change. A watch that fails is started again, and that counts as a change.
fn changes_of<K>(api: Api<PartialObjectMeta<K>>, config: watcher::Config) -> impl Stream<Item = ()> + Send
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + Sync + 'static,
{
    watcher(api, config).default_backoff().map(|event| {
        if let Err(error) = event {
            tracing::debug!(%error, "a watch failed; it is started again");
        }
    })
}

/// An item for each change of a validator's rules.
fn told(rules: Receiver<()>) -> impl Stream<Item = ()> {
    unfold(rules, |mut rules| async move {
        Some((rules.changed().await.ok()?, rules))
    })
}
