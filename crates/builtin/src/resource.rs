//! The table of built-in resources.

use cambium_schema::Schema;
use serde_json::Value;

use crate::strategy::Strategy;

/// One resource at one version, as discovery shows it and as the REST layer serves it.
#[derive(Debug)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The API version.
    pub version: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
    /// The name for a person who means one of them.
    pub singular: &'static str,
    /// Abbreviations that kubectl accepts.
    pub short_names: &'static [&'static str],
    /// Groups of resources such as `all`.
    pub categories: &'static [&'static str],
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// Which verbs there are.
    pub verbs: Verbs,
    /// The shape of its objects.
    pub schema: &'static Schema,
    /// Its subresources, `status` included.
    pub subresources: &'static [Subresource],
    /// The columns of its Table, after which `cells` fills the rows.
    pub columns: &'static [Column],
    /// The cells of one object's row; `now` is needed for ages.
    pub cells: fn(object: &Value, now: jiff::Timestamp) -> Vec<Value>,
    /// Field selectors beyond `metadata.name` and `metadata.namespace`, as dotted paths.
    pub selectable_fields: &'static [&'static str],
    /// The `(group, version)` in which objects are stored, when it is not this row's own
    /// (core Events and `events.k8s.io` Events are the same objects).
    pub stored_as: Option<(&'static str, &'static str)>,
    /// How the REST layer treats its objects.
    pub strategy: Strategy,
}

/// Whether objects live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster.
    Cluster,
}

/// Which verbs a resource has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbs {
    /// All of them: the object is stored.
    Stored,
    /// All but deleting a whole collection at once: too much would go with it (`Namespace`).
    StoredWithoutDeleteCollection,
    /// Only create: a question that is answered at once (`SelfSubjectAccessReview`).
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

/// A further endpoint of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subresource {
    /// `status`: the same object, of which only the status is written.
    Status,
    /// `scale`: an `autoscaling/v1` Scale view; JSON paths as a CRD would give them.
    Scale {
        /// Where the wanted number of replicas is.
        spec_replicas: &'static str,
        /// Where the actual number of replicas is.
        status_replicas: &'static str,
        /// Where the label selector is (an object for built-ins); empty when there is none.
        selector: &'static str,
    },
    /// Any other, by name and by the kind it takes (`pods/eviction`, `serviceaccounts/token`, `namespaces/finalize`).
    Other {
        /// The last segment of the URL.
        name: &'static str,
        /// `(group, version, kind)` of the body.
        kind: (&'static str, &'static str, &'static str),
        /// Verbs in discovery.
        verbs: &'static [&'static str],
    },
}

/// One column of a Table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// The OpenAPI type of the cells.
    pub kind: &'static str,
    /// The OpenAPI format; `name` marks the primary column.
    pub format: &'static str,
    /// What the column shows.
    pub description: &'static str,
    /// 0 is always shown; above 0 only with `-o wide`.
    pub priority: i32,
}
