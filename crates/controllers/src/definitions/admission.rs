//! Webhooks for definitions, Applications and their revisions, answered from caches.
//!
//! Every replica answers, leader or not. Right after a definition was applied, its revisions are still being created: an Application that refers to
//! one is not refused at once, but held until the revision arrives or a deadline passes.

use super::Context;
use crate::access::may;
use crate::runtime::Key;
use crate::runtime::pool::NoResult;
use cambium_api::v1beta1::DefinitionType;
use cambium_definitions::admission::{
    ApplicationCheck, cannot_create_revision, check_application_deletion,
    check_application_revision_deletion, check_definition, check_definition_deletion, check_resolved,
    check_revision, check_revision_deletion, is_to_be_accepted,
};
use cambium_definitions::application::resolved;
use cambium_definitions::definition::{Templates, Uses};
use cambium_definitions::identity::{Writer, record, with_author};
use cambium_definitions::rehearsal::{additions, held_back, warning};
use cambium_definitions::{Artifact, Refused, Shelf, Stored};
use cambium_lineage::Users;
use cambium_webhooks::admission::{
    AdmissionRequest, Mutation, Mutator, Operation, Unanswered, Validator, Verdict,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::admissionregistration::v1::{MatchCondition, RuleWithOperations};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The time limit and the most Applications of a rehearsal: what a publish would do to those that follow.
const REHEARSAL: Duration = Duration::from_secs(2);
const REHEARSED: usize = 100;

/// How long a missing revision is waited for, unless a definition was admitted whose revisions are not created yet.
const MOMENT: Duration = Duration::from_millis(500);

/// The validators of definitions, Applications and their revisions.
pub(crate) fn validators(context: &Arc<Context>) -> Vec<Arc<dyn Validator>> {
    vec![
        Arc::new(Definitions(context.clone())),
        Arc::new(Revisions(context.clone())),
        Arc::new(Applications(context.clone())),
    ]
}

/// The mutator that records the author of an Application.
pub(crate) fn mutators() -> Vec<Arc<dyn Mutator>> {
    vec![Arc::new(RecordAuthor)]
}

struct RecordAuthor;
struct Definitions(Arc<Context>);
struct Revisions(Arc<Context>);
struct Applications(Arc<Context>);

impl Mutator for RecordAuthor {
    fn path(&self) -> &'static str {
        "author"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        vec![rule(
            &["v1beta1"],
            &["CREATE", "UPDATE"],
            vec!["applications".to_owned()],
        )]
    }

    fn mutate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Mutation> {
        let Some(application) = &request.object else {
            return std::future::ready(Mutation::unchanged()).boxed();
        };
        let writer = Writer {
            username: &request.user_info.username,
            groups: &request.user_info.groups,
        };
        let record = record(request.old_object.as_ref(), application, writer);
        let written = with_author(application, &record);
        let mutation = Mutation::between(application, &written).with_warnings(record.warnings);
        std::future::ready(mutation).boxed()
    }
}

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

    /// Deletions are allowed without an answer: a finalizer keeps revisions in use.
    fn unanswered_deletions(&self) -> Unanswered {
        Unanswered::Allow
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
                (Operation::Delete, _) => refusal(check_definition_deletion(object, &uses)),
                (_, Some(new)) => {
                    let (old, offered) = (request.old_object.clone(), new.clone());
                    let known = shelf.clone();
                    let check = move || check_definition(old.as_ref(), &offered, known.as_ref(), &uses);
                    match self.0.rendering.run(&request.namespace, check).await {
                        Ok(mut found) if found.refused.is_empty() => {
                            found.warnings.extend(self.rehearse(&artifact, new, shelf).await);
                            if !request.dry_run {
                                self.0.state.announce(artifact);
                            }
                            Verdict::Allowed {
                                warnings: found.warnings,
                            }
                        }
                        checked => checked.map_or_else(lost, |found| verdict(found.refused)),
                    }
                }
                (_, None) => Verdict::allowed(),
            }
        }
        .boxed()
    }
}

impl Definitions {
    /// Renders the Applications that would follow, within the time limit, and warns of those that would fail.
    async fn rehearse(
        &self,
        artifact: &Artifact,
        definition: &Value,
        shelf: Option<Shelf>,
    ) -> Option<String> {
        let context = &self.0;
        let until = tokio::time::Instant::now() + REHEARSAL;
        let (publisher, now) = (artifact.clone(), context.cluster.now());
        let mut definition = definition.clone();
        definition["metadata"]["namespace"] = artifact.namespace.clone().into();
        if !context.state.consumers().is_named(artifact) {
            return None;
        }
        // Its templates were evaluated when it was checked.
        let additions = move || additions(&publisher, &definition, shelf.as_ref(), Templates::Checked, now);
        let additions = context.rendering.run(&artifact.namespace, additions).await.ok()?;
        if additions.is_empty() {
            return None;
        }
        let catalogue = context.state.catalogue().proposing(&additions);
        let mut followers = context.state.consumers().concerned(&catalogue, artifact);
        followers.sort();
        let mut failed = Vec::new();
        let mut tried = 0;
        for follower in followers.iter().take(REHEARSED) {
            let key = Key::new(&follower.namespace, &follower.name);
            let Some(record) = context.caches.applications.get(&key) else {
                continue;
            };
            let application = Arc::new(record.value());
            let recorded = context.recorded(&key, application["metadata"]["uid"].as_str());
            let recorded = Arc::new(recorded);
            let to_render = resolved(&application, &recorded, &catalogue, &context.cluster_version);
            // Whoever publishes pays for it.
            let render = context
                .rendering
                .run(&artifact.namespace, move || to_render.render());
            let Ok(Ok(draft)) = tokio::time::timeout_at(until, render).await else {
                break;
            };
            tried += 1;
            failed.extend(held_back(artifact, &draft).map(|why| (follower.clone(), why)));
        }
        warning(artifact, &additions, &failed, tried, followers.len())
    }
}

impl Validator for Revisions {
    fn path(&self) -> &'static str {
        "revisions"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let resources = ["definitionrevisions", "applicationrevisions"].map(str::to_owned);
        vec![
            rule(&["v1beta1"], &["UPDATE", "DELETE"], resources.to_vec()),
            rule(&["v1beta1"], &["CREATE"], resources[1..].to_vec()),
        ]
    }

    /// Skips users who may impersonate anybody: the manager, which creates many ApplicationRevisions and would be asked about each.
    fn conditions(&self) -> Vec<MatchCondition> {
        let check = |resource: &str| {
            format!("authorizer.group('').resource('{resource}').check('impersonate').allowed()")
        };
        vec![MatchCondition {
            name: "not-the-manager".to_owned(),
            expression: format!(
                "request.operation != 'CREATE' || !({} && {})",
                check("users"),
                check("groups")
            ),
        }]
    }

    /// Deletions are allowed without an answer: a finalizer keeps DefinitionRevisions in use.
    fn unanswered_deletions(&self) -> Unanswered {
        Unanswered::Allow
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            match (&request.old_object, &request.object) {
                (Some(old), Some(new)) => verdict(check_revision(old, new)),
                (Some(old), None) if request.operation == Operation::Delete => {
                    self.0.synced().await;
                    match request.resource.resource.as_str() {
                        "applicationrevisions" => self.application_deletion(old),
                        _ => self.deletion(old),
                    }
                }
                (None, Some(new)) => self.creation(request, new).await,
                _ => Verdict::allowed(),
            }
        }
        .boxed()
    }
}

impl Revisions {
    /// Whether a user may create an ApplicationRevision: only one who may impersonate anybody, such as one who restores a backup.
    async fn creation(&self, request: &AdmissionRequest, revision: &Value) -> Verdict {
        let user = &request.user_info;
        for resource in ["users", "groups"] {
            let impersonate = json!({"verb": "impersonate", "resource": resource});
            if !may(&self.0.cluster, user, impersonate).await {
                let refused = cannot_create_revision(revision, &user.username);
                return Verdict::forbidden(refused.message);
            }
        }
        Verdict::allowed()
    }

    /// Whether an ApplicationRevision may be deleted.
    fn application_deletion(&self, revision: &Value) -> Verdict {
        let metadata = &revision["metadata"];
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let mut owners = owners.filter(|owner| owner["kind"] == "Application");
        let namespace = metadata["namespace"].as_str().unwrap_or_default();
        let application = owners.find_map(|owner| {
            let key = Key::new(namespace, owner["name"].as_str()?);
            self.0.caches.applications.get(&key)
        });
        let application = application.map(|record| record.value());
        refusal(check_application_revision_deletion(
            revision,
            application.as_ref(),
        ))
    }

    /// Whether a DefinitionRevision may be deleted. Revisions of a deleted definition are left to the garbage collector: their finalizer waits for
    /// their users.
    fn deletion(&self, revision: &Value) -> Verdict {
        let Ok(stored) = Stored::read(revision) else {
            return Verdict::allowed();
        };
        let state = &self.0.state;
        let catalogue = state.catalogue();
        let lives = catalogue
            .get(&stored.artifact)
            .filter(|shelf| shelf.is_declared());
        let Some(lineage) = lives.and_then(|shelf| shelf.lineage().ok()) else {
            return Verdict::allowed();
        };
        let uses = state
            .consumers()
            .uses(&stored.artifact, Some(lineage), Users::SHOWN);
        refusal(check_revision_deletion(
            revision,
            uses.by.get(stored.revision.name()),
        ))
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

    /// Deletions are allowed without an answer: a finalizer prunes what the Application made.
    fn unanswered_deletions(&self) -> Unanswered {
        Unanswered::Allow
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            let Some(application) = &request.object else {
                let refused = check_application_deletion(&request.options);
                return refused.map_or_else(Verdict::allowed, Verdict::forbidden);
            };
            if is_to_be_accepted(request.old_object.as_ref(), application) {
                return Verdict::allowed();
            }
            self.0.synced().await;
            let soon = tokio::time::Instant::now() + MOMENT;
            let mut news = self.0.state.news();
            loop {
                news.mark_unchanged();
                let check = match self.check(request, application).await {
                    Ok(check) => check,
                    Err(error) => return lost(error),
                };
                if check.may_come {
                    let until = self
                        .0
                        .state
                        .expecting_until()
                        .map_or(soon, |until| until.max(soon));
                    if tokio::time::timeout_at(until, news.changed()).await.is_ok() {
                        continue;
                    }
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
        let recorded = Arc::new(context.recorded(&key, application["metadata"]["uid"].as_str()));
        let to_render = resolved(
            &Arc::new(application),
            &recorded,
            &context.state.catalogue(),
            &context.cluster_version,
        );
        let old = request.old_object.clone();
        let check = move || check_resolved(old.as_ref(), to_render);
        context.rendering.run(&request.namespace, check).await
    }
}

/// The verdict when a check failed.
fn lost(error: NoResult) -> Verdict {
    tracing::error!(%error, "admission failed");
    Verdict::failed(error.to_string())
}

/// The verdict about an object that is written.
fn verdict(refused: Vec<Refused>) -> Verdict {
    match refused.is_empty() {
        true => Verdict::allowed(),
        false => Verdict::invalid(together(refused)),
    }
}

/// The verdict about an object that is deleted.
fn refusal(refused: Vec<Refused>) -> Verdict {
    match refused.is_empty() {
        true => Verdict::allowed(),
        false => Verdict::forbidden(together(refused)),
    }
}

fn together(refused: Vec<Refused>) -> String {
    let messages: Vec<String> = refused.into_iter().map(|problem| problem.message).collect();
    messages.join("; ")
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
