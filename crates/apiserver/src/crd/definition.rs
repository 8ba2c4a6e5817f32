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
        let (group, kind) = (text_at(crd, "spec.group"), text_at(crd, "spec.names.kind"));
        let versions = object::at(crd, "spec.versions")?.as_array()?;
        let versions = versions
            .iter()
            .map(|version| Version::compile(version, group, kind))
            .collect::<Option<_>>()?;
        Some(Self {
            name: object::name(crd).to_owned(),
            group: group.to_owned(),
            since,
            versions,
            terminating: false,
            raw: crd.clone(),
        })
    }

    /// The resources that it defines.
    pub(crate) fn served(self: &Arc<Self>) -> Vec<Served> {
        let names = self.raw.pointer("/spec/names").unwrap_or(&Value::Null);
        let name = |field: &str| object::text(names, field);
        let list = |field: &str| -> Vec<String> {
            let items = object::items(names, field).iter();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let served = |(index, version): (usize, &Version)| Served {
            group: self.group.as_str().into(),
            version: version.name.as_str().into(),
            kind: name("kind").into(),
            list_kind: name("listKind").into(),
            plural: name("plural").into(),
            singular: name("singular").into(),
            short_names: list("shortNames"),
            categories: list("categories"),
            namespaced: text_at(&self.raw, "spec.scope") == "Namespaced",
            api_version: format!("{}/{}", self.group, version.name).into(),
            bucket: format!("{}/{}", self.group, name("plural")).into(),
            stored_as: format!("{}/{}", self.group, self.storage_version()).into(),
            status: version.status,
            scale: version.scale.clone(),
            origin: Origin::Custom(self.clone(), index),
        };
        self.versions
            .iter()
            .enumerate()
            .filter(|(_, version)| version.served)
            .map(served)
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
        let stored = object::text(object, "apiVersion");
        let name = stored.rsplit('/').next().unwrap_or_default();
        if let Some(version) = self.versions.iter().find(|version| version.name == name) {
            version.pipeline.read(object);
        }
    }

    /// Whether conversion calls a webhook.
    pub(crate) fn converts_by_webhook(&self) -> bool {
        text_at(&self.raw, "spec.conversion.strategy") == "Webhook"
    }
}

impl Version {
    fn compile(version: &Value, group: &str, kind: &str) -> Option<Self> {
        let flag = |field: &str| version[field].as_bool().unwrap_or_default();
        let raw_schema = object::at(version, "schema.openAPIV3Schema")
            .cloned()
            .unwrap_or_else(|| json!({"type": "object"}));
        // The path is only for errors, which validation has reported already.
        let path = FieldPath::new("spec.validation.openAPIV3Schema");
        let pipeline = Pipeline::compile(&raw_schema, &path).ok()?;
        let name = object::text(version, "name").to_owned();
        let warning = flag("deprecated").then(|| match object::text(version, "deprecationWarning") {
            "" => format!("{group}/{name} {kind} is deprecated"),
            warning => warning.to_owned(),
        });
        let scale = object::at(version, "subresources.scale").map(|scale| ScalePaths {
            spec_replicas: dotted_path(scale, "specReplicasPath").into(),
            status_replicas: dotted_path(scale, "statusReplicasPath").into(),
            selector: dotted_path(scale, "labelSelectorPath").into(),
        });
        let selectable_fields = object::items(version, "selectableFields").iter();
        Some(Self {
            served: flag("served"),
            storage: flag("storage"),
            pipeline,
            raw_schema,
            status: object::at(version, "subresources.status").is_some(),
            scale,
            selectable_fields: selectable_fields
                .filter(|field| field["jsonPath"].is_string())
                .map(|field| dotted_path(field, "jsonPath"))
                .collect(),
            warning,
            columns: columns::compile(object::items(version, "additionalPrinterColumns")),
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

/// The string at a dotted path; empty when it is missing.
fn text_at<'v>(value: &'v Value, path: &str) -> &'v str {
    object::at(value, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A JSONPath field as a dotted path without the leading dot.
fn dotted_path(value: &Value, field: &str) -> String {
    object::text(value, field).trim_start_matches('.').to_owned()
}
