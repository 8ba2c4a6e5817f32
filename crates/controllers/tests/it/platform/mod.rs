//! A cluster with our kinds and a manager at work, and words to publish and consume with.

use anyhow::{Context as _, Result};
use cambium_api::crds;
use cambium_controllers::{Authors, Identities, Manager, Otherwise, Settings};
use cambium_testing::{Answer, Raw, TestCluster, eventually, eventually_some};
use cambium_webhooks::registration::Reach;
use cambium_webhooks::{Options, Webhooks};
use jiff::SignedDuration;
use kube::Client;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const CONFIGURATIONS: [&str; 2] = [
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
];

/// The ServiceAccount that applies what applications make where admission is off. It may do everything.
const DEPLOYER: &str = "deployer";

const CROSSPLANE: &str = "/apis/apiextensions.crossplane.io/v1";

pub(crate) struct Platform {
    pub(crate) cluster: TestCluster,
    pub(crate) raw: Raw,
    pub(crate) namespace: String,
    settings: Settings,
    manager: Option<Working>,
    webhooks: Option<Webhooks>,
}

struct Working {
    manager: Arc<Manager>,
    task: JoinHandle<()>,
}

/// Settings that do not wait.
pub(crate) fn settings() -> Settings {
    Settings {
        deletion_delay: SignedDuration::ZERO,
        serves_v2beta1: false,
        // Nobody records authors where admission is off.
        identities: Identities {
            authors: Authors::Unknown,
            otherwise: Otherwise::ServiceAccount(DEPLOYER.to_owned()),
        },
        ..Settings::default()
    }
}

impl Platform {
    /// With a manager at work.
    pub(crate) async fn start() -> Result<Self> {
        Self::with(settings()).await
    }

    pub(crate) async fn with(settings: Settings) -> Result<Self> {
        let mut platform = Self::without_manager(settings).await?;
        let client = platform.cluster.manager().await?;
        platform.start_manager(client).await?;
        Ok(platform)
    }

    /// With a manager at work, and everything checked before it is stored.
    pub(crate) async fn with_admission() -> Result<Self> {
        Self::checked(settings()).await
    }

    /// The same, with other settings.
    pub(crate) async fn checked(settings: Settings) -> Result<Self> {
        let settings = Settings {
            serves_v2beta1: true,
            identities: Identities {
                authors: Authors::Recorded,
                otherwise: Otherwise::Nobody,
            },
            ..settings
        };
        let mut platform = Self::without_manager(settings).await?;
        let client = platform.cluster.manager().await?;
        platform.start_manager(client.clone()).await?;
        let manager = &platform.manager.as_ref().unwrap().manager;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let options = Options::new(platform.namespace.clone(), Reach::local(listener.local_addr()?));
        let webhooks = Webhooks::start(client, listener, options, manager.admission()).await?;
        platform.webhooks = Some(webhooks);
        // An API server hears of a webhook a little later than we tell it.
        let probe = definition("PolicyDefinition", "probe", Some("no version"), "");
        eventually("definitions are checked", || async {
            let path = format!("{}?dryRun=All", platform.path("policydefinitions"));
            Ok(platform.raw.post(&path, &probe).await?.code >= 400)
        })
        .await?;
        let mut probe = application("probe", json!({"app.oam.dev/username": "nobody"}), &[]);
        probe["spec"]["components"] = json!([]);
        eventually("authors are recorded", || async {
            let path = format!("{}?dryRun=All", platform.path("applications"));
            let answer = platform.raw.post(&path, &probe).await?;
            Ok(answer.body["metadata"]["annotations"]["app.oam.dev/username"] != "nobody")
        })
        .await?;
        Ok(platform)
    }

    pub(crate) async fn without_manager(settings: Settings) -> Result<Self> {
        // One manager works in a cluster.
        let cluster = TestCluster::alone().await?;
        let raw = cluster.raw();
        // What the test before this one left would ask a server that is gone.
        for collection in CONFIGURATIONS {
            let configurations = raw.get(collection).await?.body;
            for one in configurations["items"].as_array().into_iter().flatten() {
                let name = one["metadata"]["name"].as_str().unwrap();
                raw.delete(&format!("{collection}/{name}"), &json!({})).await?;
            }
        }
        install(&raw).await?;
        clear(&raw).await?;
        let namespace = cluster.namespace("team").await?;
        empower(&raw, &namespace).await?;
        Ok(Self {
            cluster,
            raw,
            namespace,
            settings,
            manager: None,
            webhooks: None,
        })
    }

    /// Starts a manager that uses this client.
    pub(crate) async fn start_manager(&mut self, client: Client) -> Result<()> {
        self.stop_manager().await;
        let manager = Arc::new(Manager::new(client, self.settings.clone()).await?);
        manager.synced().await;
        let running = manager.clone();
        let task = tokio::spawn(async move { running.run().await });
        self.manager = Some(Working { manager, task });
        Ok(())
    }

    /// Whose rights the next manager uses.
    pub(crate) fn set_identities(&mut self, identities: Identities) {
        self.settings.identities = identities;
    }

    /// How long the next manager evaluates templates, patches and functions.
    pub(crate) fn set_template_time_limit(&mut self, limit: std::time::Duration) {
        self.settings.template_time_limit = limit;
    }

    /// Ends the manager as a crash would.
    pub(crate) async fn stop_manager(&mut self) {
        if let Some(working) = self.manager.take() {
            working.task.abort();
            let _ = working.task.await;
        }
    }

    /// Ends the webhooks. What is registered stays, and nobody answers.
    pub(crate) async fn stop_webhooks(&mut self) {
        if let Some(webhooks) = self.webhooks.take() {
            webhooks.stop().await;
        }
    }

    /// Waits until the manager has nothing left to do.
    pub(crate) async fn idle(&self) -> Result<()> {
        let manager = &self.manager.as_ref().context("a manager")?.manager;
        eventually("the manager is idle", || async { Ok(manager.is_idle()) }).await
    }

    /// The law of every reconciler: *at rest, reconciling again changes nothing*. Waits until nothing is left to do, starts another manager,
    /// which reconciles everything anew, and fails if that writes any of the objects that these lists show.
    pub(crate) async fn at_rest(&mut self, lists: &[String]) -> Result<()> {
        // Whoever deletes and makes something again at each look does not get away with it.
        for _ in 0..5 {
            self.rest().await?;
            let before = self.versions(lists).await?;
            let client = self.cluster.manager().await?;
            self.start_manager(client).await?;
            self.rest().await?;
            let mut after = self.versions(lists).await?;
            // The garbage collector comes when it likes to what has an owner, and where the owner's kind was just defined anew, it takes the owner for
            // gone. Then the world was not at rest yet: reconciling goes on.
            let has_gone = |name: &str, object: &Value| {
                let now = after.get(name).map(|(_, now)| &now["metadata"]["uid"]);
                let owned = object["metadata"]["ownerReferences"].is_array();
                owned && now != Some(&object["metadata"]["uid"])
            };
            let collected: BTreeSet<&String> = before
                .iter()
                .filter(|(name, (_, object))| has_gone(name, object))
                .map(|(name, _)| name)
                .collect();
            let mut before_and_after = Vec::new();
            for (name, (version, object)) in &before {
                match after.remove(name) {
                    Some((same, _)) if same == *version => {}
                    Some(_) if collected.contains(name) => {}
                    Some((_, changed)) => before_and_after.push(format!("{name}: {object}\n{changed}")),
                    None if collected.contains(name) => {}
                    None => before_and_after.push(format!("{name}: {object}\ngone")),
                }
            }
            before_and_after.extend(
                after
                    .iter()
                    .map(|(name, (_, object))| format!("{name}: nothing\n{object}")),
            );
            anyhow::ensure!(
                before_and_after.is_empty(),
                "not at rest: reconciling again has changed these (before, then after):\n{}",
                before_and_after.join("\n")
            );
            if collected.is_empty() {
                return Ok(());
            }
        }
        anyhow::bail!("not at rest: objects go again and again")
    }

    /// The end of every scenario with applications: the law, for what this test's namespace holds.
    pub(crate) async fn rests(mut self) -> Result<()> {
        let ours = [
            "applications",
            "applicationrevisions",
            "componentdefinitions",
            "traitdefinitions",
            "policydefinitions",
            "workflowstepdefinitions",
            "definitionrevisions",
        ];
        let core = format!("/api/v1/namespaces/{}", self.namespace);
        let mut lists: Vec<String> = ours.map(|plural| self.path(plural)).into();
        lists.extend(["configmaps", "secrets", "services"].map(|plural| format!("{core}/{plural}")));
        self.at_rest(&lists).await
    }

    /// Waits until the manager has nothing left to do; what keeps failing waits for its next try, and is given time for a few.
    async fn rest(&self) -> Result<()> {
        let manager = &self.manager.as_ref().context("a manager")?.manager;
        for _ in 0..150 {
            if manager.is_idle() {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// The resource versions of everything that these lists show, and the objects.
    async fn versions(&self, lists: &[String]) -> Result<BTreeMap<String, (String, Value)>> {
        let mut versions = BTreeMap::new();
        for list in lists {
            let found = self.raw.get(list).await?.body;
            for object in found["items"].as_array().into_iter().flatten() {
                let metadata = &object["metadata"];
                let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
                let name = format!("{list} {}/{}", text("namespace"), text("name"));
                versions.insert(name, (text("resourceVersion"), object.clone()));
            }
        }
        Ok(versions)
    }

    /// Another place where the same names may mean something else: another cluster, or in a cluster that tests share another
    /// namespace, which the same manager looks after.
    pub(crate) async fn elsewhere(&self) -> Result<Self> {
        let Some(cluster) = self.cluster.again() else {
            return Self::with(self.settings.clone()).await;
        };
        let namespace = cluster.namespace("team").await?;
        empower(&cluster.raw(), &namespace).await?;
        Ok(Self {
            raw: cluster.raw(),
            namespace,
            cluster,
            settings: self.settings.clone(),
            manager: None,
            webhooks: None,
        })
    }

    pub(crate) fn path(&self, plural: &str) -> String {
        format!(
            "/apis/core.oam.dev/v1beta1/namespaces/{}/{plural}",
            self.namespace
        )
    }

    /// Creates or replaces an object of our kinds.
    pub(crate) async fn apply(&self, object: &Value) -> Result<Answer> {
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!(
            "/apis/{}/namespaces/{}/{kind}s/{name}?fieldManager=test&force=true",
            object["apiVersion"].as_str().unwrap(),
            object["metadata"]["namespace"]
                .as_str()
                .unwrap_or(&self.namespace),
        );
        self.raw
            .patch("application/apply-patch+yaml", &path, object)
            .await
    }

    /// Applies an object that must be accepted; the object as it is stored.
    pub(crate) async fn accepted(&self, object: &Value) -> Result<Value> {
        let answer = self.apply(object).await?;
        anyhow::ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
        Ok(answer.body)
    }

    /// Applies an object that must be refused; why it was.
    pub(crate) async fn refused(&self, object: &Value) -> Result<String> {
        let answer = self.apply(object).await?;
        anyhow::ensure!(answer.code >= 400, "{}: {}", answer.code, answer.body);
        Ok(answer.message().to_owned())
    }

    /// Changes some fields of an object of our kinds.
    pub(crate) async fn edit(&self, plural: &str, name: &str, change: &Value) -> Result<Value> {
        let path = format!("{}/{name}", self.path(plural));
        let answer = self.raw.patch("merge", &path, change).await?;
        anyhow::ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
        Ok(answer.body)
    }

    /// Publishes a component definition at v1beta1 with `spec.version`, whose ConfigMap says which version made it.
    pub(crate) async fn publish(&self, name: &str, version: &str) -> Result<()> {
        self.publish_object(&component(name, Some(version), version))
            .await
    }

    /// Applies a definition and waits until it was looked at.
    pub(crate) async fn publish_object(&self, definition: &Value) -> Result<()> {
        let answer = self.apply(definition).await?;
        anyhow::ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
        let generation = answer.body["metadata"]["generation"].clone();
        let (kind, name) = (
            definition["kind"].as_str().unwrap(),
            definition["metadata"]["name"].as_str().unwrap(),
        );
        eventually(&format!("{name} is published"), || async {
            let found = self.get(&format!("{}s", kind.to_lowercase()), name).await?;
            Ok(found["status"]["observedGeneration"] == generation)
        })
        .await
    }

    /// Applies an application with one component and waits until it was looked at.
    pub(crate) async fn deploy(&self, name: &str, reference: &str, annotations: Value) -> Result<Value> {
        let application = application(name, annotations, &[("main", reference)]);
        self.deploy_object(&application).await
    }

    pub(crate) async fn deploy_object(&self, application: &Value) -> Result<Value> {
        let name = application["metadata"]["name"].as_str().unwrap();
        let answer = self.apply(application).await?;
        anyhow::ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
        let generation = answer.body["metadata"]["generation"].clone();
        eventually_some(&format!("{name} was looked at"), || async {
            let found = self.application(name).await?;
            Ok((found["status"]["observedGeneration"] == generation).then_some(found))
        })
        .await
    }

    pub(crate) async fn get(&self, plural: &str, name: &str) -> Result<Value> {
        Ok(self.raw.get(&format!("{}/{name}", self.path(plural))).await?.body)
    }

    pub(crate) async fn application(&self, name: &str) -> Result<Value> {
        self.get("applications", name).await
    }

    pub(crate) async fn list(&self, plural: &str) -> Result<Vec<Value>> {
        let list = self.raw.get(&self.path(plural)).await?.body;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    pub(crate) async fn names(&self, plural: &str) -> Result<Vec<String>> {
        let names = self.list(plural).await?;
        Ok(names
            .iter()
            .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
            .collect())
    }

    pub(crate) async fn config_map(&self, name: &str) -> Result<Value> {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace);
        Ok(self.raw.get(&path).await?.body)
    }

    pub(crate) async fn delete(&self, plural: &str, name: &str) -> Result<Answer> {
        self.raw
            .delete(&format!("{}/{name}", self.path(plural)), &json!({}))
            .await
    }

    /// Waits until a component's ConfigMap was made by this version.
    pub(crate) async fn runs(&self, config_map: &str, version: &str) -> Result<()> {
        let ran = eventually(&format!("{config_map} runs {version}"), || async {
            Ok(self.config_map(config_map).await?["data"]["version"] == version)
        })
        .await;
        if ran.is_err() {
            for application in self.list("applications").await? {
                eprint(&application["status"]);
            }
        }
        ran
    }

    /// Waits for a condition of an application; the condition.
    pub(crate) async fn condition(&self, name: &str, type_: &str, status: &str) -> Result<Value> {
        let found = eventually_some(&format!("{name}: {type_}={status}"), || async {
            let application = self.application(name).await?;
            Ok(condition(&application, type_).filter(|condition| condition["status"] == status))
        })
        .await;
        if found.is_err() {
            eprint(&self.application(name).await?["status"]);
        }
        found
    }
}

#[expect(clippy::print_stderr, reason = "says what was there instead")]
fn eprint(value: &Value) {
    eprintln!("{value:#}");
}

impl Drop for Platform {
    fn drop(&mut self) {
        // It runs with the rights that are shipped for it.
        let refused = self.cluster.refused();
        assert!(refused.is_empty() || std::thread::panicking(), "{refused:#?}");
        if let Some(working) = self.manager.take() {
            working.task.abort();
        }
    }
}

/// Gives the ServiceAccount that applies what applications make in a namespace all rights.
async fn empower(raw: &Raw, namespace: &str) -> Result<()> {
    let binding = json!({"metadata": {"name": format!("{DEPLOYER}-{namespace}")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": DEPLOYER, "namespace": namespace}]});
    let answer = raw
        .post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding)
        .await?;
    anyhow::ensure!(answer.code == 201, "{answer:?}");
    Ok(())
}

/// Installs our CRDs and waits until they are served.
pub(crate) async fn install(raw: &Raw) -> Result<()> {
    for crd in crds::all() {
        let name = crd.metadata.name.clone().unwrap();
        let path = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=test&force=true"
        );
        let answer = raw
            .patch("application/apply-patch+yaml", &path, &json!(crd))
            .await?;
        anyhow::ensure!(answer.code < 300, "{}", answer.body);
    }
    for crd in crds::all() {
        let stored = crd.spec.versions.iter().find(|version| version.storage).unwrap();
        let path = format!(
            "/apis/{}/{}/{}",
            crd.spec.group, stored.name, crd.spec.names.plural
        );
        eventually(&path, || async { Ok(raw.get(&path).await?.code == 200) }).await?;
        // As long as the group is being registered, Kubernetes finds its kinds in one moment and not in the next.
        let service = format!(
            "/apis/apiregistration.k8s.io/v1/apiservices/{}.{}",
            stored.name, crd.spec.group
        );
        eventually(&service, || async {
            let found = raw.get(&service).await?.body;
            let mut conditions = found["status"]["conditions"].as_array().into_iter().flatten();
            Ok(conditions.any(|one| one["type"] == "Available" && one["status"] == "True"))
        })
        .await?;
    }
    Ok(())
}

/// A component definition whose ConfigMap holds a text that tells who made it.
pub(crate) fn component(name: &str, version: Option<&str>, says: &str) -> Value {
    definition(
        "ComponentDefinition",
        name,
        version,
        &format!(
            r#"
output: {{
	apiVersion: "v1"
	kind:       "ConfigMap"
	data: {{version: "{says}", text: parameter.text}}
}}
parameter: text: *"hello" | string
"#
        ),
    )
}

pub(crate) fn definition(kind: &str, name: &str, version: Option<&str>, template: &str) -> Value {
    let mut definition = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": name},
        "spec": {"schematic": {"cue": {"template": template}}},
    });
    if kind == "ComponentDefinition" {
        definition["spec"]["workload"] = json!({"definition": {"apiVersion": "v1", "kind": "ConfigMap"}});
    }
    if let Some(version) = version {
        definition["spec"]["version"] = json!(version);
    }
    definition
}

/// An application with one component that says something.
pub(crate) fn saying(name: &str, reference: &str, text: &str) -> Value {
    let mut application = application(name, json!({}), &[("main", reference)]);
    application["spec"]["components"][0]["properties"] = json!({"text": text});
    application
}

/// An application: a name, annotations, and components by name and reference.
pub(crate) fn application(name: &str, annotations: Value, components: &[(&str, &str)]) -> Value {
    let components: Vec<Value> = components
        .iter()
        .map(|(component, reference)| json!({"name": format!("{name}-{component}"), "type": reference}))
        .collect();
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"components": components},
    })
}

pub(crate) fn auto_update(value: &str) -> Value {
    json!({"app.oam.dev/autoUpdate": value})
}

pub(crate) fn condition(object: &Value, type_: &str) -> Option<Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == type_)
        .cloned()
}

/// Removes what earlier tests left in a cluster that they share: a manager would go on trying.
async fn clear(raw: &Raw) -> Result<()> {
    let free =
        json!({"metadata": {"finalizers": null, "annotations": {"cambium.dev/allow-orphans": "true"}}});
    let definitions = format!("{CROSSPLANE}/compositeresourcedefinitions");
    for definition in items(raw, &definitions).await? {
        let spec = &definition["spec"];
        let (group, version) = (&spec["group"], &spec["versions"][0]["name"]);
        let served = format!("/apis/{}/{}", group.as_str().unwrap(), version.as_str().unwrap());
        for names in ["names", "claimNames"] {
            let Some(plural) = spec[names]["plural"].as_str() else {
                continue;
            };
            for object in items(raw, &format!("{served}/{plural}")).await? {
                let place = match object["metadata"]["namespace"].as_str() {
                    Some(namespace) => format!("/namespaces/{namespace}"),
                    None => String::new(),
                };
                let name = object["metadata"]["name"].as_str().unwrap();
                raw.patch("merge", &format!("{served}{place}/{plural}/{name}"), &free)
                    .await?;
            }
        }
        let path = format!(
            "{definitions}/{}",
            definition["metadata"]["name"].as_str().unwrap()
        );
        raw.patch("merge", &path, &free).await?;
        raw.delete(&path, &json!({})).await?;
    }
    let applications = "/apis/core.oam.dev/v1beta1";
    for application in items(raw, &format!("{applications}/applications")).await? {
        let text = |field: &str| application["metadata"][field].as_str().unwrap().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        let path = format!("{applications}/namespaces/{namespace}/applications/{name}");
        raw.patch("merge", &path, &free).await?;
        raw.delete(&path, &json!({})).await?;
    }
    let compositions = format!("{CROSSPLANE}/compositions");
    for composition in items(raw, &compositions).await? {
        let name = composition["metadata"]["name"].as_str().unwrap();
        let path = format!("{compositions}/{name}");
        raw.patch("merge", &path, &free).await?;
        raw.delete(&path, &json!({})).await?;
    }
    Ok(())
}

async fn items(raw: &Raw, path: &str) -> Result<Vec<Value>> {
    let found = raw.get(path).await?.body;
    Ok(found["items"].as_array().cloned().unwrap_or_default())
}
