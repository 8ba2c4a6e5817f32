//! Access reviews.

use anyhow::Result;
use cambium_testing::{TestCluster, eventually};
use serde_json::{Value, json};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";
const AUTHENTICATION: &str = "/apis/authentication.k8s.io/v1";

#[tokio::test]
async fn answers_say_why() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let (raw, user) = (cluster.raw(), cluster.unique("user"));
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let binding = json!({"metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]});
    assert_eq!(raw.post(bindings, &binding).await?.code, 201);
    let theirs = raw.clone().acting_as(&user);
    let ask = async |verb: &str| -> Result<Value> {
        let question = json!({"spec": {"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": "default"}}});
        let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
        Ok(theirs.post(&path, &question).await?.body["status"].clone())
    };
    let reason =
        format!("RBAC: allowed by ClusterRoleBinding \"{user}\" of ClusterRole \"view\" to User \"{user}\"");
    let allowed = json!({"allowed": true, "reason": reason});
    eventually("the binding counts", || async {
        Ok(ask("get").await? == allowed)
    })
    .await?;
    assert_eq!(ask("delete").await?, json!({"allowed": false}));

    let rules = json!({"spec": {"namespace": "default"}});
    let rules = theirs
        .post(&format!("{AUTHORIZATION}/selfsubjectrulesreviews"), &rules)
        .await?;
    assert_eq!(
        (rules.code, &rules.body["status"]["incomplete"]),
        (201, &json!(false))
    );
    let of_view = rules.body["status"]["resourceRules"]
        .as_array()
        .into_iter()
        .flatten();
    let about_slices = json!({"verbs": ["get", "list", "watch"], "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"]});
    assert_eq!(
        of_view.filter(|rule| **rule == about_slices).count(),
        1,
        "{rules:?}"
    );
    let paths = rules.body["status"]["nonResourceRules"].as_array();
    assert!(paths.is_some_and(|rules| rules.len() == 2), "{rules:?}");
    raw.delete(&format!("{bindings}/{user}"), &Value::Null).await?;
    Ok(())
}

#[tokio::test]
async fn a_subject_has_the_groups_that_the_question_says() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let ask = async |spec: Value| -> Result<Value> {
        let path = format!("{AUTHORIZATION}/subjectaccessreviews");
        Ok(cluster.raw().post(&path, &json!({"spec": spec})).await?.body["status"].clone())
    };
    let path = json!({"verb": "get", "path": "/apis/apps"});
    let alone = ask(json!({"user": "ada", "nonResourceAttributes": path})).await?;
    assert_eq!(
        alone,
        json!({"allowed": false}),
        "nobody has said that ada was recognised"
    );
    let known =
        ask(json!({"user": "ada", "groups": ["system:authenticated"], "nonResourceAttributes": path}))
            .await?;
    assert_eq!(
        known,
        json!({"allowed": true, "reason":
            "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\""})
    );
    let master =
        ask(json!({"groups": ["system:masters"], "resourceAttributes": {"verb": "x", "resource": "y"}}))
            .await?;
    assert_eq!(master, json!({"allowed": true}));
    Ok(())
}

#[tokio::test]
async fn bad_questions_are_refused() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let resource = json!({"verb": "get", "resource": "pods"});
    let cases = [
        (
            "selfsubjectaccessreviews",
            json!({"spec": {}}),
            (
                422,
                ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ),
        ),
        (
            "subjectaccessreviews",
            json!({"spec": {"resourceAttributes": resource}}),
            (
                422,
                ".authorization.k8s.io \"\" is invalid: spec.user: Invalid value: \"\": at least one of user or group must be specified",
            ),
        ),
        (
            "namespaces/default/localsubjectaccessreviews",
            json!({"spec": {"user": "x", "resourceAttributes": resource}}),
            (
                422,
                ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"\": must match metadata.namespace",
            ),
        ),
        (
            "namespaces/default/localsubjectaccessreviews",
            json!({"metadata": {"namespace": "other"}, "spec": {"user": "x", "resourceAttributes": resource}}),
            (
                400,
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
        ),
        (
            "namespaces/default/localsubjectaccessreviews",
            json!({"spec": {"user": "x", "nonResourceAttributes": {"verb": "get", "path": "/"}}}),
            (
                422,
                ".authorization.k8s.io \"\" is invalid: spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"get\"}: disallowed on this kind of request",
            ),
        ),
        (
            "selfsubjectrulesreviews",
            json!({"spec": {}}),
            (400, "no namespace on request"),
        ),
    ];
    for (resource, question, (code, message)) in cases {
        let refused = raw
            .post(&format!("{AUTHORIZATION}/{resource}"), &question)
            .await?;
        assert_eq!(
            (refused.code, refused.message()),
            (code, message),
            "{resource} {question}"
        );
    }
    let refused = raw
        .post(&format!("{AUTHENTICATION}/tokenreviews"), &json!({"spec": {}}))
        .await?;
    assert_eq!(
        (refused.code, refused.message()),
        (400, "token is required for TokenReview in authentication")
    );
    Ok(())
}

#[tokio::test]
async fn everybody_may_ask_who_they_are() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let user = cluster.unique("user");
    let theirs = cluster
        .raw()
        .acting_as(&user)
        .with_header("impersonate-group", "friends");
    let theirs = theirs.with_header("impersonate-extra-acme.com%2fproject", "x");
    let answer = theirs
        .post(&format!("{AUTHENTICATION}/selfsubjectreviews"), &json!({}))
        .await?;
    assert_eq!(answer.code, 201, "{answer:?}");
    assert_eq!(
        answer.body["status"]["userInfo"],
        json!({"username": user, "groups": ["friends", "system:authenticated"], "extra": {"acme.com/project": ["x"]}})
    );
    let stranger = cambium_testing::Raw::new(cluster.stranger().await?);
    let refused = stranger
        .post(&format!("{AUTHENTICATION}/selfsubjectreviews"), &json!({}))
        .await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            403,
            "selfsubjectreviews.authentication.k8s.io is forbidden: User \"system:anonymous\" cannot create resource \"selfsubjectreviews\" in API group \"authentication.k8s.io\" at the cluster scope"
        )
    );
    Ok(())
}
