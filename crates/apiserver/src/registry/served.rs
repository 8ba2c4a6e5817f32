//! One resource at one version.

use std::borrow::Cow;
use std::sync::Arc;

use cambium_builtin::{Resource, Strategy, Subresource};
use cambium_schema::Schema;
use serde_json::Value;

use crate::crd::{Definition, Version};
use crate::store::Entry;

/// One resource at one version.
pub(crate) struct Served {
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) list_kind: Arc<str>,
    pub(crate) plural: Arc<str>,
    pub(crate) singular: Arc<str>,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// `group/version`, or only the version for the core group.
    pub(crate) api_version: Arc<str>,
    /// The bucket of its objects in the store.
    pub(crate) bucket: Arc<str>,
    /// The `apiVersion` at which its objects are stored.
    pub(crate) stored_as: Arc<str>,
    /// Whether it has the `status` subresource.
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) origin: Origin,
}

/// The origin of a resource.
pub(crate) enum Origin {
    /// Built in.
    Builtin(&'static Resource),
    /// Defined by a CRD; the index into its `versions`.
    Custom(Arc<Definition>, usize),
}

/// Paths of the `scale` subresource, dotted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: Cow<'static, str>,
    pub(crate) status_replicas: Cow<'static, str>,
    pub(crate) selector: Cow<'static, str>,
}

impl Served {
    /// Its CRD and version, if it is custom.
    pub(crate) fn custom(&self) -> Option<(&Arc<Definition>, &Version)> {
        match &self.origin {
            Origin::Custom(definition, index) => Some((definition, &definition.versions[*index])),
            Origin::Builtin(_) => None,
        }
    }

    /// The schema of its objects.
    pub(crate) fn schema(&self) -> &Schema {
        match &self.origin {
            Origin::Builtin(row) => row.schema,
            Origin::Custom(definition, index) => definition.versions[*index].pipeline.schema(),
        }
    }

    /// The strategy of its kind.
    pub(crate) fn strategy(&self) -> &'static Strategy {
        match &self.origin {
            Origin::Builtin(row) => &row.strategy,
            Origin::Custom(..) => &Strategy::CUSTOM,
        }
    }

    /// Its verbs, in the order of discovery (which differs for CRDs).
    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        match &self.origin {
            Origin::Builtin(row) => row.verbs.names(),
            Origin::Custom(..) => &[
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "create",
                "update",
                "watch",
            ],
        }
    }

    /// Whether its objects are stored, and not answered at once like reviews.
    pub(crate) fn is_stored(&self) -> bool {
        self.verbs().contains(&"get")
    }

    /// Subresources other than `status` and `scale`.
    pub(crate) fn other_subresources(&self) -> impl Iterator<Item = &'static Subresource> + use<> {
        let rows: &'static [Subresource] = match &self.origin {
            Origin::Builtin(row) => row.subresources,
            Origin::Custom(..) => &[],
        };
        rows.iter().filter(|row| matches!(row, Subresource::Other { .. }))
    }

    /// Whether it has a subresource of this name.
    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        match name {
            "status" => self.status,
            "scale" => self.scale.is_some(),
            _ => self
                .other_subresources()
                .any(|row| matches!(row, Subresource::Other { name: other, .. } if *other == name)),
        }
    }

    /// Whether field selectors support this path.
    fn is_selectable(&self, path: &str) -> bool {
        if path == "metadata.name" || path == "metadata.namespace" && self.namespaced {
            return true;
        }
        match &self.origin {
            Origin::Builtin(row) => row.selectable_fields.contains(&path),
            Origin::Custom(definition, index) => definition.versions[*index]
                .selectable_fields
                .iter()
                .any(|field| field == path),
        }
    }

    /// The error for a field selector on this path, if it is not supported.
    pub(crate) fn unselectable(&self, path: &str) -> Option<String> {
        if self.is_selectable(path) {
            return None;
        }
        Some(match &self.origin {
            Origin::Builtin(row) if row.selectable_fields.is_empty() => format!(
                "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ),
            _ => format!("field label not supported: {path}"),
        })
    }

    /// Whether the stored bytes can be sent unchanged: same version, and no pending defaulting or pruning.
    pub(crate) fn is_sent_as_stored(&self, entry: &Entry) -> bool {
        match &self.origin {
            Origin::Builtin(_) => entry.api_version == self.api_version,
            Origin::Custom(definition, _) => {
                entry.api_version == self.api_version && entry.revision > definition.since
            }
        }
    }

    /// Sets defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        match &self.origin {
            Origin::Builtin(row) => cambium_builtin::default(row, object),
            Origin::Custom(definition, index) => definition.versions[*index].pipeline.default(object),
        }
    }

    /// The input of `storageVersionHash` in discovery: `group/version/kind` of the storage version.
    pub(crate) fn storage_hash_input(&self) -> String {
        let core = if self.stored_as.contains('/') { "" } else { "/" };
        format!("{core}{}/{}", self.stored_as, self.kind)
    }

    /// The deprecation warning of every response.
    pub(crate) fn deprecation_warning(&self) -> Option<&str> {
        self.custom().and_then(|(_, version)| version.warning.as_deref())
    }
}
