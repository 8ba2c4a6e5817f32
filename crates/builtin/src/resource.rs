//! The table of built-in resources.

use cambium_schema::Schema;
use serde_json::Value;

use crate::strategy::Strategy;

/// One resource at one version: discovery, schema, printing and strategy.
#[derive(Debug)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The API version.
    pub version: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// The plural name, as in URLs.
    pub plural: &'static str,
    /// The singular name.
    pub singular: &'static str,
    /// Short names.
    pub short_names: &'static [&'static str],
    /// Categories such as `all`.
    pub categories: &'static [&'static str],
    /// The scope of objects.
    pub scope: Scope,
    /// The supported verbs.
    pub verbs: Verbs,
    /// The schema of its objects.
    pub schema: &'static Schema,
    /// Its subresources, `status` included.
    pub subresources: &'static [Subresource],
    /// The printer columns, for which `cells` computes the values.
    pub columns: &'static [Column],
    /// The cells of one object's row; `now` is needed for ages.
    pub cells: fn(object: &Value, now: jiff::Timestamp) -> Vec<Value>,
    /// Field selectors beyond `metadata.name` and `metadata.namespace`, as dotted paths.
    pub selectable_fields: &'static [&'static str],
    /// The `(group, version)` in which objects are stored, when it is not this row's own
    /// (core Events and `events.k8s.io` Events are the same objects).
    pub stored_as: Option<(&'static str, &'static str)>,
    /// The strategy of the REST layer and admission.
    pub strategy: Strategy,
}

/// The scope of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Namespaced.
    Namespaced,
    /// Cluster-scoped.
    Cluster,
}

/// The verbs of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbs {
    /// All of them: the object is stored.
    Stored,
    /// All but `deletecollection` (`Namespace`).
    StoredWithoutDeleteCollection,
    /// Only `create`: a review that is answered at once (`SelfSubjectAccessReview`).
    CreateOnly,
}

impl Verbs {
    /// The verbs as discovery lists them.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Stored => &[
                "create",
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "update",
                "watch",
            ],
            Self::StoredWithoutDeleteCollection => {
                &["create", "delete", "get", "list", "patch", "update", "watch"]
            }
            Self::CreateOnly => &["create"],
        }
    }
}

/// A subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subresource {
    /// `status`.
    Status,
    /// `scale`: an `autoscaling/v1` Scale; JSON paths as in a CRD.
    Scale {
        /// The path of the desired replicas.
        spec_replicas: &'static str,
        /// The path of the actual replicas.
        status_replicas: &'static str,
        /// The path of the label selector (an object for built-in kinds); empty when there is none.
        selector: &'static str,
    },
    /// Any other, by name and body kind (`pods/eviction`, `serviceaccounts/token`, `namespaces/finalize`).
    Other {
        /// The last segment of the URL.
        name: &'static str,
        /// `(group, version, kind)` of the body.
        kind: (&'static str, &'static str, &'static str),
        /// Verbs in discovery.
        verbs: &'static [&'static str],
    },
}

/// A printer column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The name of the column.
    pub name: &'static str,
    /// The OpenAPI type of the cells.
    pub kind: &'static str,
    /// The OpenAPI format; `name` marks the primary column.
    pub format: &'static str,
    /// The description of the column.
    pub description: &'static str,
    /// 0 is always shown; above 0 only with `-o wide`.
    pub priority: i32,
}
