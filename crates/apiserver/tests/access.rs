//! Who may come in: nobody without a name, and only `system:masters` beyond the front door.

use std::sync::Arc;

use bytes::Bytes;
use cambium_apiserver::{Action, ApiServer, Authorizer, Tokens, User};
use http::Request;
use http_body_util::{BodyExt as _, Empty, Full};
use serde_json::{Value, json};
use tower_service::Service as _;

async fn get(server: &ApiServer, path: &str, token: Option<&str>) -> (u16, Value) {
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Empty::<Bytes>::new()).expect("a request");
    let response = server.clone().call(request).await.expect("an answer");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn strangers_see_health_and_version_only() {
    let mut tokens = Tokens::default();
    tokens.insert("for-a-master", User::master("root"));
    tokens.insert("for-a-user", User::authenticated("ada", &["developers"]));
    let server = ApiServer::builder()
        .tokens(tokens)
        .build()
        .await
        .expect("a server")
        .as_user(None);
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping", "/version"] {
        assert_eq!(get(&server, path, None).await.0, 200, "{path}");
    }
    let (code, status) = get(&server, "/api/v1/pods", None).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" at the cluster scope"
    );
    let (code, status) = get(&server, "/apis", None).await;
    assert_eq!(
        (code, status["message"].as_str()),
        (
            403,
            Some("forbidden: User \"system:anonymous\" cannot get path \"/apis\"")
        )
    );
    let (code, status) = get(&server, "/api/v1/pods", Some("guessed")).await;
    assert_eq!((code, status["reason"].as_str()), (401, Some("Unauthorized")));
    let (code, status) = get(
        &server,
        "/apis/apps/v1/namespaces/n/deployments/d",
        Some("for-a-user"),
    )
    .await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "deployments.apps \"d\" is forbidden: User \"ada\" cannot get resource \"deployments\" in API group \"apps\" in the namespace \"n\""
    );
    assert_eq!(get(&server, "/api/v1/pods", Some("for-a-master")).await.0, 200);
}

/// Everything but to read config maps.
struct Writers;

impl Authorizer for Writers {
    fn authorize(&self, _: &User, action: &Action<'_>) -> Result<(), String> {
        let secret = action
            .resource
            .as_ref()
            .is_some_and(|one| matches!(one.resource, "configmaps" | "*"));
        match secret && matches!(action.verb, "get" | "list") {
            true => Err(String::new()),
            false => Ok(()),
        }
    }
}

#[tokio::test]
async fn whoever_writes_a_policy_may_read_its_parameters() {
    let mut tokens = Tokens::default();
    tokens.insert("for-a-user", User::authenticated("ada", &["developers"]));
    let server = ApiServer::builder()
        .tokens(tokens)
        .authorizer(Arc::new(Writers))
        .build()
        .await
        .expect("a server");
    let (master, user) = (server.clone(), server.as_user(None));
    let post = |server: ApiServer, plural: &'static str, object: Value| async move {
        let request = Request::post(format!("/apis/admissionregistration.k8s.io/v1/{plural}"))
            .header("authorization", "Bearer for-a-user")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(object.to_string())))
            .expect("a request");
        let response = server.clone().call(request).await.expect("an answer");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        (code, body["message"].as_str().unwrap_or_default().to_owned())
    };
    let policy = |name: &str, kind: Value| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
            "paramKind": kind, "validations": [{"expression": "true"}], "matchConstraints": {"resourceRules": [
                {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}}})
    };
    let binding = |policy: &str| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": policy}, "spec": {
            "policyName": policy, "validationActions": ["Deny"], "paramRef": {"name": "a", "parameterNotFoundAction": "Deny"}}})
    };
    let (policies, bindings) = ("validatingadmissionpolicies", "validatingadmissionpolicybindings");
    let maps = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let shown = "user &{ada  [developers system:authenticated] map[]}";
    let refused = |kind: &str, name: &str, why: String| {
        (
            422,
            format!("{kind}.admissionregistration.k8s.io \"{name}\" is invalid: {why}"),
        )
    };
    assert_eq!(
        post(user.clone(), policies, policy("maps", maps.clone())).await,
        refused(
            "ValidatingAdmissionPolicy",
            "maps",
            format!(
                "spec.paramKind: Forbidden: {shown} must have \"get\" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)"
            )
        )
    );
    let secrets = json!({"apiVersion": "v1", "kind": "Secret"});
    assert_eq!(
        post(user.clone(), policies, policy("secrets", secrets)).await.0,
        201
    );
    assert_eq!(post(user.clone(), bindings, binding("secrets")).await.0, 201);
    assert_eq!(post(master.clone(), policies, policy("maps", maps)).await.0, 201);
    assert_eq!(
        post(user.clone(), bindings, binding("maps")).await,
        refused(
            "ValidatingAdmissionPolicyBinding",
            "maps",
            format!(
                "spec.paramRef: Forbidden: {shown} does not have \"get\" permission on the object referenced by paramRef"
            )
        )
    );
    assert_eq!(
        post(user, bindings, binding("none")).await,
        refused(
            "ValidatingAdmissionPolicyBinding",
            "none",
            format!(
                "spec.paramRef: Forbidden: unable to get policy none to determine minimum required permissions and {shown} does not have \"get\" \
             permission for all groups, versions and resources"
            )
        )
    );
    assert_eq!(post(master, bindings, binding("none")).await.0, 201);
}
