//! Witnesses, shown to an API server: with the old CRD it accepts each, with the new one it does what the witness says, word for word.

use std::sync::Mutex;

use cambium_evolve::{Contract, Outcome, Witness, compare};
use cambium_testing::{Raw, TestCluster, eventually};
use serde_json::{Value, json};

use super::rows::{names, read};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_does_with_each_witness_what_the_witness_says() {
    let cluster = TestCluster::start().await.unwrap();
    let raw = cluster.raw();
    let namespace = cluster.namespace("witness").await.unwrap();
    let mut shown = 0;
    for (index, name) in names().into_iter().enumerate() {
        let group = format!("{}.example.org", cluster.unique(&format!("row-{index}")));
        let (old, new) = (read(&name, "old.yaml"), read(&name, "new.yaml"));
        if new.is_null() {
            continue;
        }
        let (old, new) = (renamed(old, &group), renamed(new, &group));
        let contract = |crd: &Value| Contract::of_crd(crd).unwrap();
        let comparison = compare(&contract(&old), &contract(&new));
        let witnesses: Vec<&Witness> = comparison
            .changes
            .iter()
            .filter_map(|change| change.witness.as_ref())
            .collect();
        if witnesses.is_empty() || old["apiVersion"] != "apiextensions.k8s.io/v1" {
            continue;
        }
        let things = format!("/apis/{group}/v1/namespaces/{namespace}/things");
        let dry_run = format!("{things}?dryRun=All&fieldValidation=Strict");
        apply(&raw, &old, &things).await;
        for witness in &witnesses {
            let answer = raw.post(&dry_run, &witness.object).await.unwrap();
            assert_eq!(
                answer.code, 201,
                "{name}: the old CRD accepts {}: {}",
                witness.object, answer.body
            );
        }
        apply(&raw, &new, &things).await;
        for witness in witnesses {
            // Kubernetes validates by a changed CRD a moment after it has taken it.
            let last = Mutex::new(String::new());
            let does = eventually("the new CRD does with the witness what it says", || async {
                let answer = raw.post(&dry_run, &witness.object).await?;
                let mut last = last.lock().unwrap();
                *last = format!("{name}: {}", answer.body);
                Ok(does_as_said(witness, answer.code, &answer.body))
            });
            does.await
                .unwrap_or_else(|error| panic!("{error}: {}", last.lock().unwrap()));
            shown += 1;
        }
        let crd = format!("{CRDS}/things.{group}");
        raw.delete(&crd, &json!({})).await.unwrap();
    }
    assert!(shown > 25, "{shown}");
}

/// The CRD in a group of its own, so that rows do not meet in a cluster.
fn renamed(mut crd: Value, group: &str) -> Value {
    crd["metadata"]["name"] = format!("things.{group}").into();
    crd["spec"]["group"] = group.into();
    crd
}

/// Creates or replaces the CRD, and waits until the API server answers by it.
async fn apply(raw: &Raw, crd: &Value, things: &str) {
    let path = format!("{CRDS}/{}", crd["metadata"]["name"].as_str().unwrap());
    eventually("the CRD is applied", || async {
        let there = raw.get(&path).await?;
        let answer = match there.code {
            404 => raw.post(CRDS, crd).await?,
            _ => {
                let mut crd = crd.clone();
                crd["metadata"]["resourceVersion"] = there.body["metadata"]["resourceVersion"].clone();
                raw.put(&path, &crd).await?
            }
        };
        // The server's own controllers write its status meanwhile.
        assert!(matches!(answer.code, 200 | 201 | 409), "{}", answer.body);
        Ok(answer.code != 409)
    })
    .await
    .unwrap();
    eventually("the kind is served", || async {
        Ok(raw.get(things).await?.code == 200)
    })
    .await
    .unwrap();
}

fn does_as_said(witness: &Witness, code: u16, body: &Value) -> bool {
    match &witness.outcome {
        Outcome::Refused(texts) => {
            let causes = body["details"]["causes"].as_array().into_iter().flatten();
            let told = causes.map(|cause| {
                let text = |field: &str| cause[field].as_str().unwrap_or_default();
                format!("{}: {}", text("field"), text("message"))
            });
            code == 422 && told.eq(texts.iter().cloned())
        }
        Outcome::Pruned(fields) => {
            let message = body["message"].as_str().unwrap_or_default();
            let is_named = |field: &String| message.contains(&format!("unknown field \"{field}\""));
            code == 400 && fields.iter().all(is_named)
        }
        Outcome::Different => code == 201,
    }
}
