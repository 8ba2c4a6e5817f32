//! The verb and resource of a request.

use std::fmt;

use http::Method;

/// The verb of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// GET of one object, or of discovery.
    Get,
    /// GET of a collection.
    List,
    /// A watch.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH, of any kind.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of many.
    DeleteCollection,
}

impl Verb {
    /// Whether it is a write.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        })
    }
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// The verb.
    pub verb: Verb,
    /// The resource with its subresource: `applications/status`. Empty for discovery.
    pub resource: String,
    /// The namespace; empty for cluster-scoped requests and all namespaces.
    pub namespace: String,
    /// The name; empty for collections.
    pub name: String,
    /// The path without the query.
    pub path: String,
}

impl Call {
    /// The verb and resource of a request.
    pub fn of(method: &Method, uri: &http::Uri) -> Self {
        let path = uri.path();
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let mut rest = match parts.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let mut namespace = "";
        // `/api/v1/namespaces/a` is a namespace itself, and so are its `status` and `finalize`.
        if let ["namespaces", within, inner @ ..] = rest
            && !matches!(inner, [] | ["status" | "finalize"])
        {
            (namespace, rest) = (within, inner);
        }
        let (resource, name, subresource) = match rest {
            [] => ("", "", ""),
            [resource] => (*resource, "", ""),
            [resource, name] => (*resource, *name, ""),
            [resource, name, subresource, ..] => (*resource, *name, *subresource),
        };
        let watches = uri.query().is_some_and(|query| {
            query
                .split('&')
                .any(|pair| matches!(pair, "watch=true" | "watch=1"))
        });
        let verb = match (method.as_str(), name) {
            ("POST", _) => Verb::Create,
            ("PUT", _) => Verb::Update,
            ("PATCH", _) => Verb::Patch,
            ("DELETE", "") => Verb::DeleteCollection,
            ("DELETE", _) => Verb::Delete,
            _ if watches => Verb::Watch,
            (_, "") if !resource.is_empty() => Verb::List,
            _ => Verb::Get,
        };
        let resource = match subresource {
            "" => resource.to_owned(),
            subresource => format!("{resource}/{subresource}"),
        };
        Self {
            verb,
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            path: path.to_owned(),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let cases = [
            ("GET", "/api/v1/namespaces/a/pods/b", "get pods a b"),
            ("GET", "/api/v1/namespaces/a/pods?limit=5", "list pods a "),
            ("GET", "/api/v1/pods?resourceVersion=0&watch=true", "watch pods  "),
            ("GET", "/api/v1/namespaces", "list namespaces  "),
            ("GET", "/api/v1/namespaces/a", "get namespaces  a"),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                "update namespaces/finalize  a",
            ),
            ("GET", "/apis/apps/v1", "get   "),
            ("GET", "/version", "get   "),
            (
                "POST",
                "/apis/apps/v1/namespaces/a/deployments",
                "create deployments a ",
            ),
            (
                "PATCH",
                "/apis/g.io/v1/namespaces/a/things/b/status?force=true",
                "patch things/status a b",
            ),
            ("DELETE", "/apis/g.io/v1/things/b", "delete things  b"),
            (
                "DELETE",
                "/apis/g.io/v1/things?labelSelector=a",
                "deletecollection things  ",
            ),
        ];
        for (method, uri, expected) in cases {
            let call = Call::of(
                &method.parse().expect("a method"),
                &uri.parse().expect("an address"),
            );
            let Call {
                verb,
                resource,
                namespace,
                name,
                ..
            } = &call;
            assert_eq!(
                format!("{verb} {resource} {namespace} {name}"),
                expected,
                "{method} {uri}"
            );
        }
    }
}
