//! One resource at one version.

use std::borrow::Cow;
use std::sync::Arc;

use cambium_builtin::{Resource, Strategy, Subresource};
use cambium_schema::Schema;
use serde_json::Value;

use crate::crd::{Definition, Version};
use crate::store::Entry;

/// One resource at one version: what the verbs need to know of it.
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
    /// Which bucket of the store holds its objects.
    pub(crate) bucket: Arc<str>,
    /// The `apiVersion` in which its objects are stored.
    pub(crate) stored_as: Arc<str>,
    /// Whether `status` is written apart from the rest.
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) origin: Origin,
}

/// Where a resource comes from.
pub(crate) enum Origin {
    /// It is always there.
    Builtin(&'static Resource),
    /// A CRD defines it; the number is its place in `versions`.
    Custom(Arc<Definition>, usize),
}

/// Where the `scale` subresource finds its numbers; dotted paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: Cow<'static, str>,
    pub(crate) status_replicas: Cow<'static, str>,
    pub(crate) selector: Cow<'static, str>,
}

impl Served {
    /// The CRD behind it, and which of its versions this is.
    pub(crate) fn custom(&self) -> Option<(&Arc<Definition>, &Version)> {
        match &self.origin {
            Origin::Custom(definition, index) => Some((definition, &definition.versions[*index])),
            Origin::Builtin(_) => None,
        }
    }

    /// The shape of its objects.
    pub(crate) fn schema(&self) -> &Schema {
        match &self.origin {
            Origin::Builtin(row) => row.schema,
            Origin::Custom(definition, index) => definition.versions[*index].pipeline.schema(),
        }
    }

    /// How its objects are treated, where kinds differ.
    pub(crate) fn strategy(&self) -> &'static Strategy {
        match &self.origin {
            Origin::Builtin(row) => &row.strategy,
            Origin::Custom(..) => &Strategy::CUSTOM,
        }
    }

    /// The verbs it has, as discovery lists them (CRDs in an order of their own).
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

    /// Whether its objects are kept at all, and not only asked about.
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

    /// Whether there is a subresource of this name.
    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        match name {
            "status" => self.status,
            "scale" => self.scale.is_some(),
            _ => self
                .other_subresources()
                .any(|row| matches!(row, Subresource::Other { name: other, .. } if *other == name)),
        }
    }

    /// Whether a field selector may name this path.
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

    /// Why objects cannot be selected by this field, if they cannot.
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

    /// Whether a stored object can be sent as it is: the same version, and nothing to default or prune.
    pub(crate) fn is_sent_as_stored(&self, entry: &Entry) -> bool {
        match &self.origin {
            Origin::Builtin(_) => entry.api_version == self.api_version,
            Origin::Custom(definition, _) => {
                entry.api_version == self.api_version && entry.revision > definition.since
            }
        }
    }

    /// Fills in what was left out.
    pub(crate) fn default(&self, object: &mut Value) {
        match &self.origin {
            Origin::Builtin(row) => cambium_builtin::default(row, object),
            Origin::Custom(definition, index) => definition.versions[*index].pipeline.default(object),
        }
    }

    /// What discovery hashes: `group/version/kind` in which objects are stored.
    pub(crate) fn storage_hash_input(&self) -> String {
        let core = if self.stored_as.contains('/') { "" } else { "/" };
        format!("{core}{}/{}", self.stored_as, self.kind)
    }

    /// A warning that every answer carries.
    pub(crate) fn deprecation_warning(&self) -> Option<&str> {
        self.custom().and_then(|(_, version)| version.warning.as_deref())
    }
}
