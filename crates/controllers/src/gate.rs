//! The gate: what is asked at admission, answered from what the manager knows.
//!
//! Every replica can answer; none needs to lead. Right after a definition was applied, its revision is still being made: whoever
//! refers to it then is not told that it does not exist, but waits a moment.

use crate::manager::Context;
use crate::runtime::Key;
use crate::runtime::pool::NoResult;
use cambium_api::v1beta1::DefinitionType;
use cambium_oam::admission::{
    ApplicationCheck, check_application_deletion, check_definition, check_definition_deletion,
    check_resolved, check_revision,
};
use cambium_oam::application::{Observed, Recorded, resolved};
use cambium_oam::definition::Uses;
use cambium_oam::{Artifact, Refused};
use cambium_webhooks::admission::{AdmissionRequest, Operation, Validator, Verdict};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How long a reference may lead nowhere before it is refused.
const MOMENT: Duration = Duration::from_millis(500);

/// Checks definitions, applications and their revisions.
pub(crate) fn validators(context: &Arc<Context>) -> Vec<Arc<dyn Validator>> {
    vec![
        Arc::new(Definitions(context.clone())),
        Arc::new(Revisions),
        Arc::new(Applications(context.clone())),
    ]
}

struct Definitions(Arc<Context>);
struct Revisions;
struct Applications(Arc<Context>);

impl Validator for Definitions {
    fn path(&self) -> &'static str {
        "definitions"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let resources: Vec<String> = DefinitionType::ALL
            .iter()
            .map(|type_| type_.resource().plural)
            .collect();
        vec![rule(
            &["v1beta1", "v2beta1"],
            &["CREATE", "UPDATE", "DELETE"],
            resources,
        )]
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            let Some(object) = request.object.as_ref().or(request.old_object.as_ref()) else {
                return Verdict::allowed();
            };
            let Some(artifact) = Artifact::of(object) else {
                return Verdict::allowed();
            };
            self.0.synced().await;
            let (shelf, uses) = {
                let catalogue = self.0.state.catalogue();
                let shelf = catalogue.get(&artifact).cloned();
                let lineage = shelf.as_ref().and_then(|shelf| shelf.lineage().ok());
                let uses: Uses = self.0.state.consumers().uses(&artifact, lineage, usize::MAX);
                (shelf, uses)
            };
            match (request.operation, &request.object) {
                (Operation::Delete, _) => verdict(check_definition_deletion(object, &uses)),
                (_, Some(new)) => {
                    let (old, new) = (request.old_object.clone(), new.clone());
                    let check = move || check_definition(old.as_ref(), &new, shelf.as_ref(), &uses);
                    let checked = self.0.rendering.run(&request.namespace, check).await;
                    checked.map_or_else(lost, verdict)
                }
                (_, None) => Verdict::allowed(),
            }
        }
        .boxed()
    }
}

impl Validator for Revisions {
    fn path(&self) -> &'static str {
        "revisions"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let resources = ["definitionrevisions", "applicationrevisions"].map(str::to_owned);
        vec![rule(&["v1beta1"], &["UPDATE"], resources.to_vec())]
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            match (&request.old_object, &request.object) {
                (Some(old), Some(new)) => verdict(check_revision(old, new)),
                _ => Verdict::allowed(),
            }
        }
        .boxed()
    }
}

impl Validator for Applications {
    fn path(&self) -> &'static str {
        "applications"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        vec![rule(
            &["v1beta1"],
            &["CREATE", "UPDATE", "DELETE"],
            vec!["applications".to_owned()],
        )]
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            let Some(application) = &request.object else {
                let refused = check_application_deletion(&request.options);
                return refused.map_or_else(Verdict::allowed, Verdict::invalid);
            };
            self.0.synced().await;
            let until = tokio::time::Instant::now() + MOMENT;
            let mut news = self.0.state.news();
            loop {
                news.mark_unchanged();
                let check = match self.check(request, application).await {
                    Ok(check) => check,
                    Err(error) => return lost(error),
                };
                if check.may_come && tokio::time::timeout_at(until, news.changed()).await.is_ok() {
                    continue;
                }
                return match check.refused.is_empty() {
                    true => Verdict::Allowed {
                        warnings: check.warnings,
                    },
                    false => verdict(check.refused),
                };
            }
        }
        .boxed()
    }
}

impl Applications {
    async fn check(
        &self,
        request: &AdmissionRequest,
        application: &Value,
    ) -> Result<ApplicationCheck, NoResult> {
        let context = &self.0;
        let key = Key::new(&request.namespace, &request.name);
        let mut application = application.clone();
        application["metadata"]["namespace"] = request.namespace.clone().into();
        let recorded: Vec<Recorded> = context.recorded(&key, application["metadata"]["uid"].as_str());
        let to_render = resolved(&Observed {
            application: &application,
            recorded: &recorded,
            catalogue: &context.state.catalogue(),
            cluster_version: &context.cluster_version,
        });
        let old = request.old_object.clone();
        let check = move || check_resolved(old.as_ref(), to_render);
        context.rendering.run(&request.namespace, check).await
    }
}

/// Nobody can say whether it is allowed.
fn lost(error: NoResult) -> Verdict {
    tracing::error!(%error, "admission failed");
    Verdict::failed(error.to_string())
}

fn verdict(refused: Vec<Refused>) -> Verdict {
    if refused.is_empty() {
        return Verdict::allowed();
    }
    let messages: Vec<String> = refused.into_iter().map(|problem| problem.message).collect();
    Verdict::invalid(messages.join("; "))
}

fn rule(versions: &[&str], operations: &[&str], resources: Vec<String>) -> RuleWithOperations {
    let owned = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
    RuleWithOperations {
        api_groups: owned(&[cambium_api::GROUP]),
        api_versions: owned(versions),
        operations: owned(operations),
        resources: Some(resources),
        scope: None,
    }
}
