//! Discovery: `/api`, `/apis` and the resource lists, plain and aggregated.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use cambium_builtin::Subresource;
use http::StatusCode;
use http::header::{ETAG, HeaderValue, VARY};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::aggregation::{self, Priority, Remote};
use crate::registry::{Registry, Served};
use crate::server::Server;
use crate::status::{Result, Status};
use crate::wire::{Body, Encoding, Response, alternatives, bytes_response, text_response, value_response};

/// Serves `/api`, `/apis`, and the lists below them.
pub(crate) fn serve(server: &Server, path: &str, accept: &str) -> Result<Response> {
    let registry = &server.announced();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let plain = |value: Value| Ok(value_response(StatusCode::OK, Encoding::Json, &value));
    match parts.as_slice() {
        [] => plain(root(&groups(server))),
        ["api"] | ["apis"] => match aggregated(accept)? {
            Some(version) => Ok(aggregate(server, parts[0], version)),
            None if parts[0] == "api" => plain(core_versions()),
            None => {
                let groups = groups(server);
                let named = groups.iter().filter(|group| !group.name.is_empty());
                let groups: Vec<Value> = named.map(Group::to_json).collect();
                plain(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
            }
        },
        ["apis", name] => {
            let groups = groups(server);
            let found = groups.iter().find(|group| group.name == *name);
            let mut found = found.ok_or_else(Status::no_such_path)?.to_json();
            found["kind"] = json!("APIGroup");
            found["apiVersion"] = json!("v1");
            plain(found)
        }
        ["api", version] => plain(resources(registry, "", version)?),
        ["apis", group, version] => plain(resources(registry, group, version)?),
        _ => Ok(text_response(StatusCode::NOT_FOUND, "404 page not found\n")),
    }
}

/// An API group, and which server answers each of its versions.
struct Group {
    name: String,
    /// Preferred first.
    versions: Vec<(String, Answering)>,
}

enum Answering {
    Here,
    Backend(Arc<Remote>),
}

impl Group {
    fn to_json(&self) -> Value {
        let group = &self.name;
        let version = |(version, _): &(String, Answering)| json!({"groupVersion": format!("{group}/{version}"), "version": version});
        json!({
            "name": group,
            "versions": self.versions.iter().map(version).collect::<Vec<_>>(),
            "preferredVersion": self.versions.first().map(version),
        })
    }
}

/// All groups, by `groupPriorityMinimum`.
fn groups(server: &Server) -> Vec<Group> {
    let mut versions: BTreeMap<String, BTreeMap<String, (Priority, Answering)>> = BTreeMap::new();
    for served in server.announced().all() {
        let group = versions.entry(served.group.to_string()).or_default();
        let own = || {
            let priority = aggregation::priority_of(&served.group, &served.version);
            (priority, Answering::Here)
        };
        group.entry(served.version.to_string()).or_insert_with(own);
    }
    for remote in server.aggregation.remotes().iter() {
        let group = versions.entry(remote.group.clone()).or_default();
        let answering = Answering::Backend(remote.clone());
        group.insert(remote.version.clone(), (remote.priority, answering));
    }
    let mut groups: Vec<(i64, Group)> = versions
        .into_iter()
        .map(|(name, versions)| {
            let minimum = versions.values().map(|(priority, _)| priority.group).max();
            let mut versions: Vec<_> = versions.into_iter().collect();
            versions.sort_by_key(|(version, (priority, _))| {
                aggregation::version_order(version, priority.version)
            });
            let answering = |(version, (_, answering))| (version, answering);
            let versions = versions.into_iter().map(answering).collect();
            (minimum.unwrap_or_default(), Group { name, versions })
        })
        .collect();
    groups.sort_by_cached_key(|(minimum, group)| aggregation::order(&group.name, *minimum));
    groups.into_iter().map(|(_, group)| group).collect()
}

fn root(groups: &[Group]) -> Value {
    let mut paths = vec![
        "/api".to_owned(),
        "/api/v1".to_owned(),
        "/apis".to_owned(),
        "/apis/".to_owned(),
    ];
    for group in groups.iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        let versions = group.versions.iter();
        paths.extend(versions.map(|(version, _)| format!("/apis/{}/{version}", group.name)));
    }
    let others = [
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ];
    paths.extend(others.map(str::to_owned));
    paths.sort();
    paths.dedup();
    json!({"paths": paths})
}

fn core_versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
    })
}

/// Kubernetes' order of versions: v10 > v2 > v1 > v2beta1 > v1alpha1 > anything else.
pub(crate) fn priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, stage) = (rest[..end].parse::<u64>().ok()?, &rest[end..]);
        match stage {
            "" => Some((3, major, 0)),
            _ => {
                let (level, number) = match (stage.strip_prefix("beta"), stage.strip_prefix("alpha")) {
                    (Some(number), _) => (2, number),
                    (_, Some(number)) => (1, number),
                    _ => return None,
                };
                Some((level, major, number.parse::<u64>().ok()?))
            }
        }
    };
    let (level, major, minor) = parse().unwrap_or((0, 0, 0));
    (level, major, minor, std::cmp::Reverse(version.to_owned()))
}

fn resources(registry: &Registry, group: &str, version: &str) -> Result<Value> {
    let mut list = Vec::new();
    for served in registry.of_version(group, version) {
        let mut entry = json!({
            "name": served.plural, "singularName": served.singular, "namespaced": served.namespaced,
            "kind": served.kind, "verbs": served.verbs(),
        });
        add_names(&mut entry, served);
        if served.is_stored() {
            entry["storageVersionHash"] = json!(storage_hash(served));
        }
        list.push(entry);
        for sub in subresources(served) {
            let mut entry = json!({
                "name": format!("{}/{}", served.plural, sub.name), "singularName": "",
                "namespaced": served.namespaced, "kind": sub.kind, "verbs": sub.verbs,
            });
            if !sub.version.is_empty() {
                entry["group"] = json!(sub.group);
                entry["version"] = json!(sub.version);
            }
            list.push(entry);
        }
    }
    if list.is_empty() {
        return Err(Status::no_such_path());
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut answer = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": list});
    if !group.is_empty() {
        answer["apiVersion"] = json!("v1");
    }
    Ok(answer)
}

fn add_names(entry: &mut Value, served: &Served) {
    if !served.short_names.is_empty() {
        entry["shortNames"] = json!(served.short_names);
    }
    if !served.categories.is_empty() {
        entry["categories"] = json!(served.categories);
    }
}

/// A subresource as discovery lists it.
pub(crate) struct Sub {
    pub(crate) name: &'static str,
    pub(crate) group: String,
    /// Empty when the kind is of the resource's own group and version.
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<&'static str>,
}

/// The subresources of a resource, in the order of discovery.
pub(crate) fn subresources(served: &Served) -> Vec<Sub> {
    let mut list = Vec::new();
    for row in served.other_subresources() {
        if let Subresource::Other { name, kind, verbs } = row {
            let own = kind.0 == &*served.group && kind.1 == &*served.version;
            list.push(Sub {
                name,
                group: kind.0.to_owned(),
                version: if own { String::new() } else { kind.1.to_owned() },
                kind: kind.2.to_owned(),
                verbs: verbs.to_vec(),
            });
        }
    }
    let rw = || vec!["get", "patch", "update"];
    let custom = served.custom().is_some();
    let status = |list: &mut Vec<Sub>| {
        let (group, version) = (String::new(), String::new());
        list.push(Sub {
            name: "status",
            group,
            version,
            kind: served.kind.to_string(),
            verbs: rw(),
        });
    };
    // Those of CRDs come in an order of their own.
    if custom && served.status {
        status(&mut list);
    }
    if served.scale.is_some() {
        let (group, version) = ("autoscaling".to_owned(), "v1".to_owned());
        list.push(Sub {
            name: "scale",
            group,
            version,
            kind: "Scale".to_owned(),
            verbs: rw(),
        });
    }
    if !custom {
        if served.status {
            status(&mut list);
        }
        list.sort_by_key(|sub| sub.name);
    }
    list
}

fn storage_hash(served: &Served) -> String {
    let digest = Sha256::digest(served.storage_hash_input().as_bytes());
    base64::engine::general_purpose::STANDARD.encode(&digest[..8])
}

/// The aggregated discovery version that the client accepts, if it prefers one to the plain lists; 406 when nothing matches.
fn aggregated(accept: &str) -> Result<Option<&'static str>> {
    if accept.trim().is_empty() {
        return Ok(None);
    }
    for alternative in alternatives(accept) {
        let json = matches!(alternative.media, "application/json" | "*/*" | "application/*");
        match (
            json,
            alternative.parameter("as"),
            alternative.parameter("g"),
            alternative.parameter("v"),
        ) {
            (true, None, _, _) => return Ok(None),
            (true, Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
                return Ok(Some("v2"));
            }
            (true, Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2beta1")) => {
                return Ok(Some("v2beta1"));
            }
            _ => {}
        }
    }
    Err(Status::not_acceptable(&["application/json", "application/yaml"]))
}

fn aggregate(server: &Server, root: &str, api: &str) -> Response {
    let (core, registry) = (root == "api", server.announced());
    let mut items = Vec::new();
    for group in groups(server)
        .iter()
        .filter(|group| group.name.is_empty() == core)
    {
        let version = |(version, answering): &(String, Answering)| match answering {
            Answering::Here => {
                let resources: Vec<Value> = registry
                    .of_version(&group.name, version)
                    .map(|served| aggregated_resource(served))
                    .collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            }
            Answering::Backend(remote) => server.aggregation.described(remote),
        };
        let metadata = if core {
            json!({})
        } else {
            json!({"name": group.name})
        };
        let versions: Vec<Value> = group.versions.iter().map(version).collect();
        items.push(json!({"metadata": metadata, "versions": versions}));
    }
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{api}"),
        "metadata": {}, "items": items,
    });
    let bytes = serde_json::to_vec(&list).expect("a JSON tree always encodes into memory");
    let digest: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    let media = match api {
        "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    };
    let mut response = bytes_response(StatusCode::OK, media, Body::full(bytes));
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{digest}\"")) {
        headers.insert(ETAG, tag);
    }
    response
}

fn aggregated_resource(served: &Served) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut entry = json!({
        "resource": served.plural,
        "responseKind": kind(&served.group, &served.version, &served.kind),
        "scope": if served.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": served.singular,
        "verbs": served.verbs(),
    });
    add_names(&mut entry, served);
    let subs: Vec<Value> = subresources(served)
        .iter()
        .map(|sub| {
            let own = sub.version.is_empty();
            let (group, version) = if own { (&*served.group, &*served.version) } else { (&*sub.group, &*sub.version) };
            json!({"subresource": sub.name, "responseKind": kind(group, version, &sub.kind), "verbs": sub.verbs})
        })
        .collect();
    if !subs.is_empty() {
        entry["subresources"] = Value::Array(subs);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_as_kubernetes_sorts_them() {
        let mut versions = [
            "v1alpha1",
            "foo",
            "v2",
            "v1beta1",
            "v10",
            "v1",
            "v2beta1",
            "bar",
            "v11alpha2",
        ];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v2beta1",
                "v1beta1",
                "v11alpha2",
                "v1alpha1",
                "bar",
                "foo"
            ]
        );
    }

    #[test]
    fn a_client_gets_the_discovery_it_prefers() {
        let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        assert_eq!(aggregated(&format!("{v2},application/json")), Ok(Some("v2")));
        assert_eq!(aggregated("application/json"), Ok(None));
        assert_eq!(aggregated(&v2.replace("v=v2", "v=v9")).unwrap_err().code, 406);
    }
}
