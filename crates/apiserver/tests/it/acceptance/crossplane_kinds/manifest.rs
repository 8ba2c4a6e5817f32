//! A cluster with the Crossplane kinds.

use std::path::Path;

use anyhow::{Context as _, Result};
use cambium_api::crds;
use cambium_testing::{Answer, Raw, TestCluster, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

pub(crate) struct Kinds {
    pub(crate) cluster: TestCluster,
    pub(crate) raw: Raw,
}

impl Kinds {
    pub(crate) async fn start() -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let raw = cluster.raw();
        let kinds = Self { cluster, raw };
        let ours = crds::all().into_iter();
        for crd in ours.filter(|crd| crd.spec.group.ends_with("crossplane.io")) {
            kinds.install(&crd).await?;
        }
        Ok(kinds)
    }

    /// Applies a CRD, and waits until all of its versions are served.
    pub(crate) async fn install(&self, crd: &CustomResourceDefinition) -> Result<()> {
        let crd = serde_json::to_value(crd)?;
        let path = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}?fieldManager=kinds&force=true",
            text(&crd["metadata"]["name"])
        );
        let applied = self.raw.patch("apply", &path, &crd).await?;
        assert!([200, 201].contains(&applied.code), "{applied:?}");
        let (group, plural) = (&crd["spec"]["group"], &crd["spec"]["names"]["plural"]);
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            let path = format!(
                "/apis/{}/{}/{}",
                text(group),
                text(&version["name"]),
                text(plural)
            );
            eventually("the kind is served", || async {
                Ok(self.raw.get(&path).await?.code == 200)
            })
            .await?;
        }
        Ok(())
    }

    /// Creates an object as `kubectl` would, with strict field validation.
    pub(crate) async fn create(&self, object: &Value) -> Result<Answer> {
        let path = format!("{}?fieldValidation=Strict", collection(object));
        self.raw.post(&path, object).await
    }

    pub(crate) async fn get(&self, object: &Value) -> Result<Value> {
        Ok(self.raw.get(&place(object)).await?.body)
    }

    pub(crate) async fn merge(&self, object: &Value, patch: &Value) -> Result<Answer> {
        self.raw.patch("merge", &place(object), patch).await
    }

    /// The columns and cells of `kubectl get -o wide` for an object, without ages.
    pub(crate) async fn row(&self, object: &Value) -> Result<Vec<(String, Value)>> {
        let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        let path = place(object);
        let asked = self.raw.send(http::Method::GET, &path, &accept, &Value::Null);
        let table = asked.await?.body;
        let columns = table["columnDefinitions"].as_array().into_iter().flatten();
        let cells = table["rows"][0]["cells"].as_array().into_iter().flatten();
        let shown = columns.zip(cells).filter(|(column, _)| column["type"] != "date");
        Ok(shown
            .map(|(column, cell)| {
                let wide = if column["priority"] == 0 { "" } else { " (wide)" };
                (format!("{}{wide}", text(&column["name"])), cell.clone())
            })
            .collect())
    }
}

/// The objects in a file of manifests.
pub(crate) fn manifests(file: &str) -> Result<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/acceptance/crossplane_kinds/manifests")
        .join(file);
    let text = std::fs::read_to_string(&path)?;
    serde_saphyr::from_multiple(&text).with_context(|| path.display().to_string())
}

fn collection(object: &Value) -> String {
    let plural = format!("{}s", text(&object["kind"]).to_lowercase());
    let version = text(&object["apiVersion"]);
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/apis/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/apis/{version}/{plural}"),
    }
}

fn place(object: &Value) -> String {
    format!("{}/{}", collection(object), text(&object["metadata"]["name"]))
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
