//! Routes requests on subresources, and reviews.

use http::StatusCode;
use serde_json::{Value, json};

use super::change::{self, Intent};
use super::{Call, evict, get, intake, patch, present, scale, token, update};
use crate::object;
use crate::status::{Result, Status};
use crate::wire::{Response, value_response};

/// Serves a subresource.
pub(super) async fn serve(call: Call, verb: &str) -> Result<Response> {
    let name = call.path.subresource.clone();
    if !call.resource.has_subresource(&name) {
        return Err(Status::no_such_path());
    }
    match (name.as_str(), verb) {
        ("status", "get") => get::get(&call).await,
        ("status", "update") => update::update(&call).await,
        ("status", "patch") => patch::patch(&call).await,
        ("scale", _) => scale::serve(&call, verb).await,
        ("finalize", "update") => finalize(&call).await,
        ("eviction", "create") => evict::evict(&call).await,
        ("binding", "create") => bind(&call).await,
        ("ephemeralcontainers" | "resize", "get") => get::get(&call).await,
        ("ephemeralcontainers" | "resize", "update") => update::update(&call).await,
        ("ephemeralcontainers" | "resize", "patch") => patch::patch(&call).await,
        ("approval", "get") => get::get(&call).await,
        ("approval", "update") => update::update(&call).await,
        ("approval", "patch") => patch::patch(&call).await,
        ("log", "get") => Err(no_nodes(
            &call,
            "no logs are kept: pods here are simulated and run no containers",
        )),
        ("exec" | "attach" | "portforward" | "proxy", _) => {
            Err(no_nodes(&call, "pods here are simulated and run no containers"))
        }
        ("token", "create") => token::create(&call),
        _ => Err(Status::verb_not_allowed()),
    }
}

fn no_nodes(call: &Call, why: &str) -> Status {
    let bucket = call.server.store.bucket(&call.resource.bucket);
    if bucket.get(&call.key()).is_none() {
        return call.not_found();
    }
    let what = format!("{}/{}", call.resource.plural, call.path.subresource);
    Status::not_implemented(&format!("{what}: {why}"))
}

/// `namespaces/finalize`: updates `spec.finalizers`.
async fn finalize(call: &Call) -> Result<Response> {
    let namespace = intake::object(call)?;
    let finalizers = object::at(&namespace, "spec.finalizers")
        .cloned()
        .unwrap_or(Value::Null);
    let mut change = json!({"spec": {"finalizers": finalizers}});
    let version = object::meta_text(&namespace, "resourceVersion");
    if !version.is_empty() {
        change["metadata"] = json!({"resourceVersion": version});
    }
    let options = json!({"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"});
    let outcome = change::carry_out(
        call,
        &Intent::Patch(patch::Patch::Merge(change, vec![])),
        &options,
    )
    .await?;
    Ok(present::object(call, StatusCode::OK, outcome.value))
}

/// `pods/binding`: assigns a pod to a node.
async fn bind(call: &Call) -> Result<Response> {
    let binding = call.decode()?.value;
    let node = object::at(&binding, "target.name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if node.is_empty() {
        return Err(Status::unexplained("target.name: Required value"));
    }
    let bucket = call.server.store.bucket(&call.resource.bucket);
    let bound = bucket.get(&call.key()).map(|entry| entry.value());
    let bound = bound
        .as_ref()
        .and_then(|pod| object::at(pod, "spec.nodeName")?.as_str());
    if let Some(bound) = bound.filter(|bound| !bound.is_empty()) {
        let name = &call.path.name;
        let why = format!("pod {name} is already assigned to node {bound:?}");
        return Err(Status::conflict("", "pods/binding", name, &why));
    }
    let change = json!({"spec": {"nodeName": node}});
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"});
    change::carry_out(
        call,
        &Intent::Patch(patch::Patch::Merge(change, vec![])),
        &options,
    )
    .await?;
    let done =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(value_response(
        StatusCode::CREATED,
        call.representation.encoding,
        &done,
    ))
}
