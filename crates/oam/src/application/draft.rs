//! From an application to what it should be.

use super::Object;
use super::before::Before;
use super::object::LONGEST_LABEL;
use super::order;
use super::recorded::{Record, Recorded, content_digest, definition_uses, record, revision_object, snapshot};
use super::unsupported;
use crate::identity::without_identity;
use crate::resolve::place;
use crate::{Answer, Asked, Catalogue, Follow, HeldBack, Refused, Resolved, Stored, asked, follow, resolve};
use cambium_api::names::{annotation, reason};
use cambium_api::v1beta1::{DefinitionType, DefinitionUse};
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Diagnostic, Diagnostics};
use cambium_lineage::{Chosen, Digest, Movement, Policy};
use cambium_objects::lay_over;
use cambium_render::{
    Application, ClusterVersion, DefinitionKind, Definitions, Environment, Failure, Manifest, Reason,
    Rendered, render,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All that a draft depends on.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    /// The application.
    pub application: &'a Value,
    /// Its revisions.
    pub recorded: &'a [Recorded],
    /// What is published.
    pub catalogue: &'a Catalogue,
    /// The version of the cluster, which templates may ask for.
    pub cluster_version: &'a ClusterVersion,
}

/// What an application should be, or how far it got.
#[derive(Debug)]
pub struct Draft {
    /// What each reference got.
    pub answers: Vec<Answer>,
    /// The revision that it is frozen at, by `publishVersion`.
    pub frozen: Option<String>,
    /// What it asks for and nobody carries out, where it says that this may be ignored.
    pub ignored: Vec<Refused>,
    /// What to do, or at which step it ended, and why.
    pub outcome: Result<Work, (Step, Vec<Refused>)>,
}

/// The steps before anything is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Every reference gets a revision.
    Resolve,
    /// Every component becomes manifests.
    Render,
    /// Everything that it asks for can be carried out.
    Apply,
}

/// An application that was resolved and rendered.
#[derive(Debug)]
pub struct Work {
    /// The application that was rendered: the live one, or the one that it is frozen at.
    pub application: Application,
    /// The templates that its references stand for.
    pub definitions: Definitions,
    /// Its manifests.
    pub rendered: Rendered,
    /// Which revision this is.
    pub record: Record,
    /// The number of that revision.
    pub number: u64,
    /// The digest of what is recorded.
    pub digest: Digest,
    /// What is recorded of the application.
    pub snapshot: Value,
    /// The definition revisions that it uses.
    pub uses: Vec<DefinitionUse>,
}

impl Work {
    /// All manifests, in the order they are dispatched.
    pub fn manifests(&self) -> impl Iterator<Item = (&str, &Manifest)> {
        self.rendered.components.iter().flat_map(|component| {
            let manifests = component.in_dispatch_order();
            manifests
                .into_iter()
                .map(|manifest| (component.name.as_str(), manifest))
        })
    }

    /// Its objects, each once: what a component renders again is laid over what it rendered before.
    pub fn objects(&self) -> Vec<Value> {
        let mut objects: Vec<Value> = Vec::new();
        for (_, manifest) in self.manifests() {
            let object = Object::of(&manifest.object);
            match objects.iter_mut().find(|known| Object::of(known).is(&object)) {
                Some(known) => lay_over(known, &manifest.object),
                None => objects.push(manifest.object.clone()),
            }
        }
        objects
    }

    /// The kinds of its objects: API version and kind.
    pub fn kinds(&self) -> BTreeSet<(String, String)> {
        self.manifests()
            .map(|(_, manifest)| Object::of(&manifest.object))
            .map(|object| (object.api_version, object.kind))
            .collect()
    }

    /// The value that the application is frozen by from now on.
    pub fn publish_version(&self) -> Option<&str> {
        let annotations = &self.snapshot["metadata"]["annotations"];
        annotations.get(annotation::PUBLISH_VERSION)?.as_str()
    }

    /// The ApplicationRevision to create or to put back, once it is known which objects it makes.
    pub fn revision_object(&self, application: &Value, resources: &[Object]) -> Option<Value> {
        match &self.record {
            Record::Issue { name, number } | Record::Restore { name, number } => Some(revision_object(
                application,
                &self.snapshot,
                &self.uses,
                resources,
                self.digest,
                name,
                *number,
            )),
            Record::Keep(_) | Record::Renumber { .. } => None,
        }
    }
}

/// Resolves and renders an application.
pub fn draft(observed: &Observed<'_>) -> Draft {
    resolved(observed).render()
}

/// An application whose references were resolved: all that its templates need. It borrows nothing, so that nobody who keeps the
/// catalogue has to wait for templates.
#[derive(Debug)]
pub struct ToRender {
    application: Value,
    recorded: Vec<Recorded>,
    cluster_version: ClusterVersion,
    /// What the references got, and the place of the revision that it is frozen at; or why nobody was asked.
    answers: Result<(Vec<Answer>, Option<usize>), Vec<Refused>>,
}

/// The first half of [`draft`]: asks the catalogue, and evaluates nothing.
pub fn resolved(observed: &Observed<'_>) -> ToRender {
    let answers = answers(observed.application, observed.recorded, observed.catalogue);
    let place = |frozen: &Recorded| {
        let recorded = observed.recorded.iter();
        recorded
            .map(std::ptr::from_ref)
            .position(|known| std::ptr::eq(known, frozen))
    };
    ToRender {
        application: observed.application.clone(),
        recorded: observed.recorded.to_vec(),
        cluster_version: observed.cluster_version.clone(),
        answers: answers.map(|answers| (answers.answers, answers.frozen.and_then(place))),
    }
}

impl ToRender {
    /// The application.
    pub fn application(&self) -> &Value {
        &self.application
    }

    /// The second half of [`draft`]: evaluates templates, which costs what their authors make it cost.
    pub fn render(self) -> Draft {
        let (answers, frozen) = match self.answers {
            Ok(answers) => answers,
            Err(problems) => return refused(Vec::new(), Step::Resolve, problems),
        };
        let frozen = frozen.and_then(|index| self.recorded.get(index));
        let snapshot = match frozen {
            Some(frozen) => frozen.application.clone(),
            None => snapshot(&self.application),
        };
        let rendering = Rendering {
            application: &self.application,
            recorded: &self.recorded,
            cluster_version: &self.cluster_version,
        };
        let mut draft = finish(&rendering, answers, snapshot, frozen);
        draft.frozen = frozen.map(|frozen| frozen.revision.name().to_string());
        draft
    }
}

/// What rendering looks at beside the answers.
struct Rendering<'a> {
    application: &'a Value,
    recorded: &'a [Recorded],
    cluster_version: &'a ClusterVersion,
}

/// What the references of an application get.
#[derive(Debug)]
pub struct Answers<'a> {
    /// One for each reference.
    pub answers: Vec<Answer>,
    /// The revision that the application is frozen at, by `publishVersion`; the references are those of that revision.
    pub frozen: Option<&'a Recorded>,
}

/// Resolves the references of an application, with what its status says it uses; or all that keeps it from being asked.
pub fn answers<'a>(
    application: &Value,
    recorded: &'a [Recorded],
    catalogue: &Catalogue,
) -> Result<Answers<'a>, Vec<Refused>> {
    let mut follow = follow(application)?;
    follow.edited = newest(recorded).is_some_and(|newest| newest.application["spec"] != application["spec"]);
    if let Some(frozen) = frozen(application, recorded, &follow)? {
        return Ok(Answers {
            answers: restore(frozen, catalogue),
            frozen: Some(frozen),
        });
    }
    let namespace = application["metadata"]["namespace"].as_str().unwrap_or_default();
    let before = Before::of(application, recorded);
    let answer = |asked: &Asked| {
        let get = |using| resolve(catalogue, namespace, &follow, asked, using);
        let mut answer = get(before.taken(asked));
        // An application that says again what was recorded is back there: what it took in between, and could not render, is forgotten.
        let follows = answer.outcome.as_ref().is_ok_and(|resolved| resolved.follows);
        if let Some(recorded) = before.recorded(asked).filter(|_| !follow.edited && !follows) {
            answer = get(Some(recorded));
        }
        answer.running = running(&answer, &before, catalogue);
        answer
    };
    Ok(Answers {
        answers: asked(application).iter().map(answer).collect(),
        frozen: None,
    })
}

/// The revision that the objects of a reference were made from, if it follows and moves away from that.
fn running(answer: &Answer, before: &Before, catalogue: &Catalogue) -> Option<Arc<Stored>> {
    let resolved = answer.outcome.as_ref().ok().filter(|resolved| resolved.follows)?;
    let running = before.running(&answer.asked)?;
    let stored = catalogue.revision(&running.namespace, running.revision.name.as_str())?;
    let revision = &stored.revision;
    let is_intact = revision.altered().is_none()
        && running
            .revision
            .digest
            .is_none_or(|recorded| recorded == revision.digest());
    let is_other = revision.name() != resolved.stored.revision.name();
    let is_meant = stored.artifact.name == answer.asked.definition();
    (is_intact && is_other && is_meant).then(|| stored.clone())
}

/// What the references of a revision stand for: exactly what was recorded, or why that is not there.
pub fn restore(recorded: &Recorded, catalogue: &Catalogue) -> Vec<Answer> {
    asked(&recorded.application)
        .into_iter()
        .map(|asked| {
            let used = recorded
                .definitions
                .iter()
                .find(|used| used.type_ == asked.type_ && used.reference == asked.text);
            Answer {
                outcome: used
                    .ok_or_else(|| not_recorded(recorded, &asked))
                    .and_then(|used| exactly(used, catalogue)),
                asked,
                policy: Policy::Pinned,
                running: None,
                held_back: None,
            }
        })
        .collect()
}

fn not_recorded(recorded: &Recorded, asked: &Asked) -> Refused {
    Refused {
        reason: reason::REVISION_CHANGED,
        message: format!(
            "{} does not say what {:?} was",
            recorded.revision.name(),
            asked.text
        ),
    }
}

fn exactly(used: &DefinitionUse, catalogue: &Catalogue) -> Result<Resolved, Refused> {
    let refuse = |message| Refused {
        reason: reason::REVISION_CHANGED,
        message,
    };
    let namespace = used.namespace.as_deref().unwrap_or_default();
    let stored = catalogue
        .revision(namespace, &used.revision)
        .ok_or_else(|| refuse(format!("revision {namespace}/{} is gone", used.revision)))?;
    let digest = stored
        .revision
        .altered()
        .unwrap_or(stored.revision.digest())
        .to_string();
    if digest != used.digest {
        return Err(refuse(format!(
            "revision {namespace}/{} holds {digest}, and {} was recorded",
            used.revision, used.digest
        )));
    }
    Ok(Resolved {
        stored: stored.clone(),
        reason: Chosen::Kept,
        movement: Movement::Stays,
        newer: None,
        follows: false,
    })
}

/// What an application makes is labelled with its name.
fn name_too_long(application: &Value) -> Option<Refused> {
    let length = application["metadata"]["name"].as_str().unwrap_or_default().len();
    (length > LONGEST_LABEL).then(|| Refused {
        reason: reason::RENDER_FAILED,
        message: format!(
            "metadata.name has {length} characters; what an Application makes is labelled with its name, \
             and a label holds {LONGEST_LABEL}"
        ),
    })
}

/// The revision that the application is frozen at: the current one, if it was recorded under the same value. Refused if that
/// is not there any more, or not what it was: what is frozen does not move.
fn frozen<'a>(
    application: &Value,
    recorded: &'a [Recorded],
    follow: &Follow,
) -> Result<Option<&'a Recorded>, Vec<Refused>> {
    let Some(version) = follow.publish_version.as_deref() else {
        return Ok(None);
    };
    let under_this = |recorded: &&Recorded| recorded.publish_version() == Some(version);
    // A newer one may have been recorded under a value that was taken back before anything was applied.
    let before = (application["status"]["publishVersion"] == version)
        .then(|| application["status"]["latestRevision"]["name"].as_str())
        .flatten();
    let known = || {
        recorded
            .iter()
            .find(|recorded| Some(recorded.revision.name().as_str()) == before)
    };
    let current = newest(recorded)
        .filter(under_this)
        .or_else(|| known().filter(under_this));
    let (name, what) = match current {
        Some(current) if current.revision.altered().is_none() => return Ok(Some(current)),
        Some(current) => (
            current.revision.name().as_str(),
            "was edited after it was recorded",
        ),
        None if application["status"]["publishVersion"] == version => {
            let name = application["status"]["latestRevision"]["name"].as_str();
            (name.unwrap_or("a revision"), "is gone")
        }
        None => return Ok(None),
    };
    Err(vec![Refused {
        reason: reason::REVISION_CHANGED,
        message: format!(
            "it is frozen at {name}, which {what}; change {} to record a new one",
            annotation::PUBLISH_VERSION
        ),
    }])
}

/// The current revision always has the highest number.
pub(super) fn newest(recorded: &[Recorded]) -> Option<&Recorded> {
    recorded.iter().max_by_key(|recorded| recorded.revision.number())
}

fn refused(answers: Vec<Answer>, step: Step, problems: Vec<Refused>) -> Draft {
    Draft {
        answers,
        frozen: None,
        ignored: Vec::new(),
        outcome: Err((step, problems)),
    }
}

fn finish(
    observed: &Rendering<'_>,
    answers: Vec<Answer>,
    snapshot: Value,
    frozen: Option<&Recorded>,
) -> Draft {
    let mut problems = Vec::new();
    for answer in &answers {
        if let Err(problem) = &answer.outcome {
            problems.push(Refused {
                reason: problem.reason,
                message: format!("{}: {}", answer.asked.path, problem.message),
            });
        }
    }
    if !problems.is_empty() {
        return refused(answers, Step::Resolve, problems);
    }
    let unsupported = unsupported::unsupported(&snapshot);
    let ignores = unsupported::is_ignoring(observed.application);
    if !unsupported.is_empty() && !ignores && unsupported::passes_values(&snapshot) {
        // What a workflow would pass is missing from the properties.
        return refused(answers, Step::Apply, unsupported);
    }
    let (answers, rendered) = work_or_hold_back(observed, answers, &snapshot, frozen);
    let outcome = rendered.map_err(|problems| (Step::Render, problems));
    if !unsupported.is_empty() && !ignores && outcome.is_ok() {
        return refused(answers, Step::Apply, unsupported);
    }
    Draft {
        answers,
        frozen: None,
        ignored: if ignores { unsupported } else { Vec::new() },
        outcome,
    }
}

/// Renders with what references got. One that follows and cannot be rendered with that stays at what it runs, and nobody else has to
/// wait for it; if it cannot be rendered with that either, the application itself is to be mended.
fn work_or_hold_back(
    observed: &Rendering<'_>,
    answers: Vec<Answer>,
    snapshot: &Value,
    frozen: Option<&Recorded>,
) -> (Vec<Answer>, Result<Work, Vec<Refused>>) {
    let mut problems = match work(observed, &answers, snapshot, frozen) {
        Ok(work) => return (answers, Ok(work)),
        Err(problems) => problems,
    };
    let first: Vec<Refused> = problems.iter().map(|problem| problem.refused.clone()).collect();
    let mut held = answers.clone();
    while hold_back(&mut held, &problems) {
        match work(observed, &held, snapshot, frozen) {
            Ok(work) => return (held, Ok(work)),
            Err(others) => problems = others,
        }
    }
    (answers, Err(first))
}

/// Lets the references that problems name stay at what they run; whether any does that did not before.
fn hold_back(answers: &mut [Answer], problems: &[Problem]) -> bool {
    let mut any = false;
    for answer in answers.iter_mut().filter(|answer| answer.held_back.is_none()) {
        let is_named = |problem: &&Problem| {
            let mut named = problem.references.iter();
            named.any(|(type_, text)| *type_ == answer.asked.type_ && *text == answer.asked.text)
        };
        if let (Some(problem), Some(running)) = (problems.iter().find(is_named), &answer.running) {
            answer.held_back = Some(HeldBack {
                at: running.clone(),
                why: problem.refused.message.clone(),
            });
            any = true;
        }
    }
    any
}

/// What keeps an application from being rendered, and the references that may be the cause.
struct Problem {
    refused: Refused,
    references: Vec<(DefinitionType, String)>,
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        Self {
            refused,
            references: Vec::new(),
        }
    }
}

fn work(
    observed: &Rendering<'_>,
    answers: &[Answer],
    snapshot: &Value,
    frozen: Option<&Recorded>,
) -> Result<Work, Vec<Problem>> {
    let one = |reason, message: String| vec![Problem::from(Refused { reason, message })];
    if let Some(problem) = name_too_long(snapshot) {
        return Err(vec![problem.into()]);
    }
    let application = Application::from_manifest(&without_identity(snapshot))
        .map_err(|error| one(reason::RENDER_FAILED, error.to_string()))?;
    let mut definitions = Definitions::default();
    // What is frozen was taken as it was.
    let mut problems = match frozen {
        Some(_) => Vec::new(),
        None => {
            let order = order::problems(snapshot).into_iter().map(Problem::from);
            order.chain(unfit_policies(snapshot, answers)).collect()
        }
    };
    for answer in answers {
        let (DefinitionType::Component | DefinitionType::Trait, Some(stored)) =
            (answer.asked.type_, answer.rendered())
        else {
            continue;
        };
        match stored.template() {
            Ok(template) => definitions.insert(answer.asked.text.clone(), template),
            Err(error) => problems.push(Problem {
                refused: Refused {
                    reason: reason::INVALID_TEMPLATE,
                    message: format!("{}: {}: {error}", answer.asked.path, stored.revision.name()),
                },
                references: vec![(answer.asked.type_, answer.asked.text.clone())],
            }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let uses = definition_uses(answers);
    let (record, digest) = match frozen {
        Some(frozen) => (
            Record::Keep(frozen.revision.name().clone()),
            frozen.revision.digest(),
        ),
        None => {
            let digest = content_digest(snapshot, &uses);
            let issued = observed.application["status"]["highWaterMark"]
                .as_u64()
                .unwrap_or(0);
            let record = record(&application.name, observed.recorded, issued, digest)
                .map_err(|error| one(reason::RENDER_FAILED, error.to_string()))?;
            (record, digest)
        }
    };
    let number = match &record {
        Record::Issue { number, .. } | Record::Restore { number, .. } | Record::Renumber { number, .. } => {
            *number
        }
        Record::Keep(name) => observed
            .recorded
            .iter()
            .find(|recorded| recorded.revision.name() == name)
            .map_or(0, |recorded| recorded.revision.number()),
    };
    let environment = Environment {
        app_revision: record.name().to_string(),
        component_revisions: component_revisions(&application, &definitions, &uses),
        cluster: "local".to_owned(),
        cluster_version: observed.cluster_version.clone(),
        ..Default::default()
    };
    let rendered = render(&application, &definitions, &environment).map_err(|failures| {
        let failures = failures.0.into_iter();
        failures
            .map(|failure| not_rendered(&application, failure))
            .collect::<Vec<_>>()
    })?;
    let twice = in_two_components(&rendered);
    if !twice.is_empty() && frozen.is_none() {
        return Err(twice);
    }
    Ok(Work {
        application,
        definitions,
        rendered,
        record,
        number,
        digest,
        snapshot: snapshot.clone(),
        uses,
    })
}

/// Objects that two components render. Which of the two should be there cannot be told.
fn in_two_components(rendered: &Rendered) -> Vec<Problem> {
    let mut makers: BTreeMap<Object, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for component in &rendered.components {
        for manifest in component.in_dispatch_order() {
            let object = Object::of(&manifest.object);
            let message = match makers.get(&object) {
                Some(other) if *other != component.name => {
                    format!(
                        "components {other:?} and {:?} both render {object}",
                        component.name
                    )
                }
                _ => {
                    makers.insert(object, &component.name);
                    continue;
                }
            };
            problems.push(Problem::from(Refused {
                reason: reason::RENDER_FAILED,
                message,
            }));
        }
    }
    problems
}

/// What policies are given that their definitions do not take.
fn unfit_policies(snapshot: &Value, answers: &[Answer]) -> Vec<Problem> {
    let policies = snapshot["spec"]["policies"].as_array().into_iter().flatten();
    let mut refused = Vec::new();
    for (index, policy) in policies.enumerate() {
        let answer = answers.iter().find(|answer| {
            answer.asked.type_ == DefinitionType::Policy && policy["type"] == answer.asked.text
        });
        let Some(stored) = answer.and_then(Answer::rendered) else {
            continue;
        };
        let schema = stored.schema();
        let properties = policy
            .get("properties")
            .filter(|properties| !properties.is_null());
        if let Some(mut problems) = schema.and_then(|schema| schema.problems(properties)) {
            tell_in_properties(&mut problems, &format!("spec.policies[{index}].properties"));
            let text = policy["type"].as_str().unwrap_or_default();
            let exhausted = |problem: &Diagnostic| problem.severity == Severity::Exhausted;
            let reason = match problems.0.iter().any(exhausted) {
                true => reason::TEMPLATE_TOO_EXPENSIVE,
                false => reason::INVALID_PROPERTIES,
            };
            refused.push(Problem {
                refused: Refused {
                    reason,
                    message: format!("{}: {problems}", place("policies", policy, index)),
                },
                references: vec![(DefinitionType::Policy, text.to_owned())],
            });
        }
    }
    refused
}

/// Tells what is wrong with parameters where they are given.
fn tell_in_properties(problems: &mut Diagnostics, properties: &str) {
    for problem in &mut problems.0 {
        let below = problem.path.strip_prefix("parameter");
        if let Some(below) = below.filter(|below| below.is_empty() || below.starts_with(['.', '['])) {
            problem.path = format!("{properties}{below}");
        }
    }
}

/// Why a component is not rendered. What is wrong with its parameters is told where they are given: in its properties.
fn not_rendered(application: &Application, mut failure: Failure) -> Problem {
    let properties = properties_path(application, &failure);
    let components = application.components.iter();
    let failed = components.filter(|component| component.name == failure.component);
    let references = failed.flat_map(|component| {
        let traits = component.traits.iter();
        let traits = traits.map(|trait_| (DefinitionType::Trait, trait_.definition.clone()));
        std::iter::once((DefinitionType::Component, component.definition.clone())).chain(traits)
    });
    let references = references.collect();
    let reason = match &mut failure.reason {
        Reason::Invalid(diagnostics) | Reason::Missing(diagnostics) => {
            tell_in_properties(diagnostics, &properties);
            reason::INVALID_PROPERTIES
        }
        Reason::TooExpensive(_) => reason::TEMPLATE_TOO_EXPENSIVE,
        _ => reason::RENDER_FAILED,
    };
    Problem {
        refused: Refused {
            reason,
            message: failure.to_string(),
        },
        references,
    }
}

/// Where the properties of what failed are in the application.
fn properties_path(application: &Application, failure: &Failure) -> String {
    let components = &application.components;
    let index = components
        .iter()
        .position(|component| component.name == failure.component);
    let index = index.unwrap_or_default();
    let traits = components
        .get(index)
        .map_or(&[][..], |component| &component.traits);
    let failed = traits
        .iter()
        .position(|trait_| Some(&trait_.definition) == failure.trait_.as_ref());
    match failed {
        Some(trait_) => format!("spec.components[{index}].traits[{trait_}].properties"),
        None => format!("spec.components[{index}].properties"),
    }
}

/// What templates see as `context.revision`: it changes when the component or one of its definitions does.
fn component_revisions(
    application: &Application,
    definitions: &Definitions,
    uses: &[DefinitionUse],
) -> BTreeMap<String, String> {
    let digest = |type_, reference: &str| {
        let used = uses
            .iter()
            .find(|used| used.type_ == type_ && used.reference == reference);
        used.map_or(Value::Null, |used| Value::String(used.digest.clone()))
    };
    let revision = |component: &cambium_render::Component| {
        let mut parts = vec![
            component.written.clone(),
            digest(DefinitionType::Component, &component.definition),
        ];
        for trait_ in &component.traits {
            if definitions
                .get(DefinitionKind::Trait, &trait_.definition)
                .is_some()
            {
                parts.push(digest(DefinitionType::Trait, &trait_.definition));
            }
        }
        Digest::of(&Value::Array(parts)).short()
    };
    application
        .components
        .iter()
        .map(|component| (component.name.clone(), revision(component)))
        .collect()
}
