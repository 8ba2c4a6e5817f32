//! Response details that Kubernetes' conformance specs check.

use bytes::Bytes;
use cambium_apiserver::{ApiServer, Controllers};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower_service::Service as _;

async fn server() -> ApiServer {
    ApiServer::builder().build().await.unwrap()
}

async fn send(server: &ApiServer, request: http::request::Builder, body: impl Into<Bytes>) -> (u16, Value) {
    let request = request.body(Full::new(body.into())).unwrap();
    let response = server.clone().call(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    (code, serde_json::from_slice(&body).unwrap_or(Value::String(text)))
}

async fn create(server: &ApiServer, path: &str, object: Value) -> (u16, Value) {
    let request = Request::post(path).header("content-type", "application/json");
    send(server, request, object.to_string()).await
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

#[tokio::test]
async fn a_question_has_no_table() {
    let server = server().await;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let question = json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("accept", TABLE);
    let (code, _) = send(&server, request, question.to_string()).await;
    assert_eq!(code, 406);
    let (code, answer) = create(&server, path, question).await;
    assert_eq!((code, &answer["status"]["allowed"]), (201, &json!(true)));
}

#[tokio::test]
async fn a_timeout_that_is_no_duration_is_refused_everywhere() {
    let server = server().await;
    for path in ["/version", "/api/v1/namespaces/default", "/apis"] {
        let (code, status) = send(&server, Request::get(format!("{path}?timeout=invalid")), "").await;
        assert_eq!(code, 400, "{path}");
        let message = status["message"].as_str().unwrap();
        assert!(
            message.contains("invalid timeout specified in the request URL"),
            "{message}"
        );
        let (code, _) = send(&server, Request::get(format!("{path}?timeout=3m")), "").await;
        assert_eq!(code, 200, "{path}");
    }
}

#[tokio::test]
async fn only_the_first_table_of_a_watch_has_headings() {
    let server = server().await;
    for name in ["one", "two"] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
        create(&server, "/api/v1/namespaces/default/secrets", secret).await;
    }
    let path = "/api/v1/namespaces/default/secrets?watch=true&sendInitialEvents=true&allowWatchBookmarks=true\
                &resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let (code, body) = send(&server, Request::get(path).header("accept", TABLE), "").await;
    assert_eq!(code, 200);
    let text = body.as_str().unwrap();
    let tables: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let headings: Vec<bool> = tables
        .iter()
        .map(|event| event["object"]["columnDefinitions"].is_array())
        .collect();
    assert_eq!(headings[..3], [true, false, false], "{text}");
    assert_eq!(tables[2]["type"], "BOOKMARK");
}

#[tokio::test]
async fn a_built_in_kind_tells_problems_in_the_order_of_the_document() {
    let server = server().await;
    let path = "/api/v1/namespaces/default/services?fieldValidation=Strict";
    let body = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},
        "spec":{"zebra":1,"type":"ClusterIP","type":"ClusterIP","ant":2,"ports":[{"port":80}]}}"#;
    let request = Request::post(path).header("content-type", "application/json");
    let (code, status) = send(&server, request, body).await;
    assert_eq!(code, 400);
    let expected = r#"strict decoding error: unknown field "spec.zebra", duplicate field "spec.type", unknown field "spec.ant""#;
    let message = status["message"].as_str().unwrap();
    assert!(message.ends_with(expected), "{message}");
}

#[tokio::test]
async fn a_key_that_an_applied_configuration_has_twice_is_refused_if_the_client_is_strict() {
    let server = server().await;
    let apply = |validation: &str| {
        Request::patch(format!(
            "/api/v1/namespaces/default/configmaps/c?fieldManager=f&fieldValidation={validation}"
        ))
        .header("content-type", "application/apply-patch+yaml")
    };
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: one\n  a: two\n";
    let (code, status) = send(&server, apply("Strict"), body).await;
    assert_eq!(code, 400);
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("line 7: key \"a\" already set in map"),
        "{message}"
    );
    let (code, applied) = send(&server, apply("Ignore"), body).await;
    assert_eq!((code, &applied["data"]["a"]), (201, &json!("two")));
}

#[tokio::test]
async fn discovery_hashes_the_stored_form_as_upstream_does() {
    let server = server().await;
    let (_, list) = send(&server, Request::get("/apis/apps/v1"), "").await;
    let resources = list["resources"].as_array().unwrap();
    let deployments = resources.iter().find(|one| one["name"] == "deployments").unwrap();
    assert_eq!(deployments["storageVersionHash"], "8aSe+NMegvE=");
    let (_, list) = send(&server, Request::get("/api/v1"), "").await;
    let resources = list["resources"].as_array().unwrap();
    let pods = resources.iter().find(|one| one["name"] == "pods").unwrap();
    assert_eq!(pods["storageVersionHash"], "xPOwRZ+Yhw8=");
}

#[tokio::test]
async fn a_pod_asks_for_a_runtime_class_that_is_there() {
    let server = server().await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"runtimeClassName": "gvisor", "containers": [{"name": "c", "image": "i"}]}});
    let (code, status) = create(&server, "/api/v1/namespaces/default/pods", pod.clone()).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "pods \"p\" is forbidden: pod rejected: RuntimeClass \"gvisor\" not found"
    );
    let class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"},
        "handler": "runsc"});
    create(&server, "/apis/node.k8s.io/v1/runtimeclasses", class).await;
    let (code, _) = create(&server, "/api/v1/namespaces/default/pods", pod).await;
    assert_eq!(code, 201);
}

#[tokio::test]
async fn the_range_of_services_addresses_is_there() {
    let server = server().await;
    let path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";
    let (code, range) = send(&server, Request::get(path), "").await;
    assert_eq!((code, &range["spec"]["cidrs"]), (200, &json!(["10.96.0.0/16"])));
}

#[tokio::test]
async fn events_are_selected_by_the_fields_of_either_version() {
    let server = server().await;
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "c", "reportingInstance": "i", "action": "a",
        "reason": "r", "type": "Normal", "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}});
    let (code, answer) = create(&server, "/apis/events.k8s.io/v1/namespaces/default/events", event).await;
    assert_eq!(code, 201, "{answer}");
    for (path, expected) in [
        (
            "/apis/events.k8s.io/v1/events?fieldSelector=reportingController%3Dc",
            1,
        ),
        (
            "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp",
            1,
        ),
        (
            "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dq",
            0,
        ),
        ("/api/v1/events?fieldSelector=source%3Dc", 1),
        ("/api/v1/events?fieldSelector=involvedObject.name%3Dp", 1),
    ] {
        let (_, list) = send(&server, Request::get(path), "").await;
        assert_eq!(list["items"].as_array().unwrap().len(), expected, "{path}");
    }
}

#[tokio::test]
async fn an_address_is_its_own_name() {
    let server = server().await;
    for (name, expected) in [
        ("fe80::42:1dff:fe84:f9e2", 201),
        ("10.96.0.7", 201),
        ("FE80::1", 422),
        ("web", 422),
    ] {
        let address = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": name},
            "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "kubernetes"}}});
        let (code, answer) = create(&server, "/apis/networking.k8s.io/v1/ipaddresses", address).await;
        assert_eq!(code, expected, "{answer}");
    }
}

#[tokio::test]
async fn health_has_the_names_that_probes_ask_for() {
    let server = server().await;
    let (code, text) = send(&server, Request::get("/readyz?verbose=1"), "").await;
    let text = text.as_str().unwrap().to_owned();
    assert_eq!(code, 200);
    for line in [
        "[+]etcd ok",
        "[+]informer-sync ok",
        "[+]poststarthook/rbac/bootstrap-roles ok",
        "readyz check passed",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    for (path, expected) in [
        ("/readyz/poststarthook/rbac/bootstrap-roles", 200),
        ("/livez/etcd", 200),
        ("/livez/informer-sync", 404),
        ("/healthz/nonsense", 404),
    ] {
        assert_eq!(send(&server, Request::get(path), "").await.0, expected, "{path}");
    }
}

#[tokio::test]
async fn metrics_tell_of_seats_and_objects() {
    let server = server().await;
    let (code, text) = send(&server, Request::get("/metrics"), "").await;
    let text = text.as_str().unwrap().to_owned();
    assert_eq!(code, 200);
    for line in [
        "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"workload-low\"} 245",
        "apiserver_flowcontrol_current_inqueue_requests{priority_level=\"workload-low\"} 0",
        "apiserver_resource_objects{group=\"\",resource=\"namespaces\"} 4",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
}

/// Bootstrap objects are written directly to the store, with the same result as through the API.
#[tokio::test]
async fn what_a_server_writes_at_its_start_is_what_a_client_would_have_made() {
    let builder = ApiServer::builder().controllers(Controllers::none());
    let server = builder.build().await.unwrap();
    let roles = "/apis/rbac.authorization.k8s.io/v1";
    let kinds = [
        ("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", 11),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
            8,
        ),
        ("/apis/apiregistration.k8s.io/v1/apiservices", 20),
        (&format!("{roles}/clusterroles"), 60),
        (&format!("{roles}/clusterrolebindings"), 50),
        (&format!("{roles}/roles"), 7),
        (&format!("{roles}/rolebindings"), 7),
    ];
    for (collection, at_least) in kinds {
        let (_, list) = send(&server, Request::get(collection), "").await;
        let items = list["items"].as_array().unwrap();
        assert!(items.len() >= at_least, "{collection}: {}", items.len());
        // The rules of an aggregated role are a controller's.
        for found in items.iter().filter(|item| item.get("aggregationRule").is_none()) {
            let text = |field: &str| found["metadata"][field].as_str().unwrap_or_default();
            let (parent, plural) = collection.rsplit_once('/').unwrap();
            let collection = match text("namespace") {
                "" => collection.to_owned(),
                namespace => format!("{parent}/namespaces/{namespace}/{plural}"),
            };
            let path = format!("{collection}/{}", text("name"));
            let of_status = |entry: &&Value| entry["subresource"] == "status";
            let managers = found["metadata"]["managedFields"].as_array().unwrap();
            let owner = managers.iter().find(|entry| !of_status(entry)).unwrap();
            let mut again = found.clone();
            again["apiVersion"] = owner["apiVersion"].clone();
            for field in [
                "uid",
                "creationTimestamp",
                "managedFields",
                "generation",
                "resourceVersion",
            ] {
                again["metadata"].as_object_mut().unwrap().remove(field);
            }
            assert_eq!(send(&server, Request::delete(&path), "").await.0, 200, "{path}");
            let manager = owner["manager"].as_str().unwrap();
            let (code, made) = create(&server, &format!("{collection}?fieldManager={manager}"), again).await;
            assert_eq!(code, 201, "{path}: {made}");
            for field in ["spec", "rules", "roleRef", "subjects"] {
                assert_eq!(made[field], found[field], "{path}: {field}");
            }
            for field in ["labels", "annotations", "generation"] {
                assert_eq!(
                    made["metadata"][field], found["metadata"][field],
                    "{path}: {field}"
                );
            }
            let entry = &made["metadata"]["managedFields"][0];
            assert_eq!(entry["fieldsV1"], owner["fieldsV1"], "{path}");
            assert_eq!(entry["manager"], owner["manager"], "{path}");
            assert_eq!(text("uid").len(), 36, "{path}");
        }
    }
}
