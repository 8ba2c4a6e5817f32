//! OpenAPI operations of a resource, by path and method.

use super::schemas::component_name;
use crate::discovery::{Sub, subresources};
use crate::registry::Served;

/// The response type of a deletion.
const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

/// An operation of a resource.
pub(super) struct Operation {
    pub(super) path: String,
    pub(super) method: &'static str,
    /// `x-kubernetes-action`.
    pub(super) action: &'static str,
    /// The unique `operationId`.
    pub(super) id: String,
    /// `x-kubernetes-group-version-kind`.
    pub(super) about: [String; 3],
    /// The type of the request body, if any.
    pub(super) body: Option<String>,
    /// The type of the response; `None` for plain text.
    pub(super) answer: Option<String>,
}

/// All operations of a resource and its subresources, without the deprecated watch paths.
pub(super) fn of(served: &Served) -> Vec<Operation> {
    let root = if served.group.is_empty() { "/api" } else { "/apis" };
    let root = format!("{root}/{}", served.api_version);
    let (place, scope) = match served.namespaced {
        true => ("/namespaces/{namespace}", "Namespaced"),
        false => ("", ""),
    };
    let group_version = group_version(&served.group, &served.version);
    let kind = &served.kind;
    let name = component_name(served);
    let collection = format!("{root}{place}/{}", served.plural);
    let one = format!("{collection}/{{name}}");
    let (list, own) = (Some(format!("{name}List")), Some(name));
    let plain = |path: &str, method, action, id: String, body, answer| Operation {
        path: path.to_owned(),
        method,
        action,
        id,
        about: [&served.group, &served.version, kind].map(ToString::to_string),
        body,
        answer,
    };
    let mut operations = vec![];
    for verb in served.verbs() {
        let id = |word: &str, part: &str| format!("{word}{group_version}{part}{scope}{kind}");
        let status = || Some(STATUS.to_owned());
        let (own, list) = (|| own.clone(), || list.clone());
        operations.push(match *verb {
            "list" => plain(&collection, "get", "list", id("list", ""), None, list()),
            "create" => plain(&collection, "post", "post", id("create", ""), own(), own()),
            "deletecollection" => plain(
                &collection,
                "delete",
                "deletecollection",
                id("delete", "Collection"),
                None,
                status(),
            ),
            "get" => plain(&one, "get", "get", id("read", ""), None, own()),
            "update" => plain(&one, "put", "put", id("replace", ""), own(), own()),
            "patch" => plain(&one, "patch", "patch", id("patch", ""), own(), own()),
            "delete" => plain(&one, "delete", "delete", id("delete", ""), None, status()),
            _ => continue,
        });
        if *verb == "list" && served.namespaced {
            let everywhere = format!("{root}/{}", served.plural);
            let id = format!("list{group_version}{kind}ForAllNamespaces");
            operations.push(plain(&everywhere, "get", "list", id, None, list()));
        }
    }
    for sub in subresources(served) {
        let path = format!("{one}/{}", sub.name);
        let about = about(served, &sub);
        let type_name = type_of(served, &sub);
        for verb in &sub.verbs {
            let (method, action, word) = match *verb {
                "get" => ("get", "get", "read"),
                "create" => ("post", "post", "create"),
                "update" => ("put", "put", "replace"),
                "patch" => ("patch", "patch", "patch"),
                "delete" => ("delete", "delete", "delete"),
                _ => continue,
            };
            let noun = format!("{scope}{kind}{}", camel(sub.name));
            let connects = matches!(sub.name, "attach" | "exec" | "portforward" | "proxy");
            let is_text = connects || sub.name == "log";
            let writes = matches!(method, "put" | "post" | "patch") && !is_text;
            operations.push(Operation {
                path: path.clone(),
                method,
                action: if connects { "connect" } else { action },
                id: match connects {
                    true => format!("connect{group_version}{}{noun}", camel(method)),
                    false => format!("{word}{group_version}{noun}"),
                },
                about: about.clone(),
                body: type_name.clone().filter(|_| writes),
                answer: type_name.clone().filter(|_| !is_text),
            });
        }
    }
    operations
}

/// Group, version and kind of a subresource's body.
fn about(served: &Served, sub: &Sub) -> [String; 3] {
    match sub.version.is_empty() {
        true => [&*served.group, &*served.version, &*sub.kind].map(str::to_owned),
        false => [sub.group.clone(), sub.version.clone(), sub.kind.clone()],
    }
}

/// The body type of a subresource: the resource's own, or another built-in one.
fn type_of(served: &Served, sub: &Sub) -> Option<String> {
    let [group, version, kind] = about(served, sub);
    match *kind == *served.kind {
        true => Some(component_name(served)),
        false => cambium_builtin::kind_schema(&group, &version, &kind).map(|schema| schema.name.to_owned()),
    }
}

/// `RbacAuthorizationV1`, `CoreV1`.
fn group_version(group: &str, version: &str) -> String {
    let group = match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    };
    camel(group) + &camel(version)
}

/// Camel case: other characters than letters and digits are dropped, and the next one is capitalized.
fn camel(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn names_are_upstreams() {
        assert_eq!(group_version("", "v1"), "CoreV1");
        assert_eq!(
            group_version("rbac.authorization.k8s.io", "v1"),
            "RbacAuthorizationV1"
        );
        assert_eq!(
            group_version("my-group.example.com", "v1beta1"),
            "MyGroupExampleComV1beta1"
        );
    }

    #[test]
    fn no_two_operations_have_one_name() {
        let registry = Registry::builtin();
        let operations: Vec<Operation> = registry.all().flat_map(|served| of(served)).collect();
        let ids: BTreeSet<&str> = operations.iter().map(|operation| operation.id.as_str()).collect();
        let places: BTreeSet<(&str, &str)> = operations
            .iter()
            .map(|operation| (operation.path.as_str(), operation.method))
            .collect();
        assert_eq!(ids.len(), operations.len());
        assert_eq!(places.len(), operations.len());
    }
}
