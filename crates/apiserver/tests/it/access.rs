//! Authentication and authorization: anonymous requests, tokens, roles.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use cambium_apiserver::pki::Authority;
use cambium_apiserver::{ApiServer, SigningKey, Tokens, User};
use http::Request;
use http_body_util::{BodyExt as _, Empty, Full};
use jiff::Timestamp;
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

#[tokio::test]
async fn no_spelling_of_a_path_reaches_a_backend_unauthorised() {
    let mut tokens = Tokens::default();
    tokens.insert("for-a-user", User::authenticated("ada", &[]));
    tokens.insert("for-a-tenant", User::authenticated("tom", &[]));
    let server = ApiServer::builder()
        .tokens(tokens)
        .build()
        .await
        .expect("a server");
    let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.g.example.com"},
        "spec": {"group": "g.example.com", "version": "v1", "groupPriorityMinimum": 2000, "versionPriority": 10,
            "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "nobody"}}});
    let (code, made) = post(&server, "/apis/apiregistration.k8s.io/v1/apiservices", &service).await;
    assert_eq!(code, 201, "{made}");
    // A tenant who may do everything in one namespace.
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({"metadata": {"name": "all"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
    let binding = json!({"metadata": {"name": "all"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tom"}]});
    assert_eq!(post(&server, &format!("{rbac}/roles"), &role).await.0, 201);
    assert_eq!(
        post(&server, &format!("{rbac}/rolebindings"), &binding).await.0,
        201
    );
    let server = server.as_user(None);
    let root = "/apis/g.example.com/v1";
    // Nobody answers for the group, so whatever is forwarded comes back as 503.
    for (path, token, code) in [
        ("/things", "for-a-user", 403),
        ("/things/", "for-a-user", 403),
        ("//things", "for-a-user", 404),
        ("/things//a", "for-a-user", 404),
        ("/./things", "for-a-user", 404),
        ("/namespaces/default/things", "for-a-tenant", 503),
        ("/namespaces/kube-system/things", "for-a-tenant", 403),
        ("/namespaces/default/../kube-system/things", "for-a-tenant", 404),
        (
            "/namespaces/default/%2e%2E/kube-system/things",
            "for-a-tenant",
            404,
        ),
        (
            "/namespaces/default/things%2F..%2F..%2Fkube-system%2Fthings",
            "for-a-tenant",
            404,
        ),
        ("/namespaces/default/things%2fa", "for-a-tenant", 404),
    ] {
        assert_eq!(
            get(&server, &format!("{root}{path}"), Some(token)).await.0,
            code,
            "{path}"
        );
    }
    // The same for paths of this server.
    assert_eq!(get(&server, "/api/v1//pods", Some("for-a-user")).await.0, 404);
}

/// Posts an object or a TokenRequest.
async fn post(server: &ApiServer, path: &str, body: &Value) -> (u16, Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(Full::from(body.to_string())).expect("a request");
    let response = server.clone().call(request).await.expect("an answer");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

/// A token for a new service account.
async fn token(server: &ApiServer, seconds: i64) -> String {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    post(server, accounts, &json!({"metadata": {"name": "web"}})).await;
    let request = json!({"spec": {"expirationSeconds": seconds}});
    let (code, issued) = post(server, &format!("{accounts}/web/token"), &request).await;
    assert_eq!(code, 201, "{issued}");
    issued["status"]["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn a_token_ends_with_its_time() {
    let now = Arc::new(AtomicI64::new(1_800_000_000));
    let told = now.clone();
    let clock = move || Timestamp::from_second(told.load(Ordering::Relaxed)).expect("a time");
    let server = ApiServer::builder()
        .clock(Arc::new(clock))
        .build()
        .await
        .expect("a server");
    let token = token(&server, 600).await;
    let server = server.as_user(None);
    // Clocks may disagree by a minute.
    for (after, code) in [(0, 200), (600, 200), (660, 200), (661, 401), (0, 200), (-61, 401)] {
        now.store(1_800_000_000 + after, Ordering::Relaxed);
        assert_eq!(
            get(&server, "/api", Some(&token)).await.0,
            code,
            "after {after} s"
        );
    }
}

#[tokio::test]
async fn a_token_outlives_a_server_that_keeps_its_key() {
    let directory = tempfile::tempdir().expect("a directory");
    let start = async |key: SigningKey| {
        let file = directory.path().join("store.redb");
        for _ in 0..500 {
            // The last tasks of the server before this one may still be on their way out.
            if let Ok(store) = cambium_apiserver::store::Store::open(&file, Default::default()) {
                return ApiServer::builder()
                    .store(store)
                    .signing_key(key)
                    .build()
                    .await
                    .expect("a server");
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        unreachable!("the store is free at last");
    };
    let keep = || SigningKey::load_or_generate(directory.path()).expect("a key");
    let server = start(keep()).await;
    let token = token(&server, 600).await;
    let restart = async |server: ApiServer, key: SigningKey| {
        server.stop();
        drop(server);
        start(key).await
    };
    let server = restart(server, keep()).await;
    assert_eq!(get(&server.as_user(None), "/api", Some(&token)).await.0, 200);
    let server = restart(server, SigningKey::generate().expect("a key")).await;
    let (code, status) = get(&server.as_user(None), "/api", Some(&token)).await;
    assert_eq!((code, status["message"].as_str()), (401, Some("Unauthorized")));
}

#[tokio::test]
async fn a_front_proxy_may_keep_its_authority() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let mut told = vec![];
    for _ in 0..2 {
        let kept = Authority::load_or_generate(directory.path(), Timestamp::now()).expect("an authority");
        let certificate = json!(kept.certificate());
        let server = ApiServer::builder().front_proxy(kept).build().await;
        let (_, map) = get(&server.expect("a server"), path, None).await;
        assert_eq!(map["data"]["requestheader-client-ca-file"], certificate);
        told.push(certificate);
    }
    assert_eq!(told[0], told[1]);
}
