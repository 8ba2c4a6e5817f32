//! Priority and fairness: classification of requests, and the bootstrap objects.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster, eventually, eventually_some};
use serde_json::{Value, json};

const ROOT: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

async fn uid(raw: &Raw, path: &str) -> Result<String> {
    // A server makes them after its start.
    eventually_some(path, || async {
        let object = raw.get(&format!("{ROOT}/{path}")).await?.body;
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
        Ok(uid.map(str::to_owned))
    })
    .await
}

#[tokio::test]
async fn answers_name_the_flow_schema_and_the_level() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let (schema, level) = (
        uid(&raw, "flowschemas/exempt").await?,
        uid(&raw, "prioritylevelconfigurations/exempt").await?,
    );
    for path in [
        "/version",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/nowhere",
        "/apis/nothing/v1/here",
    ] {
        // A server takes a moment to read what it has made.
        eventually(path, || async {
            let request = http::Request::get(path).body(Vec::new())?;
            let response = cluster.client().send(request.map(Into::into)).await?;
            let told = |name: &str, uid: &str| response.headers().get(name).is_some_and(|value| value == uid);
            Ok(told("x-kubernetes-pf-flowschema-uid", &schema)
                && told("x-kubernetes-pf-prioritylevel-uid", &level))
        })
        .await?;
    }
    Ok(())
}

async fn dangling(raw: &Raw, name: &str) -> Result<Option<(String, String)>> {
    let schema = raw.get(&format!("{ROOT}/flowschemas/{name}")).await?.body;
    let text = |field: &str| {
        let value = schema.pointer(&format!("/status/conditions/0/{field}"));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    Ok(text("status").zip(text("message")))
}

#[tokio::test]
async fn a_flow_schema_says_whether_it_leads_anywhere() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let name = cluster.unique("narrow");
    let schema = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": name},
        "spec": {"priorityLevelConfiguration": {"name": name}, "matchingPrecedence": 700, "rules": [{
            "subjects": [{"kind": "User", "user": {"name": name}}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]},
    });
    let made = raw.post(&format!("{ROOT}/flowschemas"), &schema).await?;
    anyhow::ensure!(made.code == 201, "{}", made.message());
    let first = eventually_some("a condition", || dangling(&raw, &name)).await?;
    let text = |why: &str| {
        format!("This FlowSchema references the PriorityLevelConfiguration object named \"{name}\" {why}")
    };
    assert_eq!(first, ("True".to_owned(), text("but there is no such object")));
    let level = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": {"name": name},
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}},
    });
    let made = raw
        .post(&format!("{ROOT}/prioritylevelconfigurations"), &level)
        .await?;
    anyhow::ensure!(made.code == 201, "{}", made.message());
    eventually("the level is found", || async {
        Ok(dangling(&raw, &name).await? == Some(("False".to_owned(), text("and it exists"))))
    })
    .await?;
    raw.delete(&format!("{ROOT}/flowschemas/{name}"), &json!({}))
        .await?;
    raw.delete(&format!("{ROOT}/prioritylevelconfigurations/{name}"), &json!({}))
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let (raw, name) = (cluster.raw(), cluster.unique("nonsense"));
    let level = |limited: Value| {
        json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
            "metadata": {"name": name}, "spec": {"type": "Limited", "limited": limited}})
    };
    let queues = |queues: i64, hand: i64| {
        let queuing = json!({"queues": queues, "handSize": hand, "queueLengthLimit": 5});
        level(json!({"limitResponse": {"type": "Queue", "queuing": queuing}}))
    };
    let schema = |rules: Value| {
        json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": name},
            "spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 1, "rules": rules}})
    };
    let rules = json!([{
        "subjects": [{"kind": "User", "group": {"name": "x"}}],
        "resourceRules": [{"verbs": ["jump"], "apiGroups": ["*", "apps"], "resources": []}],
    }]);
    for (path, object, problems) in [
        (
            "prioritylevelconfigurations",
            queues(4, 5),
            vec![
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)",
            ],
        ),
        (
            "prioritylevelconfigurations",
            queues(10_000_001, 5),
            vec![
                "spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000",
            ],
        ),
        (
            "prioritylevelconfigurations",
            queues(512, 7),
            vec![
                "handSize: Invalid value: 7: required entropy bits of deckSize 512 and handSize 7 should not be greater than 60",
            ],
        ),
        (
            "prioritylevelconfigurations",
            level(json!({"lendablePercent": 101, "limitResponse": {"type": "Reject"}})),
            vec!["spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"],
        ),
        (
            "flowschemas",
            schema(rules),
            vec![
                "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
                "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
                "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
                "if '*' is present, must not specify other api groups",
                "spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource",
                "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
                "spec.rules[0].resourceRules[0].verbs: Unsupported value: [\"jump\"]: supported values: \"create\", \"delete\", \"deletecollection\"",
            ],
        ),
    ] {
        let answer = raw.post(&format!("{ROOT}/{path}"), &object).await?;
        assert_eq!(answer.code, 422, "{}", answer.message());
        for problem in problems {
            assert!(
                answer.message().contains(problem),
                "{problem}\n{}",
                answer.message()
            );
        }
    }
    Ok(())
}
