//! Renders an Application whose references are resolved. A follower that cannot be rendered with the new revision is held back at the old one.

use super::Object;
use super::object::LONGEST_LABEL;
use super::order;
use super::recorded::{Record, Recorded, content_digest, definition_uses, record, revision_object};
use super::revision::{Naming, RenderedRevision, read, render_as, render_recorded, templates};
use crate::resolve::place;
use crate::{Answer, HeldBack, Refused};
use cambium_api::names::{annotation, reason};
use cambium_api::v1beta1::{DefinitionType, DefinitionUse};
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Diagnostic, Diagnostics};
use cambium_definitions_render::{
    Application, ClusterVersion, DefinitionKind, Definitions, Environment, Failure, Manifest, Reason,
    Rendered,
};
use cambium_lineage::Digest;
use cambium_objects::lay_over;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

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
    /// The recorded content of the Application.
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

    /// Whether comparing its manifests with what is there takes next to no time: there is little of them, and no template says how
    /// its objects are, which would be evaluated.
    pub fn is_quickly_compared(&self) -> bool {
        let mut left = LITTLE;
        let is_little = |(_, manifest): (&str, &Manifest)| {
            spend(&mut left, LEAST_MANIFEST) && is_within_size(&manifest.object, &mut left)
        };
        !self.definitions.have_status() && self.manifests().all(is_little)
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

/// The size up to which manifests count as small, in bytes.
const LITTLE: usize = 64 * 1024;
const LEAST_MANIFEST: usize = 1024;

/// Whether a value is at most `left` bytes large. Subtracts its size from `left`, and stops reading at the limit.
fn is_within_size(value: &Value, left: &mut usize) -> bool {
    match value {
        Value::String(text) => spend(left, text.len() + 2),
        Value::Array(items) => spend(left, 2) && items.iter().all(|item| is_within_size(item, left)),
        Value::Object(fields) => {
            let mut fields = fields.iter();
            spend(left, 2)
                && fields.all(|(name, value)| spend(left, name.len() + 3) && is_within_size(value, left))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => spend(left, 4),
    }
}

fn spend(left: &mut usize, bytes: usize) -> bool {
    match left.checked_sub(bytes) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

/// The input of rendering besides the resolutions.
pub(super) struct Rendering<'a> {
    pub(super) application: &'a Value,
    pub(super) recorded: &'a [Recorded],
    pub(super) cluster_version: &'a ClusterVersion,
}

/// Renders with what references got. One that follows and cannot be rendered with that stays at what it runs, and nobody else has to
/// wait for it; if it cannot be rendered with that either, the application itself is to be mended.
pub(super) fn work_or_hold_back(
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

/// A rendering problem, and the references that may be the cause.
pub(super) struct Problem {
    pub(super) refused: Refused,
    pub(super) references: Vec<(DefinitionType, String)>,
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
    if let Some(problem) = name_too_long(snapshot) {
        return Err(vec![problem.into()]);
    }
    let environment = Environment {
        cluster: "local".to_owned(),
        cluster_version: observed.cluster_version.clone(),
        ..Default::default()
    };
    let uses = definition_uses(answers);
    // What is frozen was taken as it was.
    if let Some(frozen) = frozen {
        let RenderedRevision {
            application,
            definitions,
            rendered,
        } = render_recorded(frozen, answers, &environment, Naming::AsWritten)?;
        return Ok(Work {
            application,
            definitions,
            rendered,
            record: Record::Keep(frozen.revision.name().clone()),
            number: frozen.revision.number(),
            digest: frozen.revision.digest(),
            snapshot: snapshot.clone(),
            uses,
        });
    }
    let application = read(snapshot)?;
    let order = order::problems(snapshot).into_iter().map(Problem::from);
    let mut problems: Vec<Problem> = order.chain(unfit_policies(snapshot, answers)).collect();
    let definitions = match templates(answers) {
        Ok(definitions) if problems.is_empty() => definitions,
        templates => {
            problems.extend(templates.err().into_iter().flatten());
            return Err(problems);
        }
    };
    let digest = content_digest(snapshot, &uses);
    let issued = observed.application["status"]["highWaterMark"]
        .as_u64()
        .unwrap_or(0);
    let record = record(&application.name, observed.recorded, issued, digest).map_err(|error| {
        vec![Problem::from(Refused {
            reason: reason::RENDER_FAILED,
            message: error.to_string(),
        })]
    })?;
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
    let revision = record.name().as_str();
    let rendered = render_as(revision, &application, &definitions, &uses, &environment)?;
    let twice = in_two_components(&application, &rendered);
    if !twice.is_empty() {
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
fn in_two_components(application: &Application, rendered: &Rendered) -> Vec<Problem> {
    let mut makers: Vec<(Object, &str)> = Vec::new();
    let mut by_name: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    let mut problems = Vec::new();
    for component in &rendered.components {
        for manifest in component.in_dispatch_order() {
            let object = Object::of(&manifest.object);
            let of_that_name = by_name
                .entry((object.kind.clone(), object.name.clone()))
                .or_default();
            let mut same = of_that_name.iter().map(|at| &makers[*at]);
            match same.find(|(other, _)| other.is(&object)) {
                Some((_, other)) if *other != component.name => problems.push(Problem {
                    refused: Refused {
                        reason: reason::RENDER_FAILED,
                        message: format!(
                            "components {other:?} and {:?} both render {object}",
                            component.name
                        ),
                    },
                    references: [other, component.name.as_str()]
                        .into_iter()
                        .flat_map(|name| references_of(application, name))
                        .collect(),
                }),
                Some(_) => {}
                None => {
                    of_that_name.push(makers.len());
                    makers.push((object, &component.name));
                }
            }
        }
    }
    problems
}

/// The references of a component and of its traits.
fn references_of<'a>(
    application: &'a Application,
    component: &'a str,
) -> impl Iterator<Item = (DefinitionType, String)> + 'a {
    let components = application.components.iter();
    let named = components.filter(move |other| other.name == component);
    named.flat_map(|component| {
        let traits = component.traits.iter();
        let traits = traits.map(|trait_| (DefinitionType::Trait, trait_.definition.clone()));
        std::iter::once((DefinitionType::Component, component.definition.clone())).chain(traits)
    })
}

/// Checks the properties of policies against the parameters of their definitions.
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

/// The refusal of a component that cannot be rendered. Problems of its parameters are reported at their path in its properties.
pub(super) fn not_rendered(application: &Application, mut failure: Failure) -> Problem {
    let properties = properties_path(application, &failure);
    let references = references_of(application, &failure.component).collect();
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

/// The path to the properties of a component or trait that failed.
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

/// The value of `context.revision` for each component: it changes when the component or one of its definitions does.
pub(super) fn component_revisions(
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
    let revision = |component: &cambium_definitions_render::Component| {
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

/// Refuses a name that does not fit into a label: all objects of an Application are labelled with it.
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
