//! Drafts an Application: resolves its references and renders its manifests, or says at which step that failed.

use super::previous::Previous;
use super::recorded::{Recorded, snapshot};
use super::revision::not_there;
use super::unsupported;
use super::work::{Rendering, Work, work_or_hold_back};
use crate::{Answer, Asked, Catalogue, Consuming, Follow, Refused, Resolved, Stored, asked, follow, resolve};
use cambium_api::names::{annotation, reason};
use cambium_api::v1beta1::DefinitionUse;
use cambium_definitions_render::ClusterVersion;
use cambium_lineage::{Chosen, Movement, Policy};
use serde_json::Value;
use std::sync::Arc;

/// The input of a draft.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    /// The application.
    pub application: &'a Value,
    /// Its revisions.
    pub recorded: &'a [Recorded],
    /// The catalogue of published revisions.
    pub catalogue: &'a Catalogue,
    /// The version of the cluster, which templates may ask for.
    pub cluster_version: &'a ClusterVersion,
}

/// A drafted Application, or the step at which it failed.
#[derive(Debug)]
pub struct Draft {
    /// The resolution of each reference.
    pub answers: Vec<Answer>,
    /// The revision that it is frozen at, by `publishVersion`.
    pub frozen: Option<String>,
    /// The unsupported fields that an annotation allows to ignore.
    pub ignored: Vec<Refused>,
    /// The work to do, or the step that failed and its refusals.
    pub outcome: Result<Work, (Step, Vec<Refused>)>,
}

/// The steps before anything is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Every reference gets a revision.
    Resolve,
    /// Every component becomes manifests.
    Render,
    /// Everything that the Application asks for is supported.
    Apply,
}

/// Resolves and renders an application.
pub fn draft(observed: &Observed<'_>) -> Draft {
    let answers = answers(observed.application, observed.recorded, observed.catalogue);
    let rendering = Rendering {
        application: observed.application,
        recorded: observed.recorded,
        cluster_version: observed.cluster_version,
    };
    rendered(&rendering, answers)
}

/// An application whose references were resolved: all that its templates need. It borrows nothing, so that nobody who keeps the
/// catalogue has to wait for templates.
#[derive(Debug)]
pub struct ToRender {
    application: Arc<Value>,
    recorded: Arc<Vec<Recorded>>,
    cluster_version: ClusterVersion,
    /// The resolutions, and the DefinitionRevision of the frozen revision; or the refusals that came before resolving.
    answers: Result<(Vec<Answer>, Option<usize>), Vec<Refused>>,
}

/// The first half of [`draft`]: asks the catalogue, and evaluates nothing.
pub fn resolved(
    application: &Arc<Value>,
    recorded: &Arc<Vec<Recorded>>,
    catalogue: &Catalogue,
    cluster_version: &ClusterVersion,
) -> ToRender {
    let answers = answers(application, recorded, catalogue);
    let place = |frozen: &Recorded| recorded.iter().position(|known| std::ptr::eq(known, frozen));
    ToRender {
        application: application.clone(),
        recorded: recorded.clone(),
        cluster_version: cluster_version.clone(),
        answers: answers.map(|answers| (answers.answers, answers.frozen.and_then(place))),
    }
}

impl ToRender {
    /// The application.
    pub fn application(&self) -> &Arc<Value> {
        &self.application
    }

    /// The second half of [`draft`]: evaluates templates, which costs what their authors make it cost.
    pub fn render(self) -> Draft {
        let rendering = Rendering {
            application: &self.application,
            recorded: &self.recorded,
            cluster_version: &self.cluster_version,
        };
        let answers = self.answers.map(|(answers, frozen)| Answers {
            answers,
            frozen: frozen.and_then(|place| self.recorded.get(place)),
        });
        rendered(&rendering, answers)
    }
}

fn rendered(rendering: &Rendering<'_>, answers: Result<Answers<'_>, Vec<Refused>>) -> Draft {
    let Answers { answers, frozen } = match answers {
        Ok(answers) => answers,
        Err(problems) => return refused(Vec::new(), Step::Resolve, problems),
    };
    let snapshot = match frozen {
        Some(frozen) => frozen.application.clone(),
        None => snapshot(rendering.application),
    };
    let mut draft = finish(rendering, answers, snapshot, frozen);
    draft.frozen = frozen.map(|frozen| frozen.revision.name().to_string());
    draft
}

/// The resolutions of all references of an Application.
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
    let consumer = Consuming::of(application);
    let before = Previous::of(application, recorded);
    let answer = |asked: &Asked| {
        let get = |using| resolve(catalogue, &consumer, &follow, asked, using);
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
fn running(answer: &Answer, before: &Previous, catalogue: &Catalogue) -> Option<Arc<Stored>> {
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

/// The exact DefinitionRevisions that a recorded ApplicationRevision names, or a refusal if one is missing or was edited.
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
            "{} does not record what {:?} resolved to",
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
    let problems: Vec<Refused> = answers.iter().filter_map(not_there).collect();
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
