//! ApplicationRevisions: an immutable record of an Application with the DefinitionRevisions that it used.

use super::Object;
use crate::Answer;
use crate::names::application_revision_name;
use cambium_api::names::{annotation, label};
use cambium_api::v1beta1::{API_VERSION, ApplicationRevision, DefinitionUse};
use cambium_lineage::{
    Content, Digest, Lineage, LineageError, NameError, Next, Revision, RevisionName, Scheme, next,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// An ApplicationRevision, as it is stored.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The revision as `lineage` has it.
    pub revision: Revision,
    /// The object's identity.
    pub uid: String,
    /// The application as it was: metadata and spec.
    pub application: Value,
    /// The definition revisions that it uses.
    pub definitions: Vec<DefinitionUse>,
    /// The objects that it rendered.
    pub resources: Vec<Object>,
    /// The identities of its owners.
    pub owners: Vec<String>,
}

/// The ApplicationRevision that records the current content.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// An existing revision records it.
    Keep(RevisionName),
    /// The revision was edited after it was recorded: its content is to be put back.
    Restore {
        /// The revision.
        name: RevisionName,
        /// Its number.
        number: u64,
    },
    /// An old revision becomes current again.
    Renumber {
        /// The revision.
        name: RevisionName,
        /// The number it gets.
        number: u64,
    },
    /// A new revision.
    Issue {
        /// Its name.
        name: RevisionName,
        /// Its number.
        number: u64,
    },
}

impl Record {
    /// The revision that is current then.
    pub fn name(&self) -> &RevisionName {
        match self {
            Self::Keep(name)
            | Self::Restore { name, .. }
            | Self::Renumber { name, .. }
            | Self::Issue { name, .. } => name,
        }
    }
}

impl Recorded {
    /// Reads an ApplicationRevision.
    pub fn read(object: &Value) -> Result<Self, serde_json::Error> {
        use serde::de::Error as _;
        let typed: ApplicationRevision = serde_json::from_value(object.clone())?;
        let owners = typed.metadata.owner_references.into_iter().flatten();
        let owners = owners.map(|owner| owner.uid).collect();
        let spec = typed.spec;
        let application = spec.application.unwrap_or_default();
        let found = content_digest(&application, &spec.definitions);
        let issued = spec
            .digest
            .and_then(|digest| digest.parse().ok())
            .unwrap_or(found);
        let name = typed.metadata.name.unwrap_or_default();
        let number = spec
            .revision
            .and_then(|number| u64::try_from(number).ok())
            .or_else(|| name.rsplit_once("-v").and_then(|(_, number)| number.parse().ok()))
            .unwrap_or_default();
        let created = typed
            .metadata
            .creation_timestamp
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        let name: RevisionName = name.parse().map_err(serde_json::Error::custom)?;
        Ok(Self {
            revision: Revision::new(name, number, issued, created).with_content_found(found),
            uid: typed.metadata.uid.unwrap_or_default(),
            application,
            definitions: spec.definitions,
            resources: spec
                .resources
                .iter()
                .map(|resource| Object {
                    api_version: resource.api_version.clone(),
                    kind: resource.kind.clone(),
                    namespace: resource.namespace.clone().unwrap_or_default(),
                    name: resource.name.clone(),
                })
                .collect(),
            owners,
        })
    }

    /// Whether it is a revision of the application with this identity, and not of an earlier one of that name. One without an owner is.
    pub fn is_of(&self, uid: Option<&str>) -> bool {
        self.owners.is_empty() || self.owners.iter().any(|owner| Some(owner.as_str()) == uid)
    }

    /// The value of the annotation that froze the application then.
    pub fn publish_version(&self) -> Option<&str> {
        self.application["metadata"]["annotations"]
            .get(annotation::PUBLISH_VERSION)?
            .as_str()
    }
}

/// Annotations that say how an application follows, or that tools leave behind: not what it is.
const NOT_CONTENT: [&str; 4] = [
    annotation::AUTO_UPDATE,
    annotation::IGNORE_UNSUPPORTED,
    annotation::LOCK,
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// The recorded content of an Application: all that its objects are rendered from.
pub fn snapshot(application: &Value) -> Value {
    let from = &application["metadata"];
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        metadata.insert(field.to_owned(), from[field].clone());
    }
    for field in ["labels", "annotations"] {
        let texts = from[field].as_object().into_iter().flatten();
        let kept: Map<String, Value> = texts
            .filter(|(name, _)| !NOT_CONTENT.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !kept.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(kept));
        }
    }
    json!({"apiVersion": API_VERSION, "kind": "Application", "metadata": metadata, "spec": application["spec"]})
}

/// The digest of an application and the definition revisions that it uses.
pub(super) fn content_digest(snapshot: &Value, definitions: &[DefinitionUse]) -> Digest {
    let definitions: Vec<Value> = definitions
        .iter()
        .map(|used| {
            json!([
                used.type_,
                used.reference,
                used.namespace,
                used.revision,
                used.digest
            ])
        })
        .collect();
    Digest::of(&json!({"application": snapshot, "definitions": definitions}))
}

/// The definition revisions that answers stand for, each reference once.
pub(super) fn definition_uses(answers: &[Answer]) -> Vec<DefinitionUse> {
    let mut uses: Vec<DefinitionUse> = answers
        .iter()
        .filter_map(|answer| {
            let stored = answer.rendered()?;
            Some(DefinitionUse {
                type_: answer.asked.type_,
                reference: answer.asked.text.clone(),
                namespace: Some(stored.artifact.namespace.clone()),
                revision: stored.revision.name().to_string(),
                version: stored.revision.version().map(ToString::to_string),
                digest: stored.revision.digest().to_string(),
                ..Default::default()
            })
        })
        .collect();
    uses.sort_by(|left, right| (left.type_, &left.reference).cmp(&(right.type_, &right.reference)));
    uses.dedup();
    uses
}

/// The reasons that an Application gets no revision.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error(transparent)]
    Lineage(#[from] LineageError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("no revision number is left")]
    Exhausted,
}

/// Which revision holds this content, or is to hold it.
pub(super) fn record(
    application: &str,
    recorded: &[Recorded],
    issued: u64,
    digest: Digest,
) -> Result<Record, RecordError> {
    let lineage = Lineage::builder(application, Scheme::ContentAddressed)
        .revisions(recorded.iter().map(|recorded| recorded.revision.clone()))
        .issued(issued)
        .build()?;
    Ok(match next(&lineage, &Content::new(digest)) {
        Next::Unchanged(revision) => Record::Keep(revision.name().clone()),
        Next::Restore(revision) => Record::Restore {
            name: revision.name().clone(),
            number: revision.number(),
        },
        Next::Reuse { revision, number } => Record::Renumber {
            name: revision.name().clone(),
            number,
        },
        Next::Issue { number, .. } => Record::Issue {
            name: application_revision_name(application, number)?,
            number,
        },
        Next::Conflict { .. } | Next::Exhausted => return Err(RecordError::Exhausted),
    })
}

/// The ApplicationRevision, as it is created.
pub(super) fn revision_object(
    application: &Value,
    snapshot: &Value,
    definitions: &[DefinitionUse],
    resources: &[Object],
    digest: Digest,
    name: &RevisionName,
    number: u64,
) -> Value {
    let metadata = &application["metadata"];
    json!({
        "apiVersion": API_VERSION,
        "kind": "ApplicationRevision",
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {
                label::APPLICATION: metadata["name"],
                label::APPLICATION_REVISION_HASH: digest.short(),
            },
            "ownerReferences": [{
                "apiVersion": API_VERSION, "kind": "Application", "name": metadata["name"],
                "uid": metadata["uid"], "controller": true, "blockOwnerDeletion": false,
            }],
        },
        "spec": {
            "application": snapshot,
            "revision": number,
            "digest": digest.to_string(),
            "definitions": definitions,
            "resources": resources,
        },
    })
}
