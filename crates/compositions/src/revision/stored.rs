//! Reads stored CompositionRevisions.

use crate::content::Content;
use cambium_api::crossplane::{CompositionRevision, TypeReference};
use cambium_api::names::{annotation, label};
use cambium_lineage::{Digest, NameError, Revision};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Labels, by name.
pub type Labels = BTreeMap<String, String>;

/// Whether an edit of a composition's labels makes a new revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LabelEdits {
    /// No: the labels of the current revision follow.
    #[default]
    Follow,
    /// Yes, as Crossplane has it.
    Issue,
}

/// A CompositionRevision: what can be decided about it, and its content.
#[derive(Debug)]
pub struct Stored {
    /// The name of the composition that it is a revision of.
    pub composition: String,
    /// What a lineage knows of it.
    pub revision: Revision,
    /// Who owns it.
    pub owner: Owner,
    /// The object's identity.
    pub uid: String,
    /// Whether its deletion has been asked for.
    pub deleting: bool,
    /// All its labels, those that people gave it included.
    pub labels: Labels,
    /// Which labels came from the composition when they were last copied.
    pub copied: Labels,
    /// The composition's spec that it snapshots.
    pub content: Content,
    /// The digest of that, whatever it says of itself.
    pub found: Digest,
    /// The kind that it is for.
    pub composite_type: Option<TypeReference>,
    /// What its status says.
    pub status: Value,
}

/// Whom a revision belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The composition with this identity.
    Composition(String),
    /// Something that is no composition.
    Other,
    /// Nobody: it was restored from a backup, or its composition was deleted and left it behind.
    Nobody,
}

/// Why a CompositionRevision is invalid.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// It is not shaped like one.
    #[error("not a CompositionRevision: {0}")]
    Shape(#[from] serde_json::Error),
    /// Its name is none that a revision can have.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Neither an owner nor a label says whose revision it is.
    #[error("{0} has neither an owner nor the label {label}, so it is nobody's", label = label::COMPOSITION_NAME)]
    Nobodys(String),
}

impl Stored {
    /// Reads a CompositionRevision; those that Crossplane made can be read too.
    pub fn read(object: &Value, edits: LabelEdits) -> Result<Self, StoredError> {
        let typed: CompositionRevision = serde_json::from_value(object.clone())?;
        let metadata = typed.metadata;
        let name = metadata.name.unwrap_or_default();
        let labels = metadata.labels.unwrap_or_default();
        let annotations = metadata.annotations.unwrap_or_default();
        let controller = metadata
            .owner_references
            .into_iter()
            .flatten()
            .find(|owner| owner.controller == Some(true));
        let (owner, owner_name) = match controller {
            Some(owner) if owner.kind == "Composition" => (Owner::Composition(owner.uid), Some(owner.name)),
            Some(_) => (Owner::Other, None),
            None => (Owner::Nobody, None),
        };
        let composition = owner_name
            .or_else(|| annotations.get(annotation::COMPOSITION).cloned())
            .or_else(|| labels.get(label::COMPOSITION_NAME).cloned())
            .ok_or_else(|| StoredError::Nobodys(name.clone()))?;
        let mut spec = object["spec"].clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("revision");
        }
        let found = Digest::of(&spec);
        let issued = annotations
            .get(annotation::COMPOSITION_DIGEST)
            .and_then(|digest| digest.parse().ok())
            .unwrap_or(found);
        let copied: Labels = annotations
            .get(annotation::COPIED_LABELS)
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let created = metadata
            .creation_timestamp
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        let number = typed.spec.revision().unwrap_or_default();
        let mut revision = Revision::new(
            name.parse()?,
            u64::try_from(number).unwrap_or_default(),
            identity(issued, &copied, edits),
            created,
        )
        .with_content_found(identity(found, &copied, edits));
        let status = object["status"].clone();
        if let Some(since) = status["unusedSince"]
            .as_str()
            .and_then(|since| since.parse().ok())
        {
            revision = revision.with_unused_since(since);
        }
        Ok(Self {
            composition,
            revision,
            owner,
            uid: metadata.uid.unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            labels,
            copied,
            composite_type: typed.spec.composite_type(),
            content: Content::new(spec),
            found,
            status,
        })
    }

    /// Whether it holds what was published.
    pub fn is_intact(&self) -> bool {
        self.revision.altered().is_none()
    }
}

/// What makes two revisions the same: the content, and where edits of labels count, the labels.
pub(crate) fn identity(content: Digest, labels: &Labels, edits: LabelEdits) -> Digest {
    match edits {
        LabelEdits::Follow => content,
        LabelEdits::Issue => Digest::of(&json!({"content": content, "labels": labels})),
    }
}
