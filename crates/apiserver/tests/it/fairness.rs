//! Priority and fairness: one client that floods the server does not starve the others.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use cambium_apiserver::{Action, ApiServer, Authorizer, Decision, User};
use futures::channel::oneshot;
use http::Request;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::json;
use tokio::task::JoinHandle;
use tower_service::Service as _;

struct Everybody;

impl Authorizer for Everybody {
    fn authorize(&self, _: &User, _: &Action<'_>) -> Decision {
        Decision::Allow(String::new())
    }
}

/// A server with a priority level of three seats, and one queue for each of two flows.
async fn narrow() -> ApiServer {
    let server = ApiServer::builder()
        .authorizer(Arc::new(Everybody))
        .build()
        .await
        .unwrap();
    let root = "/apis/flowcontrol.apiserver.k8s.io/v1";
    for (path, object) in [
        (
            "prioritylevelconfigurations",
            json!({"metadata": {"name": "narrow"}, "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 2, "queueLengthLimit": 5}}}}}),
        ),
        (
            "flowschemas",
            json!({"metadata": {"name": "crowd"}, "spec": {
            "priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 10,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [{"subjects": [{"kind": "Group", "group": {"name": "crowd"}}], "resourceRules": [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}]}]}}),
        ),
    ] {
        let request = Request::post(format!("{root}/{path}")).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(object.to_string()))).unwrap();
        assert_eq!(server.clone().call(request).await.unwrap().status(), 201);
    }
    server
}

fn of_crowd(server: &ApiServer, name: &str) -> ApiServer {
    server.as_user(Some(User::authenticated(name, &["crowd"])))
}

type Answer = JoinHandle<u16>;

/// A request whose body ends when the sender is dropped.
fn slow(server: &ApiServer) -> (oneshot::Sender<()>, Answer) {
    let (sender, receiver) = oneshot::channel();
    let frames = futures::stream::once(async move {
        let _ = receiver.await;
        Ok::<_, Infallible>(hyper::body::Frame::data(Bytes::from_static(b"{}")))
    });
    let body: BoxBody<Bytes, Infallible> = BodyExt::boxed(StreamBody::new(frames));
    let request =
        Request::post("/api/v1/namespaces/default/configmaps").header("content-type", "application/json");
    let call = server.clone().call(request.body(body).unwrap());
    (
        sender,
        tokio::spawn(async move { call.await.unwrap().status().as_u16() }),
    )
}

fn quick(server: &ApiServer) -> Answer {
    let request = Request::get("/api/v1/namespaces/default/configmaps").body(Full::new(Bytes::new()));
    let call = server.clone().call(request.unwrap());
    tokio::spawn(async move { call.await.unwrap().status().as_u16() })
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_refused_and_others_get_their_turn() {
    let server = narrow().await;
    let (flooder, polite) = (of_crowd(&server, "flooder"), of_crowd(&server, "polite"));
    // Three sit, ten wait in two queues, and the others are refused.
    let mut flood: Vec<_> = (0..20).map(|_| slow(&flooder)).collect();
    let mut refused = 0;
    for (sender, answer) in flood.drain(13..) {
        assert_eq!(answer.await.unwrap(), 429);
        drop(sender);
        refused += 1;
    }
    assert_eq!(refused, 7);
    let asked = quick(&polite);
    tokio::task::yield_now().await;
    assert!(!asked.is_finished(), "all seats are taken");
    // Of three queues each has its turn: three who leave are enough.
    for (sender, answer) in flood.drain(..3) {
        drop(sender);
        assert_eq!(answer.await.unwrap(), 422);
    }
    assert_eq!(asked.await.unwrap(), 200);
    // Masters never wait, and a request that gave up leaves nothing behind.
    assert_eq!(quick(&server).await.unwrap(), 200);
    for (sender, answer) in flood {
        answer.abort();
        let _ = answer.await;
        drop(sender);
    }
    assert_eq!(quick(&flooder).await.unwrap(), 200);
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_is_told_to_come_again() {
    let server = narrow().await;
    let flooder = of_crowd(&server, "flooder");
    let seated: Vec<_> = (0..3).map(|_| slow(&flooder)).collect();
    tokio::task::yield_now().await;
    assert_eq!(quick(&flooder).await.unwrap(), 429);
    drop(seated);
}
