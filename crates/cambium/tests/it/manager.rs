//! `cambium manager` against a cluster that is there already.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::sandbox::{application, apply, client, definition, get, ready};
use cambium_testing::{NetworkCluster, eventually};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use serde_json::{Value, json};

/// A running manager; it ends with the value.
struct Manager(Child);

impl Manager {
    /// Starts one, and waits until it answers.
    fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .arg("manager")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut manager = Self(child);
        let mut said = String::new();
        let mut lines = BufReader::new(manager.0.stderr.take().unwrap()).lines();
        for line in lines.by_ref() {
            let line = line.unwrap();
            if line.trim().ends_with("INFO ready") {
                std::thread::spawn(move || lines.for_each(drop));
                return manager;
            }
            said.push_str(&line);
            said.push('\n');
        }
        panic!("the manager did not become ready: {said}");
    }

    /// Tells it to stop, and waits until it has.
    fn terminate(mut self) {
        let id = self.0.id().to_string();
        Command::new("kill").arg(id).status().unwrap();
        assert!(self.0.wait().unwrap().success(), "it stops cleanly");
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An address that was free a moment ago.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Everything that a manager must do for a cluster, in a namespace of that name.
async fn serves(kubeconfig: &Path) {
    let (address, probes) = (free_address(), free_address());
    let url = format!("https://{address}");
    let arguments = [
        "--webhook-url",
        &url,
        "--webhook-listen",
        &address,
        "--identity",
        "one",
        "--metrics-bind-address",
        &probes,
    ];
    let manager = Manager::start(kubeconfig, &arguments);
    assert!(
        scraped(&probes, "/readyz").starts_with("HTTP/1.1 200"),
        "it says ready when it is"
    );
    let client = client(kubeconfig, None).await;
    namespace(&client, "team").await;

    // Both API versions, converted by its webhook.
    let versions = [("1.2.2", "one"), ("1.2.3", "two")];
    apply(&client, "team", &definition("web", &versions))
        .await
        .unwrap();
    let definition_object = ready(&client, "team", "ComponentDefinition", "web").await;
    assert_eq!(
        definition_object["spec"]["version"], "1.2.3",
        "{definition_object}"
    );
    apply(&client, "team", &application("shop", &[("front", "web@1")]))
        .await
        .unwrap();
    let shop = ready(&client, "team", "Application", "shop").await;
    assert_eq!(shop["status"]["resolved"], "front=web@1.2.3");

    // Admission.
    let wrong = application("wrong", &[("back", "web@^1")]);
    let refused = apply(&client, "team", &wrong).await.unwrap_err().to_string();
    assert!(
        refused.contains("the nearest legal reference is \"web@1\""),
        "{refused}"
    );
    let changed = definition("web", &[("1.2.2", "one"), ("1.2.3", "changed")]);
    let refused = apply(&client, "team", &changed).await.unwrap_err().to_string();
    assert!(refused.contains("a published version never changes"), "{refused}");

    // Whoever follows moves.
    let next = [("1.2.2", "one"), ("1.2.3", "two"), ("1.4.0", "three")];
    apply(&client, "team", &definition("web", &next)).await.unwrap();
    moved(&client, "front=web@1.4.0").await;
    assert_eq!(holder(&client).await.as_deref(), Some("one"));
    let counted = [
        "leader_election_master_status{name=\"cambium\"} 1",
        "cambium_moves_total{kind=\"Application\",result=\"upgraded\"} 1",
        "controller_runtime_reconcile_total{controller=\"definition\",result=\"success\"}",
        "controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/convert\"}",
        "rest_client_requests_total{code=\"200\",method=\"PATCH\"}",
        "workqueue_depth{name=\"application\"} 0",
    ];
    eventually("the manager counts what it does", || async {
        let text = scraped(&probes, "/metrics");
        Ok(counted.iter().all(|line| text.contains(line)))
    })
    .await
    .unwrap();
    manager.terminate();
    let holder = holder(&client).await.unwrap_or_default();
    assert_eq!(holder, "", "the lease is given back");
}

/// What is answered at a path, with the status line.
fn scraped(address: &str, path: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

async fn namespace(client: &Client, name: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    apply(client, "", &namespace).await.unwrap();
}

/// Waits until the shop has resolved to this.
async fn moved(client: &Client, wanted: &str) {
    eventually(&format!("the shop is {wanted}"), || async {
        let shop = get(client, "team", "Application", "shop").await?;
        Ok(shop["status"]["resolved"] == wanted)
    })
    .await
    .unwrap();
}

/// Who leads.
async fn holder(client: &Client) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "vela-system");
    let lease = leases.get_opt("cambium").await.unwrap()?;
    lease.spec?.holder_identity
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_serves_a_cluster_that_is_there_already() {
    let cluster = NetworkCluster::start(Default::default()).await.unwrap();
    serves(&cluster.write_kubeconfig().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_serves_kubernetes_itself() {
    let test = "a_manager_serves_kubernetes_itself";
    let directory = tempfile::tempdir().unwrap();
    match cambium_testing::kubernetes_kubeconfig(directory.path()).await {
        Ok(kubeconfig) => serves(&kubeconfig).await,
        Err(error) => cambium_testing::skip(test, &format!("{error:#}")),
    }
}

/// Nobody records who writes applications then, so somebody must be named.
fn without_webhooks(identity: &str) -> [&str; 5] {
    [
        "--no-webhooks",
        "--application-identity",
        "manager",
        "--identity",
        identity,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_managers_one_leads_and_the_other_takes_over_when_it_stops() {
    let cluster = NetworkCluster::start(Default::default()).await.unwrap();
    let kubeconfig = cluster.write_kubeconfig().unwrap();
    let one = Manager::start(&kubeconfig, &without_webhooks("one"));
    let client = client(&kubeconfig, None).await;
    let leads = |name: &'static str| {
        let client = client.clone();
        eventually(name, move || {
            let client = client.clone();
            async move { Ok(holder(&client).await.as_deref() == Some(name)) }
        })
    };
    leads("one").await.unwrap();
    let _two = Manager::start(&kubeconfig, &without_webhooks("two"));
    namespace(&client, "team").await;
    apply(&client, "team", &version("1.0.0")).await.unwrap();
    ready(&client, "team", "ComponentDefinition", "web").await;
    apply(&client, "team", &application("shop", &[("front", "web@1")]))
        .await
        .unwrap();
    moved(&client, "front=web@1.0.0").await;
    assert_eq!(holder(&client).await.as_deref(), Some("one"));

    one.terminate();
    leads("two").await.unwrap();
    apply(&client, "team", &version("1.1.0")).await.unwrap();
    moved(&client, "front=web@1.1.0").await;
}

/// One version at a time, at v1beta1: without webhooks there is nothing else.
fn version(version: &str) -> Value {
    let mut object = definition("web", &[(version, version)]);
    object["apiVersion"] = json!("core.oam.dev/v1beta1");
    object["spec"] = object["spec"]["versions"][0].clone();
    object
}
