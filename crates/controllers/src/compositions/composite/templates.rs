//! Composes from templates (`mode: Resources`).

use super::observe::Existing;
use super::{Reconciler, Selection};
use crate::runtime::Outcome;
use cambium_compositions::composite::{Called, Object, Report, Wanted, associate, plan, wanted};
use cambium_compositions_render::{Composition, ObservedResource};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Reconciler<'_> {
    /// Composes from templates: observe, decide, act.
    pub(super) async fn compose_from_templates(
        &mut self,
        selection: Selection,
        templates: &Arc<Composition>,
    ) -> kube::Result<Outcome> {
        // Templates require nothing besides composed resources: what an earlier pipeline required is watched no longer.
        self.context.state.required.settle(&self.key, &[]);
        let existing = self.existing(self.kinds_of_templates(templates).await).await?;
        let wanted = self.render(templates, &existing).await?;
        let Some(observation) = self.observe(selection, existing, wanted).await? else {
            return Ok(Outcome::Retry);
        };

        let context = self.context;
        let became = |object: &Object, digest: &str| context.state.became(object, digest);
        let observed = observation.observed(&became);
        let plan = plan(&observed);

        let mut happened = self.act(&plan, &observation).await?;
        self.read_secrets(&mut happened, templates).await?;
        let applied = happened.there_by_name(&plan);
        let report = self.report(templates, &observation.composite, applied).await?;
        self.conclude(&observed, &plan, &happened, report).await
    }

    /// Renders the templates with the patches from the composite resource.
    async fn render(&self, templates: &Arc<Composition>, existing: &Existing) -> kube::Result<Vec<Wanted>> {
        let layout = self.defined.definition.layout();
        let known = associate(
            Called::ByTemplates(templates),
            layout,
            &self.composite,
            &existing.live,
        );
        let (templates, composite) = (templates.clone(), self.composite.clone());
        self.evaluate(move || wanted(&templates, &composite, &known))
            .await
    }

    /// Evaluates the patches to the composite resource and the readiness checks of composed resources.
    async fn report(
        &self,
        templates: &Arc<Composition>,
        composite: &Value,
        applied: BTreeMap<String, ObservedResource>,
    ) -> kube::Result<Report> {
        let (templates, composite) = (templates.clone(), composite.clone());
        self.evaluate(move || Report::of_templates(&templates, &composite, &applied))
            .await
    }
}
