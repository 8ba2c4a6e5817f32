//! The types of what conditions see.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::declare::{Declared, Object};
use crate::program::Declarations;
use crate::types::Type;

/// The variables of conditions, in the order in which they are given.
pub(super) fn declarations() -> &'static Declarations {
    static DECLARATIONS: LazyLock<Declarations> = LazyLock::new(|| {
        Declarations::new()
            .with_dynamic("object")
            .with_dynamic("oldObject")
            .with("request", request(), None)
            .with("namespaceObject", namespace(), None)
            .with(
                "authorizer",
                Type::Named("kubernetes.authorization.Authorizer"),
                None,
            )
            .with(
                "authorizer.requestResource",
                Type::Named("kubernetes.authorization.ResourceCheck"),
                None,
            )
    });
    &DECLARATIONS
}

fn object(name: &str, fields: impl IntoIterator<Item = (&'static str, Type)>) -> Type {
    let fields: BTreeMap<String, Declared> = fields
        .into_iter()
        .map(|(name, ty)| (name.to_owned(), Declared::of(ty)))
        .collect();
    Type::Object(Arc::new(Object {
        name: name.to_owned(),
        fields,
    }))
}

fn texts(names: &[&'static str]) -> Vec<(&'static str, Type)> {
    names.iter().map(|name| (*name, Type::String)).collect()
}

fn request() -> Type {
    let kind = object(
        "kubernetes.GroupVersionKind",
        texts(&["group", "version", "kind"]),
    );
    let resource = object(
        "kubernetes.GroupVersionResource",
        texts(&["group", "version", "resource"]),
    );
    let strings = Type::list(Type::String);
    let user = object(
        "kubernetes.UserInfo",
        [
            ("username", Type::String),
            ("uid", Type::String),
            ("groups", strings.clone()),
            ("extra", Type::map(Type::String, strings)),
        ],
    );
    object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", Type::String),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", Type::String),
            ("name", Type::String),
            ("namespace", Type::String),
            ("operation", Type::String),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

fn namespace() -> Type {
    let strings = Type::map(Type::String, Type::String);
    let metadata = object(
        "kubernetes.NamespaceMetadata",
        [
            ("name", Type::String),
            ("generateName", Type::String),
            ("namespace", Type::String),
            ("labels", strings.clone()),
            ("annotations", strings),
            ("UID", Type::String),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", Type::String),
            ("finalizers", Type::list(Type::String)),
        ],
    );
    let mut condition = texts(&["status", "type", "message", "reason"]);
    condition.push(("lastTransitionTime", Type::Timestamp));
    let condition = object("kubernetes.NamespaceCondition", condition);
    object(
        "kubernetes.Namespace",
        [
            ("metadata", metadata),
            (
                "spec",
                object(
                    "kubernetes.NamespaceSpec",
                    [("finalizers", Type::list(Type::String))],
                ),
            ),
            (
                "status",
                object(
                    "kubernetes.NamespaceStatus",
                    [("conditions", Type::list(condition)), ("phase", Type::String)],
                ),
            ),
        ],
    )
}
