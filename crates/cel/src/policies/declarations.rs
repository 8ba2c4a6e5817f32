//! Variable declarations of policy expressions.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::check::Vocabulary;
use crate::declare::{Declared, Object};
use crate::program::Declarations;
use crate::types::Type;

/// The number of variable slots. Undeclared variables have no name.
pub(super) const PLACES: usize = 8;

/// The variables of an expression.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// The type of `object` and `oldObject`.
    pub(super) object: Type,
    pub(super) params: Option<Type>,
    pub(super) authorizer: Authorizer,
    /// The types of composited variables; `None` if `variables` is undeclared.
    pub(super) variables: Option<Arc<Object>>,
}

impl Seen {
    /// Whether there is a variable of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        let variables = self.variables.as_ref();
        variables.is_some_and(|variables| variables.fields.contains_key(name))
    }

    /// Declares one more variable.
    pub(super) fn add_variable(&mut self, name: &str, ty: Type) {
        let variables = self.variables.get_or_insert_with(no_variables);
        let fields = &mut Arc::make_mut(variables).fields;
        fields.insert(name.to_owned(), Declared::of(ty));
    }
}

/// `variables`, as long as there are none.
pub(super) fn no_variables() -> Arc<Object> {
    Arc::new(Object {
        name: "kubernetes.variables".to_owned(),
        fields: BTreeMap::new(),
    })
}

/// The authorizer of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Authorizer {
    None,
    /// Without `requestResource`.
    General,
    /// With `requestResource`.
    Full,
}

/// The variables of an expression.
pub(super) fn declarations(seen: &Seen, vocabulary: Vocabulary) -> Declarations {
    static REQUEST: LazyLock<Type> = LazyLock::new(request);
    static NAMESPACE: LazyLock<Type> = LazyLock::new(namespace);
    let visible = |name: &'static str, is_visible: bool| if is_visible { name } else { "" };
    let authorizer = Type::Named("kubernetes.authorization.Authorizer");
    let check = Type::Named("kubernetes.authorization.ResourceCheck");
    let mut declarations = Declarations::new()
        .with("object", seen.object.clone(), None)
        .with("oldObject", seen.object.clone(), None)
        .with("request", REQUEST.clone(), None)
        .with("namespaceObject", NAMESPACE.clone(), None)
        .with(
            visible("params", seen.params.is_some()),
            seen.params.clone().unwrap_or(Type::Dyn),
            None,
        )
        .with(
            visible("authorizer", seen.authorizer != Authorizer::None),
            authorizer,
            None,
        )
        .with(
            visible("authorizer.requestResource", seen.authorizer == Authorizer::Full),
            check,
            None,
        )
        .with(
            visible("variables", seen.variables.is_some()),
            seen.variables.clone().map_or(Type::Dyn, Type::Object),
            None,
        );
    declarations.vocabulary = vocabulary;
    declarations
}

fn object<'n>(name: &str, fields: impl IntoIterator<Item = (&'n str, Type)>) -> Type {
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
