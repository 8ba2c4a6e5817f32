//! A compiled CRD: pipeline, printer columns and served resources of each version.

use std::sync::Arc;

use cambium_pipeline::{FieldPath, Judgement, Pipeline};
use serde_json::{Value, json};

use super::columns::{self, Column};
use crate::blocking::{self, Effort};
use crate::object;
use crate::registry::{Origin, ScalePaths, Served};

/// A compiled CustomResourceDefinition.
pub(crate) struct Definition {
    /// The CRD's name: `plural.group`.
    pub(crate) name: String,
    pub(crate) group: String,
    /// Objects written after this revision were pruned and defaulted with the current schemas.
    pub(crate) since: u64,
    pub(crate) versions: Vec<Version>,
    /// Whether it is terminating and refuses new objects.
    pub(crate) terminating: bool,
    /// The stored CRD.
    pub(crate) raw: Value,
}

/// One version of a CRD.
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    /// The schema, CEL rules, pruning and defaulting of its objects.
    pub(crate) pipeline: Pipeline,
    /// The schema as written, for OpenAPI.
    pub(crate) raw_schema: Value,
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) selectable_fields: Vec<String>,
    /// The deprecation warning.
    pub(crate) warning: Option<String>,
    columns: Vec<Column>,
}

impl Definition {
    /// Compiles a CRD that has passed validation; `None` when its schema is not structural.
    pub(crate) fn compile(crd: &Value, since: u64) -> Option<Self> {
        let text = |value: &Value, path: &str| {
            object::at(value, path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let group = text(crd, "spec.group");
        let kind = text(crd, "spec.names.kind");
        let versions = object::at(crd, "spec.versions")?.as_array()?;
        let versions = versions
            .iter()
            .map(|version| Version::compile(version, &group, &kind))
            .collect::<Option<_>>()?;
        Some(Self {
            name: object::name(crd).to_owned(),
            group,
            since,
            versions,
            terminating: false,
            raw: crd.clone(),
        })
    }

    /// The resources that it defines.
    pub(crate) fn served(self: &Arc<Self>) -> Vec<Served> {
        let names = self.raw.pointer("/spec/names").cloned().unwrap_or_default();
        let text = |field: &str| names.get(field).and_then(Value::as_str).unwrap_or_default();
        let list = |field: &str| -> Vec<String> {
            let items = names.get(field).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let namespaced = self.raw.pointer("/spec/scope").and_then(Value::as_str) == Some("Namespaced");
        let of = |(index, version): (usize, &Version)| Served {
            group: self.group.as_str().into(),
            version: version.name.as_str().into(),
            kind: text("kind").into(),
            list_kind: text("listKind").into(),
            plural: text("plural").into(),
            singular: text("singular").into(),
            short_names: list("shortNames"),
            categories: list("categories"),
            namespaced,
            api_version: format!("{}/{}", self.group, version.name).into(),
            bucket: format!("{}/{}", self.group, text("plural")).into(),
            stored_as: format!("{}/{}", self.group, self.storage_version()).into(),
            status: version.status,
            scale: version.scale.clone(),
            origin: Origin::Custom(self.clone(), index),
        };
        self.versions
            .iter()
            .enumerate()
            .filter(|(_, version)| version.served)
            .map(of)
            .collect()
    }

    /// The storage version.
    pub(crate) fn storage_version(&self) -> &str {
        self.versions
            .iter()
            .find(|version| version.storage)
            .map_or("", |version| &version.name)
    }

    /// Prunes and defaults a stored object with the current schema of the version it was stored at.
    pub(crate) fn normalise_stored(&self, object: &mut Value) {
        let stored = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let name = stored.rsplit('/').next().unwrap_or_default();
        if let Some(version) = self.versions.iter().find(|version| version.name == name) {
            version.pipeline.read(object);
        }
    }

    /// Whether conversion calls a webhook.
    pub(crate) fn converts_by_webhook(&self) -> bool {
        self.raw
            .pointer("/spec/conversion/strategy")
            .and_then(Value::as_str)
            == Some("Webhook")
    }
}

impl Version {
    fn compile(version: &Value, group: &str, kind: &str) -> Option<Self> {
        let text = |path: &str| {
            object::at(version, path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let flag = |path: &str| {
            object::at(version, path)
                .and_then(Value::as_bool)
                .unwrap_or_default()
        };
        let raw_schema = object::at(version, "schema.openAPIV3Schema")
            .cloned()
            .unwrap_or_else(|| json!({"type": "object"}));
        let path = FieldPath::new("spec.validation.openAPIV3Schema");
        let pipeline = Pipeline::compile(&raw_schema, &path).ok()?;
        let name = text("name");
        let warning = flag("deprecated").then(|| {
            let own = text("deprecationWarning");
            if own.is_empty() {
                format!("{group}/{name} {kind} is deprecated")
            } else {
                own
            }
        });
        let plain = |path: &str| text(path).trim_start_matches('.').to_owned();
        let scale = object::at(version, "subresources.scale").map(|_| ScalePaths {
            spec_replicas: plain("subresources.scale.specReplicasPath").into(),
            status_replicas: plain("subresources.scale.statusReplicasPath").into(),
            selector: plain("subresources.scale.labelSelectorPath").into(),
        });
        let list = |path: &str| {
            object::at(version, path)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let selectable = list("selectableFields").into_iter();
        Some(Self {
            served: flag("served"),
            storage: flag("storage"),
            pipeline,
            raw_schema,
            status: object::at(version, "subresources.status").is_some(),
            scale,
            selectable_fields: selectable
                .filter_map(|field| {
                    Some(
                        field
                            .get("jsonPath")?
                            .as_str()?
                            .trim_start_matches('.')
                            .to_owned(),
                    )
                })
                .collect(),
            warning,
            columns: columns::compile(&list("additionalPrinterColumns")),
            name,
        })
    }

    /// Validates an object, with ratcheting against `old`.
    pub(crate) fn validate(&self, new: &Value, old: Option<&Value>) -> Judgement {
        let effort = match self.pipeline.may_take_long() {
            true => Effort::Much,
            false => Effort::BySize,
        };
        blocking::evaluate(effort, &[Some(new), old], || self.pipeline.validate(new, old))
    }

    /// The `columnDefinitions` of its Table.
    pub(crate) fn column_definitions(&self) -> Vec<Value> {
        columns::definitions(&self.columns)
    }

    /// The cells of one row.
    pub(crate) fn cells(&self, value: &Value, now: jiff::Timestamp) -> Vec<Value> {
        columns::cells(&self.columns, value, now)
    }
}
