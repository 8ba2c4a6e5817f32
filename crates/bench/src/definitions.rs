//! Benchmark of publishing a definition version that all applications follow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cambium_apiserver::ApiServer;
use cambium_controllers::{Identities, Manager, Otherwise, Settings};
use cambium_testing::faults::Faults;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::moves::Moves;

/// Results for a number of applications.
pub(crate) struct Measured {
    pub(crate) applications: usize,
    /// From the first creation until all were running.
    pub(crate) created: Duration,
    /// From publishing until the first application was upgraded, and the last.
    pub(crate) first: Duration,
    pub(crate) last: Duration,
    /// Requests per upgraded application.
    pub(crate) writes: f64,
    pub(crate) reads: f64,
    pub(crate) lists: usize,
    /// Requests after publishing a version that no application follows.
    pub(crate) unfollowed: usize,
    /// When idle: writes, and CPU as a share of one core.
    pub(crate) idle_writes: usize,
    pub(crate) idle_share: f64,
    /// Writes of a restarted manager when nothing has changed.
    pub(crate) restart_writes: usize,
}

/// The ServiceAccount that the objects of applications are applied with.
pub(crate) const DEPLOYER: &str = "deployer";

/// Grants that ServiceAccount all rights.
pub(crate) async fn empower(client: &Client) -> Result<()> {
    use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
    let binding = serde_json::from_value(json!({
        "metadata": {"name": DEPLOYER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": DEPLOYER, "namespace": "default"}],
    }))?;
    let api: Api<ClusterRoleBinding> = Api::all(client.clone());
    api.create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// Duration of the idle phase.
pub(crate) const IDLE: Duration = Duration::from_secs(10);

pub(crate) async fn measure(applications: usize) -> Result<Measured> {
    let server = ApiServer::builder().build().await?;
    let client = Client::new(server, "default");
    install(&client).await?;
    let faults = Faults::new();
    let manager = start(&faults.client(&client)).await?;
    let running = manager.clone();
    let work = tokio::spawn(async move { running.run().await });

    let moved = watch(&client);
    publish(&client, "1.0.0").await?;
    let begin = Instant::now();
    create(&client, applications).await?;
    moved.all_at("1.0.0", applications).await;
    let created = begin.elapsed();
    settle(&manager).await;

    // Kept: to free so many at once would slow down what comes next.
    let _requests = faults.recorder().take();
    let begin = Instant::now();
    publish(&client, "1.0.1").await?;
    moved.first_at("1.0.1").await;
    let first = begin.elapsed();
    moved.all_at("1.0.1", applications).await;
    let last = begin.elapsed();
    settle(&manager).await;
    let recorder = faults.recorder();
    let per_application = |count: usize| count as f64 / applications as f64;
    let (writes, lists) = (recorder.writes().len(), recorder.lists());
    let reads = recorder.calls().len() - writes - lists;

    recorder.clear();
    publish(&client, "2.0.0").await?;
    settle(&manager).await;
    let about_applications = |path: &str| !path.contains("definition");
    let unfollowed = recorder.count(|call| about_applications(&call.path));

    recorder.clear();
    let before = processor_time()?;
    tokio::time::sleep(IDLE).await;
    let idle_share = (processor_time()? - before).as_secs_f64() / IDLE.as_secs_f64();
    let idle_writes = recorder.writes().len();

    work.abort();
    let _ = work.await;
    drop(manager);
    let faults = Faults::new();
    let manager = start(&faults.client(&client)).await?;
    let running = manager.clone();
    let work = tokio::spawn(async move { running.run().await });
    settle(&manager).await;
    work.abort();
    Ok(Measured {
        applications,
        created,
        first,
        last,
        writes: per_application(writes),
        reads: per_application(reads),
        lists,
        unfollowed,
        idle_writes,
        idle_share,
        restart_writes: faults.recorder().writes().len(),
    })
}

/// Resident memory of a manager process: idle without applications, and with all applications after an upgrade.
pub(crate) async fn memory(cambium: &std::path::Path, applications: usize) -> Result<(u64, u64)> {
    let directory = tempfile::tempdir()?;
    let server = ApiServer::builder().build().await?;
    let client = Client::new(server.clone(), "default");
    install(&client).await?;
    let kubeconfig = directory.path().join("kubeconfig");
    serve(server, &kubeconfig).await?;
    let mut manager = std::process::Command::new(cambium)
        .args(["manager", "--no-webhooks", "--no-leader-election"])
        .args(["--default-service-account", DEPLOYER, "--kubeconfig"])
        .arg(&kubeconfig)
        .stderr(std::process::Stdio::null())
        .spawn()?;
    let measured = async {
        let moved = watch(&client);
        publish(&client, "1.0.0").await?;
        create_one(&client, "first").await?;
        moved.all_at("1.0.0", 1).await;
        let base = crate::target::resident(manager.id())?;
        create(&client, applications).await?;
        moved.all_at("1.0.0", applications + 1).await;
        publish(&client, "1.0.1").await?;
        moved.all_at("1.0.1", applications + 1).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok((base, crate::target::resident(manager.id())?))
    }
    .await;
    // Gone already is as good as gone now.
    let _ = manager.kill();
    let _ = manager.wait();
    measured
}

/// Serves over TLS, and writes a kubeconfig.
pub(crate) async fn serve(server: ApiServer, kubeconfig: &std::path::Path) -> Result<()> {
    use base64::Engine as _;
    use cambium_apiserver::pki::Authority;
    let now = jiff::Timestamp::now();
    let authority = Authority::generate(now)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let acceptor = cambium_apiserver::serve::tls(
        &authority.server(&["127.0.0.1".to_owned()], now)?,
        authority.certificate(),
    )?;
    let admin = authority.client("admin", &[cambium_apiserver::MASTERS], now)?;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {
            "server": format!("https://{address}"),
            "certificate-authority-data": encode(authority.certificate()),
        }}],
        "users": [{"name": "bench", "user": {
            "client-certificate-data": encode(&admin.certificate), "client-key-data": encode(&admin.key),
        }}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    });
    std::fs::write(kubeconfig, config.to_string())?;
    tokio::spawn(cambium_apiserver::serve::serve(
        listener,
        acceptor,
        server,
        std::future::pending(),
    ));
    Ok(())
}

async fn start(client: &Client) -> Result<Arc<Manager>> {
    let settings = Settings {
        serves_v2beta1: false,
        identities: Identities {
            otherwise: Otherwise::ServiceAccount(DEPLOYER.to_owned()),
            ..Identities::default()
        },
        ..Settings::default()
    };
    let manager = Arc::new(Manager::new(client.clone(), settings).await?);
    manager.synced().await;
    Ok(manager)
}

/// Waits until the manager is idle.
pub(crate) async fn settle(manager: &Manager) {
    let mut quiet = 0;
    while quiet < 30 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        quiet = if manager.is_idle() { quiet + 1 } else { 0 };
    }
}

pub(crate) async fn install(client: &Client) -> Result<()> {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in cambium_api::crds::all() {
        api.create(&PostParams::default(), &crd).await?;
    }
    empower(client).await?;
    while api_of(client, "Application")
        .list(&Default::default())
        .await
        .is_err()
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

pub(crate) fn api_of(client: &Client, kind: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("core.oam.dev", "v1beta1", kind);
    Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(&gvk))
}

/// A typical definition: a Deployment with a handful of parameters.
pub(crate) fn definition(version: &str) -> Value {
    let template = format!(
        r#"
output: {{
	apiVersion: "apps/v1"
	kind:       "Deployment"
	metadata: annotations: "example.com/made-by": "{version}"
	spec: {{
		replicas: parameter.replicas
		paused:   true
		selector: matchLabels: "app.oam.dev/component": context.name
		template: {{
			metadata: labels: "app.oam.dev/component": context.name
			spec: containers: [{{
				name:  context.name
				image: parameter.image
				if parameter.env != _|_ {{
					env: [for key, text in parameter.env {{name: key, value: text}}]
				}}
				if parameter.cpu != _|_ {{
					resources: requests: cpu: parameter.cpu
				}}
			}}]
		}}
	}}
}}
parameter: {{
	image:    string
	replicas: *0 | int
	env?: [string]: string
	cpu?: string
}}
"#
    );
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "web"},
        "spec": {
            "version": version,
            "workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}},
            "schematic": {"cue": {"template": template}},
        },
    })
}

async fn publish(client: &Client, version: &str) -> Result<()> {
    let params = PatchParams::apply("bench").force();
    api_of(client, "ComponentDefinition")
        .patch("web", &params, &Patch::Apply(definition(version)))
        .await?;
    Ok(())
}

async fn create(client: &Client, applications: usize) -> Result<()> {
    for number in 0..applications {
        create_one(client, &format!("app-{number:05}")).await?;
    }
    Ok(())
}

async fn create_one(client: &Client, name: &str) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": name},
        "spec": {"components": [{
            "name": name, "type": "web@1",
            "properties": {"image": "nginx:1.27", "env": {"NAME": name, "MODE": "production"}, "cpu": "100m"},
        }]},
    }))?;
    api_of(client, "Application")
        .create(&PostParams::default(), &object)
        .await
        .context("an application")?;
    Ok(())
}

/// Watches the versions that applications run.
fn watch(client: &Client) -> Moves {
    let config = watcher::Config::default();
    Moves::watch(api_of(client, "Application"), config, |application| {
        let status = &application.data["status"];
        let version = status["references"][0]["running"]["version"]
            .as_str()
            .unwrap_or_default();
        (status["status"] == "running").then(|| version.to_owned())
    })
}

/// The CPU time of this process.
pub(crate) fn processor_time() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// Prints the results, one column per number of applications.
#[expect(clippy::print_stdout, reason = "the table is the program's answer")]
pub(crate) fn print(columns: &[Measured]) {
    let row = |name: &str, cell: &dyn Fn(&Measured) -> String| {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| format!("{:>12}", cell(column)))
            .collect();
        println!("{name:<44}{}", cells.join(""));
    };
    row("applications", &|one| one.applications.to_string());
    row("all created and running, s", &|one| {
        format!("{:.1}", one.created.as_secs_f64())
    });
    row("first moved after a publish, ms", &|one| {
        format!("{:.0}", one.first.as_secs_f64() * 1e3)
    });
    row("last moved after a publish, s", &|one| {
        format!("{:.2}", one.last.as_secs_f64())
    });
    row("writes for each that moved", &|one| format!("{:.2}", one.writes));
    row("reads for each that moved", &|one| format!("{:.2}", one.reads));
    row("lists", &|one| one.lists.to_string());
    row("requests after a publish nobody follows", &|one| {
        one.unfollowed.to_string()
    });
    row("writes while idle for 10 s", &|one| one.idle_writes.to_string());
    row("processor while idle, % of a core", &|one| {
        format!("{:.2}", one.idle_share * 100.0)
    });
    row("writes after a restart", &|one| one.restart_writes.to_string());
}
