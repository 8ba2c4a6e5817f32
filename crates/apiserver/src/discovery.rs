//! What there is: the lists that clients read first, plain and aggregated.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use cambium_builtin::Subresource;
use http::StatusCode;
use http::header::{ETAG, HeaderValue, VARY};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::registry::{Registry, Served};
use crate::status::{Result, Status};
use crate::wire::{Body, Encoding, Response, alternatives, bytes_response, text_response, value_response};

/// Serves `/api`, `/apis`, and the lists below them.
pub(crate) fn serve(registry: &Registry, path: &str, accept: &str) -> Result<Response> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let plain = |value: Value| Ok(value_response(StatusCode::OK, Encoding::Json, &value));
    match parts.as_slice() {
        [] => plain(root(registry)),
        ["api"] | ["apis"] => match aggregated(accept)? {
            Some(version) => Ok(aggregate(registry, parts[0], version)),
            None if parts[0] == "api" => plain(core_versions()),
            None => plain(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(registry)})),
        },
        ["apis", group] => {
            let found = groups(registry)
                .into_iter()
                .find(|one| one["name"] == json!(group));
            let mut found = found.ok_or_else(Status::no_such_path)?;
            found["kind"] = json!("APIGroup");
            found["apiVersion"] = json!("v1");
            plain(found)
        }
        ["api", version] => plain(resources(registry, "", version)?),
        ["apis", group, version] => plain(resources(registry, group, version)?),
        _ => Ok(text_response(StatusCode::NOT_FOUND, "404 page not found\n")),
    }
}

fn root(registry: &Registry) -> Value {
    let mut paths = vec![
        "/api".to_owned(),
        "/api/v1".to_owned(),
        "/apis".to_owned(),
        "/apis/".to_owned(),
    ];
    for served in registry.all().filter(|served| !served.group.is_empty()) {
        paths.push(format!("/apis/{}", served.group));
        paths.push(format!("/apis/{}", served.api_version));
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
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

/// The versions of each group, preferred first.
fn versions(registry: &Registry) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
    let mut map: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
    for served in registry.all() {
        let list = map.entry(served.group.clone()).or_default();
        if !list.contains(&served.version) {
            list.push(served.version.clone());
        }
    }
    for list in map.values_mut() {
        list.sort_by_key(|version| std::cmp::Reverse(priority(version)));
    }
    map
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

fn groups(registry: &Registry) -> Vec<Value> {
    let mut list = Vec::new();
    for (group, versions) in versions(registry)
        .into_iter()
        .filter(|(group, _)| !group.is_empty())
    {
        let version =
            |version: &Arc<str>| json!({"groupVersion": format!("{group}/{version}"), "version": version});
        list.push(json!({
            "name": group,
            "versions": versions.iter().map(version).collect::<Vec<_>>(),
            "preferredVersion": version(&versions[0]),
        }));
    }
    list
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

struct Sub {
    name: &'static str,
    group: String,
    /// Empty when the kind is of the resource's own group and version.
    version: String,
    kind: String,
    verbs: Vec<&'static str>,
}

fn subresources(served: &Served) -> Vec<Sub> {
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

/// Which aggregated form the client prefers to the plain one, if any; 406 when nothing fits.
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

fn aggregate(registry: &Registry, root: &str, api: &str) -> Response {
    let core = root == "api";
    let mut items = Vec::new();
    for (group, versions) in versions(registry)
        .into_iter()
        .filter(|(group, _)| group.is_empty() == core)
    {
        let version = |version: &Arc<str>| {
            let resources: Vec<Value> = registry
                .of_version(&group, version)
                .map(|served| aggregated_resource(served))
                .collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        };
        let metadata = if core { json!({}) } else { json!({"name": group}) };
        items.push(
            json!({"metadata": metadata, "versions": versions.iter().map(version).collect::<Vec<_>>()}),
        );
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
