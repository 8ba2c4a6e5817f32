//! Resolves the references of an Application to revisions.

use crate::catalogue::Shelf;
use crate::{Artifact, Catalogue, Consuming, Stored};
use cambium_api::names::{SYSTEM_NAMESPACE, annotation, reason};
use cambium_api::v1beta1::DefinitionType;
use cambium_lineage::{
    Chosen, Closed, InUse, Lineage, Lock, Locked, Movement, Policy, Question, Reference, Refusal,
};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// A reference, and where it stands in the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Such as `components[web].traits[0]`.
    pub path: String,
    /// The kind of definition that it refers to.
    pub type_: DefinitionType,
    /// The reference, as it is written.
    pub text: String,
}

impl Asked {
    /// The name of the definition, also of a reference that cannot be read.
    pub fn definition(&self) -> &str {
        self.text.split('@').next().unwrap_or_default()
    }
}

/// All references of an application, in the order they are written.
pub fn asked(application: &Value) -> Vec<Asked> {
    let mut asked = Vec::new();
    let mut add = |path: String, type_, value: &Value| {
        if let Some(text) = value["type"].as_str() {
            asked.push(Asked {
                path,
                type_,
                text: text.to_owned(),
            });
        }
    };
    let spec = &application["spec"];
    for (index, component) in items(&spec["components"]).enumerate() {
        let path = place("components", component, index);
        add(path.clone(), DefinitionType::Component, component);
        for (index, trait_) in items(&component["traits"]).enumerate() {
            add(format!("{path}.traits[{index}]"), DefinitionType::Trait, trait_);
        }
    }
    for (index, policy) in items(&spec["policies"]).enumerate() {
        add(place("policies", policy, index), DefinitionType::Policy, policy);
    }
    for (index, step) in items(&spec["workflow"]["steps"]).enumerate() {
        let path = place("workflow.steps", step, index);
        add(path.clone(), DefinitionType::WorkflowStep, step);
        for (index, step) in items(&step["subSteps"]).enumerate() {
            add(
                format!("{path}.subSteps[{index}]"),
                DefinitionType::WorkflowStep,
                step,
            );
        }
    }
    asked
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

pub(crate) fn place(list: &str, item: &Value, index: usize) -> String {
    match item["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => format!("{list}[{name}]"),
        None => format!("{list}[{index}]"),
    }
}

/// The policy and the lock of an Application, as its annotations declare them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follow {
    /// The update policy.
    pub policy: Policy,
    /// The lock, if there is one.
    pub lock: Option<Lock>,
    /// While this value stays, the application is what it was when the value was set.
    pub publish_version: Option<String>,
    /// Whether the application's own spec is another than the one that was recorded last: bare references to definitions without
    /// versions then take the newest revision, and otherwise stay.
    pub edited: bool,
}

/// Reads the annotations of an application; all that is wrong with them.
pub fn follow(application: &Value) -> Result<Follow, Vec<Refused>> {
    let get = |name: &str| {
        application["metadata"]["annotations"]
            .get(name)
            .and_then(Value::as_str)
    };
    let mut problems = Vec::new();
    let mut wrong = |message: String| {
        problems.push(Refused {
            reason: reason::INVALID_ANNOTATIONS,
            message,
        });
    };
    let policy = match get(annotation::AUTO_UPDATE) {
        None => Policy::ByReference,
        Some("true") => Policy::Automatic,
        Some("false") => Policy::Pinned,
        Some(other) => {
            wrong(format!(
                "{} is {other:?}; it must be \"true\" or \"false\", or be left out",
                annotation::AUTO_UPDATE
            ));
            Policy::ByReference
        }
    };
    let publish_version = get(annotation::PUBLISH_VERSION).filter(|version| !version.is_empty());
    if publish_version.is_some() && policy == Policy::Automatic {
        wrong(
            "Application has both autoUpdate and publishVersion annotations. Only one can be present"
                .to_owned(),
        );
    }
    let lock = match get(annotation::LOCK).map(str::parse::<Lock>) {
        None => None,
        Some(Ok(lock)) => Some(lock),
        Some(Err(error)) => {
            wrong(format!("{}: {error}; `cambium lock` writes it", annotation::LOCK));
            None
        }
    };
    if problems.is_empty() {
        Ok(Follow {
            policy,
            lock,
            publish_version: publish_version.map(str::to_owned),
            edited: false,
        })
    } else {
        Err(problems)
    }
}

/// The resolution of one reference.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The reference.
    pub asked: Asked,
    /// The update policy of the reference.
    pub policy: Policy,
    /// The revision, or the refusal.
    pub outcome: Result<Resolved, Refused>,
    /// The revision that its objects were made from, if it follows and moves away from that.
    pub running: Option<Arc<Stored>>,
    /// The revision that it is held back at, if it follows and cannot be rendered with the one that it resolves to.
    pub held_back: Option<HeldBack>,
}

/// The revision that a reference stays at, and why.
#[derive(Debug, Clone)]
pub struct HeldBack {
    /// The revision that its objects were made from, and still are.
    pub at: Arc<Stored>,
    /// The reason that it cannot be rendered with the resolved revision.
    pub why: String,
}

impl Answer {
    /// The revision that is rendered.
    pub fn rendered(&self) -> Option<&Arc<Stored>> {
        match (&self.held_back, &self.outcome) {
            (Some(held_back), _) => Some(&held_back.at),
            (None, Ok(resolved)) => Some(&resolved.stored),
            (None, Err(_)) => None,
        }
    }
}

/// The revision that a reference got, and why.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The revision and its content.
    pub stored: Arc<Stored>,
    /// The reason that this revision was chosen.
    pub reason: Chosen,
    /// The direction from the revision in use.
    pub movement: Movement,
    /// A newer one, and why it is not taken.
    pub newer: Option<(String, String)>,
    /// Whether the reference follows: something newly published can move it.
    pub follows: bool,
}

/// A refusal: the reason of a condition, and a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// One of the reasons that conditions have.
    pub reason: &'static str,
    /// The message: the problem and what to do about it.
    pub message: String,
}

/// The revision that a reference uses, and its namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Using {
    /// The namespace of the definition.
    pub namespace: String,
    /// The revision in it.
    pub revision: InUse,
}

/// Resolves one reference of an Application.
pub fn resolve(
    catalogue: &Catalogue,
    consumer: &Consuming,
    follow: &Follow,
    asked: &Asked,
    using: Option<&Using>,
) -> Answer {
    Answer {
        outcome: Inquiry::new(catalogue, consumer, follow, asked, using)
            .and_then(|inquiry| inquiry.outcome()),
        asked: asked.clone(),
        policy: follow.policy,
        running: None,
        held_back: None,
    }
}

/// A reference that can be read and leads to a definition.
pub(crate) struct Inquiry<'a> {
    reference: Reference,
    policy: Policy,
    edited: bool,
    artifact: &'a Artifact,
    shelf: &'a Shelf,
    lineage: &'a Lineage,
    locked: Option<&'a Locked>,
    in_use: Option<&'a InUse>,
    closed: Closed,
}

impl<'a> Inquiry<'a> {
    pub(crate) fn new(
        catalogue: &'a Catalogue,
        consumer: &Consuming,
        follow: &'a Follow,
        asked: &Asked,
        using: Option<&'a Using>,
    ) -> Result<Self, Refused> {
        let refuse = |reason, message| Refused { reason, message };
        let namespace = consumer.namespace.as_str();
        let reference: Reference = asked
            .text
            .parse()
            .map_err(|error: cambium_lineage::ReferenceError| {
                refuse(reason::INVALID_REFERENCE, error.to_string())
            })?;
        let locked = match &follow.lock {
            None => None,
            Some(lock) => Some(
                lock.locked(kind_in_lock(asked.type_), &reference)
                    .map_err(|error| refuse(reason::LOCKED, error.to_string()))?,
            ),
        };
        let stays = |shelf: &Shelf| {
            let Ok(lineage) = shelf.lineage() else {
                return true;
            };
            match locked {
                // A lock may name what is published elsewhere.
                Some(locked) => lineage.with_content(locked.digest).next().is_some(),
                None => {
                    let question = Question::new(&reference, follow.policy, lineage);
                    let takes_it = follow.edited && question.takes_the_newest_when_edited();
                    !question.follows() && !takes_it
                }
            }
        };
        // Whoever may publish in a namespace does not thereby put templates under Applications that use what everybody shares, and
        // are applied with the rights of their authors.
        let shared = |shelf: &Shelf| {
            using.is_some_and(|using| using.namespace == SYSTEM_NAMESPACE)
                && locked.is_none()
                && shelf.is_declared()
        };
        // Who does not follow is not moved by somebody who publishes nearer by, or stops doing so.
        let place = using
            .filter(|using| [namespace, SYSTEM_NAMESPACE].contains(&using.namespace.as_str()))
            .and_then(|using| catalogue.find_in(&using.namespace, asked.type_, reference.artifact()))
            .filter(|(_, shelf)| stays(shelf) || shared(shelf))
            .or_else(|| catalogue.find(namespace, asked.type_, reference.artifact()));
        let Some((artifact, shelf)) = place else {
            return Err(refuse(
                reason::DEFINITION_NOT_FOUND,
                not_found(namespace, asked.type_, &reference),
            ));
        };
        let lineage = shelf
            .lineage()
            .map_err(|error| refuse(reason::REVISION_CHANGED, error.to_string()))?;
        Ok(Self {
            policy: follow.policy,
            edited: follow.edited,
            // Who follows, or is locked, may go to another namespace, where a revision of that name is another one. Who is pinned
            // and finds nothing where it was gets the same content there, or none.
            in_use: using
                .filter(|using| using.namespace == artifact.namespace || locked.is_none() && stays(shelf))
                .map(|using| &using.revision),
            closed: catalogue.closures().closed_for(artifact, consumer),
            reference,
            artifact,
            shelf,
            lineage,
            locked,
        })
    }

    pub(crate) fn question(&self) -> Question<'_, 'a> {
        let question = Question::new(&self.reference, self.policy, self.lineage)
            .using(self.in_use)
            .closed_to(&self.closed);
        let question = match self.edited {
            true => question.edited(),
            false => question,
        };
        match self.locked {
            Some(locked) => question.locked_to(locked),
            None => question,
        }
    }

    fn outcome(&self) -> Result<Resolved, Refused> {
        let refuse = |reason, message| Refused { reason, message };
        let resolution = self.question().resolve();
        let newer = resolution
            .newer
            .as_ref()
            .map(|newer| (newer.revision.to_string(), newer.reason.to_string()));
        let choice = resolution
            .decision
            .map_err(|refusal| refuse(condition_reason(&refusal), refusal.to_string()))?;
        let name = choice.revision.name();
        let stored = self.shelf.stored(name).cloned().ok_or_else(|| {
            let message = format!("{}: revision {name} is not stored", self.artifact);
            refuse(reason::VERSION_NOT_FOUND, message)
        })?;
        Ok(Resolved {
            stored,
            reason: choice.reason,
            movement: choice.movement,
            newer,
            follows: self.question().follows(),
        })
    }
}

/// The word for each kind of definition in a lock.
pub(crate) fn kind_in_lock(type_: DefinitionType) -> &'static str {
    match type_ {
        DefinitionType::Component => "component",
        DefinitionType::Trait => "trait",
        DefinitionType::Policy => "policy",
        DefinitionType::WorkflowStep => "workflowStep",
    }
}

fn not_found(namespace: &str, type_: DefinitionType, reference: &Reference) -> String {
    let places = match namespace == SYSTEM_NAMESPACE {
        true => format!("namespace {namespace}"),
        false => format!("namespace {namespace} or {SYSTEM_NAMESPACE}"),
    };
    format!("no {} {:?} in {places}", type_.kind(), reference.artifact())
}

/// The reason in a condition that a refusal comes under.
pub(crate) fn condition_reason(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::OtherArtifact { .. } | Refusal::NotAVersion { .. } => reason::INVALID_REFERENCE,
        Refusal::NothingPublished { .. }
        | Refusal::NoRelease { .. }
        | Refusal::NotPublished { .. }
        | Refusal::OtherBuild { .. }
        | Refusal::NoSuchRevision { .. }
        | Refusal::NoneSelected { .. }
        | Refusal::Closed { .. } => reason::VERSION_NOT_FOUND,
        Refusal::PartialWhilePinned { .. } => reason::PARTIAL_WHILE_PINNED,
        Refusal::Vanished { .. } | Refusal::Exchanged { .. } | Refusal::Altered { .. } => {
            reason::REVISION_CHANGED
        }
        Refusal::Lock(_) => reason::LOCKED,
    }
}
