//! Create, read, update and delete: the same on the embedded server and on Kubernetes.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster, eventually};
use serde_json::{Value, json};

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

struct Place {
    raw: Raw,
    path: String,
    _cluster: TestCluster,
}

async fn config_maps(test: &str) -> Result<Place> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace(test).await?;
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    Ok(Place {
        raw: cluster.raw(),
        path,
        _cluster: cluster,
    })
}

#[tokio::test]
async fn an_object_lives() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("lives").await?;
    let created = raw.post(path, &config_map("a", json!({"k": "v"}))).await?;
    assert_eq!(created.code, 201, "{created:?}");
    let metadata = &created.body["metadata"];
    assert_eq!(metadata["uid"].as_str().map(str::len), Some(36));
    assert!(metadata["creationTimestamp"].is_string() && metadata["resourceVersion"].is_string());

    let mut object = raw.get(&format!("{path}/a")).await?.body;
    assert_eq!(object, created.body);
    object["data"]["k"] = json!("w");
    let updated = raw.put(&format!("{path}/a"), &object).await?;
    assert_eq!(updated.code, 200, "{updated:?}");
    assert_eq!(updated.body["metadata"]["uid"], metadata["uid"]);
    assert_ne!(
        updated.body["metadata"]["resourceVersion"],
        metadata["resourceVersion"]
    );

    let deleted = raw.delete(&format!("{path}/a"), &json!({})).await?;
    assert_eq!((deleted.code, &deleted.body["status"]), (200, &json!("Success")));
    assert_eq!(
        deleted.body["details"],
        json!({"name": "a", "kind": "configmaps", "uid": metadata["uid"]})
    );
    let gone = raw.get(&format!("{path}/a")).await?;
    assert_eq!((gone.code, gone.reason()), (404, "NotFound"));
    assert_eq!(gone.message(), "configmaps \"a\" not found");
    assert_eq!(gone.body["details"], json!({"name": "a", "kind": "configmaps"}));
    Ok(())
}

#[tokio::test]
async fn a_stale_update_is_a_conflict() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("stale").await?;
    let first = raw.post(path, &config_map("a", json!({}))).await?.body;
    let mut second = first.clone();
    second["data"] = json!({"k": "v"});
    assert_eq!(raw.put(&format!("{path}/a"), &second).await?.code, 200);
    let mut stale = first.clone();
    stale["data"] = json!({"k": "other"});
    let refused = raw.put(&format!("{path}/a"), &stale).await?;
    assert_eq!((refused.code, refused.reason()), (409, "Conflict"));
    assert_eq!(
        refused.message(),
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
    let mut other = first;
    other["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
    other["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    let refused = raw.put(&format!("{path}/a"), &other).await?;
    assert_eq!(refused.code, 409, "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn names_are_checked_or_made() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("names").await?;
    raw.post(path, &config_map("a", json!({}))).await?;
    let again = raw.post(path, &config_map("a", json!({}))).await?;
    assert_eq!(
        (again.code, again.reason(), again.message()),
        (409, "AlreadyExists", "configmaps \"a\" already exists")
    );

    let bad = raw.post(path, &config_map("A_b", json!({}))).await?;
    assert_eq!((bad.code, bad.reason()), (422, "Invalid"));
    assert_eq!(
        bad.message(),
        "ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    );
    let nameless = raw
        .post(
            path,
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),
        )
        .await?;
    assert_eq!(nameless.code, 422);
    assert_eq!(
        nameless.message(),
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"
    );
    let made = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}});
    let made = raw.post(path, &made).await?;
    let name = made.body["metadata"]["name"].as_str().unwrap_or_default();
    assert!(name.starts_with("made-") && name.len() == 10, "{name}");
    let label =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "l", "labels": {"a b": "c"}}});
    let label = raw.post(path, &label).await?;
    assert_eq!(label.code, 422);
    assert!(
        label
            .message()
            .contains("metadata.labels: Invalid value: \"a b\": name part must consist of"),
        "{}",
        label.message()
    );
    Ok(())
}

#[tokio::test]
async fn the_url_and_the_object_must_agree() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("agree").await?;
    raw.post(path, &config_map("a", json!({}))).await?;
    let elsewhere =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}});
    let refused = raw.post(path, &elsewhere).await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            400,
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    );
    let refused = raw.put(&format!("{path}/a"), &config_map("b", json!({}))).await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            400,
            "the name of the object (b) does not match the name on the URL (a)"
        )
    );
    let refused = raw
        .post(
            path,
            &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}),
        )
        .await?;
    assert_eq!(refused.code, 400, "{refused:?}");
    let missing = raw
        .post(
            "/api/v1/namespaces/there-is-no-such/configmaps",
            &config_map("a", json!({})),
        )
        .await?;
    assert_eq!(
        (missing.code, missing.message()),
        (404, "namespaces \"there-is-no-such\" not found")
    );
    Ok(())
}

#[tokio::test]
async fn dry_runs_change_nothing() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("dry").await?;
    let made = raw
        .post(&format!("{path}?dryRun=All"), &config_map("a", json!({"k": "v"})))
        .await?;
    assert_eq!(made.code, 201);
    assert_eq!(raw.get(&format!("{path}/a")).await?.code, 404);
    raw.post(path, &config_map("a", json!({"k": "v"}))).await?;
    let patched = raw
        .patch(
            "merge",
            &format!("{path}/a?dryRun=All"),
            &json!({"data": {"k": "w"}}),
        )
        .await?;
    assert_eq!(patched.body["data"]["k"], "w");
    assert_eq!(
        raw.delete(&format!("{path}/a"), &json!({"dryRun": ["All"]}))
            .await?
            .code,
        200
    );
    assert_eq!(raw.get(&format!("{path}/a")).await?.body["data"]["k"], "v");
    let refused = raw
        .post(&format!("{path}?dryRun=Some"), &config_map("b", json!({})))
        .await?;
    assert_eq!(refused.code, 422, "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn patches_of_every_kind() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("patches").await?;
    let one = &format!("{path}/a");
    raw.post(path, &config_map("a", json!({"k": "v", "gone": "x"})))
        .await?;
    let merged = raw
        .patch("merge", one, &json!({"data": {"gone": null, "new": "y"}}))
        .await?;
    assert_eq!(merged.body["data"], json!({"k": "v", "new": "y"}));
    let patched = raw
        .patch(
            "json",
            one,
            &json!([{"op": "replace", "path": "/data/k", "value": "w"}]),
        )
        .await?;
    assert_eq!(patched.body["data"]["k"], "w");
    let failed = raw
        .patch(
            "json",
            one,
            &json!([{"op": "test", "path": "/data/k", "value": "no"}]),
        )
        .await?;
    assert_eq!(failed.code, 422, "{failed:?}");
    let strategic = raw
        .patch(
            "strategic",
            one,
            &json!({"metadata": {"finalizers": ["example.com/a"]}}),
        )
        .await?;
    assert_eq!(strategic.body["metadata"]["finalizers"], json!(["example.com/a"]));
    let strategic = raw
        .patch(
            "strategic",
            one,
            &json!({"metadata": {"finalizers": ["example.com/b"]}}),
        )
        .await?;
    let mut finalizers: Vec<String> =
        serde_json::from_value(strategic.body["metadata"]["finalizers"].clone())?;
    finalizers.sort();
    assert_eq!(finalizers, ["example.com/a", "example.com/b"]);
    let unknown = raw.patch("application/unknown+json", one, &json!({})).await?;
    assert_eq!(
        (unknown.code, unknown.reason()),
        (415, "UnsupportedMediaType"),
        "{unknown:?}"
    );
    raw.patch("merge", one, &json!({"metadata": {"finalizers": null}}))
        .await?;
    let broken = raw.patch("merge", one, &json!("{nonsense")).await?;
    assert_eq!(broken.code, 400, "{broken:?}");
    Ok(())
}

#[tokio::test]
async fn lists_select_and_come_in_pages() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("lists").await?;
    for index in 0..7 {
        let mut object = config_map(&format!("c{index}"), json!({}));
        object["metadata"]["labels"] = json!({"parity": if index % 2 == 0 { "even" } else { "odd" }});
        assert_eq!(raw.post(path, &object).await?.code, 201);
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().into_iter().flatten();
        // Some clusters put a ConfigMap of their own into every namespace.
        items
            .filter_map(|item| item["metadata"]["name"].as_str())
            .filter(|name| name.starts_with('c'))
            .map(str::to_owned)
            .collect()
    };
    let even = raw.get(&format!("{path}?labelSelector=parity%3Deven")).await?;
    assert_eq!(names(&even.body), ["c0", "c2", "c4", "c6"]);
    let some = raw
        .get(&format!("{path}?labelSelector=parity%20in%20(odd),parity"))
        .await?;
    assert_eq!(names(&some.body), ["c1", "c3", "c5"]);
    let one = raw
        .get(&format!("{path}?fieldSelector=metadata.name%3Dc3"))
        .await?;
    assert_eq!(names(&one.body), ["c3"]);
    let refused = raw.get(&format!("{path}?fieldSelector=data.x%3Dy")).await?;
    assert_eq!(refused.code, 400, "{refused:?}");
    let refused = raw.get(&format!("{path}?labelSelector=a%20b")).await?;
    assert_eq!(refused.code, 400, "{refused:?}");

    let first = raw
        .get(&format!("{path}?limit=2&labelSelector=parity"))
        .await?
        .body;
    assert_eq!(names(&first), ["c0", "c1"]);
    let version = first["metadata"]["resourceVersion"].clone();
    raw.delete(&format!("{path}/c2"), &json!({})).await?;
    let token = first["metadata"]["continue"].as_str().unwrap_or_default();
    let second = raw
        .get(&format!("{path}?limit=20&labelSelector=parity&continue={token}"))
        .await?
        .body;
    assert_eq!(
        names(&second),
        ["c2", "c3", "c4", "c5", "c6"],
        "pages show one moment"
    );
    assert_eq!(second["metadata"]["resourceVersion"], version);
    let exact = format!(
        "{path}?labelSelector=parity&resourceVersionMatch=Exact&resourceVersion={}",
        version.as_str().unwrap_or_default()
    );
    assert_eq!(names(&raw.get(&exact).await?.body).len(), 7);
    assert_eq!(raw.get(&format!("{path}?continue=nonsense")).await?.code, 400);
    Ok(())
}

#[tokio::test]
async fn finalizers_and_preconditions_hold_a_deletion() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("held").await?;
    let one = &format!("{path}/a");
    let mut object = config_map("a", json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let uid = raw.post(path, &object).await?.body["metadata"]["uid"].clone();
    let refused = raw
        .delete(
            one,
            &json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}),
        )
        .await?;
    assert_eq!((refused.code, refused.reason()), (409, "Conflict"));
    let pending = raw.delete(one, &json!({"preconditions": {"uid": uid}})).await?;
    assert_eq!(pending.code, 200);
    assert!(
        pending.body["metadata"]["deletionTimestamp"].is_string(),
        "{pending:?}"
    );
    assert_eq!(pending.body["metadata"]["deletionGracePeriodSeconds"], 0);
    let added = raw
        .patch(
            "merge",
            one,
            &json!({"metadata": {"finalizers": ["example.com/hold", "example.com/late"]}}),
        )
        .await?;
    assert_eq!(added.code, 422);
    assert!(
        added
            .message()
            .contains("no new finalizers can be added if the object is being deleted"),
        "{}",
        added.message()
    );
    let released = raw
        .patch("merge", one, &json!({"metadata": {"finalizers": null}}))
        .await?;
    assert_eq!(released.code, 200);
    assert_eq!(raw.get(one).await?.code, 404);
    Ok(())
}

#[tokio::test]
async fn unknown_and_duplicate_fields_are_told() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("fields").await?;
    let body = json!(
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{},"date":{},"data":{"k":"v"}}"#
    );
    let headers = [("content-type", "application/json")];
    let strict = raw
        .send(
            http::Method::POST,
            &format!("{path}?fieldValidation=Strict"),
            &headers,
            &body,
        )
        .await?;
    assert_eq!(strict.code, 400);
    assert!(
        strict.message().contains("unknown field \"date\""),
        "{}",
        strict.message()
    );
    assert!(
        strict.message().contains("duplicate field \"data\""),
        "{}",
        strict.message()
    );
    let warned = raw.send(http::Method::POST, path, &headers, &body).await?;
    assert_eq!(warned.code, 201);
    assert!(
        warned
            .warnings
            .iter()
            .any(|text| text == "unknown field \"date\""),
        "{:?}",
        warned.warnings
    );
    assert_eq!(warned.body["data"], json!({"k": "v"}));
    assert_eq!(warned.body.get("date"), None);
    Ok(())
}

#[tokio::test]
async fn immutable_data_and_write_only_data() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("secrets").await?;
    let mut object = config_map("a", json!({"k": "v"}));
    object["immutable"] = json!(true);
    raw.post(path, &object).await?;
    let refused = raw
        .patch("merge", &format!("{path}/a"), &json!({"data": {"k": "w"}}))
        .await?;
    assert_eq!(refused.code, 422);
    assert!(
        refused
            .message()
            .contains("data: Forbidden: field is immutable when `immutable` is set"),
        "{}",
        refused.message()
    );
    let secrets = path.replace("/configmaps", "/secrets");
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "v"}});
    let made = raw.post(&secrets, &secret).await?;
    assert_eq!(
        (&made.body["data"], &made.body["type"]),
        (&json!({"k": "dg=="}), &json!("Opaque"))
    );
    assert_eq!(made.body.get("stringData"), None);
    let bad =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"a/b": "c"}});
    assert_eq!(raw.post(path, &bad).await?.code, 422);
    Ok(())
}

#[tokio::test]
async fn a_collection_is_deleted_page_by_page() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("collection").await?;
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"x": "y"}}});
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(raw.post(path, &map(name)).await?.code, 201);
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().into_iter().flatten();
        items
            .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
            .collect()
    };
    let page = format!("{path}?labelSelector=x%3Dy&limit=2");
    let first = raw.delete(&page, &Value::Null).await?;
    assert_eq!(names(&first.body), ["a", "b"], "{first:?}");
    let token = first.body["metadata"]["continue"].as_str().unwrap_or_default();
    assert!(!token.is_empty(), "{first:?}");
    let left = format!("{path}?labelSelector=x%3Dy");
    assert_eq!(names(&raw.get(&left).await?.body), ["c", "d", "e"]);
    let second = raw
        .delete(&format!("{page}&continue={token}"), &Value::Null)
        .await?;
    assert_eq!(names(&second.body), ["c", "d"], "{second:?}");
    let rest = raw.delete(&left, &Value::Null).await?;
    assert_eq!(names(&rest.body), ["e"]);
    assert_eq!(rest.body["metadata"].get("continue"), None);
    let refused = raw
        .delete(&format!("{path}?resourceVersionMatch=Exact"), &Value::Null)
        .await?;
    assert_eq!((refused.code, refused.reason()), (422, "Invalid"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_page_of_a_revision_is_as_it_was_then() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("revision").await?;
    let made = raw.post(path, &config_map("a", json!({}))).await?.body;
    raw.post(path, &config_map("b", json!({}))).await?;
    let revision = made["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let count = |list: &Value| {
        let items = list["items"].as_array().into_iter().flatten();
        items
            .filter(|item| item["metadata"]["name"] != "kube-root-ca.crt")
            .count()
    };
    let page = raw
        .get(&format!("{path}?limit=100&resourceVersion={revision}"))
        .await?
        .body;
    assert_eq!(count(&page), 1, "{page}");
    // Without pages it means that nothing older will do: what comes may be newer, and is as soon as a server that keeps a copy has it.
    for query in [
        format!("resourceVersion={revision}"),
        "limit=100&resourceVersion=0".to_owned(),
    ] {
        eventually(&format!("{query} shows both"), || async {
            Ok(count(&raw.get(&format!("{path}?{query}")).await?.body) == 2)
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_is_not_as_expected_is_not_deleted() -> Result<()> {
    let Place { raw, path, .. } = &config_maps("expected").await?;
    raw.post(path, &config_map("a", json!({}))).await?;
    for (condition, label, guess) in [
        (json!({"resourceVersion": "1"}), "ResourceVersion", "modified"),
        (json!({"uid": "1"}), "UID", "deleted and then recreated"),
    ] {
        let refused = raw
            .delete(&format!("{path}/a"), &json!({"preconditions": condition}))
            .await?;
        assert_eq!((refused.code, refused.reason()), (409, "Conflict"), "{refused:?}");
        let begin = format!(
            "Operation cannot be fulfilled on ConfigMap \"a\": the {label} in the precondition (1) does not match the {label} in record ("
        );
        assert!(refused.message().starts_with(&begin), "{}", refused.message());
        let end = format!("The object might have been {guess}");
        assert!(refused.message().ends_with(&end), "{}", refused.message());
    }
    Ok(())
}
