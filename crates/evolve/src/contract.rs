//! A contract: what a CustomResourceDefinition promises, read from its manifest.

use std::sync::Arc;

use cambium_pipeline::{CompileError, Pipeline};
use cambium_schema::Schema;
use serde_json::{Value, json};

/// What a CustomResourceDefinition promises.
#[derive(Debug)]
pub struct Contract {
    /// Its names.
    pub names: Names,
    /// Its versions, as they are written.
    pub versions: Vec<ContractVersion>,
    /// The strategy of conversion: `None` or `Webhook`.
    pub conversion: String,
    /// The versions that objects may be stored at, as the status says.
    pub stored_versions: Vec<String>,
    /// Whether fields that no schema names are kept, as CRDs of `apiextensions.k8s.io/v1beta1` do by default.
    pub preserves_unknown_fields: bool,
}

/// The names of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// The name of the CustomResourceDefinition.
    pub crd: String,
    /// The group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The plural.
    pub plural: String,
    /// The singular.
    pub singular: String,
    /// `Namespaced` or `Cluster`.
    pub scope: String,
    /// The short names.
    pub short_names: Vec<String>,
    /// The categories.
    pub categories: Vec<String>,
}

/// One version of a contract.
#[derive(Debug)]
pub struct ContractVersion {
    /// Its name.
    pub name: String,
    /// Whether the API server answers for it.
    pub served: bool,
    /// Whether objects are stored at it.
    pub storage: bool,
    /// Its schema as it is written, for what no compiled schema has.
    pub(crate) raw_schema: Value,
    /// What else it says, by the name of the field: subresources, columns, selectable fields.
    pub(crate) raw: Value,
    pipeline: Arc<Pipeline>,
}

/// Why a manifest has no contract.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContractError {
    /// It is no CustomResourceDefinition.
    #[error("not a CustomResourceDefinition: apiVersion {api_version:?}, kind {kind:?}")]
    NotACrd {
        /// Its apiVersion.
        api_version: String,
        /// Its kind.
        kind: String,
    },
    /// A field that must be there is not.
    #[error("{path}: a value is required")]
    Missing {
        /// The path of the field.
        path: String,
    },
    /// The schema of a version cannot be used.
    #[error("version {version:?}: {source}")]
    Schema {
        /// The version.
        version: String,
        /// Why.
        source: CompileError,
    },
}

impl Contract {
    /// Reads a CustomResourceDefinition of `apiextensions.k8s.io/v1` or `v1beta1`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn of_crd(manifest: &Value) -> Result<Self, Vec<ContractError>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&manifest["apiVersion"]);
        let kind = text(&manifest["kind"]);
        let manifest = match (api_version.as_str(), kind.as_str()) {
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => manifest.clone(),
            ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition") => as_v1(manifest.clone()),
            _ => return Err(vec![ContractError::NotACrd { api_version, kind }]),
        };
        let spec = &manifest["spec"];
        let mut errors = Vec::new();
        for path in ["/spec/group", "/spec/names/kind", "/spec/names/plural"] {
            if manifest
                .pointer(path)
                .and_then(Value::as_str)
                .is_none_or(str::is_empty)
            {
                let path = path.trim_start_matches('/').replace('/', ".");
                errors.push(ContractError::Missing { path });
            }
        }
        let entries = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
        if entries.is_empty() {
            let path = "spec.versions".to_owned();
            errors.push(ContractError::Missing { path });
        }
        let mut versions = Vec::new();
        for entry in entries {
            let version = text(&entry["name"]);
            match Pipeline::of_version(&manifest, &version) {
                Ok(pipeline) => versions.push(ContractVersion::of(entry, version, pipeline)),
                Err(source) => errors.push(ContractError::Schema { version, source }),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let list = |value: &Value| {
            let items = value.as_array().into_iter().flatten();
            items.map(text).collect::<Vec<_>>()
        };
        let or = |value: &Value, otherwise: &str| value.as_str().unwrap_or(otherwise).to_owned();
        let names = &spec["names"];
        let kind = text(&names["kind"]);
        Ok(Self {
            names: Names {
                crd: text(&manifest["metadata"]["name"]),
                group: text(&spec["group"]),
                plural: text(&names["plural"]),
                singular: or(&names["singular"], &kind.to_lowercase()),
                kind,
                scope: text(&spec["scope"]),
                short_names: list(&names["shortNames"]),
                categories: list(&names["categories"]),
            },
            versions,
            conversion: or(&spec["conversion"]["strategy"], "None"),
            stored_versions: list(&manifest["status"]["storedVersions"]),
            preserves_unknown_fields: spec["preserveUnknownFields"] == true,
        })
    }

    /// The version of this name.
    pub fn version(&self, name: &str) -> Option<&ContractVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The apiVersion and kind of objects at a version.
    pub(crate) fn type_at(&self, version: &str) -> (String, String) {
        (format!("{}/{version}", self.names.group), self.names.kind.clone())
    }
}

impl ContractVersion {
    fn of(entry: &Value, name: String, pipeline: Pipeline) -> Self {
        let field = |name: &str| entry.get(name).cloned().unwrap_or_default();
        Self {
            name,
            served: entry["served"] == true,
            storage: entry["storage"] == true,
            raw_schema: entry
                .pointer("/schema/openAPIV3Schema")
                .cloned()
                .unwrap_or_default(),
            raw: json!({
                "subresources": field("subresources"),
                "additionalPrinterColumns": field("additionalPrinterColumns"),
                "selectableFields": field("selectableFields"),
            }),
            pipeline: Arc::new(pipeline),
        }
    }

    /// The schema of its objects.
    pub fn schema(&self) -> &Schema {
        self.pipeline.schema()
    }

    /// What the API server does with its objects.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }
}

/// A CustomResourceDefinition of v1beta1 as v1 has it: what it says once for all versions is said in each.
fn as_v1(mut manifest: Value) -> Value {
    let spec = &mut manifest["spec"];
    let (mut schema, mut columns) = (spec["validation"].take(), spec["additionalPrinterColumns"].take());
    let subresources = spec["subresources"].take();
    if let Some(single) = spec["version"].as_str().map(str::to_owned)
        && spec["versions"].as_array().is_none_or(Vec::is_empty)
    {
        spec["versions"] = json!([{"name": single, "served": true, "storage": true}]);
    }
    for entry in spec["versions"].as_array_mut().into_iter().flatten() {
        for (name, shared) in [
            ("schema", &mut schema),
            ("additionalPrinterColumns", &mut columns),
            ("subresources", &mut subresources.clone()),
        ] {
            if entry[name].is_null() && !shared.is_null() {
                entry[name] = shared.clone();
            }
        }
        for column in entry["additionalPrinterColumns"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            let path = column["JSONPath"].take();
            column["jsonPath"] = path;
        }
    }
    if spec["preserveUnknownFields"].is_null() {
        spec["preserveUnknownFields"] = true.into();
    }
    manifest
}
