//! Runs the manager with exactly the rights of its ClusterRole, and records the rights that it uses.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use cambium_api::rbac;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::Raw;

/// The user that tests run the manager as.
pub const MANAGER: &str = "cambium-manager";

/// The log of used rights, for the test `rights`.
pub const LOG: &str = "CAMBIUM_RIGHTS_LOG";

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

/// The denied requests of a manager.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refused(Arc<Mutex<Vec<String>>>);

impl Refused {
    pub(crate) fn so_far(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// Grants the manager's user the shipped ClusterRole.
pub async fn grant(raw: &Raw) -> Result<()> {
    for document in rbac::documents(rbac::MANAGER) {
        let mut object: Value = serde_saphyr::from_str(document)?;
        let path = match object["kind"].as_str() {
            Some("ClusterRole") => ROLES,
            Some("ClusterRoleBinding") => {
                object["subjects"] = subjects();
                BINDINGS
            }
            _ => continue,
        };
        apply(raw, path, &object).await?;
    }
    Ok(())
}

/// Grants the manager access to composed resources of a group, as a platform does for its compositions.
pub async fn grant_composing(raw: &Raw, group: &str, resources: &[&str]) -> Result<()> {
    let name = format!("composes-{}", if group.is_empty() { "core" } else { group });
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [{"apiGroups": [group], "resources": resources, "verbs": ["create", "patch", "delete"]}]});
    apply(raw, ROLES, &role).await?;
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}, "subjects": subjects()});
    apply(raw, BINDINGS, &binding).await
}

fn subjects() -> Value {
    json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": MANAGER}])
}

async fn apply(raw: &Raw, path: &str, object: &Value) -> Result<()> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let path = format!("{path}/{name}?fieldManager=test&force=true");
    let answer = raw.patch("apply", &path, object).await?;
    anyhow::ensure!(answer.code < 300, "{answer:?}");
    Ok(())
}

/// Wraps a client to record the rights that its requests use, and those that are denied.
pub(crate) fn watched(client: &Client, refused: &Refused) -> Client {
    let (inner, refused) = (client.clone(), refused.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, refused) = (inner.clone(), refused.clone());
        async move {
            let used = Use::all(&request);
            let answer = inner.send(request).await?;
            record(used, answer, &refused).await
        }
    });
    Client::new(service, client.default_namespace())
}

async fn record(
    mut used: Vec<Use>,
    answer: Response<Body>,
    refused: &Refused,
) -> kube::Result<Response<Body>> {
    if answer.status() == 201 {
        let created: Vec<Use> = used.iter().filter_map(Use::creating).collect();
        used.extend(created);
    }
    for one in &used {
        log_once(&format!("{one}"));
    }
    if answer.status() != 403 {
        return Ok(answer);
    }
    let (parts, body) = answer.into_parts();
    let body = body.collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    if text.contains(&format!("User \\\"{MANAGER}\\\" cannot ")) {
        log_once(&format!("refused {text}"));
        refused.push(text);
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// Writes each line once per process.
fn log_once(line: &str) {
    static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !noted.insert(line.to_owned()) {
        return;
    }
    let Some(path) = std::env::var_os(LOG) else {
        return;
    };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    // A lost line shows up as an unused right.
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

/// A used right: verb, group and resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    verb: &'static str,
    group: String,
    resource: String,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.verb, self.group, self.resource)
    }
}

impl Use {
    /// The rights that a request needs. An impersonated request needs `impersonate` only; the rest are the other user's.
    fn all(request: &Request<Body>) -> Vec<Self> {
        let impersonated = |resource: &str| Self {
            verb: "impersonate",
            group: String::new(),
            resource: resource.to_owned(),
        };
        let headers = request.headers();
        if let Some(user) = headers.get("impersonate-user") {
            let account = user.as_bytes().starts_with(b"system:serviceaccount:");
            let mut all = vec![impersonated(if account { "serviceaccounts" } else { "users" })];
            if headers.contains_key("impersonate-group") {
                all.push(impersonated("groups"));
            }
            return all;
        }
        Self::of(
            request.method(),
            request.uri().path(),
            request.uri().query().unwrap_or_default(),
        )
        .into_iter()
        .collect()
    }

    /// The right that a request needs for a path; none for discovery.
    fn of(method: &Method, path: &str, query: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (resource, name, sub) = match rest {
            ["namespaces", _, resource] => (*resource, None, None),
            ["namespaces", _, resource, name] => (*resource, Some(name), None),
            ["namespaces", _, resource, name, sub] => (*resource, Some(name), Some(*sub)),
            [resource] => (*resource, None, None),
            [resource, name] => (*resource, Some(name), None),
            [resource, name, sub] => (*resource, Some(name), Some(*sub)),
            _ => return None,
        };
        let watches = query
            .split('&')
            .any(|one| matches!(one, "watch=true" | "watch=1"));
        let verb = match (method, name) {
            (&Method::GET, _) if watches => "watch",
            (&Method::GET, Some(_)) => "get",
            (&Method::GET, None) => "list",
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, Some(_)) => "delete",
            (&Method::DELETE, None) => "deletecollection",
            _ => return None,
        };
        Some(Self {
            verb,
            group: group.to_owned(),
            resource: sub.map_or_else(|| resource.to_owned(), |sub| format!("{resource}/{sub}")),
        })
    }

    /// An apply that created an object also needed `create`.
    fn creating(&self) -> Option<Self> {
        (self.verb == "patch").then(|| Self {
            verb: "create",
            ..self.clone()
        })
    }
}

/// Compares a log with the role: unused rights and denied requests.
pub fn judge(role: &str, log: &str) -> Result<Vec<String>> {
    let mut problems: Vec<String> = log
        .lines()
        .filter(|line| line.starts_with("refused "))
        .map(str::to_owned)
        .collect();
    let role: Value = serde_saphyr::from_str(role)?;
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    for rule in role["rules"].as_array().into_iter().flatten() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    let used = match (group.as_str(), resource.as_str()) {
                        ("*", "*") => log.lines().any(|line| line.starts_with(&format!("{verb} "))),
                        _ => log
                            .lines()
                            .any(|line| line == format!("{verb} {group}/{resource}")),
                    };
                    if !used {
                        problems.push(format!("granted and not used: {verb} {group}/{resource}"));
                    }
                }
            }
        }
    }
    Ok(problems)
}
