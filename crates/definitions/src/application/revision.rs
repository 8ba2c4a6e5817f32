//! Renders a recorded ApplicationRevision without the live Application.

use super::Recorded;
use super::draft::restore;
use super::recorded::definition_uses;
use super::work::{Problem, component_revisions, not_rendered};
use crate::identity::without_identity;
use crate::{Answer, Catalogue, Refused};
use cambium_api::names::reason;
use cambium_api::v1beta1::{DefinitionType, DefinitionUse};
use cambium_definitions_render::{Application, Definitions, Environment, Rendered, render};
use serde_json::Value;

/// The names of the components where a revision is rendered. Templates see them as `context.name`, and name their objects after them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming<'a> {
    /// As they are written: the revision takes the place of the one before.
    #[default]
    AsWritten,
    /// With this after each name, as in `web-v3`: several revisions live beside each other.
    WithSuffix(&'a str),
}

impl Naming<'_> {
    fn name(self, application: &mut Application) {
        let Self::WithSuffix(suffix) = self else {
            return;
        };
        for component in &mut application.components {
            component.name = format!("{}-{suffix}", component.name);
        }
    }
}

/// A revision, rendered.
#[derive(Debug)]
pub struct RenderedRevision {
    /// The application as it was.
    pub application: Application,
    /// The templates that its references stand for.
    pub definitions: Definitions,
    /// Its manifests.
    pub rendered: Rendered,
}

/// Renders a recorded revision: its snapshot, with exactly the definition revisions that it recorded, in this environment. What the environment
/// says of revisions (`app_revision`, `component_revisions`) is the recorded revision's own.
///
/// All that keeps it from being rendered: definition revisions that are gone or hold something else now, and templates that fail.
pub fn render_revision(
    recorded: &Recorded,
    catalogue: &Catalogue,
    environment: &Environment,
    naming: Naming<'_>,
) -> Result<RenderedRevision, Vec<Refused>> {
    let answers = restore(recorded, catalogue);
    let refused: Vec<Refused> = answers.iter().filter_map(not_there).collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    render_recorded(recorded, &answers, environment, naming)
        .map_err(|problems| problems.into_iter().map(|problem| problem.refused).collect())
}

/// Renders a recorded revision with what its references stand for.
pub(super) fn render_recorded(
    recorded: &Recorded,
    answers: &[Answer],
    environment: &Environment,
    naming: Naming<'_>,
) -> Result<RenderedRevision, Vec<Problem>> {
    let mut application = read(&recorded.application)?;
    naming.name(&mut application);
    let definitions = templates(answers)?;
    let revision = recorded.revision.name().as_str();
    let uses = definition_uses(answers);
    let rendered = render_as(revision, &application, &definitions, &uses, environment)?;
    Ok(RenderedRevision {
        application,
        definitions,
        rendered,
    })
}

/// The refusal of a reference whose DefinitionRevision is missing.
pub(super) fn not_there(answer: &Answer) -> Option<Refused> {
    let problem = answer.outcome.as_ref().err()?;
    Some(Refused {
        reason: problem.reason,
        message: format!("{}: {}", answer.asked.path, problem.message),
    })
}

/// The application that a snapshot is.
pub(super) fn read(snapshot: &Value) -> Result<Application, Vec<Problem>> {
    Application::from_manifest(&without_identity(snapshot)).map_err(|error| {
        vec![Problem::from(Refused {
            reason: reason::RENDER_FAILED,
            message: error.to_string(),
        })]
    })
}

/// Renders an application as the revision with this name.
pub(super) fn render_as(
    revision: &str,
    application: &Application,
    definitions: &Definitions,
    uses: &[DefinitionUse],
    environment: &Environment,
) -> Result<Rendered, Vec<Problem>> {
    let environment = Environment {
        app_revision: revision.to_owned(),
        component_revisions: component_revisions(application, definitions, uses),
        ..environment.clone()
    };
    render(application, definitions, &environment).map_err(|failures| {
        let failures = failures.0.into_iter();
        failures
            .map(|failure| not_rendered(application, failure))
            .collect()
    })
}

/// The compiled templates of components and traits.
pub(super) fn templates(answers: &[Answer]) -> Result<Definitions, Vec<Problem>> {
    let mut definitions = Definitions::default();
    let mut problems = Vec::new();
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
    match problems.is_empty() {
        true => Ok(definitions),
        false => Err(problems),
    }
}
