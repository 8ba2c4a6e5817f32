//! Certificates as an API server meets them.

use crate::trust;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::{AsAnnotated, CONFIGURATIONS, CRDS, MUTATING, Signs, Stage, definition};
use anyhow::{Context as _, Result};
use cambium_testing::{eventually, eventually_some};
use cambium_webhooks::admission::Admission;
use cambium_webhooks::certificates::{Fingerprint, Lifetimes, Stored, bundle_ids};
use cambium_webhooks::registration::Reach;
use cambium_webhooks::{Options, Webhooks};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::{Value, json};

/// A clock that a test sets.
#[derive(Clone)]
struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    /// So many days from now.
    fn at(days: i64) -> Self {
        Self(Arc::new(Mutex::new(
            Timestamp::now() + SignedDuration::from_hours(24 * days),
        )))
    }

    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn forward(&self, by: SignedDuration) {
        *self.0.lock().unwrap() += by;
    }
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

async fn stored(stage: &Stage) -> Result<Stored> {
    let secrets: Api<Secret> = Api::namespaced(stage.cluster.client(), &stage.namespace);
    Ok(Stored::read(secrets.get_opt("cambium-webhooks").await?.as_ref()))
}

/// The authority that signs, and all that are to be trusted.
async fn authorities(stage: &Stage) -> Result<(Fingerprint, BTreeSet<Fingerprint>)> {
    let stored = stored(stage).await?;
    let all = stored
        .certificates()
        .into_iter()
        .map(|one| one.facts().id.clone());
    match &stored {
        Stored::Whole(whole) => Ok((whole.current.certificate().facts().id.clone(), all.collect())),
        other => anyhow::bail!("{other:?}"),
    }
}

/// Every bundle that an API server was given.
async fn bundles(stage: &Stage) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for crd in cambium_api::crds::definitions() {
        let path = format!("{CRDS}/{}", crd.metadata.name.context("a name")?);
        let crd = stage.raw.get(&path).await?.body;
        found.push(crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone());
    }
    for collection in [CONFIGURATIONS, MUTATING] {
        let path = format!("{collection}/{}", stage.configuration);
        let configuration = stage.raw.get(&path).await?.body;
        let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
        found.extend(webhooks.map(|webhook| webhook["clientConfig"]["caBundle"].clone()));
    }
    let decode = |bundle| {
        Ok(String::from_utf8(
            serde_json::from_value::<ByteString>(bundle)?.0,
        )?)
    };
    found.into_iter().map(decode).collect()
}

/// Whether what is served now is believed by whoever holds any bundle.
async fn check(stage: &Stage, webhooks: &Webhooks, now: Timestamp) -> Result<()> {
    let leaf = webhooks.resolver().leaf().context("a leaf")?;
    for bundle in bundles(stage).await? {
        trust::believes(&bundle, &leaf, "127.0.0.1", now)?;
    }
    Ok(())
}

/// Whether all bundles carry exactly these.
async fn carry(stage: &Stage, expected: &BTreeSet<Fingerprint>) -> Result<bool> {
    let bundles = bundles(stage).await.unwrap_or_default();
    Ok(!bundles.is_empty()
        && bundles
            .iter()
            .all(|bundle| bundle_ids(bundle.as_bytes()) == *expected))
}

async fn is_signed_by_current(stage: &Stage, webhooks: &Webhooks) -> Result<bool> {
    let Ok((current, all)) = authorities(stage).await else {
        return Ok(false);
    };
    let by = webhooks.resolver().leaf().map(|leaf| leaf.facts().by.clone());
    Ok(by == Some(current) && carry(stage, &all).await?)
}

async fn write_and_read(stage: &Stage, name: &str) -> Result<()> {
    let spec = json!({"versions": [{"version": "1.0.0"}]});
    let object = definition("v2beta1", "ComponentDefinition", name, spec.clone());
    let made = stage.create(&object).await?;
    anyhow::ensure!(made.code == 201, "{made:?}");
    let read = stage
        .raw
        .get(&stage.path("v2beta1", "ComponentDefinition", name))
        .await?;
    anyhow::ensure!(read.body["spec"] == spec, "{read:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_rotation_is_noticed_by_nobody() -> Result<()> {
    let stage = Stage::set().await?;
    // The API server has a clock of its own: everything that is ever shown is valid at the real time too.
    let hands = Hands::at(-300);
    let listener = Stage::listener().await?;
    let clock = hands.clone();
    let options = Options {
        clock: Arc::new(move || clock.now()),
        lifetimes: Lifetimes {
            leaf: days(330),
            ..Lifetimes::default()
        },
        ..stage.options(&listener)?
    };
    let webhooks = Webhooks::start(
        stage.manager.clone(),
        listener,
        options,
        Admission {
            validators: vec![Arc::new(AsAnnotated)],
            mutators: vec![Arc::new(Signs)],
        },
    )
    .await?;
    let (first, _) = authorities(&stage).await?;
    write_and_read(&stage, "all-along").await?;

    // Somebody who reads all the time, at the version that has to be converted, and writes, which is validated.
    let (done, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let reader = {
        let (raw, path) = (
            stage.raw.clone(),
            stage.path("v2beta1", "ComponentDefinition", "all-along"),
        );
        let (done, asked) = (done.clone(), asked.clone());
        tokio::spawn(async move {
            while !done.load(Ordering::Acquire) {
                let number = asked.fetch_add(1, Ordering::AcqRel);
                let read = raw.get(&path).await?;
                anyhow::ensure!(read.code == 200, "{read:?}");
                let label = json!({"metadata": {"labels": {"number": number.to_string()}}});
                let patched = raw.patch("merge", &path, &label).await?;
                anyhow::ensure!(patched.code == 200, "{patched:?}");
            }
            Ok(())
        })
    };
    let some_more = || async {
        let before = asked.load(Ordering::Acquire);
        eventually("somebody reads on", || async {
            Ok(reader.is_finished() || asked.load(Ordering::Acquire) > before + 20)
        })
        .await
    };
    check(&stage, &webhooks, hands.now()).await?;
    some_more().await?;

    hands.forward(days(250));
    webhooks.wake();
    let published = || async {
        Ok(match stored(&stage).await? {
            Stored::Whole(whole) => whole.next.is_some_and(|next| next.published.is_some()),
            _ => false,
        })
    };
    eventually("the next authority is in every bundle", published).await?;
    let (current, both) = authorities(&stage).await?;
    assert_eq!((&current, both.len()), (&first, 2), "it does not sign yet");
    assert!(carry(&stage, &both).await?);
    assert_eq!(webhooks.resolver().leaf().unwrap().facts().by, first);
    check(&stage, &webhooks, hands.now()).await?;
    some_more().await?;

    let before = bundles(&stage).await?;
    hands.forward(Lifetimes::default().settle);
    webhooks.wake();
    eventually("the next authority signs", || async {
        Ok(webhooks
            .resolver()
            .leaf()
            .is_some_and(|leaf| leaf.facts().by != first))
    })
    .await?;
    assert_eq!(bundles(&stage).await?, before, "nothing changes for anybody");
    check(&stage, &webhooks, hands.now()).await?;
    some_more().await?;

    hands.forward(days(116));
    webhooks.wake();
    let second = webhooks.resolver().leaf().unwrap().facts().by.clone();
    eventually("the first authority is forgotten", || async {
        carry(&stage, &BTreeSet::from([second.clone()])).await
    })
    .await?;
    check(&stage, &webhooks, hands.now()).await?;
    some_more().await?;
    write_and_read(&stage, "at-last").await?;

    done.store(true, Ordering::Release);
    reader.await??;
    webhooks.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_leaf_is_renewed_without_anybody_noticing() -> Result<()> {
    let stage = Stage::set().await?;
    let hands = Hands::at(-25);
    let listener = Stage::listener().await?;
    let clock = hands.clone();
    let options = Options {
        clock: Arc::new(move || clock.now()),
        ..stage.options(&listener)?
    };
    let webhooks = Webhooks::start(
        stage.manager.clone(),
        listener,
        options,
        Admission::validating(vec![Arc::new(AsAnnotated)]),
    )
    .await?;
    let (old, before) = (webhooks.resolver().leaf().unwrap(), authorities(&stage).await?);
    hands.forward(days(25));
    webhooks.wake();
    eventually("the leaf is new", || async {
        Ok(webhooks
            .resolver()
            .leaf()
            .is_some_and(|leaf| leaf.facts().made > old.facts().made))
    })
    .await?;
    assert_eq!(authorities(&stage).await?, before, "the authority is the same");
    check(&stage, &webhooks, hands.now()).await?;
    write_and_read(&stage, "renewed").await?;
    webhooks.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_start_at_once_share_one_authority() -> Result<()> {
    let stage = Stage::set().await?;
    let mut listeners = Vec::new();
    for _ in 0..3 {
        listeners.push(Stage::listener().await?);
    }
    // As behind a Service: one address for all.
    let reach = Reach::local(listeners[0].local_addr()?);
    let starts = listeners.into_iter().map(|listener| {
        let options = Options {
            reach: reach.clone(),
            ..stage.options(&listener).unwrap()
        };
        let client = stage.manager.clone();
        tokio::spawn(Webhooks::start(
            client,
            listener,
            options,
            Admission::validating(vec![Arc::new(AsAnnotated)]),
        ))
    });
    let mut replicas = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        replicas.push(start.await??);
    }
    let (current, all) = authorities(&stage).await?;
    assert_eq!(all.len(), 1);
    for replica in &replicas {
        assert_eq!(replica.resolver().leaf().unwrap().facts().by, current);
        check(&stage, replica, Timestamp::now()).await?;
    }
    write_and_read(&stage, "shared").await?;
    for replica in replicas {
        replica.stop().await;
    }
    Ok(())
}

#[tokio::test]
async fn a_damaged_secret_is_replaced_and_somebody_is_told() -> Result<()> {
    let stage = Stage::set().await?;
    let webhooks = stage
        .webhooks(Admission::validating(vec![Arc::new(AsAnnotated)]))
        .await?;
    let path = format!("/api/v1/namespaces/{}/secrets/cambium-webhooks", stage.namespace);
    let (first, _) = authorities(&stage).await?;
    let damaged = stage
        .raw
        .patch("merge", &path, &json!({"data": {"ca.key": "Z2FyYmFnZQ=="}}))
        .await?;
    assert_eq!(damaged.code, 200);
    eventually("there is a new authority, everywhere", || async {
        Ok(authorities(&stage)
            .await
            .is_ok_and(|(current, _)| current != first)
            && is_signed_by_current(&stage, &webhooks).await?)
    })
    .await?;
    let (second, all) = authorities(&stage).await?;
    assert_eq!(
        all,
        BTreeSet::from([first, second.clone()]),
        "leaves that the first signed are still believed"
    );
    eventually("the API server has heard of it", || async {
        Ok(write_and_read(&stage, &stage.cluster.unique("replaced"))
            .await
            .is_ok())
    })
    .await?;
    let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", stage.namespace);
    let note = eventually_some("an event says so", || async {
        let events = stage.raw.get(&events).await?.body;
        let all = events["items"].as_array().into_iter().flatten();
        let mut found = all.filter(|event| event["reason"] == "AuthorityReplaced");
        Ok(found.next().map(|event| event["note"].clone()))
    })
    .await?;
    let expected = "Replaced the certificate authority: the Secret was unusable: its certificate authority is damaged: \
        its key is not a private key in PEM";
    assert_eq!(note, expected);

    assert_eq!(stage.raw.delete(&path, &Value::Null).await?.code, 200);
    eventually("an authority is made where there is none", || async {
        Ok(authorities(&stage)
            .await
            .is_ok_and(|(current, _)| current != second)
            && is_signed_by_current(&stage, &webhooks).await?)
    })
    .await?;
    assert_eq!(
        authorities(&stage).await?.1.len(),
        1,
        "whoever removes it wants to be rid of it"
    );
    eventually("the API server has heard of it", || async {
        Ok(write_and_read(&stage, &stage.cluster.unique("removed"))
            .await
            .is_ok())
    })
    .await?;
    webhooks.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_secret_that_cannot_be_used_is_left_alone_in_words() -> Result<()> {
    let stage = Stage::set().await?;
    let path = format!("/api/v1/namespaces/{}/secrets", stage.namespace);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cambium-webhooks"},
        "stringData": {"password": "of somebody"}});
    let made = stage.raw.post(&path, &secret).await?;
    assert_eq!(made.code, 201);
    let refused = stage
        .webhooks(Admission::default())
        .await
        .err()
        .context("it must not start")?
        .to_string();
    let namespace = &stage.namespace;
    let expected = format!(
        "failed to use the Secret {namespace}/cambium-webhooks: it was not created by Cambium: delete it, or configure another name"
    );
    assert_eq!(refused, expected);
    let read = stage.raw.get(&format!("{path}/cambium-webhooks")).await?;
    assert_eq!(read.body["data"], made.body["data"]);

    let listener = Stage::listener().await?;
    let options = Options {
        namespace: "nowhere".to_owned(),
        ..stage.options(&listener)?
    };
    let started = Webhooks::start(stage.manager.clone(), listener, options, Admission::default()).await;
    let refused = started.err().context("it must not start")?.to_string();
    assert!(
        refused.contains("write the Secret") && refused.contains("nowhere"),
        "{refused}"
    );
    Ok(())
}

#[tokio::test]
async fn an_authority_that_expired_is_replaced_at_the_next_start() -> Result<()> {
    let stage = Stage::set().await?;
    let start = |hands: Hands| async {
        let listener = Stage::listener().await?;
        let options = Options {
            clock: Arc::new(move || hands.now()),
            ..stage.options(&listener)?
        };
        anyhow::Ok(
            Webhooks::start(
                stage.manager.clone(),
                listener,
                options,
                Admission::validating(vec![Arc::new(AsAnnotated)]),
            )
            .await?,
        )
    };
    start(Hands::at(-400)).await?.stop().await;
    let (old, _) = authorities(&stage).await?;
    let webhooks = start(Hands::at(0)).await?;
    let (new, all) = authorities(&stage).await?;
    assert!(new != old && all.len() == 1);
    check(&stage, &webhooks, Timestamp::now()).await?;
    eventually("the API server has heard of it", || async {
        Ok(write_and_read(&stage, &stage.cluster.unique("again"))
            .await
            .is_ok())
    })
    .await?;
    webhooks.stop().await;
    let early = start(Hands::at(-30))
        .await
        .err()
        .context("it must not start")?
        .to_string();
    assert!(early.contains("check the clocks"), "{early}");
    Ok(())
}
