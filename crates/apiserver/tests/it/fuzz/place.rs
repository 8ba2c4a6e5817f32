//! A server with a few objects, and the properties that every response satisfies.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cambium_apiserver::ApiServer;
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full};
use proptest::sample::Index;
use proptest::test_runner::{TestCaseError, TestCaseResult};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower_service::Service as _;

use super::definitions;

thread_local! {
    /// Panics of this test, including server tasks, which share its thread.
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            usual(info);
        }));
    });
}

/// A server in virtual time.
pub(crate) struct Place {
    runtime: Runtime,
    server: ApiServer,
    definitions: AtomicUsize,
}

/// A request.
pub(crate) struct Sent {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Sent {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        let (path, headers, body) = (path.to_owned(), vec![], vec![]);
        Self {
            method,
            path,
            headers,
            body,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn media(self, media: &str) -> Self {
        self.header("content-type", media)
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body(serde_json::to_vec(body).unwrap())
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    /// The `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// An existing object.
pub(crate) struct Target {
    pub(crate) collection: String,
    pub(crate) path: String,
    object: Value,
}

impl Target {
    /// The object with an unused name.
    pub(crate) fn fresh(&self) -> Value {
        let mut object = self.object.clone();
        object["metadata"]["name"] = json!("fresh");
        object
    }

    /// A patch that is also an apply configuration.
    pub(crate) fn patch(&self) -> Value {
        let mut object = self.object.clone();
        object["metadata"]["labels"] = json!({"patched": "yes"});
        object["metadata"]["annotations"] = json!({"example.com/note": "n"});
        object
    }

    /// The same as a JSON patch.
    pub(crate) fn json_patch(&self) -> Value {
        json!([
            {"op": "test", "path": "/kind", "value": self.object["kind"]},
            {"op": "add", "path": "/metadata/labels", "value": {"patched": "yes"}},
            {"op": "replace", "path": "/metadata/labels/patched", "value": "no"},
            {"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"},
            {"op": "move", "from": "/metadata/annotations/patched", "path": "/metadata/annotations/moved"},
            {"op": "remove", "path": "/metadata/annotations/moved"},
        ])
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        count_panics();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let server = runtime.block_on(ApiServer::builder().build()).unwrap();
        let definitions = AtomicUsize::new(0);
        let place = Self {
            runtime,
            server,
            definitions,
        };
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "size": {"type": "integer", "minimum": 0, "default": 1},
                "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "port": {"x-kubernetes-int-or-string": true}}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let definition = definitions::definition("widgets", &schema);
        let made = place
            .send(Sent::new(Method::POST, definitions::PATH).json(&definition))
            .unwrap();
        assert_eq!(made.code, 201, "{made:?}");
        place.settle();
        for index in 0..targets().len() {
            place.restore(&targets().swap_remove(index));
        }
        place
    }

    /// A server with a store file, in real time, without controllers.
    pub(crate) fn in_file(file: &std::path::Path) -> Self {
        count_panics();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let server = loop {
            let builder = ApiServer::builder()
                .file(file)
                .controllers(cambium_apiserver::Controllers::none());
            match runtime.block_on(builder.build()) {
                // The previous one is on its way out.
                Err(cambium_apiserver::store::OpenError::InUse) => std::thread::yield_now(),
                other => break other.unwrap(),
            }
        };
        let definitions = AtomicUsize::new(0);
        Self {
            runtime,
            server,
            definitions,
        }
    }

    /// The objects of a collection.
    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        let answer = self.send(Sent::new(Method::GET, path)).unwrap();
        answer.body["items"].as_array().unwrap().clone()
    }

    /// One of the objects.
    pub(crate) fn object(&self, index: Index) -> Target {
        let mut all = targets();
        let index = index.index(all.len());
        all.swap_remove(index)
    }

    /// Recreates the object if it is missing.
    pub(crate) fn restore(&self, target: &Target) {
        for _ in 0..50 {
            let made = self
                .send(Sent::new(Method::POST, &target.collection).json(&target.object))
                .unwrap();
            if made.code == 201 {
                return;
            }
            assert_eq!(made.code, 409, "{made:?}");
            let there = self.send(Sent::new(Method::GET, &target.path)).unwrap();
            if there.code == 200 && there.body["metadata"]["deletionTimestamp"].is_null() {
                return;
            }
            // It is on its way out: let it go.
            let patch = json!({"metadata": {"finalizers": null}});
            self.send(
                Sent::new(Method::PATCH, &target.path)
                    .media("application/merge-patch+json")
                    .json(&patch),
            )
            .unwrap();
            self.send(Sent::new(
                Method::DELETE,
                &format!("{}?gracePeriodSeconds=0", target.path),
            ))
            .unwrap();
            self.settle();
        }
        unreachable!("{} does not come back", target.path);
    }

    /// Lets controllers settle.
    pub(crate) fn settle(&self) {
        self.runtime
            .block_on(async { tokio::time::sleep(Duration::from_secs(2)).await });
    }

    /// Sends a request and checks the response.
    pub(crate) fn send(&self, sent: Sent) -> Result<Answer, TestCaseError> {
        let mut request = Request::builder().method(sent.method.clone()).uri(&sent.path);
        for (name, value) in &sent.headers {
            request = request.header(*name, value);
        }
        let Ok(request) = request.body(Full::new(Bytes::from(sent.body.clone()))) else {
            return Err(TestCaseError::reject("no HTTP request"));
        };
        let before = PANICS.get();
        let (code, bytes, media, warnings, ended) = self.runtime.block_on(async {
            let response = self.server.clone().call(request).await.unwrap();
            let code = response.status().as_u16();
            let media = response
                .headers()
                .get("content-type")
                .and_then(|value| value.to_str().ok());
            let media = media.unwrap_or_default().to_owned();
            let warnings: Vec<String> = response
                .headers()
                .get_all("warning")
                .iter()
                .map(warning)
                .collect();
            let encoded = response.headers().contains_key("content-encoding");
            let mut body = response.into_body();
            let mut bytes = Vec::new();
            // In virtual time: a watch that has nothing more to say is left after an instant.
            let reading = async {
                while let Some(frame) = body.frame().await {
                    bytes.extend(frame.unwrap().into_data().unwrap_or_default());
                }
            };
            let ended = tokio::time::timeout(Duration::from_millis(10), reading)
                .await
                .is_ok();
            (code, bytes, media, warnings, ended && !encoded)
        });
        let shown = format!(
            "{} {} {:?}\n{}\n→ {code} {}",
            sent.method,
            sent.path,
            sent.headers,
            String::from_utf8_lossy(&sent.body),
            String::from_utf8_lossy(&bytes),
        );
        let body: Value = if media.starts_with("application/yaml") {
            serde_saphyr::from_slice(&bytes).unwrap_or_default()
        } else if media.starts_with("application/vnd.kubernetes.protobuf") {
            cambium_builtin::protobuf::decode(&bytes).unwrap_or_default()
        } else {
            serde_json::from_slice(&bytes).unwrap_or_default()
        };
        let panics = PANICS.get() != before;
        let fail = |why: &str| Err(TestCaseError::fail(format!("{why}\n{shown}")));
        if panics {
            return fail("a panic");
        }
        if sent.method != Method::HEAD && code >= 300 && ended {
            let text = |field: &str| body[field].as_str().unwrap_or_default();
            let plain = media.starts_with("text/plain")
                && (code == 404
                    || sent.path.contains("/healthz")
                    || sent.path.contains("/readyz")
                    || sent.path.contains("/livez"));
            if !plain && (text("kind") != "Status" || body["code"] != code || text("message").is_empty()) {
                return fail("a refusal that is no Status");
            }
            let explained = !text("reason").is_empty();
            if !plain && code < 500 && !explained {
                return fail("a refusal without a reason");
            }
            if code >= 500 && !deliberate(text("message")) {
                return fail("a 5xx");
            }
        }
        Ok(Answer { code, body, warnings })
    }

    /// The stored object equals the response of the write.
    pub(crate) fn agrees(&self, path: &str, told: &Value) -> TestCaseResult {
        let there = self.send(Sent::new(Method::GET, path))?;
        let (mut there_now, mut told) = (there.body.clone(), told.clone());
        let deleting = !told["metadata"]["deletionTimestamp"].is_null();
        // Controllers may have been there in between.
        for value in [&mut there_now, &mut told] {
            let labels = value["metadata"]["labels"].take();
            if let Some(map) = value.as_object_mut() {
                map.remove("status");
                map.insert("metadata".to_owned(), labels);
            }
        }
        match there.code {
            200 if there_now == told => Ok(()),
            404 if deleting => Ok(()),
            _ => Err(TestCaseError::fail(format!(
                "{path}: told {told}\nthere {there:?}"
            ))),
        }
    }

    pub(crate) fn still_answers(&self) -> TestCaseResult {
        let answer = self.send(Sent::new(Method::GET, "/api/v1/namespaces/default"))?;
        match answer.code {
            200 => Ok(()),
            _ => Err(TestCaseError::fail(format!("no longer answers: {answer:?}"))),
        }
    }

    /// Every object can be read, as JSON and as a Table.
    pub(crate) fn everything_reads_back(&self) {
        self.settle();
        for target in targets() {
            let list = self.send(Sent::new(Method::GET, &target.collection)).unwrap();
            assert_eq!(list.code, 200, "{list:?}");
            for item in list.body["items"].as_array().unwrap() {
                let name = item["metadata"]["name"].as_str().unwrap();
                let path = format!("{}/{name}", target.collection);
                let table = Sent::new(Method::GET, &path)
                    .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
                assert_eq!(self.send(table).unwrap().code, 200);
                let label = json!({"metadata": {"labels": {"last": "word"}}});
                let changed = Sent::new(Method::PATCH, &path)
                    .media("application/merge-patch+json")
                    .json(&label);
                let changed = self.send(changed).unwrap();
                assert!(changed.code < 500, "{changed:?}");
            }
        }
    }

    /// Defines a resource with this schema of `spec`; `None` when it is refused.
    pub(crate) fn define(&self, schema: &Value) -> Result<Option<Defined>, TestCaseError> {
        let plural = format!("t{}s", self.definitions.fetch_add(1, Ordering::SeqCst));
        let whole = json!({"type": "object", "properties": {"spec": schema}});
        let definition = definitions::definition(&plural, &whole);
        let made = self.send(Sent::new(Method::POST, definitions::PATH).json(&definition))?;
        if made.code != 201 {
            return Ok(None);
        }
        self.settle();
        let looks_back = schema.to_string().contains("oldSelf");
        Ok(Some(Defined { plural, looks_back }))
    }
}

/// A resource that a test defined.
pub(crate) struct Defined {
    plural: String,
    /// Whether it has transition rules.
    looks_back: bool,
}

impl Defined {
    /// Where its CRD is.
    pub(crate) fn crd_path(&self) -> String {
        format!("{}/{}.example.com", definitions::PATH, self.plural)
    }

    pub(crate) fn collection(&self) -> String {
        format!("/apis/example.com/v1/namespaces/default/{}", self.plural)
    }

    pub(crate) fn object(&self, name: &str, spec: &Value) -> Value {
        let kind = definitions::kind(&self.plural);
        json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
    }

    fn try_create(&self, place: &Place, name: &str, spec: &Value) -> Result<Answer, TestCaseError> {
        place.send(Sent::new(Method::POST, &self.collection()).json(&self.object(name, spec)))
    }

    fn try_apply(&self, place: &Place, name: &str, spec: &Value) -> Result<Answer, TestCaseError> {
        let path = format!("{}/{name}?fieldManager=fuzz&force=true", self.collection());
        let sent = Sent::new(Method::PATCH, &path).media("application/apply-patch+yaml");
        place.send(sent.json(&self.object(name, spec)))
    }

    pub(crate) fn create(&self, place: &Place, name: &str, spec: &Value) -> Answer {
        self.try_create(place, name, spec).unwrap()
    }

    pub(crate) fn apply(&self, place: &Place, name: &str, spec: &Value) -> Answer {
        self.try_apply(place, name, spec).unwrap()
    }

    /// Creates, updates and applies an object.
    pub(crate) fn try_object(&self, place: &Place, index: usize, spec: &Value) -> TestCaseResult {
        let name = format!("o{index}");
        let path = format!("{}/{name}", self.collection());
        let made = self.try_create(place, &name, spec)?;
        if made.code == 201 {
            place.agrees(&path, &made.body)?;
            // What was accepted is accepted again, and changes nothing.
            let again = place.send(Sent::new(Method::PUT, &path).json(&made.body))?;
            let version = |answer: &Answer| answer.body["metadata"]["resourceVersion"].clone();
            let (told, again_told) = (&made.body, &again.body);
            if again.code == 200 && version(&again) != version(&made) {
                return Err(TestCaseError::fail(format!(
                    "not idempotent:\n{told}\n{again_told}"
                )));
            }
            if again.code != 200 && !self.looks_back {
                return Err(TestCaseError::fail(format!(
                    "refused itself:\n{told}\n{again_told}"
                )));
            }
        }
        let applied = self.try_apply(place, &name, spec)?;
        if applied.code == 200 || applied.code == 201 {
            place.agrees(&path, &applied.body)?;
        }
        Ok(())
    }

    pub(crate) fn remove(&self, place: &Place) -> TestCaseResult {
        place.send(Sent::new(Method::DELETE, &self.crd_path()))?;
        place.settle();
        Ok(())
    }
}

/// The text of a `Warning` header.
fn warning(header: &HeaderValue) -> String {
    let text = String::from_utf8_lossy(header.as_bytes());
    let quoted = text
        .strip_prefix("299 - \"")
        .and_then(|text| text.strip_suffix('"'));
    quoted
        .unwrap_or(&text)
        .replace(r#"\""#, "\"")
        .replace(r"\\", r"\")
}

/// A 5xx that upstream returns, too.
fn deliberate(message: &str) -> bool {
    // A list passes as a string that has a format, and cannot be merged afterwards.
    if message.contains("failed to convert new object") {
        return !message.contains("field not declared in schema");
    }
    [
        "etcdserver: request is too large",
        "strconv.ParseUint",
        "resourceVersion: Invalid value",
        "not implemented",
        "failed to create typed patch object",
        "Too large resource version",
    ]
    .iter()
    .any(|known| message.contains(known))
}

fn targets() -> Vec<Target> {
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [
        {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}],
         "resources": {"limits": {"cpu": "100m"}, "requests": {"cpu": "50m"}},
         "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
         "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        "volumes": [{"name": "v", "emptyDir": {}}], "tolerations": [{"key": "k", "operator": "Exists"}]}});
    let job = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i"}]}});
    let selector = json!({"matchLabels": {"app": "a"}});
    let of = |group: &str, plural: &str, kind: &str, rest: Value| {
        let (prefix, api_version) = match group {
            "" => ("/api/v1".to_owned(), "v1".to_owned()),
            group => (format!("/apis/{group}"), group.to_owned()),
        };
        let cluster = plural == "namespaces" || plural == "clusterroles";
        let collection = match cluster {
            true => format!("{prefix}/{plural}"),
            false => format!("{prefix}/namespaces/default/{plural}"),
        };
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "base"}});
        for (key, value) in rest.as_object().unwrap() {
            object[key] = value.clone();
        }
        object["metadata"]["name"] = json!("base");
        Target {
            path: format!("{collection}/base"),
            collection,
            object,
        }
    };
    vec![
        of(
            "",
            "configmaps",
            "ConfigMap",
            json!({"data": {"k": "v"}, "binaryData": {"b": "AAEC"}}),
        ),
        of(
            "",
            "secrets",
            "Secret",
            json!({"data": {"k": "dg=="}, "stringData": {"s": "t"}, "type": "Opaque"}),
        ),
        of(
            "",
            "services",
            "Service",
            json!({"spec": {"selector": {"app": "a"}, "type": "ClusterIP",
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]}}),
        ),
        of("", "pods", "Pod", template.clone()),
        of("", "namespaces", "Namespace", json!({})),
        of(
            "apps/v1",
            "deployments",
            "Deployment",
            json!({"spec": {"replicas": 1, "selector": selector,
            "template": template, "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}}),
        ),
        of(
            "apps/v1",
            "statefulsets",
            "StatefulSet",
            json!({"spec": {"replicas": 1, "serviceName": "s",
            "selector": selector, "template": template}}),
        ),
        of(
            "apps/v1",
            "daemonsets",
            "DaemonSet",
            json!({"spec": {"selector": selector, "template": template}}),
        ),
        of(
            "batch/v1",
            "jobs",
            "Job",
            json!({"spec": {"completions": 1, "parallelism": 1, "template": job}}),
        ),
        of(
            "batch/v1",
            "cronjobs",
            "CronJob",
            json!({"spec": {"schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": job}}}}),
        ),
        of(
            "networking.k8s.io/v1",
            "ingresses",
            "Ingress",
            json!({"spec": {"rules": [{"host": "a.example.com",
            "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}),
        ),
        of(
            "rbac.authorization.k8s.io/v1",
            "clusterroles",
            "ClusterRole",
            json!({"rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        of(
            "example.com/v1",
            "widgets",
            "Widgets",
            json!({"spec": {"size": 2, "list": [{"name": "a", "v": 1}],
            "set": ["x", "y"], "port": "http", "any": {"deep": [1, {"er": null}]}}}),
        ),
    ]
}
