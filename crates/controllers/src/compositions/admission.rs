//! Validating webhooks for Compositions, CompositionRevisions, CompositeResourceDefinitions, composite resources and claims.
//!
//! They answer from caches. Before an object is refused because something is missing, the API server is asked: a watch may be late.

use super::Context;
use super::state::Defined;
use crate::access::may;
use crate::runtime::Key;
use cambium_api::crossplane::GROUP;
use cambium_api::names::annotation;
use cambium_compositions::admission::{
    Pins, Refused, ValidationMode, bound_by_hand, check_composite, check_composition,
    check_composition_deletion, check_definition, check_definition_deletion, check_number, check_revision,
    check_revision_deletion, goes_along, guarded, may_go,
};
use cambium_compositions::revision::Stored;
use cambium_compositions::{Live, Refusal, definition};
use cambium_webhooks::admission::{AdmissionRequest, Operation, Validator, Verdict};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use kube::Api;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::watch;

/// The validators of everything about compositions.
pub(crate) fn validators(context: &Arc<Context>) -> Vec<Arc<dyn Validator>> {
    vec![
        Arc::new(Compositions(context.clone())),
        Arc::new(Revisions(context.clone())),
        Arc::new(Definitions(context.clone())),
        Arc::new(Composites(context.clone())),
    ]
}

struct Compositions(Arc<Context>);
struct Revisions(Arc<Context>);
struct Definitions(Arc<Context>);
struct Composites(Arc<Context>);

impl Validator for Compositions {
    fn path(&self) -> &'static str {
        "compositions"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        vec![rule(
            GROUP,
            &["v1"],
            &["CREATE", "UPDATE", "DELETE"],
            vec!["compositions".to_owned()],
        )]
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            match (&request.operation, &request.old_object, &request.object) {
                (Operation::Delete, Some(old), _) => self.delete(old).await,
                (_, old, Some(new)) => {
                    // Whose name no namespace has.
                    let payer = format!("Composition/{}", request.user_info.username);
                    self.check(&payer, old.as_ref(), new).await
                }
                _ => Verdict::allowed(),
            }
        }
        .boxed()
    }
}

/// The most kinds of one Composition whose schemas are read. The rest is not checked against schemas.
const MOST_SCHEMAS: usize = 100;

impl Compositions {
    /// Checks a Composition. Its expressions are compiled on the threads for templates.
    async fn check(&self, payer: &str, old: Option<&Value>, new: &Value) -> Verdict {
        let (before, offered) = (old.cloned(), new.clone());
        let (name, edits) = (
            new["metadata"]["name"].as_str().unwrap_or_default(),
            self.0.state.edits(),
        );
        let lineage = {
            let catalogue = self.0.state.catalogue();
            catalogue.get(name).map(|shelf| shelf.lineage(name).clone())
        };
        let check = move || {
            let refused = check_composition(before.as_ref(), &offered, lineage.as_deref(), edits);
            let read = cambium_compositions_render::Composition::read(&offered["spec"]);
            (refused, read.ok())
        };
        match self.0.rendering.run_in_time(payer, check).await {
            Ok((refused, composition)) if refused.is_empty() => {
                self.by_schemas(old, new, composition.as_ref()).await
            }
            Ok((refused, _)) => verdict(&refused),
            Err(error) => Verdict::failed(format!("failed to check the Composition: {error}")),
        }
    }

    /// Checks patches, readiness checks and connection details against the schemas of the kinds that they are between, as far as these are known.
    async fn by_schemas(
        &self,
        old: Option<&Value>,
        new: &Value,
        composition: Option<&cambium_compositions_render::Composition>,
    ) -> Verdict {
        let mode = |object: &Value| object["metadata"]["annotations"][annotation::VALIDATION_MODE].clone();
        let same = |old: &Value| old["spec"] == new["spec"] && mode(old) == mode(new);
        if old.is_some_and(same) || !new["metadata"]["deletionTimestamp"].is_null() {
            return Verdict::allowed();
        }
        let mode = match ValidationMode::of(new) {
            Ok(mode) => mode,
            Err(refused) => return verdict(&[refused]),
        };
        let Some(composition) = composition else {
            return Verdict::allowed();
        };
        let kind_of = |object: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&object["apiVersion"]), text(&object["kind"]))
        };
        let composite = kind_of(&new["spec"]["compositeTypeRef"]);
        let bases = composition
            .templates()
            .iter()
            .filter_map(|template| template.base.as_ref());
        let kinds: BTreeSet<(String, String)> = bases.map(kind_of).chain([composite.clone()]).collect();
        let (mut schemas, mut missing) = (BTreeMap::new(), Vec::new());
        for (api_version, kind) in kinds.into_iter().take(MOST_SCHEMAS) {
            match self.0.schema(&api_version, &kind).await {
                Ok(Some(schema)) => drop(schemas.insert((api_version, kind), schema)),
                // What the API server itself defines has no CRD.
                Ok(None) => {}
                Err(_) => missing.push(Refused::NoSchema { api_version, kind }),
            }
        }
        // Where nothing looks at a field there is nothing that a schema could have something against. Whoever is strict wants all schemas to be known.
        if !cambium_compositions_render::is_judged(composition) && mode != ValidationMode::Strict {
            missing.clear();
        }
        let misfits = cambium_compositions_render::misfits(composition, schemas.get(&composite), |base| {
            schemas.get(&kind_of(base))
        });
        let (refused, warnings) = mode.judge(missing, misfits.into_iter().map(Refused::Misfit).collect());
        match refused.is_empty() {
            true => Verdict::Allowed { warnings },
            false => verdict(&refused),
        }
    }

    async fn delete(&self, composition: &Value) -> Verdict {
        let context = &self.0;
        if may_go(composition) {
            return Verdict::allowed();
        }
        let name = composition["metadata"]["name"].as_str().unwrap_or_default();
        let type_ = Live::read(composition).composite_type;
        let used_by = || context.state.consumers().of_composition(name);
        match context.staying(type_.as_ref(), used_by).await {
            Ok(users) => check_composition_deletion(name, &users)
                .map_or_else(Verdict::allowed, |refused| forbidden(&refused)),
            Err(why) => forbidden(&Refused::unknown_users("Composition", name, why)),
        }
    }
}

impl Validator for Revisions {
    fn path(&self) -> &'static str {
        "composition-revisions"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let resources = vec!["compositionrevisions".to_owned()];
        vec![rule(GROUP, &["v1"], &["CREATE", "UPDATE", "DELETE"], resources)]
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            match (request.operation, &request.old_object, &request.object) {
                (Operation::Create, _, Some(new)) => verdict(&self.number(None, new).await),
                (Operation::Update, Some(old), Some(new)) => {
                    let mut refused = check_revision(old, new);
                    refused.extend(self.number(Some(old), new).await);
                    verdict(&refused)
                }
                (Operation::Delete, Some(old), _) => self.delete(old).await,
                _ => Verdict::allowed(),
            }
        }
        .boxed()
    }
}

impl Revisions {
    /// Why a CompositionRevision cannot have its number.
    async fn number(&self, old: Option<&Value>, new: &Value) -> Vec<Refused> {
        let context = &self.0;
        context.synced().await;
        let composition = Stored::read(new, context.state.edits()).map(|stored| stored.composition);
        let Ok(composition) = composition else {
            return Vec::new();
        };
        let check = || {
            let issued = super::composition::issued(context, &composition);
            check_number(old, new, &context.state.catalogue(), issued)
        };
        if check().is_none() {
            return Vec::new();
        }
        // Whoever leads may know before us what the composition says.
        let compositions = context.cluster.kind(&context.compositions);
        let _ = compositions.ask(&composition).await;
        check().into_iter().collect()
    }

    async fn delete(&self, revision: &Value) -> Verdict {
        let context = &self.0;
        let name = revision["metadata"]["name"].as_str().unwrap_or_default();
        let unknown = |why| forbidden(&Refused::unknown_users("CompositionRevision", name, why));
        if let Err(why) = context.synced_in_time().await {
            return unknown(why);
        }
        let composite_type = {
            let catalogue = context.state.catalogue();
            match guarded(revision, &catalogue) {
                Some(stored) => stored.composite_type.clone(),
                None => return Verdict::allowed(),
            }
        };
        if let Some(type_) = &composite_type
            && let Err(why) = context.users_seen(type_).await
        {
            return unknown(why);
        }
        let check = || {
            let catalogue = context.state.catalogue();
            let refused = check_revision_deletion(revision, &catalogue, &context.state.consumers());
            let composition = catalogue.revision(name).map(|stored| stored.composition.clone());
            refused.zip(composition)
        };
        let Some((refused, composition)) = check() else {
            return Verdict::allowed();
        };
        // The garbage collector may know before us that the composition is gone.
        let compositions = context.cluster.kind(&context.compositions);
        match compositions.ask(&composition).await {
            Ok(false) => Verdict::allowed(),
            Ok(true) => check().map_or_else(Verdict::allowed, |(refused, _)| forbidden(&refused)),
            Err(_) => forbidden(&refused),
        }
    }
}

impl Validator for Definitions {
    fn path(&self) -> &'static str {
        "composite-definitions"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let resources = vec!["compositeresourcedefinitions".to_owned()];
        vec![rule(
            GROUP,
            &["v1", "v2"],
            &["CREATE", "UPDATE", "DELETE"],
            resources,
        )]
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            match (&request.operation, &request.old_object, &request.object) {
                (Operation::Delete, Some(old), _) => self.delete(old).await,
                (_, old, Some(new)) => self.check(old.as_ref(), new).await,
                _ => Verdict::allowed(),
            }
        }
        .boxed()
    }
}

impl Definitions {
    async fn check(&self, old: Option<&Value>, new: &Value) -> Verdict {
        let context = &self.0;
        context.synced().await;
        let mut others = context.state.all_defined();
        loop {
            let refused = match check_definition(old, new, others.iter().map(|other| &other.definition)) {
                Ok(warnings) => return Verdict::Allowed { warnings },
                Err(refused) => refused,
            };
            let [Refused::KindTaken { other, .. }, ..] = &refused[..] else {
                return verdict(&refused);
            };
            // It may have gone a moment ago.
            let api: Api<DynamicObject> = context.cluster.everywhere(context.definitions.resource());
            match api.get_opt(other).await {
                Ok(None) => others.retain(|known| known.definition.name() != other),
                _ => return verdict(&refused),
            }
        }
    }

    async fn delete(&self, object: &Value) -> Verdict {
        let context = &self.0;
        if may_go(object) {
            // The warning is not worth more than the deletion.
            let _ = context.synced_in_time().await;
            let read = serde_json::from_value(object.clone())
                .ok()
                .and_then(|typed| definition::read(&typed).ok());
            let warning = read.and_then(|read| {
                let answers_for = context.state.answered_by(&Defined::new(read, object));
                goes_along(object, &answers_for, &context.state.consumers())
            });
            return Verdict::Allowed {
                warnings: warning.into_iter().collect(),
            };
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match context.defined_by(object).await {
            Ok(users) => check_definition_deletion(name, &users)
                .map_or_else(Verdict::allowed, |refused| forbidden(&refused)),
            Err(why) => forbidden(&Refused::unknown_users("CompositeResourceDefinition", name, why)),
        }
    }
}

impl Validator for Composites {
    fn path(&self) -> &'static str {
        "composites"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let kinds = self.0.state.kinds().into_iter();
        kinds
            .map(|(group, plurals)| rule(&group, &["*"], &["CREATE", "UPDATE"], plurals))
            .collect()
    }

    fn knows_rules(&self) -> bool {
        self.0.state.is_ready()
    }

    fn rules_changed(&self) -> Option<watch::Receiver<()>> {
        Some(self.0.state.kinds_changed())
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            let Some(new) = &request.object else {
                return Verdict::allowed();
            };
            self.0.synced().await;
            let mut refused = self.check(request, new);
            // It may have been made a moment ago.
            let missing = refused.iter().find_map(|refused| match refused {
                Refused::Pin {
                    why: Refusal::MissingRevision(name),
                    ..
                } => Some(name.clone()),
                _ => None,
            });
            if let Some(name) = missing {
                let revisions = &self.0.revisions;
                if let Ok(true) = self.0.cluster.kind(revisions).ask(&name).await {
                    refused = self.check(request, new);
                }
            }
            refused.extend(self.bind(request, new).await);
            let defined = self.defined(request);
            // What is not there may come: a backup is restored in any order.
            let (warnings, refused): (Vec<_>, Vec<_>) = refused
                .into_iter()
                .map(|refused| match &defined {
                    Some(defined) => refused.may_come(defined.definition.layout(), new).ok_or(refused),
                    None => Err(refused),
                })
                .partition(Result::is_ok);
            let refused: Vec<_> = refused.into_iter().filter_map(Result::err).collect();
            match refused.is_empty() {
                true => Verdict::Allowed {
                    warnings: warnings.into_iter().flatten().collect(),
                },
                false => verdict(&refused),
            }
        }
        .boxed()
    }
}

impl Composites {
    /// Why the user who writes a claim may not bind it to the composite resource that it names: a bound claim gets its connection details, and
    /// decides about its spec and its deletion.
    async fn bind(&self, request: &AdmissionRequest, new: &Value) -> Option<Refused> {
        let (context, kind) = (&self.0, &request.kind);
        let defined = context.state.claimed(&kind.group, &kind.kind)?;
        let composites = context.composites(&defined.composite);
        let known = |name: &str| Some(composites.as_ref()?.get(&Key::cluster(name))?.value());
        let name = bound_by_hand(request.old_object.as_ref(), new, known)?;
        let (resource, user) = (&defined.composite.api_resource, &request.user_info);
        let update = json!({
            "verb": "update", "group": resource.group, "version": "*", "resource": resource.plural, "name": name,
        });
        if may(&context.cluster, user, update).await {
            return None;
        }
        Some(Refused::Bind {
            user: user.username.clone(),
            kind: resource.kind.clone(),
            name: name.to_owned(),
            plural: resource.plural.clone(),
            group: resource.group.clone(),
        })
    }

    /// The CompositeResourceDefinition of the kind that is written, of composite resources or of claims.
    fn defined(&self, request: &AdmissionRequest) -> Option<Arc<Defined>> {
        let (state, kind) = (&self.0.state, &request.kind);
        let defined = state.defined(&kind.group, &kind.kind);
        defined.or_else(|| state.claimed(&kind.group, &kind.kind))
    }

    fn check(&self, request: &AdmissionRequest, new: &Value) -> Vec<Refused> {
        let state = &self.0.state;
        let Some(defined) = self.defined(request) else {
            return Vec::new();
        };
        let pins = match self.0.settings.composition_revisions {
            true => Pins::Checked,
            false => Pins::Ignored,
        };
        let old = request.old_object.as_ref();
        check_composite(&defined.definition, &state.catalogue(), pins, old, new)
    }
}

fn verdict(refused: &[Refused]) -> Verdict {
    if refused.is_empty() {
        return Verdict::allowed();
    }
    let messages: Vec<String> = refused.iter().map(ToString::to_string).collect();
    Verdict::invalid(messages.join("; "))
}

fn forbidden(refused: &Refused) -> Verdict {
    Verdict::forbidden(refused.to_string())
}

fn rule(group: &str, versions: &[&str], operations: &[&str], resources: Vec<String>) -> RuleWithOperations {
    let owned = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
    RuleWithOperations {
        api_groups: owned(&[group]),
        api_versions: owned(versions),
        operations: owned(operations),
        resources: Some(resources),
        scope: None,
    }
}
