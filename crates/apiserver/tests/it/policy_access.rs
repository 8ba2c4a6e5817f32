//! Writing a policy requires read access to its parameters.

use std::sync::Arc;

use bytes::Bytes;
use cambium_apiserver::{Action, ApiServer, Authorizer, Decision, Tokens, User};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower_service::Service as _;

/// Allows everything but reading ConfigMaps.
struct Writers;

impl Authorizer for Writers {
    fn authorize(&self, _: &User, action: &Action<'_>) -> Decision {
        let secret = action
            .resource
            .as_ref()
            .is_some_and(|one| matches!(one.resource, "configmaps" | "*"));
        match secret && matches!(action.verb, "get" | "list") {
            true => Decision::NoOpinion(String::new()),
            false => Decision::Allow(String::new()),
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
