//! A DefinitionRevision as it is stored, decoded once.

use crate::Artifact;
use cambium_api::names::{annotation, finalizer};
use cambium_api::v1beta1::DefinitionRevision;
use cambium_definitions_render::{Definition, InvalidDefinition, ParameterSchema, Template};
use cambium_lineage::{Digest, GivenName, NameError, Revision, Version};
use jiff::Timestamp;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// A DefinitionRevision: what can be decided about it, and its content.
#[derive(Debug)]
pub struct Stored {
    /// The definition that it belongs to.
    pub artifact: Artifact,
    /// The revision as `lineage` has it.
    pub revision: Revision,
    /// The object's identity.
    pub uid: String,
    /// Whether its deletion has been asked for.
    pub deleting: bool,
    /// Whether it waits for us before it goes.
    pub held: bool,
    /// The spec of the definition that it snapshots.
    pub spec: Value,
    /// The number of references that resolve to it, from its status.
    pub consumers: Option<i64>,
    /// The users of it, from its status.
    pub in_use_by: Option<String>,
    template: OnceLock<Result<Arc<Template>, String>>,
    schema: OnceLock<Option<ParameterSchema>>,
}

/// The reasons that a DefinitionRevision cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// It is not shaped like one.
    #[error("not a DefinitionRevision: {0}")]
    Shape(#[from] serde_json::Error),
    /// Its name is none that a revision can have.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It does not say whose revision it is.
    #[error("{0} names no definition")]
    Nobodys(String),
}

/// The digest of a definition's spec. The version is what it is called by, not what it is.
pub fn digest_of(spec: &Value) -> Digest {
    match spec.get("version") {
        Some(_) => Digest::of(&without_version(spec)),
        None => Digest::of(spec),
    }
}

fn without_version(spec: &Value) -> Value {
    let mut content = spec.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("version");
    }
    content
}

impl Stored {
    /// Reads a DefinitionRevision; those that KubeVela made can be read too.
    pub fn read(object: &Value) -> Result<Self, StoredError> {
        let typed: DefinitionRevision = serde_json::from_value(object.clone())?;
        let (metadata, spec) = (&typed.metadata, &typed.spec);
        let name = metadata.name.clone().unwrap_or_default();
        let labels = metadata.labels.clone().unwrap_or_default();
        let annotations = metadata.annotations.clone().unwrap_or_default();
        let snapshot = spec.snapshot().cloned().unwrap_or_default();
        let type_ = spec.definition_type;
        let definition = spec
            .definition_name
            .clone()
            .or_else(|| labels.get(type_.label()).cloned())
            .or_else(|| snapshot["metadata"]["name"].as_str().map(str::to_owned))
            .ok_or_else(|| StoredError::Nobodys(name.clone()))?;
        let content = match &snapshot["spec"] {
            Value::Null => Value::Object(serde_json::Map::new()),
            content => content.clone(),
        };
        let found = digest_of(&content);
        let issued = spec
            .digest
            .as_deref()
            .and_then(|digest| digest.parse().ok())
            .unwrap_or(found);
        let created = metadata
            .creation_timestamp
            .as_ref()
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        let number = u64::try_from(spec.revision).unwrap_or_default();
        let mut revision = Revision::new(name.parse()?, number, issued, created).with_content_found(found);
        let version = spec.version.as_deref().or_else(|| content["version"].as_str());
        match version.and_then(|version| Version::declared(version).ok()) {
            Some(version) => revision = revision.with_version(version),
            None => {
                if let Some(given) = given_name(&name, &definition, number) {
                    revision = revision.with_given_name(given);
                }
            }
        }
        let unused = annotations.get(annotation::UNUSED_SINCE);
        if let Some(since) = unused.and_then(|since| since.parse().ok()) {
            revision = revision.with_unused_since(since);
        }
        let finalizers = metadata.finalizers.iter().flatten();
        let status = typed.status.unwrap_or_default();
        Ok(Self {
            artifact: Artifact::new(type_, metadata.namespace.clone().unwrap_or_default(), definition),
            revision,
            uid: metadata.uid.clone().unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            held: finalizers.into_iter().any(|name| name == finalizer::IN_USE),
            spec: content,
            consumers: status.consumers,
            in_use_by: status.in_use_by,
            template: OnceLock::new(),
            schema: OnceLock::new(),
        })
    }

    /// Its template, compiled on first use. Only components and traits have one.
    pub fn template(&self) -> Result<Arc<Template>, String> {
        self.template
            .get_or_init(|| compile(&self.artifact, &self.spec).map(Arc::new))
            .clone()
    }

    /// The parameters that it takes, of a definition that is not rendered here; `None` if that cannot be told without who runs it.
    pub fn schema(&self) -> Option<&ParameterSchema> {
        let compile = || {
            let template = self.spec["schematic"]["cue"]["template"].as_str()?;
            ParameterSchema::compile(&self.artifact.name, template)
        };
        self.schema.get_or_init(compile).as_ref()
    }
}

fn compile(artifact: &Artifact, spec: &Value) -> Result<Template, String> {
    let definition = read_definition(artifact, spec).map_err(|error| error.to_string())?;
    Template::compile(definition).map_err(|diagnostics| diagnostics.to_string())
}

/// One version of a definition, before it is compiled.
pub(crate) fn read_definition(artifact: &Artifact, spec: &Value) -> Result<Definition, InvalidDefinition> {
    Definition::from_manifest(&serde_json::json!({
        "kind": artifact.type_.kind(), "metadata": {"name": artifact.name}, "spec": spec,
    }))
}

/// The name that a person gave, which is what stands after `-v` unless that is the number.
fn given_name(name: &str, definition: &str, number: u64) -> Option<GivenName> {
    let tail = name.strip_prefix(definition)?.strip_prefix("-v")?;
    (tail != number.to_string()).then(|| tail.parse().ok()).flatten()
}
