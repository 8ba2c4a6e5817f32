//! Priority and fairness: where requests belong, and the objects that every cluster has.

use anyhow::{Context as _, Result};
use cambium_testing::{Raw, TestCluster, eventually, eventually_some};
use serde_json::{Value, json};

const ROOT: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

async fn uid(raw: &Raw, path: &str) -> Result<String> {
    let object = raw.get(&format!("{ROOT}/{path}")).await?.body;
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
    Ok(uid.with_context(|| format!("{path}: {object}"))?.to_owned())
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
        let request = http::Request::get(path).body(Vec::new())?;
        let response = cluster.client().send(request.map(Into::into)).await?;
        let told = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        assert_eq!(
            told("x-kubernetes-pf-flowschema-uid"),
            Some(schema.as_str()),
            "{path}"
        );
        assert_eq!(
            told("x-kubernetes-pf-prioritylevel-uid"),
            Some(level.as_str()),
            "{path}"
        );
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
