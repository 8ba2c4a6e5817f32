//! Wall clocks that jump back, forward or to extreme times: no panics, no waiting for the clock to recover, and resource
//! versions keep growing.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cambium_apiserver::ApiServer;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower_service::Service as _;

const DAY: i64 = 24 * 3600;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server whose clock follows tokio's, with an offset that the test controls.
struct World {
    server: ApiServer,
    set_by: Arc<AtomicI64>,
}

impl World {
    async fn at(start: Timestamp) -> Self {
        let set_by = Arc::new(AtomicI64::new(0));
        let (begin, by) = (Instant::now(), set_by.clone());
        let clock = move || {
            let passed = SignedDuration::try_from(begin.elapsed()).unwrap();
            let set = SignedDuration::from_secs(by.load(Ordering::SeqCst));
            let time = start.checked_add(passed).unwrap_or(Timestamp::MAX);
            time.checked_add(set).unwrap_or(Timestamp::MIN)
        };
        let server = ApiServer::builder().clock(Arc::new(clock)).build().await.unwrap();
        Self { server, set_by }
    }

    async fn today() -> Self {
        Self::at("2026-06-01T00:00:00Z".parse().unwrap()).await
    }

    /// Moves the clock by some seconds.
    fn set(&self, seconds: i64) {
        self.set_by.fetch_add(seconds, Ordering::SeqCst);
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let media = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media);
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let request = request.body(Full::new(bytes)).unwrap();
        let response = self.server.clone().call(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, &Value::Null).await
    }

    async fn map(&self, name: &str) -> Value {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let (code, made) = self.send("POST", MAPS, &object).await;
        assert_eq!(code, 201, "{made}");
        made
    }

    async fn deployment(&self, name: &str, replicas: u32) {
        let labels = json!({"app": name});
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        let (code, made) = self.send("POST", DEPLOYMENTS, &object).await;
        assert_eq!(code, 201, "{made}");
    }

    /// Waits in virtual time, at most an hour: far less than clocks are set back here.
    async fn until(&self, what: &str, path: &str, wanted: impl Fn(u16, &Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..3600 {
            let (code, body) = self.get(path).await;
            if wanted(code, &body) {
                return body;
            }
            last = body;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        unreachable!("{what}: {last:#}");
    }

    async fn until_ready(&self, name: &str, replicas: u32) {
        let path = format!("{DEPLOYMENTS}/{name}");
        self.until("ready", &path, |_, body| {
            body["status"]["readyReplicas"] == replicas
        })
        .await;
    }
}

fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn writes_go_on_when_the_clock_is_set_back() {
    let world = World::today().await;
    let first = world.map("first").await;
    world.set(-DAY);
    let second = world.map("second").await;
    assert!(revision(&second) > revision(&first));
    let time = |object: &Value| {
        object["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(time(&second) < time(&first), "the clock is believed");
    let path = format!("{MAPS}/first");
    let (code, changed) = world.send("PATCH", &path, &json!({"data": {"a": "b"}})).await;
    assert_eq!(code, 200);
    assert!(revision(&changed) > revision(&second));
    assert_eq!(time(&changed), time(&first));
    let (code, again) = world.send("PATCH", &path, &json!({"data": {"a": "b"}})).await;
    assert_eq!(
        (code, revision(&again)),
        (200, revision(&changed)),
        "nothing changed but the time"
    );
    let (code, list) = world.get(MAPS).await;
    assert_eq!((code, list["items"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(world.send("DELETE", &path, &Value::Null).await.0, 200);
    assert_eq!(world.get(&path).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn pages_go_on_when_the_clock_is_set_back_and_expire_when_it_is_set_forward() {
    let world = World::today().await;
    for name in ["a", "b", "c"] {
        world.map(name).await;
    }
    let (_, page) = world.get(&format!("{MAPS}?limit=1")).await;
    let next = format!(
        "{MAPS}?limit=1&continue={}",
        page["metadata"]["continue"].as_str().unwrap()
    );
    world.set(-DAY);
    assert_eq!(world.get(&next).await.0, 200);
    world.set(DAY + 600);
    assert_eq!(world.get(&next).await.0, 410);
}

#[tokio::test(start_paused = true)]
async fn watches_end_in_time_whatever_the_clock_says() {
    let world = World::today().await;
    let path = format!("{MAPS}?watch=true&timeoutSeconds=30&allowWatchBookmarks=true");
    let (watched, ()) = tokio::join!(world.get(&path), async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        world.set(-DAY);
    });
    assert_eq!(watched.0, 200);
    assert_eq!(world.server.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn workloads_go_on_when_the_clock_is_set_back() {
    let world = World::today().await;
    world.deployment("before", 2).await;
    world.set(-DAY);
    world.until_ready("before", 2).await;
    world.set(-DAY);
    world.deployment("after", 2).await;
    world.until_ready("after", 2).await;
    let path = format!("{DEPLOYMENTS}/before");
    let image =
        json!({"spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}});
    assert_eq!(world.send("PATCH", &path, &image).await.0, 200);
    world
        .until("rolled out", &path, |_, body| {
            body["status"]["updatedReplicas"] == 3
                && body["status"]["replicas"] == 3
                && body["status"]["readyReplicas"] == 3
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn pods_are_gone_after_their_grace_although_the_clock_was_set_back_meanwhile() {
    let world = World::today().await;
    world.deployment("web", 1).await;
    world.until_ready("web", 1).await;
    let (_, pods) = world.get(PODS).await;
    let name = pods["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    let path = format!("{PODS}/{name}");
    let (code, deleted) = world
        .send("DELETE", &path, &json!({"gracePeriodSeconds": 30}))
        .await;
    assert_eq!(code, 200);
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    world.set(-DAY);
    world.until("gone", &path, |code, _| code == 404).await;
    world.until_ready("web", 1).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "passing"}});
    assert_eq!(world.send("POST", "/api/v1/namespaces", &namespace).await.0, 201);
    world.set(-DAY);
    world
        .send("DELETE", "/api/v1/namespaces/passing", &Value::Null)
        .await;
    world
        .until("gone", "/api/v1/namespaces/passing", |code, _| code == 404)
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_first_and_the_last_second_are_times_like_others() {
    for start in [
        Timestamp::UNIX_EPOCH,
        "1969-12-31T23:59:59Z".parse().unwrap(),
        "0000-01-01T00:00:00Z".parse().unwrap(),
        "9999-12-30T21:59:59Z".parse().unwrap(),
        Timestamp::MAX,
    ] {
        let world = World::at(start).await;
        let made = world.map("a").await;
        assert!(made["metadata"]["creationTimestamp"].is_string());
        world.deployment("web", 1).await;
        let path = format!("{DEPLOYMENTS}/web");
        world
            .until("begun", &path, |_, body| body["status"]["replicas"] == 1)
            .await;
        let (code, _) = world
            .send("DELETE", &path, &json!({"propagationPolicy": "Foreground"}))
            .await;
        assert_eq!(code, 200);
        world.set(-DAY);
        assert!(revision(&world.map("b").await) > revision(&made));
    }
}
