//! `--demo`: a small world, applied and shown.

use std::io::Write as _;

use anyhow::Context as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::discovery::{Discovery, Scope};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::cluster::Cluster;

/// What is applied, in this order: the same files a newcomer can apply by hand.
const FILES: [(&str, &str); 2] = [
    (
        "examples/greeting-crd.yaml",
        include_str!("../../../../examples/greeting-crd.yaml"),
    ),
    (
        "examples/greetings.yaml",
        include_str!("../../../../examples/greetings.yaml"),
    ),
];

/// What is shown.
const SHOWN: [(&str, &str); 3] = [
    (
        "kubectl get crds",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ),
    (
        "kubectl get greetings",
        "/apis/demo.cambium.dev/v1/namespaces/default/greetings",
    ),
    (
        "kubectl get deployments",
        "/apis/apps/v1/namespaces/default/deployments",
    ),
];

/// Applies the example and prints it as kubectl would.
pub(crate) async fn run(cluster: &Cluster) -> anyhow::Result<()> {
    let client = Client::new(cluster.server.clone(), "default");
    let mut output = std::io::stdout();
    for (name, text) in FILES {
        writeln!(output, "$ kubectl apply --server-side -f {name}")?;
        let documents: Vec<DynamicObject> = serde_saphyr::from_multiple(text).context(name)?;
        for object in documents {
            let line = apply(&client, &object)
                .await
                .with_context(|| format!("{name}: {}", object.name_any()))?;
            writeln!(output, "{line}")?;
        }
    }
    until_ready(&client).await?;
    for (command, path) in SHOWN {
        writeln!(output, "\n$ {command}")?;
        let request =
            http::Request::get(path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let table: Value = client.request(request.body(Vec::new())?).await.context(command)?;
        write!(output, "{}", print(&table))?;
    }
    writeln!(output)?;
    Ok(())
}

/// Waits a moment for the example's pods, so that there is something to see.
async fn until_ready(client: &Client) -> anyhow::Result<()> {
    for _ in 0..200 {
        let request =
            http::Request::get("/apis/apps/v1/namespaces/default/deployments/greeter").body(Vec::new())?;
        let deployment: Value = client.request(request).await?;
        if deployment["status"]["readyReplicas"] == deployment["spec"]["replicas"] {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    Ok(())
}

async fn apply(client: &Client, object: &DynamicObject) -> anyhow::Result<String> {
    let types = object.types.clone().context("an object without kind")?;
    let gvk = kube::core::GroupVersionKind::try_from(&types)?;
    // A new CRD is served as soon as it is established, which takes a moment.
    let mut tries = 0;
    let (resource, capabilities) = loop {
        let discovery = Discovery::new(client.clone()).filter(&[&gvk.group]).run().await?;
        match discovery.resolve_gvk(&gvk) {
            Some(found) => break found,
            None if tries < 100 => tries += 1,
            None => anyhow::bail!("no resource of kind {}", gvk.kind),
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => Api::default_namespaced_with(client.clone(), &resource),
    };
    let parameters = PatchParams::apply("cambium-demo").force();
    api.patch(&object.name_any(), &parameters, &Patch::Apply(object))
        .await?;
    let kind = match resource.group.is_empty() {
        true => resource.kind.to_lowercase(),
        false => format!("{}.{}", resource.kind.to_lowercase(), resource.group),
    };
    Ok(format!("{kind}/{} serverside-applied", object.name_any()))
}

/// A Table as kubectl prints it: columns padded with three spaces.
fn print(table: &Value) -> String {
    let columns = table["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let shown: Vec<usize> = (0..columns.len())
        .filter(|index| columns[*index]["priority"] == 0)
        .collect();
    let heading = shown.iter().map(|index| {
        columns[*index]["name"]
            .as_str()
            .unwrap_or_default()
            .to_uppercase()
    });
    let mut lines: Vec<Vec<String>> = vec![heading.collect()];
    for row in table["rows"].as_array().into_iter().flatten() {
        let cell = |index: &usize| match &row["cells"][*index] {
            Value::String(text) => text.clone(),
            Value::Null => "<none>".to_owned(),
            other => other.to_string(),
        };
        lines.push(shown.iter().map(cell).collect());
    }
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..shown.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let padded: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(padded.join("   ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_look_as_kubectl_prints_them() {
        let table = json!({
            "columnDefinitions": [{"name": "Name", "priority": 0}, {"name": "Hidden", "priority": 1}, {"name": "Age", "priority": 0}],
            "rows": [{"cells": ["a-long-name", "x", "5s"]}, {"cells": ["b", "x", null]}],
        });
        assert_eq!(
            print(&table),
            "NAME          AGE\na-long-name   5s\nb             <none>\n"
        );
    }
}
