//! A cluster with our kinds and their conversion webhook.

use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};

use anyhow::{Context as _, Result};
use cambium_api::crds;
use cambium_convert::review;
use cambium_testing::{Answer, Raw, TestCluster, WebhookServer, eventually};
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::WebhookClientConfig;
use serde_json::{Value, json};

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A cluster with our kinds installed.
pub(crate) struct Kinds {
    pub(crate) cluster: TestCluster,
    pub(crate) raw: Raw,
}

impl Kinds {
    pub(crate) async fn start() -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let raw = cluster.raw();
        for crd in crds::all() {
            let crd = serde_json::to_value(crds::with_conversion(crd, webhook()?))?;
            let path = format!(
                "{CRDS}/{}?fieldManager=kinds&force=true",
                text(&crd["metadata"]["name"])
            );
            let applied = raw.patch("apply", &path, &crd).await?;
            assert!([200, 201].contains(&applied.code), "{applied:?}");
        }
        for crd in crds::all() {
            let (group, plural) = (crd.spec.group, crd.spec.names.plural);
            for version in crd.spec.versions {
                let path = format!("/apis/{group}/{}/{plural}", version.name);
                eventually("the kind is served", || async {
                    Ok(raw.get(&path).await?.code == 200)
                })
                .await?;
            }
        }
        Ok(Self { cluster, raw })
    }

    pub(crate) async fn create(&self, namespace: &str, object: &Value) -> Result<Answer> {
        self.raw.post(&collection(namespace, object), object).await
    }

    pub(crate) async fn get(&self, namespace: &str, object: &Value) -> Result<Value> {
        let path = format!(
            "{}/{}",
            collection(namespace, object),
            text(&object["metadata"]["name"])
        );
        Ok(self.raw.get(&path).await?.body)
    }

    pub(crate) async fn apply(&self, namespace: &str, manager: &str, object: &Value) -> Result<Answer> {
        let path = collection(namespace, object);
        let path = format!(
            "{path}/{}?fieldManager={manager}",
            text(&object["metadata"]["name"])
        );
        self.raw.patch("apply", &path, object).await
    }

    /// A component definition at a version.
    pub(crate) async fn at(&self, version: &str, namespace: &str, name: &str) -> Result<Value> {
        Ok(self.raw.get(&written(version, namespace, name)).await?.body)
    }

    pub(crate) async fn patch(
        &self,
        version: &str,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Answer> {
        self.raw
            .patch("merge", &written(version, namespace, name), patch)
            .await
    }

    /// The column names and the first row of `kubectl get`, without the age in the last column.
    pub(crate) async fn table(
        &self,
        version: &str,
        namespace: &str,
        plural: &str,
    ) -> Result<(Vec<String>, Vec<Value>)> {
        let path = format!("/apis/core.oam.dev/{version}/namespaces/{namespace}/{plural}");
        let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        let table = self
            .raw
            .send(http::Method::GET, &path, &accept, &Value::Null)
            .await?
            .body;
        let columns = table["columnDefinitions"].as_array().into_iter().flatten();
        let cells = table["rows"][0]["cells"].as_array().into_iter().flatten();
        let shown = columns
            .zip(cells)
            .filter(|(column, _)| column["priority"] == 0 && column["type"] != "date");
        Ok(shown
            .map(|(column, cell)| (text(&column["name"]).to_owned(), cell.clone()))
            .unzip())
    }
}

/// The path of a component definition at a version.
pub(crate) fn written(version: &str, namespace: &str, name: &str) -> String {
    format!("/apis/core.oam.dev/{version}/namespaces/{namespace}/componentdefinitions/{name}")
}

pub(crate) fn definition(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("core.oam.dev/{version}"), "kind": "ComponentDefinition",
        "metadata": {"name": name}, "spec": spec})
}

/// Manifests: ours, or those in the directory `CAMBIUM_TEST_MANIFESTS`.
pub(crate) fn manifests() -> Result<Vec<Value>> {
    let given = std::env::var_os("CAMBIUM_TEST_MANIFESTS").map(std::path::PathBuf::from);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/acceptance/kinds/manifests");
    let mut paths: Vec<_> = std::fs::read_dir(given.unwrap_or(ours))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    let read = |path: &Path| -> Result<Vec<Value>> {
        let text = std::fs::read_to_string(path)?;
        serde_saphyr::from_multiple(&text).with_context(|| path.display().to_string())
    };
    let all: Vec<Vec<Value>> = paths.iter().map(|path| read(path)).collect::<Result<_>>()?;
    Ok(all
        .into_iter()
        .flatten()
        .filter(|manifest| !manifest.is_null())
        .collect())
}

fn collection(namespace: &str, object: &Value) -> String {
    let plural = format!("{}s", text(&object["kind"]).to_lowercase());
    format!(
        "/apis/{}/namespaces/{namespace}/{plural}",
        text(&object["apiVersion"])
    )
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// One webhook for all tests of this program, as they share a real cluster.
fn webhook() -> Result<WebhookClientConfig> {
    static SERVER: OnceLock<Result<(String, String), String>> = OnceLock::new();
    let started = SERVER.get_or_init(|| {
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let server = WebhookServer::start(Arc::new(|_, body| review::answer(body))).await?;
                send.send((server.url("/convert"), server.authority().to_owned()))?;
                std::future::pending::<Result<()>>().await
            })
        });
        receive.recv().map_err(|error| error.to_string())
    });
    let (url, authority) = started.as_ref().map_err(|error| anyhow::anyhow!(error.clone()))?;
    Ok(WebhookClientConfig {
        url: Some(url.clone()),
        ca_bundle: Some(ByteString(authority.clone().into_bytes())),
        service: None,
    })
}
