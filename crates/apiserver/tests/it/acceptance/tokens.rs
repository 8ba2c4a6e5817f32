//! ServiceAccount tokens: issued, used, and rejected.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cambium_testing::{Raw, TestCluster, eventually, eventually_some};
use serde_json::{Value, json};

const ISSUER: &str = "https://kubernetes.default.svc";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

/// A cluster and a namespace with a ServiceAccount.
struct Place {
    cluster: TestCluster,
    raw: Raw,
    namespace: String,
    account: Value,
}

async fn place() -> Result<Place> {
    let cluster = TestCluster::start().await?;
    let (raw, namespace) = (cluster.raw(), cluster.namespace("tokens").await?);
    let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    let account = raw
        .post(&accounts, &json!({"metadata": {"name": "web"}}))
        .await?
        .body;
    Ok(Place {
        cluster,
        raw,
        namespace,
        account,
    })
}

impl Place {
    fn core(&self, resource: &str) -> String {
        format!("/api/v1/namespaces/{}/{resource}", self.namespace)
    }

    async fn request(&self, spec: Value) -> Result<cambium_testing::Answer> {
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
        self.raw
            .post(&self.core("serviceaccounts/web/token"), &request)
            .await
    }

    async fn token(&self, spec: Value) -> Result<String> {
        let issued = self.request(spec).await?;
        assert_eq!(issued.code, 201, "{issued:?}");
        Ok(issued.body["status"]["token"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    /// A client that authenticates with a token only.
    async fn bearer(&self, token: &str) -> Result<Raw> {
        Ok(Raw::new(self.cluster.stranger().await?).with_token(token))
    }

    async fn review(&self, token: &str, audiences: &[&str]) -> Result<Value> {
        let question = json!({"spec": {"token": token, "audiences": audiences}});
        Ok(self.raw.post(REVIEWS, &question).await?.body["status"].clone())
    }

    /// Waits until a token is rejected: a real server caches token authentication for some seconds.
    async fn is_refused_at_last(&self, token: &str) -> Result<()> {
        let bearer = self.bearer(token).await?;
        eventually("the token is refused", || async {
            Ok(bearer.get("/api").await?.code == 401)
        })
        .await
    }
}

fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap_or_default();
    let part = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
    serde_json::from_slice(&part).unwrap_or_default()
}

#[tokio::test]
async fn a_token_stands_for_its_account() -> Result<()> {
    let place = place().await?;
    let issued = place.request(json!({})).await?;
    assert_eq!(issued.code, 201, "{issued:?}");
    assert_eq!(
        issued.body["spec"],
        json!({"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": null})
    );
    assert_eq!(issued.body["metadata"]["name"], "web");
    let token = issued.body["status"]["token"].as_str().unwrap_or_default();
    let (namespace, uid) = (&place.namespace, &place.account["metadata"]["uid"]);
    let user = format!("system:serviceaccount:{namespace}:web");
    let claims = claims(token);
    assert_eq!(
        (&claims["iss"], &claims["sub"], &claims["aud"]),
        (&json!(ISSUER), &json!(user), &json!([ISSUER]))
    );
    assert_eq!(
        claims["kubernetes.io"],
        json!({"namespace": namespace, "serviceaccount": {"name": "web", "uid": uid}})
    );
    let second = |name: &str| claims[name].as_i64().unwrap_or_default();
    assert_eq!(
        (second("exp") - second("iat"), second("nbf")),
        (3600, second("iat"))
    );

    let whoami = place.bearer(token).await?;
    let answer = whoami
        .post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({}))
        .await?;
    let credential = format!("JTI={}", claims["jti"].as_str().unwrap_or_default());
    let expected = json!({"username": user, "uid": uid,
        "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{namespace}"), "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [credential]}});
    assert_eq!(answer.body["status"]["userInfo"], expected, "{answer:?}");
    assert_eq!(
        place.review(token, &[]).await?,
        json!({"authenticated": true, "user": expected, "audiences": [ISSUER]})
    );
    let refused = whoami.get(&place.core("pods")).await?;
    assert_eq!(
        (refused.code, refused.message().to_owned()),
        (
            403,
            format!(
                "pods is forbidden: User \"{user}\" cannot list resource \"pods\" in API group \"\" in the namespace \"{namespace}\""
            )
        )
    );
    Ok(())
}

#[tokio::test]
async fn a_token_for_somebody_else_is_refused_here() -> Result<()> {
    let place = place().await?;
    let token = place.token(json!({"audiences": ["vault", "bank"]})).await?;
    assert_eq!(place.bearer(&token).await?.get("/api").await?.code, 401);
    assert_eq!(
        place.review(&token, &[]).await?,
        json!({"user": {}, "error": format!("[invalid bearer token, token audiences [\"vault\" \"bank\"] is invalid for the target audiences [\"{ISSUER}\"]]")})
    );
    let review = place.review(&token, &["bank", "other"]).await?;
    assert_eq!(
        (&review["authenticated"], &review["audiences"]),
        (&json!(true), &json!(["bank"]))
    );
    Ok(())
}

#[tokio::test]
async fn whatever_is_no_token_of_this_cluster_is_refused_without_a_word() -> Result<()> {
    let place = place().await?;
    let token = place.token(json!({})).await?;
    let parts: Vec<&str> = token.split('.').collect();
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut other = claims(&token);
    other["sub"] = json!("system:serviceaccount:kube-system:admin");
    let none = encode(json!({"alg": "none"}));
    let forged = [
        format!("{}.{}.{}", parts[0], encode(other.clone()), parts[2]),
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{}.{}.", encode(json!({"alg": "HS256"})), encode(other)),
        format!("{token}x"),
        format!("{}.{}", parts[0], parts[1]),
        "garbage".to_owned(),
        "...".to_owned(),
        "a".repeat(8000),
    ];
    for token in forged {
        let shown = &token[..token.len().min(60)];
        let refused = place.bearer(&token).await?.get("/api").await?;
        assert_eq!(
            refused.body,
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Unauthorized", "reason": "Unauthorized", "code": 401}),
            "{shown}"
        );
        let review = place.review(&token, &[]).await?;
        assert_eq!(review.get("authenticated"), None, "{shown}");
        let error = review["error"].as_str().unwrap_or_default();
        assert!(error.contains("invalid bearer token"), "{shown}: {error}");
    }
    assert_eq!(
        place.bearer(&token).await?.get("/api").await?.code,
        200,
        "the server lives on"
    );
    Ok(())
}

#[tokio::test]
async fn a_token_goes_with_its_account() -> Result<()> {
    let place = place().await?;
    let token = place.token(json!({})).await?;
    assert_eq!(place.bearer(&token).await?.get("/api").await?.code, 200);
    place
        .raw
        .delete(&place.core("serviceaccounts/web"), &Value::Null)
        .await?;
    place.is_refused_at_last(&token).await?;
    // Another account of the same name is another one.
    place
        .raw
        .post(
            &place.core("serviceaccounts"),
            &json!({"metadata": {"name": "web"}}),
        )
        .await?;
    assert_eq!(place.bearer(&token).await?.get("/api").await?.code, 401);
    Ok(())
}

#[tokio::test]
async fn a_token_may_be_bound_to_a_secret_or_a_pod() -> Result<()> {
    let place = place().await?;
    let secret = place
        .raw
        .post(&place.core("secrets"), &json!({"metadata": {"name": "s"}}))
        .await?
        .body;
    let reference =
        json!({"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": secret["metadata"]["uid"]});
    let token = place.token(json!({"boundObjectRef": reference})).await?;
    assert_eq!(claims(&token)["kubernetes.io"]["secret"]["name"], "s");
    assert_eq!(place.bearer(&token).await?.get("/api").await?.code, 200);
    place.raw.delete(&place.core("secrets/s"), &Value::Null).await?;
    place.is_refused_at_last(&token).await?;

    let pod = json!({"metadata": {"name": "p"}, "spec": {"serviceAccountName": "web", "containers": [{"name": "c", "image": "i"}]}});
    let pod = place.raw.post(&place.core("pods"), &pod).await?;
    assert_eq!(pod.code, 201, "{pod:?}");
    let reference = json!({"apiVersion": "v1", "kind": "Pod", "name": "p"});
    let token = place
        .token(json!({"boundObjectRef": reference, "expirationSeconds": 3607}))
        .await?;
    let bound = claims(&token);
    assert_eq!(bound["kubernetes.io"]["pod"]["uid"], pod.body["metadata"]["uid"]);
    let second = |value: &Value| value.as_i64().unwrap_or_default();
    assert_eq!(
        second(&bound["exp"]) - second(&bound["iat"]),
        365 * 24 * 3600,
        "longer than asked, so that old clients live"
    );
    assert_eq!(
        second(&bound["kubernetes.io"]["warnafter"]) - second(&bound["iat"]),
        3607
    );
    let review = place.review(&token, &[]).await?;
    assert_eq!(
        review["user"]["extra"]["authentication.kubernetes.io/pod-name"],
        json!(["p"])
    );
    assert_eq!(
        review["user"]["extra"]["authentication.kubernetes.io/pod-uid"],
        json!([pod.body["metadata"]["uid"]])
    );
    place
        .raw
        .delete(&place.core("pods/p"), &json!({"gracePeriodSeconds": 0}))
        .await?;
    place.is_refused_at_last(&token).await
}

#[tokio::test]
async fn bad_requests_for_tokens_are_refused() -> Result<()> {
    let place = place().await?;
    let uid = place.account["metadata"]["uid"].as_str().unwrap_or_default();
    let invalid =
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value:";
    let bind = |kind: &str, name: &str, uid: &str| json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}}});
    place
        .raw
        .post(&place.core("secrets"), &json!({"metadata": {"name": "s"}}))
        .await?;
    let cases = [
        (json!({"spec": {"expirationSeconds": 599}}), 422, format!("{invalid} 599: may not specify a duration less than 10 minutes")),
        (json!({"spec": {"expirationSeconds": 4_294_967_297_i64}}), 422, format!("{invalid} 4294967297: may not specify a duration larger than 2^32 seconds")),
        (json!({"metadata": {"name": "x"}, "spec": {}}), 422, "TokenRequest.authentication.k8s.io \"web\" is invalid: metadata.name: Invalid value: \"x\": must match the service account name if specified".to_owned()),
        (json!({"metadata": {"uid": "x"}, "spec": {}}), 409, format!("Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"web\": the UID in the token request (x) does not match the UID of the service account ({uid})")),
        (bind("Pod", "nope", ""), 404, "pods \"nope\" not found".to_owned()),
        (bind("Secret", "nope", ""), 404, "secrets \"nope\" not found".to_owned()),
        (bind("Node", "nope", ""), 404, "nodes \"nope\" not found".to_owned()),
        (bind("ConfigMap", "nope", ""), 400, "cannot bind token to object of type /v1, Kind=ConfigMap".to_owned()),
        (bind("Secret", "s", "x"), 409, "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated".to_owned()),
    ];
    for (request, code, message) in cases {
        let refused = place
            .raw
            .post(&place.core("serviceaccounts/web/token"), &request)
            .await?;
        assert_eq!(
            (refused.code, refused.message()),
            (code, message.as_str()),
            "{request}"
        );
    }
    let missing = place
        .raw
        .post(&place.core("serviceaccounts/nope/token"), &json!({"spec": {}}))
        .await?;
    assert_eq!(
        (missing.code, missing.message()),
        (404, "serviceaccounts \"nope\" not found")
    );
    Ok(())
}

#[tokio::test]
async fn a_secret_for_an_account_is_filled_in_and_goes_with_it() -> Result<()> {
    let place = place().await?;
    let secret = json!({"metadata": {"name": "s", "annotations": {"kubernetes.io/service-account.name": "web"}},
        "type": "kubernetes.io/service-account-token"});
    place.raw.post(&place.core("secrets"), &secret).await?;
    let filled = eventually_some("the secret is filled in", || async {
        let secret = place.raw.get(&place.core("secrets/s")).await?.body;
        Ok(secret["data"]["token"].is_string().then_some(secret))
    })
    .await?;
    let held = |field: &str| {
        let data = STANDARD
            .decode(filled["data"][field].as_str().unwrap_or_default())
            .unwrap_or_default();
        String::from_utf8_lossy(&data).into_owned()
    };
    assert_eq!(held("namespace"), place.namespace);
    assert!(held("ca.crt").starts_with("-----BEGIN CERTIFICATE-----"));
    assert_eq!(
        filled["metadata"]["annotations"]["kubernetes.io/service-account.uid"],
        place.account["metadata"]["uid"]
    );
    let token = held("token");
    let user = format!("system:serviceaccount:{}:web", place.namespace);
    eventually("the token is believed", || async {
        Ok(place.review(&token, &[]).await?["user"]["username"] == user)
    })
    .await?;
    assert_eq!(place.bearer(&token).await?.get("/api").await?.code, 200);
    place
        .raw
        .delete(&place.core("serviceaccounts/web"), &Value::Null)
        .await?;
    eventually("the secret is gone", || async {
        Ok(place.raw.get(&place.core("secrets/s")).await?.code == 404)
    })
    .await?;
    place.is_refused_at_last(&token).await
}

#[tokio::test]
async fn others_can_check_tokens_by_themselves() -> Result<()> {
    let place = place().await?;
    let token = place.token(json!({"audiences": ["vault"]})).await?;
    let account = place.bearer(&place.token(json!({})).await?).await?;
    let configuration = account.get("/.well-known/openid-configuration").await?;
    assert_eq!(configuration.code, 200, "{configuration:?}");
    assert_eq!(configuration.body["issuer"], ISSUER);
    assert_eq!(
        configuration.body["id_token_signing_alg_values_supported"],
        json!(["ES256"])
    );
    let keys = account.get("/openid/v1/jwks").await?.body;
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap_or_default())?;
    let header: Value = serde_json::from_slice(&header)?;
    assert_eq!(
        (&header["kid"], &header["alg"]),
        (&keys["keys"][0]["kid"], &json!("ES256"))
    );
    let fields = ["use", "kty", "crv", "alg"].map(|field| keys["keys"][0][field].clone());
    assert_eq!(fields, ["sig", "EC", "P-256", "ES256"].map(Value::from));
    let stranger = Raw::new(place.cluster.stranger().await?);
    assert_eq!(stranger.get("/openid/v1/jwks").await?.code, 403);
    Ok(())
}
