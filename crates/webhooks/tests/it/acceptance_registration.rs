//! What is registered, kept, put back and left alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::support::{AsAnnotated, CONFIGURATIONS, CRDS, Stage, definition, text};
use anyhow::{Context as _, Result};
use cambium_apiserver::ApiServer;
use cambium_testing::{TestCluster, eventually};
use cambium_webhooks::admission::Admission;
use cambium_webhooks::names;
use cambium_webhooks::registration::Reach;
use cambium_webhooks::{Options, Webhooks};
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A client that notes what it writes.
fn counting(client: Client) -> (Client, Arc<Mutex<Vec<String>>>) {
    let writes: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = writes.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        if request.method() != Method::GET {
            let line = format!("{} {}", request.method(), request.uri());
            log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        let client = client.clone();
        async move { client.send(request).await }
    });
    (Client::new(service, "default"), writes)
}

fn crd_paths() -> Vec<String> {
    let crds = cambium_api::crds::all().into_iter();
    crds.map(|crd| format!("{CRDS}/{}", crd.metadata.name.unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn an_unchanged_world_is_not_written() -> Result<()> {
    let stage = Stage::set().await?;
    let listener = Stage::listener().await?;
    let address = listener.local_addr()?;
    let options = stage.options(&listener)?;
    let first = Webhooks::start(
        stage.manager.clone(),
        listener,
        options.clone(),
        Admission::validating(vec![Arc::new(AsAnnotated)]),
    )
    .await?;
    first.stop().await;
    let (client, writes) = counting(stage.manager.clone());
    let listener = TcpListener::bind(address).await?;
    let second = Webhooks::start(
        client,
        listener,
        options,
        Admission::validating(vec![Arc::new(AsAnnotated)]),
    )
    .await?;
    // And not when it looks again, either.
    let before = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 {
        second.wake();
        before.fetch_add(1, Ordering::AcqRel);
        let label = json!({"metadata": {"labels": {"somebody": before.load(Ordering::Acquire).to_string()}}});
        for path in crd_paths() {
            assert_eq!(stage.raw.patch("merge", &path, &label).await?.code, 200);
        }
    }
    let made = stage
        .create(&definition(
            "v2beta1",
            "TraitDefinition",
            "here",
            json!({"versions": [{"version": "1"}]}),
        ))
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    second.stop().await;
    let writes = writes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(writes.is_empty(), "{writes:?}");
    Ok(())
}

#[tokio::test]
async fn what_others_take_away_is_put_back_and_what_they_add_is_kept() -> Result<()> {
    let stage = Stage::set().await?;
    let webhooks = stage
        .webhooks(Admission::validating(vec![Arc::new(AsAnnotated)]))
        .await?;
    let crd_path = format!("{CRDS}/componentdefinitions.core.oam.dev");
    let configuration_path = format!("{CONFIGURATIONS}/{}", stage.configuration);
    let conversion = stage.raw.get(&crd_path).await?.body["spec"]["conversion"].clone();
    assert_eq!(
        conversion["webhook"]["conversionReviewVersions"],
        json!(["v1", "v1beta1"])
    );
    let registered = stage.raw.get(&configuration_path).await?.body["webhooks"][0].clone();
    assert_eq!(
        (
            text(&registered["failurePolicy"]),
            text(&registered["sideEffects"]),
            text(&registered["matchPolicy"]),
            &registered["timeoutSeconds"]
        ),
        ("Fail", "None", "Equivalent", &json!(10))
    );
    assert_eq!(registered["namespaceSelector"], json!({}), "all namespaces");

    // The CRD as it is committed, applied by somebody who does not know of the webhook.
    let as_committed = cambium_api::crds::definitions()
        .into_iter()
        .next()
        .context("a definition")?;
    let mut as_committed = json!(as_committed);
    as_committed["spec"]["conversion"] = json!({"strategy": "None", "webhook": null});
    as_committed["metadata"]["labels"] = json!({"team": "platform", names::KEPT_BY: null});
    let patched = stage.raw.patch("merge", &crd_path, &as_committed).await?;
    assert_eq!(patched.code, 200, "{patched:?}");
    eventually("the stanza is back", || async {
        let crd = stage.raw.get(&crd_path).await?.body;
        let versions = crd["spec"]["versions"].as_array().cloned().unwrap_or_default();
        Ok(crd["spec"]["conversion"] == conversion
            && versions.iter().all(|version| version["served"] == true))
    })
    .await?;
    let labels = stage.raw.get(&crd_path).await?.body["metadata"]["labels"].clone();
    assert_eq!(
        (&labels["team"], &labels[names::KEPT_BY]),
        (&json!("platform"), &json!(stage.configuration))
    );

    let selector = json!({"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]});
    let mut edited = registered.clone();
    edited["clientConfig"]["caBundle"] = Value::Null;
    edited["failurePolicy"] = json!("Ignore");
    edited["namespaceSelector"] = selector.clone();
    let mut stale = registered.clone();
    stale["name"] = json!(format!("gone{}", names::WEBHOOK_SUFFIX));
    let mut foreign = registered.clone();
    foreign["name"] = json!("others.example.com");
    foreign["failurePolicy"] = json!("Ignore");
    foreign["rules"][0]["resources"] = json!(["policydefinitions"]);
    let edits = json!({"webhooks": [edited, stale, foreign]});
    assert_eq!(
        stage.raw.patch("merge", &configuration_path, &edits).await?.code,
        200
    );
    eventually("the webhook is back", || async {
        let found = stage.raw.get(&configuration_path).await?.body["webhooks"].clone();
        let names: Vec<&str> = found
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| text(&one["name"]))
            .collect();
        Ok(names == [text(&registered["name"]), "others.example.com"]
            && found[0]["clientConfig"] == registered["clientConfig"]
            && found[0]["failurePolicy"] == "Fail"
            && found[0]["namespaceSelector"] == selector)
    })
    .await?;

    assert_eq!(
        stage.raw.delete(&configuration_path, &Value::Null).await?.code,
        200
    );
    eventually("the configuration is back", || async {
        let found = stage.raw.get(&configuration_path).await?.body;
        Ok(found["webhooks"][0]["clientConfig"] == registered["clientConfig"])
    })
    .await?;
    webhooks.stop().await;
    Ok(())
}

#[tokio::test]
async fn schemas_of_an_older_program_are_renewed_and_of_a_newer_one_kept() -> Result<()> {
    let stage = Stage::set().await?;
    let path = format!("{CRDS}/traitdefinitions.core.oam.dev");
    stage.webhooks(Admission::default()).await?.stop().await;
    let edit = |version: &str, column: &str| {
        let (version, column) = (version.to_owned(), column.to_owned());
        let (raw, path) = (stage.raw.clone(), path.clone());
        async move {
            let mut crd = raw.get(&path).await?.body;
            crd["metadata"]["annotations"][names::SCHEMA_VERSION] = json!(version);
            crd["spec"]["versions"][0]["additionalPrinterColumns"][0]["name"] = json!(column);
            crd["spec"]["conversion"]["webhook"]["clientConfig"]["url"] = json!("https://127.0.0.1:1/gone");
            let put = raw.put(&path, &crd).await?;
            anyhow::ensure!(put.code == 200, "{put:?}");
            Ok(())
        }
    };
    for (version, kept) in [("0.0.1", "Version"), ("99.0.0", "Edited")] {
        edit(version, "Edited").await?;
        let webhooks = stage.webhooks(Admission::default()).await?;
        let crd = stage.raw.get(&path).await?.body;
        assert_eq!(
            crd["spec"]["versions"][0]["additionalPrinterColumns"][0]["name"],
            kept
        );
        let url = text(&crd["spec"]["conversion"]["webhook"]["clientConfig"]["url"]).to_owned();
        assert_eq!(
            url,
            format!("https://{}/convert", webhooks.address()),
            "the converter is us in any case"
        );
        webhooks.stop().await;
    }
    edit("0.0.1", "Version").await
}

#[tokio::test]
async fn by_a_service() -> Result<()> {
    // Only the embedded server can be told where a Service is.
    let listener = Stage::listener().await?;
    let address = listener.local_addr()?;
    let builder = ApiServer::builder().service_resolver(Arc::new(move |service| {
        (service.name == "hooks" && service.namespace == "system" && service.port == 8443).then_some(address)
    }));
    let cluster = TestCluster::embedded(builder).await?;
    let reach = Reach::Service {
        namespace: "system".to_owned(),
        name: "hooks".to_owned(),
        port: 8443,
    };
    let options = Options::new("default", reach);
    let webhooks = Webhooks::start(
        cluster.client(),
        listener,
        options,
        Admission::validating(vec![Arc::new(AsAnnotated)]),
    )
    .await?;
    let path = "/apis/core.oam.dev/v2beta1/namespaces/default/componentdefinitions";
    let raw = cluster.raw();
    let made = raw
        .post(
            path,
            &definition(
                "v2beta1",
                "ComponentDefinition",
                "web",
                json!({"versions": [{"version": "1"}]}),
            ),
        )
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    let mut denied = definition("v2beta1", "ComponentDefinition", "no", json!({}));
    denied["metadata"]["annotations"] = json!({"deny": "no"});
    assert_eq!(raw.post(path, &denied).await?.code, 422);
    webhooks.stop().await;
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_registered_is_said_at_once() -> Result<()> {
    let stage = Stage::set().await?;
    let start = |reach: Option<Reach>, validators: usize| {
        let stage = &stage;
        async move {
            let listener = Stage::listener().await?;
            let mut options = stage.options(&listener)?;
            options.reach = reach.unwrap_or(options.reach);
            let validators = (0..validators).map(|_| Arc::new(AsAnnotated) as _).collect();
            let started = Webhooks::start(
                stage.manager.clone(),
                listener,
                options,
                Admission::validating(validators),
            )
            .await;
            Ok::<_, anyhow::Error>(started.err().context("it must not start")?.to_string())
        }
    };
    let refused = start(Some(Reach::Url("http://127.0.0.1:1".to_owned())), 0).await?;
    assert!(refused.contains("is not an https base URL"), "{refused}");
    let refused = start(None, 2).await?;
    assert!(
        refused.contains("\"as-annotated\"") && refused.contains("not unique"),
        "{refused}"
    );
    Ok(())
}
