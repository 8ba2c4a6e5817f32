//! Composition: templates or functions that compose resources for a composite resource.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::TypeReference;
use crate::{Revision, Tree};

/// How a composite resource is composed, as a JSON tree.
///
/// Nothing is taken away or filled in: it is what revisions snapshot, and what their digest is of.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize)]
#[kube(
    group = "apiextensions.crossplane.io",
    version = "v1",
    kind = "Composition",
    doc = "How composite resources of one kind are composed of other resources. Every change becomes a CompositionRevision.",
    status = "CompositionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "crossplane",
    shortname = "comp"
)]
#[serde(transparent)]
pub struct CompositionSpec(pub Tree);

/// The mode of a composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// By patching the templates in `resources`.
    Resources,
    /// By calling the functions in `pipeline`, one after another.
    Pipeline,
}

impl CompositionSpec {
    /// The kind that it composes for; none if it is incomplete, which the schema does not allow.
    pub fn composite_type(&self) -> Option<TypeReference> {
        composite_type(&self.0)
    }

    /// The mode. `None` for an unknown mode.
    pub fn mode(&self) -> Option<Mode> {
        mode(&self.0)
    }
}

impl JsonSchema for CompositionSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CompositionSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        super::composition_schema::composition()
    }
}

pub(super) fn composite_type(spec: &Tree) -> Option<TypeReference> {
    let reference = spec.get("compositeTypeRef")?;
    Some(TypeReference {
        api_version: reference.get("apiVersion")?.as_str()?.to_owned(),
        kind: reference.get("kind")?.as_str()?.to_owned(),
    })
}

/// Crossplane 1.x takes `Resources` where nothing is said, 2.x takes `Pipeline`: what is there tells which was meant.
pub(super) fn mode(spec: &Tree) -> Option<Mode> {
    match spec.get("mode").and_then(serde_json::Value::as_str) {
        Some("Resources") => Some(Mode::Resources),
        Some("Pipeline") => Some(Mode::Pipeline),
        Some(_) => None,
        None if spec.contains_key("pipeline") && !spec.contains_key("resources") => Some(Mode::Pipeline),
        None => Some(Mode::Resources),
    }
}

/// The observed state of a Composition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompositionStatus {
    /// The generation that the status was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`: the current revision holds the current spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::conditions")]
    pub conditions: Vec<Condition>,
    /// The current revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_revision: Option<Revision>,
    /// The highest revision number ever issued. Numbers are never reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_water_mark: Option<i64>,
    /// The number of composite resources that use any of its revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<i64>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
