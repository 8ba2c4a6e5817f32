//! CompositionRevision: an immutable snapshot of a composition's spec.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CompositionSpec, Mode, TypeReference, composition};
use crate::Tree;

/// The only field of a revision's spec that a composition's spec does not have.
const REVISION: &str = "revision";

/// An immutable snapshot of a Composition's spec, with its number in the lineage.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize)]
#[kube(
    group = "apiextensions.crossplane.io",
    version = "v1",
    kind = "CompositionRevision",
    doc = "An immutable snapshot of a Composition. What composite resources really use.",
    status = "CompositionRevisionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "crossplane",
    shortname = "comprev"
)]
#[serde(transparent)]
pub struct CompositionRevisionSpec(pub Tree);

impl CompositionRevisionSpec {
    /// The snapshot of a composition, under a number.
    pub fn of(spec: &CompositionSpec, revision: i64) -> Self {
        let mut tree = spec.0.clone();
        tree.insert(REVISION.to_owned(), revision.into());
        Self(tree)
    }

    /// The revision number. The highest one is current.
    pub fn revision(&self) -> Option<i64> {
        self.0.get(REVISION).and_then(Value::as_i64)
    }

    /// The spec of the composition: everything but the number.
    pub fn composition(&self) -> CompositionSpec {
        let mut tree = self.0.clone();
        tree.remove(REVISION);
        CompositionSpec(tree)
    }

    /// The kind that it composes for; none if it is incomplete, which the schema does not allow.
    pub fn composite_type(&self) -> Option<TypeReference> {
        composition::composite_type(&self.0)
    }

    /// The mode. `None` for an unknown mode.
    pub fn mode(&self) -> Option<Mode> {
        composition::mode(&self.0)
    }
}

impl JsonSchema for CompositionRevisionSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CompositionRevisionSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        super::composition_schema::revision()
    }
}

/// The observed state of a CompositionRevision: whether it can be used, and its users.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompositionRevisionStatus {
    /// `Intact`: it holds the published content. `ValidPipeline`: the steps of its pipeline can run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::conditions")]
    pub conditions: Vec<Condition>,
    /// Whether it holds the current spec of the Composition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<bool>,
    /// The number of composite resources and claims that reference it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<i64>,
    /// The first few users in one line, for a printer column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use_by: Option<String>,
    /// The time since when nothing keeps it. It is deleted if it stays unused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_since: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
