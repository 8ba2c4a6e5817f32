//! Reports about a composite resource that cannot be composed: conditions, and events that are emitted once.

use super::Reconciler;
use crate::kinds::PASSING;
use crate::runtime::events::Severity;
use crate::runtime::{Key, Outcome};
use crate::write::{is_conflict, is_refusal, is_verdict};
use cambium_api::names::reason;
use cambium_compositions::Fetched;
use cambium_compositions::composite::{Note, refused_status, selection_patch, too_expensive_status};
use serde_json::Value;

impl Reconciler<'_> {
    /// Reports that evaluating its composition takes too long. Composed resources are unchanged.
    pub(super) async fn report_too_expensive(&mut self) -> kube::Result<()> {
        let text = format!(
            "cannot compose resources: evaluating the patches or the built-in functions of the composition takes longer than {:?}; \
             simplify the composition, or make the composite resource smaller. It is composed again when either of them, or a composed resource, changes",
            self.context.rendering.limit()
        );
        let now = self.context.cluster.now();
        let status = too_expensive_status(&self.defined.definition, &self.composite, &text, now);
        if self.is_news(&text) {
            self.emit(Note::warning(reason::TEMPLATE_TOO_EXPENSIVE, text));
        }
        self.write_status(&status).await
    }

    /// Reports why nothing can be composed. Composed resources are unchanged.
    pub(super) async fn refuse(&mut self, note: Note, fetched: Option<&Fetched>) -> kube::Result<Outcome> {
        if let Some(patch) = selection_patch(self.defined.definition.layout(), &self.composite, fetched) {
            self.write(patch.clone()).await?;
        }
        let status = refused_status(
            &self.defined.definition,
            &self.composite,
            &note.text,
            self.context.cluster.now(),
        );
        if self.is_news(&note.text) {
            self.emit(note);
        }
        self.write_status(&status).await?;
        Ok(Outcome::Done)
    }

    /// Reports that the API server refused the patches to the composite resource or its status; other errors are returned.
    pub(super) async fn report_not_updated(&mut self, error: kube::Error) -> kube::Result<bool> {
        match error {
            kube::Error::Api(status) if is_refusal(status.code) && status.code != 404 => {
                let why = format!("cannot update composite resource: {}", status.message);
                self.report_refused(&why).await?;
                Ok(false)
            }
            error => Err(error),
        }
    }

    /// Logs why a reconcile failed, and writes a condition for what does not pass by itself.
    pub(super) async fn report_error(&mut self, error: kube::Error) {
        if is_conflict(&error) {
            return;
        }
        tracing::warn!(composite = %self.key, %error, "failed to reconcile; requeued with back-off");
        let failures = self.context.state.composites.failures(&self.key);
        let kube::Error::Api(status) = error else {
            return;
        };
        let lasts = is_refusal(status.code) || failures >= PASSING;
        if is_verdict(status.code) && status.code != 404 && lasts {
            let why = format!("cannot reconcile composite resource: {}", status.message);
            if let Err(error) = self.report_refused(&why).await {
                tracing::debug!(composite = %self.key, %error, "failed to write the status");
            }
        }
    }

    /// Sets Synced to False with this message.
    async fn report_refused(&mut self, why: &str) -> kube::Result<()> {
        if self.is_news(why) {
            self.emit(Note::warning(reason::COMPOSE_RESOURCES, why));
        }
        let status = refused_status(
            &self.defined.definition,
            &self.composite,
            why,
            self.context.cluster.now(),
        );
        self.write_status(&status).await
    }

    /// Whether no condition has this message. An event is emitted when the message appears, and not again while it stays.
    pub(super) fn is_news(&self, message: &str) -> bool {
        let conditions = self.composite["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.all(|known| known["message"] != message)
    }

    /// Emits the results of functions as events, unless they are the same as those of the last reconcile.
    pub(super) fn emit_news(&self, notes: Vec<Note>) {
        if self.context.state.emitted.is_news(&self.key, &notes) {
            notes.into_iter().for_each(|note| self.emit(note));
        }
    }

    /// Emits an event for the composite resource, and for its claim if the note is for that, too.
    pub(super) fn emit(&self, note: Note) {
        let record = |object: &Value, text: String| {
            let severity = match note.warning {
                true => Severity::Warning,
                false => Severity::Normal,
            };
            let cluster = &self.context.cluster;
            cluster.emit(object, severity, note.reason.clone(), "Compose", text);
        };
        record(&self.composite, note.text);
        if let Some((claim, text)) = self.claim().zip(note.claim) {
            record(&claim, text);
        }
    }

    /// The claim that it is bound to.
    fn claim(&self) -> Option<Value> {
        let claim = self.defined.definition.layout().claim_ref(&self.composite)?;
        let cache = self.context.composites(self.defined.claim.as_ref()?)?;
        Some(cache.get(&Key::new(claim.namespace, claim.name))?.value())
    }
}
