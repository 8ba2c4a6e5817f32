//! Every call to the API server fails once, or succeeds and the answer is lost: the end is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{AsAnnotated, Stage, definition};
use anyhow::Result;
use cambium_apiserver::ApiServer;
use cambium_testing::TestCluster;
use cambium_webhooks::admission::Admission;
use cambium_webhooks::certificates::Stored;
use cambium_webhooks::registration::Reach;
use cambium_webhooks::{Options, Webhooks};
use http::{Request, Response};
use k8s_openapi::api::core::v1::Secret;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::json;

#[derive(Debug, Clone, Copy)]
enum Trouble {
    Refused,
    AnswerLost,
}

/// A client whose call of this number ends badly. And how many calls there were.
fn troubled(client: Client, number: usize, trouble: Trouble) -> (Client, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, this) = (client.clone(), count.fetch_add(1, Ordering::AcqRel));
        async move {
            if this != number {
                return client.send(request).await;
            }
            if matches!(trouble, Trouble::AnswerLost) {
                client.send(request).await?;
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 503,
                "reason": "ServiceUnavailable", "message": "not now"});
            let response = Response::builder()
                .status(503)
                .body(Body::from(status.to_string().into_bytes()));
            Ok(response.unwrap())
        }
    });
    (Client::new(service, "default"), calls)
}

#[tokio::test]
async fn a_start_survives_the_failure_of_any_call() -> Result<()> {
    survive(Trouble::Refused).await
}

#[tokio::test]
async fn a_start_survives_the_loss_of_any_answer() -> Result<()> {
    survive(Trouble::AnswerLost).await
}

async fn survive(trouble: Trouble) -> Result<()> {
    let mut number = 0;
    loop {
        let cluster = TestCluster::embedded(ApiServer::builder()).await?;
        let (client, calls) = troubled(cluster.client(), number, trouble);
        let listener = Stage::listener().await?;
        let mut options = Options::new("default", Reach::local(listener.local_addr()?));
        // The others are the same again.
        options.crds.truncate(1);
        let started = Webhooks::start(
            client,
            listener,
            options,
            Admission::validating(vec![Arc::new(AsAnnotated)]),
        )
        .await;
        let webhooks = started.map_err(|error| anyhow::anyhow!("{trouble:?} {number}: {error}"))?;
        let secrets: Api<Secret> = Api::namespaced(cluster.client(), "default");
        let secret = secrets.get("cambium-webhooks").await?;
        let Stored::Whole(authorities) = Stored::read(Some(&secret)) else {
            anyhow::bail!("{trouble:?} {number}: the Secret is not whole");
        };
        assert!(authorities.next.is_none() && authorities.previous.is_empty());
        let leaf = webhooks.resolver().leaf().unwrap();
        assert_eq!(leaf.facts().by, authorities.current.certificate().facts().id);
        let path = "/apis/core.oam.dev/v2beta1/namespaces/default/componentdefinitions";
        let object = definition(
            "v2beta1",
            "ComponentDefinition",
            "web",
            json!({"versions": [{"version": "1"}]}),
        );
        let made = cluster.raw().post(path, &object).await?;
        assert_eq!(made.code, 201, "{trouble:?} {number}: {made:?}");
        webhooks.stop().await;
        // The trouble came after everything was done: there is nothing left to fail.
        if calls.load(Ordering::Acquire) <= number {
            break;
        }
        number += 1;
    }
    assert!(number > 12, "there were more calls than {number}");
    Ok(())
}
