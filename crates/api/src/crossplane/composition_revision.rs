//! What a composition was.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CompositionSpec, Mode, TypeReference, composition};
use crate::Tree;

/// The field that a revision has and a composition has not.
const REVISION: &str = "revision";

/// An immutable snapshot of a composition's spec, beside its number in the lineage.
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

    /// Its number in the lineage. The highest is current.
    pub fn revision(&self) -> Option<i64> {
        self.0.get(REVISION).and_then(Value::as_i64)
    }

    /// What it snapshots: everything but the number.
    pub fn composition(&self) -> CompositionSpec {
        let mut tree = self.0.clone();
        tree.remove(REVISION);
        CompositionSpec(tree)
    }

    /// The kind that it is for; none where it is not named in full, which the schema does not let pass.
    pub fn composite_type(&self) -> Option<TypeReference> {
        composition::composite_type(&self.0)
    }

    /// How it composes. `None` for a mode that does not exist.
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

/// Whether a revision can be used, and who uses it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompositionRevisionStatus {
    /// `Intact`: it holds what was published. `ValidPipeline`: the steps of its pipeline can be run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::conditions")]
    pub conditions: Vec<Condition>,
    /// Whether it is what the Composition says now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<bool>,
    /// How many composite resources and claims name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<i64>,
    /// The first few of those who use it, in one line, for a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use_by: Option<String>,
    /// Since when nothing keeps it, as a timestamp. It is deleted if it stays unused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_since: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
