//! Impersonation.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster, eventually};
use serde_json::{Value, json};

/// A ServiceAccount with these cluster-wide rules, and a client with its token.
async fn account(cluster: &TestCluster, rules: Value) -> Result<(String, Raw)> {
    let (raw, namespace) = (cluster.raw(), cluster.namespace("impersonate").await?);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    raw.post(
        &format!("{rbac}/clusterroles"),
        &json!({"metadata": {"name": namespace}, "rules": rules}),
    )
    .await?;
    let binding = json!({"metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": namespace},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": namespace}]});
    raw.post(&format!("{rbac}/clusterrolebindings"), &binding).await?;
    let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    raw.post(&accounts, &json!({"metadata": {"name": "robot"}}))
        .await?;
    let issued = raw
        .post(&format!("{accounts}/robot/token"), &json!({"spec": {}}))
        .await?;
    let token = issued.body["status"]["token"].as_str().unwrap_or_default();
    let theirs = Raw::new(cluster.stranger().await?).with_token(token);
    Ok((format!("system:serviceaccount:{namespace}:robot"), theirs))
}

fn impersonate(group: &str, resource: &str, name: &str) -> Value {
    json!({"verbs": ["impersonate"], "apiGroups": [group], "resources": [resource], "resourceNames": [name]})
}

async fn who_am_i(raw: &Raw) -> Result<cambium_testing::Answer> {
    raw.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({}))
        .await
}

#[tokio::test]
async fn whoever_may_is_somebody_else() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let rules = json!([
        impersonate("", "users", "bob"),
        impersonate("", "groups", "friends"),
        impersonate("authentication.k8s.io", "uids", "42"),
        impersonate("authentication.k8s.io", "userextras/acme.com/project", "x"),
    ]);
    let (_, robot) = account(&cluster, rules).await?;
    let bob = robot.clone().acting_as("bob");
    eventually("the right counts", || async {
        Ok(who_am_i(&bob).await?.code == 201)
    })
    .await?;
    let all = bob
        .clone()
        .with_header("impersonate-group", "friends")
        .with_header("impersonate-uid", "42")
        .with_header("impersonate-extra-acme.com%2Fproject", "x");
    let answer = who_am_i(&all).await?;
    assert_eq!(answer.code, 201, "{answer:?}");
    assert_eq!(
        answer.body["status"]["userInfo"],
        json!({"username": "bob", "uid": "42", "groups": ["friends", "system:authenticated"], "extra": {"acme.com/project": ["x"]}})
    );
    for (header, value) in [
        ("impersonate-group", "foes"),
        ("impersonate-group", "system:masters"),
        ("impersonate-uid", "43"),
        ("impersonate-extra-acme.com%2fproject", "y"),
        ("impersonate-extra-other", "x"),
    ] {
        let refused = who_am_i(&bob.clone().with_header(header, value)).await?;
        assert_eq!(refused.code, 403, "{header}: {refused:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_constrained_right_is_for_whom_and_for_what() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let rules = json!([
        {"verbs": ["impersonate:user-info"], "apiGroups": ["authentication.k8s.io"], "resources": ["users"], "resourceNames": ["bob"]},
        {"verbs": ["impersonate-on:user-info:create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    ]);
    let (user, robot) = account(&cluster, rules).await?;
    let bob = robot.clone().acting_as("bob");
    eventually("the right counts", || async {
        Ok(who_am_i(&bob).await?.code == 201)
    })
    .await?;
    let refused = bob.get("/api/v1/pods").await?;
    assert_eq!(
        (refused.code, refused.message().to_owned()),
        (
            403,
            format!(
                "pods is forbidden: User \"{user}\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" at the cluster scope"
            )
        )
    );
    Ok(())
}

#[tokio::test]
async fn impersonation_without_the_right_is_refused() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let (user, robot) = account(&cluster, json!([])).await?;
    let cases = [
        ("bob", "impersonate-on:user-info:list"),
        (
            "system:serviceaccount:default:default",
            "impersonate-on:serviceaccount:list",
        ),
        ("system:node:n", "impersonate-on:arbitrary-node:list"),
    ];
    for (other, verb) in cases {
        let refused = robot.clone().acting_as(other).get("/api/v1/pods").await?;
        assert_eq!(
            (refused.code, refused.message().to_owned()),
            (
                403,
                format!(
                    "pods is forbidden: User \"{user}\" cannot {verb} resource \"pods\" in API group \"\" at the cluster scope"
                )
            )
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_other_one_has_their_own_rights_only() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let refused = cluster.raw().acting_as("bob").get("/api/v1/pods").await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            403,
            "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" at the cluster scope"
        )
    );
    let master = cluster
        .raw()
        .acting_as("bob")
        .with_header("impersonate-group", "system:masters");
    assert_eq!(master.get("/api/v1/pods").await?.code, 200);
    let account = cluster.raw().acting_as("system:serviceaccount:default:default");
    assert_eq!(
        who_am_i(&account).await?.body["status"]["userInfo"]["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );
    let anonymous = cluster.raw().acting_as("system:anonymous");
    assert_eq!(anonymous.get("/version").await?.code, 200);
    assert_eq!(anonymous.get("/apis").await?.code, 403);
    Ok(())
}

#[tokio::test]
async fn somebody_without_a_name_is_nobody() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw().with_header("impersonate-group", "g");
    let refused = raw
        .with_header("impersonate-extra-key", "x")
        .get("/api/v1/pods")
        .await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            400,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, Extra:map[string][]string{\"key\":[]string{\"x\"}}} without impersonating a user name"
        )
    );
    let refused = cluster
        .raw()
        .with_header("impersonate-uid", "7")
        .get("/api/v1/pods")
        .await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            400,
            "requested &user.DefaultInfo{Name:\"\", UID:\"7\", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name"
        )
    );
    Ok(())
}
