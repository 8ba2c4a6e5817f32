//! Watches: resuming from a resource version, order of events, selectors.

use anyhow::{Context as _, Result};
use cambium_testing::{TestCluster, Watch};
use serde_json::{Value, json};

const JSON: &str = "application/json";

fn config_map(name: &str, label: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"color": label}}})
}

async fn start(test: &str) -> Result<(TestCluster, String)> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace(test).await?;
    Ok((cluster, format!("/api/v1/namespaces/{namespace}/configmaps")))
}

/// All test objects are labelled, to exclude a cluster's own ConfigMaps.
const OURS: &str = "labelSelector=color";

#[tokio::test]
async fn a_watch_resumes_where_a_list_ended() -> Result<()> {
    let (cluster, path) = start("resume").await?;
    let raw = cluster.raw();
    raw.post(&path, &config_map("a", "red")).await?;
    let list = raw.get(&path).await?.body;
    let version = list["metadata"]["resourceVersion"]
        .as_str()
        .context("a version")?
        .to_owned();
    raw.post(&path, &config_map("b", "red")).await?;
    raw.patch("merge", &format!("{path}/a"), &json!({"data": {"k": "v"}}))
        .await?;
    raw.delete(&format!("{path}/b"), &json!({})).await?;
    let url = format!("{path}?watch=true&resourceVersion={version}&{OURS}");
    let mut first = Watch::open(&cluster.client(), &url, JSON).await?;
    let mut second = Watch::open(&cluster.client(), &url, JSON).await?;
    let expected = ["ADDED b", "MODIFIED a", "DELETED b"];
    assert_eq!(first.take(3).await?, expected);
    assert_eq!(second.take(3).await?, expected);
    raw.post(&path, &config_map("c", "red")).await?;
    assert_eq!(first.take(1).await?, ["ADDED c"]);
    Ok(())
}

#[tokio::test]
async fn entering_and_leaving_a_selection_is_coming_and_going() -> Result<()> {
    let (cluster, path) = start("select").await?;
    let raw = cluster.raw();
    let url = format!("{path}?watch=true&resourceVersion=0&labelSelector=color%3Dred");
    let mut watch = Watch::open(&cluster.client(), &url, JSON).await?;
    raw.post(&path, &config_map("a", "red")).await?;
    raw.post(&path, &config_map("b", "blue")).await?;
    raw.patch(
        "merge",
        &format!("{path}/b"),
        &json!({"metadata": {"labels": {"color": "red"}}}),
    )
    .await?;
    raw.patch(
        "merge",
        &format!("{path}/a"),
        &json!({"metadata": {"labels": {"color": "blue"}}}),
    )
    .await?;
    raw.patch("merge", &format!("{path}/a"), &json!({"data": {"k": "v"}}))
        .await?;
    assert_eq!(watch.take(2).await?, ["ADDED a", "ADDED b"]);
    let (kind, object) = watch.next().await?.context("an event")?;
    assert_eq!(
        (kind.as_str(), &object["metadata"]["name"]),
        ("DELETED", &json!("a"))
    );
    assert_eq!(
        object["metadata"]["labels"]["color"], "red",
        "as it was last selected"
    );
    raw.delete(&format!("{path}/b"), &json!({})).await?;
    let (kind, object) = watch.next().await?.context("an event")?;
    assert_eq!(
        (kind.as_str(), &object["metadata"]["name"]),
        ("DELETED", &json!("b"))
    );
    Ok(())
}

#[tokio::test]
async fn a_streaming_list_ends_with_a_bookmark() -> Result<()> {
    let (cluster, path) = start("stream").await?;
    let raw = cluster.raw();
    for name in ["a", "b"] {
        raw.post(&path, &config_map(name, "red")).await?;
    }
    let url = format!(
        "{path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&{OURS}"
    );
    let mut watch = Watch::open(&cluster.client(), &url, JSON).await?;
    let mut first = watch.take(2).await?;
    first.sort();
    assert_eq!(first, ["ADDED a", "ADDED b"]);
    let (kind, object) = watch.next().await?.context("a bookmark")?;
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(
        object["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(object["kind"], "ConfigMap");
    raw.post(&path, &config_map("c", "red")).await?;
    // Further bookmarks may come whenever the server likes.
    let (kind, object) = loop {
        let event = watch.next().await?.context("an event")?;
        if event.0 != "BOOKMARK" {
            break event;
        }
    };
    assert_eq!(
        (kind.as_str(), &object["metadata"]["name"]),
        ("ADDED", &json!("c"))
    );
    let refused = raw
        .get(&format!("{path}?watch=true&sendInitialEvents=true"))
        .await?;
    assert_eq!(refused.code, 422, "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_watch_ends_when_it_is_told_to() -> Result<()> {
    let (cluster, path) = start("timeout").await?;
    let mut watch = Watch::open(
        &cluster.client(),
        &format!("{path}?watch=true&timeoutSeconds=1&{OURS}"),
        JSON,
    )
    .await?;
    assert_eq!(watch.next().await?, None);
    Ok(())
}

#[tokio::test]
async fn watches_come_as_tables_and_as_metadata() -> Result<()> {
    let (cluster, path) = start("shapes").await?;
    let raw = cluster.raw();
    raw.post(&path, &config_map("a", "red")).await?;
    let url = format!("{path}?watch=true&{OURS}");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let (_, object) = Watch::open(&cluster.client(), &url, table)
        .await?
        .next()
        .await?
        .context("a row")?;
    assert_eq!(
        (&object["kind"], &object["rows"][0]["cells"][0]),
        (&json!("Table"), &json!("a"))
    );
    assert_eq!(object["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let (_, object) = Watch::open(&cluster.client(), &url, partial)
        .await?
        .next()
        .await?
        .context("metadata")?;
    assert_eq!(
        (&object["kind"], object.get("data")),
        (&json!("PartialObjectMetadata"), None)
    );
    Ok(())
}

#[tokio::test]
async fn each_watch_is_told_what_it_asked_for_and_nothing_else() -> Result<()> {
    let (cluster, path) = start("interests").await?;
    let raw = cluster.raw();
    let version = raw.get(&path).await?.body["metadata"]["resourceVersion"]
        .as_str()
        .context("a version")?
        .to_owned();
    // Others may have objects of these names and labels in their namespaces.
    let here = format!(
        "metadata.namespace%3D{}",
        path.split('/').nth(4).context("a namespace")?
    );
    let mut watches = Vec::new();
    for (url, expected) in [
        (
            format!("{path}?fieldSelector=metadata.name%3Da"),
            &["ADDED a", "MODIFIED a", "DELETED a"][..],
        ),
        (
            format!("/api/v1/configmaps?fieldSelector=metadata.name%3Db,{here}"),
            &["ADDED b"],
        ),
        (
            format!("{path}?labelSelector=color%3Dblue"),
            &["ADDED b", "ADDED a", "DELETED a"],
        ),
        (
            format!("/api/v1/configmaps?labelSelector=color+in+(red)&fieldSelector={here}"),
            &["ADDED a", "DELETED a"],
        ),
        (
            format!("{path}?labelSelector=color,color!%3Dred"),
            &["ADDED b", "ADDED a", "DELETED a"],
        ),
        (
            format!("{path}?{OURS}"),
            &["ADDED a", "ADDED b", "MODIFIED a", "DELETED a"],
        ),
    ] {
        let url = format!("{url}&watch=true&resourceVersion={version}");
        watches.push((
            url.clone(),
            Watch::open(&cluster.client(), &url, JSON).await?,
            expected,
        ));
    }
    raw.post(&path, &config_map("a", "red")).await?;
    raw.post(&path, &config_map("b", "blue")).await?;
    let blue = json!({"metadata": {"labels": {"color": "blue"}}});
    raw.patch("merge", &format!("{path}/a"), &blue).await?;
    raw.delete(&format!("{path}/a"), &json!({})).await?;
    for (url, mut watch, expected) in watches {
        assert_eq!(watch.take(expected.len()).await?, expected, "{url}");
    }
    Ok(())
}
