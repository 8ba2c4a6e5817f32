//! Backends of APIServices, and their registration.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use cambium_testing::{Raw, Respond, eventually};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};

pub(crate) const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// A request that a backend received.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) what: String,
    pub(crate) user: Vec<String>,
    pub(crate) groups: Vec<String>,
    /// `If-None-Match`.
    pub(crate) known: Vec<String>,
}

pub(crate) type Seen = Arc<Mutex<Vec<Asked>>>;
pub(crate) type Response = hyper::Response<UnsyncBoxBody<Bytes, Infallible>>;

pub(crate) fn answer(code: u16, body: &Value) -> Response {
    let response = hyper::Response::builder()
        .status(code)
        .header("content-type", "application/json");
    response
        .body(Full::new(Bytes::from(body.to_string())).boxed_unsync())
        .unwrap()
}

/// A backend that records requests.
pub(crate) fn recording(
    seen: Seen,
    respond: impl Fn(&hyper::Request<Incoming>) -> Response + Send + Sync + 'static,
) -> Respond {
    Arc::new(move |request| {
        let all = |name: &str| -> Vec<String> {
            let values = request.headers().get_all(name).iter();
            values.map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        seen.lock().unwrap().push(Asked {
            what: format!("{} {}", request.method(), request.uri()),
            user: all("x-remote-user"),
            groups: all("x-remote-group"),
            known: all("if-none-match"),
        });
        let response = respond(&request);
        Box::pin(async move { response })
    })
}

/// Registers a backend with a Service that resolves to loopback.
pub(crate) async fn register(raw: &Raw, namespace: &str, group: &str, port: u16, spec: Value) -> Result<()> {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "gadgets"},
        "spec": {"type": "ExternalName", "externalName": "localhost"}});
    let made = raw
        .post(&format!("/api/v1/namespaces/{namespace}/services"), &service)
        .await?;
    ensure!(matches!(made.code, 201 | 409), "{}", made.message());
    let mut api_service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1.{group}")}, "spec": spec});
    api_service["spec"]["group"] = json!(group);
    api_service["spec"]["version"] = json!("v1");
    api_service["spec"]["groupPriorityMinimum"] = json!(2000);
    api_service["spec"]["versionPriority"] = json!(10);
    api_service["spec"]["service"] = json!({"namespace": namespace, "name": "gadgets", "port": port});
    let made = raw.post(SERVICES, &api_service).await?;
    ensure!(made.code == 201, "{}", made.message());
    Ok(())
}

/// The `Available` condition: status and reason.
pub(crate) async fn available(raw: &Raw, group: &str) -> Result<Option<(String, String, String)>> {
    let stored = raw.get(&format!("{SERVICES}/v1.{group}")).await?.body;
    let text = |field: &str| {
        let value = stored.pointer(&format!("/status/conditions/0/{field}"));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    Ok(match (text("status"), text("reason"), text("message")) {
        (Some(status), Some(reason), Some(message)) => Some((status, reason, message)),
        _ => None,
    })
}

/// Waits for status and reason of the condition.
pub(crate) async fn until(raw: &Raw, group: &str, status: &str, reason: &str) -> Result<()> {
    eventually(&format!("{status} because of {reason}"), || async {
        let condition = available(raw, group).await?;
        Ok(condition.is_some_and(|(one, why, _)| one == status && why == reason))
    })
    .await
}
