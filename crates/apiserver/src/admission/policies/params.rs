//! Parameters of policies: `paramKind` and the `paramRef` of bindings.

use serde_json::Value;

use crate::convert;
use crate::object::{self, text};
use crate::registry::Served;
use crate::selector::LabelSelector;
use crate::server::Server;

/// `paramKind`.
pub(super) struct ParamKind {
    group: String,
    version: String,
    kind: String,
}

/// `paramRef`.
pub(super) struct ParamRef {
    name: String,
    namespace: String,
    selector: Option<LabelSelector>,
    /// `parameterNotFoundAction: Deny`.
    required: bool,
}

impl ParamKind {
    pub(super) fn read(kind: &Value) -> Self {
        let (group, version) = match text(kind, "apiVersion").split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", text(kind, "apiVersion")),
        };
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text(kind, "kind").to_owned(),
        }
    }

    /// The resource that has this kind.
    pub(super) fn find(&self, server: &Server) -> Result<std::sync::Arc<Served>, String> {
        let registry = server.registry();
        let found = registry.find_kind(&self.group, &self.version, &self.kind);
        found.cloned().ok_or_else(|| {
            let Self { group, version, kind } = self;
            format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'")
        })
    }
}

impl ParamRef {
    pub(super) fn read(reference: &Value) -> Self {
        Self {
            name: text(reference, "name").to_owned(),
            namespace: text(reference, "namespace").to_owned(),
            selector: reference.get("selector").and_then(LabelSelector::from_json),
            required: text(reference, "parameterNotFoundAction") != "Allow",
        }
    }

    /// The parameter objects for a request in this namespace.
    pub(super) async fn collect(
        &self,
        server: &Server,
        resource: &Served,
        request_namespace: &str,
    ) -> Result<Vec<Value>, String> {
        let namespace = match (resource.namespaced, self.namespace.as_str(), request_namespace) {
            (false, "", _) => "",
            (false, ..) => {
                let why = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
                return Err(why.to_owned());
            }
            (true, "", "") => {
                let why =
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
                return Err(why.to_owned());
            }
            (true, "", namespace) | (true, namespace, _) => namespace,
        };
        let bucket = server.store.bucket(&resource.bucket);
        let entries = match (self.name.as_str(), &self.selector) {
            ("", Some(selector)) => {
                let prefix = match namespace {
                    "" => String::new(),
                    namespace => format!("{namespace}/"),
                };
                let mut entries = bucket.list(&prefix).0;
                entries.retain(|entry| selector.matches(|label| entry.label(label)));
                entries
            }
            ("", None) => return Err("one of name or selector must be provided".to_owned()),
            (name, _) => bucket.get(&object::key(namespace, name)).into_iter().collect(),
        };
        if entries.is_empty() && self.required {
            let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
            return Err(why.to_owned());
        }
        convert::read_many(server, resource, &entries)
            .await
            .map_err(|status| status.message)
    }
}
