//! Invalid input is refused with the same messages by the embedded server and by Kubernetes.
//!
//! Tables of `(name, method, path, content type, body) → (code, reason, message)`. `{ns}` is the test's namespace.
//! Messages are compared as prefixes, where the rest depends on the decoder.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster, eventually};
use http::Method;
use serde_json::{Value, json};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const BASE: &str = "/api/v1/namespaces/{ns}/configmaps/base";

/// A namespace with a ConfigMap `base`, and a CRD with a Widget `base`.
struct Place {
    raw: Raw,
    namespace: String,
    group: String,
    _cluster: TestCluster,
}

impl Place {
    async fn new(test: &str) -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let namespace = cluster.namespace(test).await?;
        let group = format!("{namespace}.example.com");
        let place = Self {
            raw: cluster.raw(),
            namespace,
            group,
            _cluster: cluster,
        };
        let base = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base"}, "data": {"k": "v"}});
        let made = place.raw.post(&place.path(MAPS), &base).await?;
        anyhow::ensure!(made.code == 201, "{made:?}");
        Ok(place)
    }

    async fn with_widgets(test: &str) -> Result<Self> {
        let place = Self::new(test).await?;
        let group = &place.group;
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}, "any": any}});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {"group": group, "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]},
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let made = place.raw.post(path, &definition).await?;
        anyhow::ensure!(made.code == 201, "{made:?}");
        let base = place.widget(&json!({"name": "base"}), &json!({"size": 1}));
        let widgets = place.path("{widgets}");
        eventually("widgets can be created", || async {
            Ok(matches!(place.raw.post(&widgets, &base).await?.code, 201 | 409))
        })
        .await?;
        Ok(place)
    }

    fn path(&self, template: &str) -> String {
        template
            .replace("{widgets}", "/apis/{group}/v1/namespaces/{ns}/widgets")
            .replace("{group}", &self.group)
            .replace("{ns}", &self.namespace)
    }

    fn widget(&self, metadata: &Value, spec: &Value) -> Value {
        let api_version = format!("{}/v1", self.group);
        json!({"apiVersion": api_version, "kind": "Widget", "metadata": metadata, "spec": spec})
    }

    /// Sends a request and compares the response.
    async fn refuses(
        &self,
        (method, path, content_type, body): (&str, &str, &str, Value),
        (code, reason, message): (u16, &str, &str),
    ) -> Result<()> {
        let shown: String = body.to_string().chars().take(120).collect();
        let path = self.path(path);
        let body: Value = match body {
            Value::String(text) => Value::String(text.replace("{group}", &self.group)),
            other => serde_json::from_str(&other.to_string().replace("{group}", &self.group))?,
        };
        let method = Method::from_bytes(method.as_bytes())?;
        let headers = [("content-type", content_type)];
        let answer = self.raw.send(method.clone(), &path, &headers, &body).await?;
        let what = format!("{method} {path} {content_type} {shown}\n{answer:?}");
        assert_eq!((answer.code, answer.reason()), (code, reason), "{what}");
        let message = message.replace("{group}", &self.group);
        assert!(
            answer.message().starts_with(&message),
            "expected {message}\n{what}"
        );
        if code >= 400 {
            assert_eq!(answer.body["kind"], "Status", "{what}");
            assert_eq!(answer.body["status"], "Failure", "{what}");
            assert_eq!(answer.body["code"], code, "{what}");
        }
        Ok(())
    }
}

#[tokio::test]
async fn bodies_that_are_no_objects() -> Result<()> {
    let place = Place::with_widgets("bodies").await?;
    let prefix = "the object provided is unrecognized (must be of type";
    let parse = "couldn't get version/kind; json parse error:";
    let end = format!("{prefix} ConfigMap): {parse} unexpected end of JSON input");
    let refused =
        |why: &str| format!("{prefix} ConfigMap): {parse} json: cannot unmarshal {why} into Go value");
    for (body, message) in [
        ("{", format!("{end} ({{)")),
        ("", format!("{end} (<empty>)")),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap""#,
            format!("{end} ({{\"apiVersion\":\"v1\",\"kind\":\"Con ...)"),
        ),
        ("{}x", format!("{prefix} ConfigMap): {parse}")),
        ("hello", format!("{prefix} ConfigMap): {parse}")),
        ("\u{0}", format!("{prefix} ConfigMap): {parse}")),
        ("[]", refused("array")),
        ("\"x\"", refused("string")),
        ("1", refused("number")),
        ("true", refused("bool")),
        (
            r#"{"apiVersion":"v1","kind":1}"#,
            format!(
                "{prefix} ConfigMap): {parse} json: cannot unmarshal number into Go struct field .kind of type string"
            ),
        ),
    ] {
        let expected = (400, "BadRequest", message.as_str());
        place.refuses(("POST", MAPS, JSON, json!(body)), expected).await?;
        place.refuses(("PUT", BASE, JSON, json!(body)), expected).await?;
    }
    let nameless =
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required";
    for body in ["null", "{}"] {
        place
            .refuses(("POST", MAPS, JSON, json!(body)), (422, "Invalid", nameless))
            .await?;
        let undeterminable =
            "the name of the object (base based on URL) was undeterminable: name must be provided";
        place
            .refuses(
                ("PUT", BASE, JSON, json!(body)),
                (400, "BadRequest", undeterminable),
            )
            .await?;
        let kindless = format!("{prefix} Widget): Object 'Kind' is missing in '{body}'");
        place
            .refuses(
                ("POST", "{widgets}", JSON, json!(body)),
                (400, "BadRequest", &kindless),
            )
            .await?;
    }
    let options = format!("{parse} unexpected end of JSON input");
    place
        .refuses(("DELETE", BASE, JSON, json!("{")), (400, "BadRequest", &options))
        .await?;
    Ok(())
}

#[tokio::test]
async fn objects_of_another_kind() -> Result<()> {
    let place = Place::with_widgets("kinds").await?;
    let object = |api_version: &str, kind: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
    for (api_version, kind) in [
        ("v1", "Secret"),
        ("v1", "Foo"),
        ("v1", "configmap"),
        ("apps/v1", "ConfigMap"),
        ("foo/v1", "ConfigMap"),
    ] {
        place
            .refuses(
                ("POST", MAPS, JSON, object(api_version, kind)),
                (400, "BadRequest", ""),
            )
            .await?;
    }
    let version = "the API version in the data (v1) does not match the expected API version ({group}/v1)";
    place
        .refuses(
            ("POST", "{widgets}", JSON, object("v1", "Widget")),
            (400, "BadRequest", version),
        )
        .await?;
    let version = "the API version in the data () does not match the expected API version ({group}/v1)";
    place
        .refuses(
            ("POST", "{widgets}", JSON, json!({"kind": "Widget"})),
            (400, "BadRequest", version),
        )
        .await?;
    let kind = "Gadget.{group} \"x\" is invalid: kind: Invalid value: \"Gadget\": must be Widget";
    place
        .refuses(
            ("POST", "{widgets}", JSON, object("{group}/v1", "Gadget")),
            (422, "Invalid", kind),
        )
        .await?;
    let applied = "{ns}/configmaps/base?fieldManager=m".replace("{ns}", "/api/v1/namespaces/{ns}");
    for (body, message) in [
        (json!({}), "invalid object type: /, Kind="),
        (json!({"apiVersion": "v1"}), "invalid object type: /v1, Kind="),
        (
            json!({"kind": "ConfigMap"}),
            "invalid object type: /, Kind=ConfigMap",
        ),
        (object("v1", "Secret"), "invalid object type: /v1, Kind=Secret"),
        (
            object("apps/v1", "ConfigMap"),
            "invalid object type: apps/v1, Kind=ConfigMap",
        ),
        (
            object("v1", "ConfigMap"),
            "the name of the object (x) does not match the name on the URL (base)",
        ),
    ] {
        place
            .refuses(("PATCH", &applied, APPLY, body), (400, "BadRequest", message))
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn metadata_of_wrong_types() -> Result<()> {
    let place = Place::with_widgets("types").await?;
    for (field, value) in [
        ("name", json!(1)),
        ("generateName", json!({})),
        ("labels", json!({"a": 1})),
        ("labels", json!({"a": true})),
        ("labels", json!(["a"])),
        ("labels", json!("a")),
        ("annotations", json!({"a": {}})),
        ("annotations", json!([])),
        ("finalizers", json!("a")),
        ("finalizers", json!([1])),
        ("ownerReferences", json!("x")),
        ("ownerReferences", json!(["x"])),
        ("managedFields", json!("x")),
        ("uid", json!(1)),
        ("resourceVersion", json!(1)),
        ("generation", json!("x")),
        ("creationTimestamp", json!("yesterday")),
        ("deletionGracePeriodSeconds", json!("x")),
    ] {
        let mut metadata = json!({"name": "x"});
        metadata[field] = value.clone();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
        place
            .refuses(("POST", MAPS, JSON, map), (400, "BadRequest", message))
            .await?;
        let widget = place.widget(&metadata, &json!({}));
        let message = "Widget in version \"v1\" cannot be handled as a Widget: ";
        place
            .refuses(("POST", "{widgets}", JSON, widget), (400, "BadRequest", message))
            .await?;
        if field != "name" && field != "generateName" {
            let patch = json!({"metadata": {field: value}});
            let message = " \"\" is invalid: patch: Invalid value: ";
            place
                .refuses(("PATCH", BASE, MERGE, patch.clone()), (422, "Invalid", message))
                .await?;
            place
                .refuses(
                    ("PATCH", "{widgets}/base", MERGE, patch),
                    (422, "Invalid", message),
                )
                .await?;
        }
    }
    for metadata in [json!("x"), json!([]), json!(1)] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        place
            .refuses(
                ("POST", MAPS, JSON, map),
                (400, "BadRequest", "ConfigMap in version"),
            )
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn metadata_of_wrong_values() -> Result<()> {
    let place = Place::new("values").await?;
    let owner =
        |api_version: &str| json!([{"apiVersion": api_version, "kind": "K", "name": "n", "uid": "u"}]);
    let long = "b".repeat(300);
    for (field, value, message) in [
        ("name", json!(long), "metadata.name: Invalid value: "),
        ("name", json!("a/b"), "metadata.name: Invalid value: "),
        (
            "generateName",
            json!(long),
            "metadata.generateName: Invalid value: ",
        ),
        (
            "labels",
            json!({"a": "b".repeat(64)}),
            "metadata.labels: Invalid value: ",
        ),
        (
            "labels",
            json!({"a".repeat(64): "b"}),
            "metadata.labels: Invalid value: ",
        ),
        (
            "labels",
            json!({"a/b/c": "b"}),
            "metadata.labels: Invalid value: ",
        ),
        ("labels", json!({"": "b"}), ""),
        (
            "annotations",
            json!({"a b": "c"}),
            "metadata.annotations: Invalid value: ",
        ),
        (
            "annotations",
            json!({"a": "b".repeat(300 << 10)}),
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        ("finalizers", json!(["A b"]), ""),
        (
            "finalizers",
            json!(["foo"]),
            "metadata.finalizers[0]: Invalid value: \"foo\": name is neither a standard finalizer name nor is it fully qualified",
        ),
        ("ownerReferences", json!([{}]), ""),
        (
            "ownerReferences",
            owner("a/b/c"),
            "metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty",
        ),
        (
            "ownerReferences",
            json!([{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]),
            "metadata.ownerReferences: Invalid value: ",
        ),
    ] {
        let mut metadata = json!({"name": "x"});
        if field == "generateName" {
            metadata = json!({});
        }
        metadata[field] = value;
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let answer = place.raw.post(&place.path(MAPS), &map).await?;
        assert_eq!(
            (answer.code, answer.reason()),
            (422, "Invalid"),
            "{field}: {answer:?}"
        );
        assert!(
            answer.message().contains(&format!(" is invalid: {message}")) || message.is_empty(),
            "{answer:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn bad_patches() -> Result<()> {
    let place = Place::new("patches").await?;
    let rejected = (
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    );
    let many = vec![json!({"op": "test", "path": "/data/k", "value": "v"}); 10_001];
    let mut bomb = vec![json!({"op": "add", "path": "/data/x", "value": "b".repeat(100_000)})];
    bomb.extend((0..30).map(|n| json!({"op": "copy", "from": "/data", "path": format!("/data/x{n}")})));
    for (body, expected) in [
        (json!([{"op": "nope", "path": "/data/k"}]), rejected),
        (json!([{"path": "/data/k"}]), rejected),
        (json!([{"op": "remove"}]), rejected),
        (json!([{"op": "remove", "path": "/data/zz"}]), rejected),
        (
            json!([{"op": "add", "path": "/nope/a/b", "value": "1"}]),
            rejected,
        ),
        (
            json!([{"op": "test", "path": "/data/k", "value": "zz"}]),
            rejected,
        ),
        (json!([{"op": "move", "path": "/data/a"}]), rejected),
        (
            json!([{"op": "move", "path": "/data/a", "from": "/data/nope"}]),
            rejected,
        ),
        (json!(bomb), rejected),
        (
            json!("{"),
            (
                400,
                "BadRequest",
                "error decoding patch: unexpected end of JSON input",
            ),
        ),
        (
            json!({"op": "remove"}),
            (
                400,
                "BadRequest",
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
        ),
        (
            json!("1"),
            (
                400,
                "BadRequest",
                "error decoding patch: json: cannot unmarshal number into Go value of type []handlers.jsonPatchOp",
            ),
        ),
        (
            json!(many),
            (
                413,
                "RequestEntityTooLarge",
                "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
            ),
        ),
        (
            json!([{"op": "replace", "path": "/metadata/name", "value": "zz"}]),
            (
                400,
                "BadRequest",
                "the name of the object (zz) does not match the name on the URL (base)",
            ),
        ),
        (
            json!([{"op": "replace", "path": "/metadata/uid", "value": "zz"}]),
            (
                422,
                "Invalid",
                "ConfigMap \"base\" is invalid: metadata.uid: Invalid value: \"zz\": field is immutable",
            ),
        ),
        (
            json!([{"op": "replace", "path": "/metadata", "value": "x"}]),
            (422, "Invalid", " \"\" is invalid: patch: Invalid value: "),
        ),
    ] {
        place.refuses(("PATCH", BASE, JSON_PATCH, body), expected).await?;
    }
    let undeterminable =
        "the name of the object (base based on URL) was undeterminable: name must be provided";
    for (body, expected) in [
        (
            json!("{"),
            (
                400,
                "BadRequest",
                "error decoding patch: unexpected end of JSON input",
            ),
        ),
        (
            json!([]),
            (
                400,
                "BadRequest",
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
        ),
        (
            json!("\"x\""),
            (
                400,
                "BadRequest",
                "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
            ),
        ),
        (json!("null"), (400, "BadRequest", "Invalid JSON Patch")),
        (json!({"metadata": null}), (400, "BadRequest", undeterminable)),
        (
            json!({"kind": "Secret"}),
            (422, "Invalid", " \"\" is invalid: patch: Invalid value: "),
        ),
        (
            json!({"data": {"k": 1}}),
            (422, "Invalid", " \"\" is invalid: patch: Invalid value: "),
        ),
        (
            json!({"metadata": {"resourceVersion": "1"}}),
            (
                409,
                "Conflict",
                "Operation cannot be fulfilled on configmaps \"base\": the object has been modified",
            ),
        ),
        (
            json!({"metadata": {"resourceVersion": "abc"}}),
            (500, "", "strconv.ParseUint: parsing \"abc\": invalid syntax"),
        ),
    ] {
        place.refuses(("PATCH", BASE, MERGE, body), expected).await?;
    }
    for (body, expected) in [
        (json!("{"), (400, "BadRequest", "unexpected end of JSON input")),
        (
            json!([]),
            (
                400,
                "BadRequest",
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
        ),
        (
            json!({"metadata": "x"}),
            (422, "Invalid", " \"\" is invalid: patch: Invalid value: "),
        ),
        (
            json!({"data": {"$patch": "nope"}}),
            (500, "", "unknown patch type: nope in map: map[$patch:nope]"),
        ),
    ] {
        place.refuses(("PATCH", BASE, STRATEGIC, body), expected).await?;
    }
    let applied = format!("{BASE}?fieldManager=m");
    let typed = |body: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": body});
    for (body, expected) in [
        (
            json!("{"),
            (
                400,
                "BadRequest",
                "error decoding YAML: error converting YAML to JSON: yaml: ",
            ),
        ),
        (
            json!("- a"),
            (
                400,
                "BadRequest",
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
        ),
        (
            typed(json!("x")),
            (
                500,
                "",
                "failed to create typed patch object (/; /v1, Kind=ConfigMap): .data: expected map, got &{x}",
            ),
        ),
        (
            typed(json!({"k": 1})),
            (
                500,
                "",
                "failed to create typed patch object (/; /v1, Kind=ConfigMap): .data.k: expected string, got &value.valueUnstructured{Value:1}",
            ),
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": [{"manager": "x"}]}}),
            (400, "BadRequest", "metadata.managedFields must be nil"),
        ),
    ] {
        place.refuses(("PATCH", &applied, APPLY, body), expected).await?;
    }
    let manager =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    place
        .refuses(
            ("PATCH", BASE, APPLY, typed(json!({}))),
            (422, "Invalid", manager),
        )
        .await?;
    let force = "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch";
    place
        .refuses(
            ("PATCH", &format!("{BASE}?force=true"), MERGE, json!({})),
            (422, "Invalid", force),
        )
        .await?;
    place
        .refuses(
            ("PATCH", BASE, "text/plain", json!({})),
            (415, "UnsupportedMediaType", ""),
        )
        .await?;
    let after = place.raw.get(&place.path(BASE)).await?;
    assert_eq!(
        after.body["data"],
        json!({"k": "v"}),
        "nothing of all that was done"
    );
    Ok(())
}

#[tokio::test]
async fn bad_options() -> Result<()> {
    let place = Place::new("options").await?;
    let bad = |message| (400, "BadRequest", message);
    let invalid = |message| (422, "Invalid", message);
    for (query, expected) in [
        (
            "limit=abc",
            bad("strconv.ParseInt: parsing \"abc\": invalid syntax"),
        ),
        (
            "limit=99999999999999999999",
            bad("strconv.ParseInt: parsing \"99999999999999999999\": value out of range"),
        ),
        (
            "timeoutSeconds=abc",
            bad("strconv.ParseInt: parsing \"abc\": invalid syntax"),
        ),
        (
            "resourceVersion=abc",
            bad(
                "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
            ),
        ),
        (
            "continue=!!!",
            bad("invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
        ),
        (
            "continue=garbage",
            bad("invalid continue token: continue key is not valid: "),
        ),
        (
            "continue=eyJ2IjoidjEifQ",
            bad("invalid continue token: continue key is not valid: "),
        ),
        (
            "resourceVersionMatch=Exact",
            invalid(
                "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            invalid(
                "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ),
        ),
        (
            "resourceVersionMatch=Nope&resourceVersion=1",
            invalid(
                "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"Nope\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
            ),
        ),
        (
            "sendInitialEvents=true",
            invalid(
                "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
            ),
        ),
        (
            "watch=true&resourceVersion=abc",
            (
                500,
                "",
                "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
            ),
        ),
        (
            "labelSelector=a%20b",
            bad("unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ),
        (
            "labelSelector=a%3Db,",
            bad("found '', expected: identifier after ','"),
        ),
        ("labelSelector=a%20in%20(1", bad("")),
        ("labelSelector=a%3D-x-", bad("")),
        (
            "fieldSelector=x",
            bad("invalid selector: 'x'; can't understand 'x'"),
        ),
        (
            "fieldSelector=x%3Dy",
            bad("\"x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        ),
        (
            "fieldSelector=metadata.name%3Da%3Db",
            bad("invalid field selector: unescaped character in value: 61"),
        ),
        (
            "fieldSelector=metadata.name%3D%5Cx",
            bad("invalid field selector: invalid escape sequence: \\x"),
        ),
        // Ignored where they mean nothing.
        ("timeoutSeconds=-1", (200, "", "")),
        ("dryRun=Some", (200, "", "")),
        ("limit=1;2", (200, "", "")),
        ("nonsense=%zz", (200, "", "")),
        ("includeObject=Nope", (200, "", "")),
    ] {
        place
            .refuses(("GET", &format!("{MAPS}?{query}"), JSON, Value::Null), expected)
            .await?;
    }
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base"}});
    let long = format!("fieldManager={}", "a".repeat(129));
    for (query, message) in [
        (
            "dryRun=Some",
            "dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
        ),
        (
            "dryRun=",
            "dryRun: Unsupported value: [\"\"]: supported values: \"All\"",
        ),
        (
            "fieldValidation=strict",
            "fieldValidation: Unsupported value: \"strict\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
        ),
        (&long, "fieldManager: Too long: may not be more than 128 bytes"),
        (
            "fieldManager=a%0Ab",
            "fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)",
        ),
    ] {
        for (method, path, media, options) in [
            ("POST", MAPS, JSON, "Create"),
            ("PUT", BASE, JSON, "Update"),
            ("PATCH", BASE, MERGE, "Patch"),
        ] {
            let message = format!("{options}Options.meta.k8s.io \"\" is invalid: {message}");
            place
                .refuses(
                    (method, &format!("{path}?{query}"), media, map.clone()),
                    (422, "Invalid", &message),
                )
                .await?;
        }
    }
    for (query, expected) in [
        (
            "propagationPolicy=Nope",
            invalid(
                "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Nope\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
            ),
        ),
        (
            "orphanDependents=true&propagationPolicy=Orphan",
            invalid(
                "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set",
            ),
        ),
        (
            "gracePeriodSeconds=x",
            bad("strconv.ParseInt: parsing \"x\": invalid syntax"),
        ),
        (
            "timeout=abc",
            bad("invalid timeout specified in the request URL - time: invalid duration \"abc\""),
        ),
        (
            "dryRun=Some",
            invalid(
                "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
            ),
        ),
        ("dryRun=All&fieldValidation=Nope", (200, "", "")),
    ] {
        place
            .refuses(
                ("DELETE", &format!("{BASE}?{query}"), JSON, Value::Null),
                expected,
            )
            .await?;
    }
    for (body, expected) in [
        (
            json!({"gracePeriodSeconds": "x"}),
            bad(
                "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
            ),
        ),
        (
            json!({"dryRun": "All"}),
            bad("json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string"),
        ),
        (
            json!({"propagationPolicy": 1}),
            bad(
                "json: cannot unmarshal number into Go struct field DeleteOptions.propagationPolicy of type v1.DeletionPropagation",
            ),
        ),
        (json!({"preconditions": {"uid": "x"}}), (409, "Conflict", "")),
    ] {
        place.refuses(("DELETE", BASE, JSON, body), expected).await?;
    }
    Ok(())
}

#[tokio::test]
async fn wrong_verbs_and_paths() -> Result<()> {
    let place = Place::new("paths").await?;
    let nothing = (
        404,
        "NotFound",
        "the server could not find the requested resource",
    );
    let not_allowed = (
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    );
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    for (method, path, expected) in [
        ("POST", BASE, not_allowed),
        ("PUT", MAPS, not_allowed),
        ("PATCH", MAPS, not_allowed),
        ("DELETE", "/api/v1/configmaps", not_allowed),
        ("POST", "/api/v1/configmaps", not_allowed),
        ("POST", "/api/v1/watch/namespaces/{ns}/configmaps", not_allowed),
        ("OPTIONS", MAPS, not_allowed),
        ("BREW", MAPS, not_allowed),
        ("DELETE", "/api/v1/namespaces", not_allowed),
        ("GET", "/api/v1/configmaps/base", nothing),
        ("GET", "/api/v1/namespaces/{ns}/configmaps/base/nope", nothing),
        ("GET", "/api/v1/namespaces/{ns}/configmaps/base/status", nothing),
        ("GET", "/api/v1/namespaces/{ns}/configmaps/a/b/c/d", nothing),
        ("GET", "/api/v1/namespaces/{ns}/foos", nothing),
        ("GET", "/api/v1/foos", nothing),
        ("GET", "/api/v1/namespaces/{ns}/nodes", nothing),
        ("GET", "/api/v1/namespaces/{ns}/namespaces", nothing),
        ("GET", "/apis/apps/v9/deployments", nothing),
        ("GET", "/api/v2", nothing),
        ("GET", "/api/v1//namespaces/{ns}/configmaps", nothing),
        ("GET", "/api/v1/namespaces/{ns}/configmaps/b%61se", (200, "", "")),
        (
            "GET",
            "/api/v1/namespaces/{ns}/configmaps/BASE",
            (404, "NotFound", "configmaps \"BASE\" not found"),
        ),
        (
            "GET",
            "/api/v1/namespaces/no-such-namespace/configmaps",
            (200, "", ""),
        ),
        (
            "POST",
            "/api/v1/namespaces/no-such-namespace/configmaps",
            (404, "NotFound", "namespaces \"no-such-namespace\" not found"),
        ),
    ] {
        let body = if matches!(method, "POST" | "PUT" | "PATCH") {
            map.clone()
        } else {
            Value::Null
        };
        place.refuses((method, path, JSON, body), expected).await?;
    }
    for path in ["/apis/no.such.group/v1/foos", "/nonsense"] {
        let answer = place.raw.get(path).await?;
        assert_eq!(
            (answer.code, &answer.body),
            (404, &json!("404 page not found\n")),
            "{path}"
        );
    }
    let headers = [("accept", "text/html")];
    let answer = place
        .raw
        .send(Method::GET, &place.path(BASE), &headers, &Value::Null)
        .await?;
    assert_eq!(
        (answer.code, answer.reason()),
        (406, "NotAcceptable"),
        "{answer:?}"
    );
    for media in ["text/plain", "application/xml", "json", "*/*"] {
        let message = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
        place
            .refuses(
                ("POST", MAPS, media, map.clone()),
                (415, "UnsupportedMediaType", message),
            )
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn too_much() -> Result<()> {
    let place = Place::with_widgets("much").await?;
    let widget =
        |bytes: usize| place.widget(&json!({"name": "big"}), &json!({"any": {"a": "b".repeat(bytes)}}));
    let stored = (500, "", "etcdserver: request is too large");
    place
        .refuses(("POST", "{widgets}", JSON, widget(1_600_000)), stored)
        .await?;
    let patch = json!({"spec": {"any": {"a": "b".repeat(1_600_000)}}});
    place
        .refuses(("PATCH", "{widgets}/base", MERGE, patch), stored)
        .await?;
    let sent = (
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    );
    place
        .refuses(("POST", "{widgets}", JSON, widget(3_200_000)), sent)
        .await?;
    place
        .refuses(("PATCH", "{widgets}/base", MERGE, widget(3_200_000)), sent)
        .await?;
    place
        .refuses(("DELETE", "{widgets}/base", JSON, widget(3_200_000)), sent)
        .await?;
    place
        .refuses(("POST", "{widgets}", JSON, widget(1_400_000)), (201, "", ""))
        .await?;
    let data = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": {"a": "b".repeat(1_100_000)}});
    place
        .refuses(
            ("POST", MAPS, JSON, data),
            (
                422,
                "Invalid",
                "ConfigMap \"big\" is invalid: []: Too long: may not be more than 1048576 bytes",
            ),
        )
        .await?;
    let selector = format!("{MAPS}?labelSelector={}a", "a,".repeat(20_000));
    place
        .refuses(("GET", &selector, JSON, Value::Null), (200, "", ""))
        .await?;
    Ok(())
}

#[tokio::test]
async fn too_deep() -> Result<()> {
    let place = Place::with_widgets("deep").await?;
    let lists = format!("{}{}", "[".repeat(10_001), "]".repeat(10_001));
    let maps = format!("{}1{}", "{\"a\":".repeat(10_001), "}".repeat(10_001));
    let bad = (400, "BadRequest", "");
    for deep in [&lists, &maps] {
        let widget = format!(
            "{{\"apiVersion\":\"{{group}}/v1\",\"kind\":\"Widget\",\"metadata\":{{\"name\":\"x\"}},\"spec\":{{\"any\":{deep}}}}}"
        );
        place
            .refuses(("POST", "{widgets}", JSON, json!(widget)), bad)
            .await?;
        place
            .refuses(("POST", "{widgets}", YAML, json!(widget)), bad)
            .await?;
        place
            .refuses(
                ("PATCH", "{widgets}/base?fieldManager=m", APPLY, json!(widget)),
                bad,
            )
            .await?;
        place
            .refuses(
                (
                    "PATCH",
                    "{widgets}/base",
                    MERGE,
                    json!(format!("{{\"spec\":{deep}}}")),
                ),
                bad,
            )
            .await?;
        place
            .refuses(
                ("PATCH", BASE, STRATEGIC, json!(format!("{{\"spec\":{deep}}}"))),
                bad,
            )
            .await?;
        let patch = format!("[{{\"op\":\"add\",\"path\":\"/spec/any\",\"value\":{deep}}}]");
        place
            .refuses(("PATCH", "{widgets}/base", JSON_PATCH, json!(patch)), bad)
            .await?;
    }
    place
        .refuses(("POST", MAPS, JSON, json!("[".repeat(100_000))), bad)
        .await?;
    Ok(())
}

#[tokio::test]
async fn strange_yaml() -> Result<()> {
    let place = Place::new("yaml").await?;
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (last, next) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        let aliases = vec![format!("*{last}"); 9].join(",");
        bomb.push_str(&format!("{next}: &{next} [{aliases}]\n"));
    }
    for bad in ["a: b: c", "- a", "x", "1", "a: *x", "? {a: b}\n: c", "[", &bomb] {
        let message = "the object provided is unrecognized (must be of type ConfigMap): ";
        place
            .refuses(("POST", MAPS, YAML, json!(bad)), (400, "BadRequest", message))
            .await?;
    }
    let head = "apiVersion: v1\nkind: ConfigMap\n";
    for (name, rest, data) in [
        ("twice", "data: {a: b}\ndata: {c: d}\n", json!({"c": "d"})),
        ("anchors", "data: {a: &x b, c: *x}\n", json!({"a": "b", "c": "b"})),
        (
            "merged",
            "data: {<<: {a: b}, c: d}\n",
            json!({"a": "b", "c": "d"}),
        ),
        ("numbers", "data: {1: b, c: \"1\"}\n", json!({"1": "b", "c": "1"})),
        ("first", "data: {a: b}\n---\nnonsense: [\n", json!({"a": "b"})),
    ] {
        let text = format!("{head}metadata: {{name: {name}}}\n{rest}");
        let headers = [("content-type", YAML)];
        let answer = place
            .raw
            .send(Method::POST, &place.path(MAPS), &headers, &json!(text))
            .await?;
        assert_eq!(
            (answer.code, &answer.body["data"]),
            (201, &data),
            "{name}: {answer:?}"
        );
        assert_eq!(
            answer.warnings.len(),
            usize::from(name == "twice"),
            "{name}: {answer:?}"
        );
    }
    let typed = format!("{head}metadata: {{name: typed}}\ndata: {{a: 1}}\n");
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
    place
        .refuses(("POST", MAPS, YAML, json!(typed)), (400, "BadRequest", message))
        .await?;
    let twice = format!("{head}metadata: {{name: strict}}\ndata: {{a: b}}\ndata: {{c: d}}\n");
    let strict = format!("{MAPS}?fieldValidation=Strict");
    place
        .refuses(
            ("POST", &strict, YAML, json!(twice)),
            (400, "BadRequest", message),
        )
        .await?;
    Ok(())
}

#[tokio::test]
async fn patches_that_say_something_twice() -> Result<()> {
    let place = Place::with_widgets("twice").await?;
    let merge = r#"{"data":{"a":"b","a":"c"},"foo":1,"foo":2}"#;
    let widget = r#"{"spec":{"size":2,"size":3}}"#;
    let operations = r#"[{"op":"add","path":"/data","value":{},"value":{"q":"1"},"strange":1}]"#;
    let of_map: &[&str] = &[
        "duplicate field \"data.a\"",
        "duplicate field \"foo\"",
        "unknown field \"foo\"",
    ];
    let of_operations: &[&str] = &[
        "json patch duplicate field \"[0].value\"",
        "json patch unknown field \"[0].strange\"",
    ];
    for (path, media, body, problems) in [
        (BASE, MERGE, merge, of_map),
        (BASE, STRATEGIC, merge, of_map),
        (BASE, JSON_PATCH, operations, of_operations),
        (
            "{widgets}/base",
            MERGE,
            widget,
            &["duplicate field \"spec.size\""],
        ),
    ] {
        let send = async |validation: &str| {
            let path = format!("{}?fieldValidation={validation}", place.path(path));
            let headers = [("content-type", media)];
            let body = Value::String(body.to_owned());
            place.raw.send(Method::PATCH, &path, &headers, &body).await
        };
        let strict = send("Strict").await?;
        assert_eq!((strict.code, strict.reason()), (422, "Invalid"), "{strict:?}");
        let end = format!(": strict decoding error: {}", problems.join(", "));
        assert!(strict.message().ends_with(&end), "{}", strict.message());
        let warned = send("Warn").await?;
        assert_eq!(warned.code, 200, "{warned:?}");
        assert_eq!(warned.warnings, problems, "{media}");
        let ignored = send("Ignore").await?;
        assert_eq!((ignored.code, ignored.warnings), (200, vec![]));
    }
    Ok(())
}

#[tokio::test]
async fn wrong_options_are_named_one_by_one() -> Result<()> {
    let place = Place::new("options").await?;
    let unknown = |value: &str| {
        format!(
            "Unsupported value: {value}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
        )
    };
    let cause = |reason: &str, field: &str, message: &str| json!({"reason": format!("FieldValue{reason}"), "field": field, "message": message});
    let all = "Unsupported value: [\"All\",\"x\"]: supported values: \"All\"";
    for (method, media, query, body, kind, causes) in [
        (
            Method::PATCH,
            APPLY,
            "",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base"}}),
            "PatchOptions",
            json!([cause(
                "Required",
                "fieldManager",
                "Required value: is required for apply patch"
            )]),
        ),
        (
            Method::PATCH,
            MERGE,
            "?force=true",
            json!({}),
            "PatchOptions",
            json!([cause(
                "Forbidden",
                "force",
                "Forbidden: may not be specified for non-apply patch"
            )]),
        ),
        (
            Method::DELETE,
            JSON,
            "",
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
            "DeleteOptions",
            json!([cause(
                "Invalid",
                "propagationPolicy",
                "Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set"
            )]),
        ),
        (
            Method::DELETE,
            JSON,
            "",
            json!({"propagationPolicy": "y", "dryRun": ["All", "x"]}),
            "DeleteOptions",
            json!([
                cause("NotSupported", "propagationPolicy", &unknown("\"y\"")),
                cause("NotSupported", "dryRun", all)
            ]),
        ),
    ] {
        let path = format!("{}{query}", place.path(BASE));
        let refused = place
            .raw
            .send(method, &path, &[("content-type", media)], &body)
            .await?;
        assert_eq!((refused.code, refused.reason()), (422, "Invalid"), "{refused:?}");
        let details = json!({"group": "meta.k8s.io", "kind": kind, "causes": causes});
        assert_eq!(refused.body["details"], details, "{refused:?}");
    }
    Ok(())
}
