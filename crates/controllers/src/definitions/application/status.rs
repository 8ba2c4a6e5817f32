//! Writes the status of an Application, and emits events for the moves that it shows.

use super::{Reconciler, cost};
use crate::runtime::events::Severity;
use cambium_api::names::reason;
use cambium_api::v1beta1::ApplicationStatus;
use cambium_definitions::application::{
    Draft, Events, Happened, Plan, events, kinds_with_ignored_fields, status,
};
use serde_json::{Value, json};
use std::sync::Arc;

impl Reconciler<'_> {
    /// Writes the status, if it has changed, and then emits events for references that moved.
    pub(super) async fn write_status(
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
        // Events follow the write: a status that fails to be written is written again by the next reconcile, and its events are emitted then.
        self.patch_status(json!(after)).await?;
        let told = events(&before, &after);
        self.count_moves(&told);
        let normal = told.normal.into_iter();
        let normal = normal.map(|(reason, note)| (Severity::Normal, reason.to_owned(), note));
        let warnings = told.warnings.into_iter();
        let warnings = warnings.map(|(reason, note)| (Severity::Warning, reason, note));
        for (severity, reason, note) in normal.chain(warnings) {
            let cluster = &self.context.cluster;
            cluster.emit(&self.application, severity, reason, "Reconcile", note);
        }
        Ok(after)
    }

    /// Counts upgrades, downgrades and failed upgrades in `cambium_moves_total`.
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

    /// Waits for changes of the kinds whose unknown fields were left out: their CRDs may know them later.
    pub(super) fn wait_for_fields(&self, status: &ApplicationStatus) {
        let kinds = kinds_with_ignored_fields(status);
        for (api_version, _) in &kinds {
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            self.context.state.misses(&self.key, group);
        }
        if !kinds.is_empty() {
            self.context.state.set_tried(&self.key);
        }
    }

    /// Writes this status over that of the Application which this reconcile was made for.
    pub(super) async fn patch_status(&self, status: Value) -> kube::Result<()> {
        self.applications().write_status(&self.application, &status).await
    }
}
