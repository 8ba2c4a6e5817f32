//! Who may come in: nobody without a name, and beyond the front door only who has a role.

use bytes::Bytes;
use cambium_apiserver::{ApiServer, Tokens, User};
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use serde_json::Value;
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
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
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
