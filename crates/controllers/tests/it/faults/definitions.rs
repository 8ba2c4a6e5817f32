//! Definitions and applications when everything goes wrong that can: the end is the same, and nothing is made or removed twice.

use crate::platform::{application, component, definition, install};
use crate::scene::{LATE, Process, Scene, World, world};
use anyhow::{Context as _, Result, ensure};
use cambium_apiserver::ApiServer;
use cambium_testing::faults::Verb;
use cambium_testing::{
    Dice, Fault, Faults, Filter, TestCluster, campaign, eventually, for_every_call, virtual_clock,
};
use kube::Client;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

impl Scene<'_> {
    async fn apply(&self, object: &Value) -> Result<()> {
        let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
        let path = format!(
            "/apis/core.oam.dev/v1beta1/namespaces/{}/{}s/{}?fieldManager=test&force=true",
            self.namespace,
            kind.as_str().context("a kind")?.to_lowercase(),
            name.as_str().context("a name")?,
        );
        let answer = self.raw.patch("apply", &path, object).await?;
        ensure!(answer.code < 300, "{answer:?}");
        Ok(())
    }

    async fn delete(&self, plural: &str, name: &str) -> Result<()> {
        let namespace = &self.namespace;
        let path = format!("/apis/core.oam.dev/v1beta1/namespaces/{namespace}/{plural}/{name}");
        let answer = self.raw.delete(&path, &json!({})).await?;
        ensure!(answer.code < 300, "{answer:?}");
        Ok(())
    }

    fn path(&self, resource: &str) -> String {
        let prefix = match resource {
            "configmaps" | "services" => "/api/v1",
            "deployments" => "/apis/apps/v1",
            _ => "/apis/core.oam.dev/v1beta1",
        };
        format!("{prefix}/namespaces/{}/{resource}", self.namespace)
    }

    async fn expect(&self, when: &str, expected: [(&str, &str); 3]) -> Result<()> {
        for (resource, expected) in expected {
            let happened = self.happened(&self.path(resource)).await?;
            ensure!(
                happened == expected,
                "{when}: {resource}: {happened:?}, and not {expected:?}: {}",
                self.shop().await?
            );
        }
        Ok(())
    }

    async fn data(&self, config_map: &str, field: &str) -> Result<Value> {
        let path = format!("{}/{config_map}", self.path("configmaps"));
        Ok(self.raw.get(&path).await?.body["data"][field].clone())
    }

    async fn shop(&self) -> Result<Value> {
        Ok(self
            .raw
            .get(&format!("{}/shop", self.path("applications")))
            .await?
            .body)
    }
}

/// An application comes, moves, loses a component, gets it back, and goes.
async fn story(world: &World, faults: &Faults) -> Result<()> {
    let mut scene = Scene::set(world, faults).await?;
    let both = application("shop", json!({}), &[("one", "a@1"), ("two", "b@1.0.0")]);
    let one = application("shop", json!({}), &[("one", "a@1")]);

    scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
    scene.apply(&component("b", Some("1.0.0"), "b")).await?;
    scene.apply(&both).await?;
    scene.settled().await?;
    let definitions = "+a-v1.0.0 +b-v1.0.0";
    scene
        .expect(
            "created",
            [
                ("configmaps", "+shop-one +shop-two"),
                ("applicationrevisions", "+shop-v1"),
                ("definitionrevisions", definitions),
            ],
        )
        .await?;

    scene.apply(&component("a", Some("1.1.0"), "1.1.0")).await?;
    scene.settled().await?;
    let definitions = "+a-v1.0.0 +a-v1.1.0 +b-v1.0.0";
    ensure!(scene.data("shop-one", "version").await? == "1.1.0", "it moved");
    scene
        .expect(
            "moved",
            [
                ("configmaps", "+shop-one +shop-two"),
                ("applicationrevisions", "+shop-v1 +shop-v2"),
                ("definitionrevisions", definitions),
            ],
        )
        .await?;

    scene.apply(&one).await?;
    scene.settled().await?;
    scene
        .expect(
            "pruned",
            [
                ("configmaps", "+shop-one +shop-two -shop-two"),
                ("applicationrevisions", "+shop-v1 +shop-v2 +shop-v3"),
                ("definitionrevisions", definitions),
            ],
        )
        .await?;

    scene.apply(&both).await?;
    scene.settled().await?;
    let shop = scene.shop().await?;
    let latest = &shop["status"]["latestRevision"];
    ensure!(
        (&latest["name"], &latest["revision"]) == (&json!("shop-v2"), &json!(4)),
        "reverted to {latest}"
    );
    ensure!(shop["status"]["status"] == "running", "{}", shop["status"]);
    ensure!(shop["status"]["references"][0]["version"] == "1.1.0", "{shop}");
    scene
        .expect(
            "reverted",
            [
                ("configmaps", "+shop-one +shop-two*2 -shop-two"),
                ("applicationrevisions", "+shop-v1 +shop-v2 +shop-v3"),
                ("definitionrevisions", definitions),
            ],
        )
        .await?;

    scene.at_rest().await?;

    scene.delete("applications", "shop").await?;
    scene.delete("componentdefinitions", "a").await?;
    scene.settled().await?;
    scene.delete("componentdefinitions", "b").await?;
    scene.settled().await?;
    scene
        .expect(
            "deleted",
            [
                ("configmaps", "+shop-one +shop-two*2 -shop-one -shop-two*2"),
                (
                    "applicationrevisions",
                    "+shop-v1 +shop-v2 +shop-v3 -shop-v1 -shop-v2 -shop-v3",
                ),
                (
                    "definitionrevisions",
                    "+a-v1.0.0 +a-v1.1.0 +b-v1.0.0 -a-v1.0.0 -a-v1.1.0 -b-v1.0.0",
                ),
            ],
        )
        .await?;
    ensure!(scene.shop().await?["code"] == 404, "the application is gone");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_with_a_write_the_end_is_the_same() -> Result<()> {
    let world = world().await?;
    let writes = Filter::writes().without("events");
    let faults = [Fault::Refuse(409), Fault::LoseAnswer, Fault::Crash];
    for_every_call(&writes, &faults, async |faults| story(&world, &faults).await).await
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_with_a_read_nothing_is_made_or_removed_for_it() -> Result<()> {
    let world = world().await?;
    let faults = [Fault::Refuse(500), Fault::Hang, Fault::Crash];
    for_every_call(&Filter::reads(), &faults, async |faults| {
        story(&world, &faults).await
    })
    .await
}

/// Watches that are late, and ones that say nothing for a while, though writes succeed.
#[tokio::test(start_paused = true)]
async fn however_late_watches_are_the_end_is_the_same() -> Result<()> {
    let (world, late) = (world().await?, Faults::new());
    late.lag(LATE);
    story(&world, &late).await.context("late watches")?;
    let writes = Filter::writes().without("events");
    for_every_call(&writes, &[Fault::Freeze(LATE)], async |faults| {
        story(&world, &faults).await
    })
    .await
}

/// A process that was paused sends what it had decided before, though another attempt was made since.
#[tokio::test(start_paused = true)]
async fn a_write_that_arrives_late_changes_nothing_in_the_end() -> Result<()> {
    let world = world().await?;
    let writes = Filter::writes().without("events");
    for_every_call(&writes, &[Fault::Late(LATE)], async |faults| {
        story(&world, &faults).await
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_restarts_against_an_older_view_does_nothing_twice() -> Result<()> {
    let world = world().await?;
    let writes = Filter::writes().without("events");
    let behind = |writes| Fault::CrashBehind { writes, time: LATE };
    for_every_call(&writes, &[behind(1), behind(4)], async |faults| {
        story(&world, &faults).await
    })
    .await
}

/// Several faults in one life, a crash during the recovery from another included.
#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_again_and_again_the_end_is_the_same() -> Result<()> {
    let world = world().await?;
    campaign(12, async |seed| {
        let faults = Faults::counting(&Filter::all().without("events"));
        let schedule = Fault::schedule(&mut Dice::new(seed), 150);
        faults.arm_each(&schedule);
        story(&world, &faults)
            .await
            .with_context(|| format!("{schedule:?}, of which struck {:?}", faults.struck()))
    })
    .await
}

/// The beginning of the story, with everything else that can go wrong.
#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_an_application_is_made_once() -> Result<()> {
    let world = world().await?;
    let others = |fault: &Fault| !matches!(fault, Fault::Refuse(409) | Fault::LoseAnswer | Fault::Crash);
    let faults: Vec<Fault> = Fault::ALL.into_iter().filter(others).collect();
    for_every_call(&Filter::writes().without("events"), &faults, async |faults| {
        let mut scene = Scene::set(&world, &faults).await?;
        scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
        scene
            .apply(&application("shop", json!({}), &[("main", "a@1")]))
            .await?;
        scene.settled().await?;
        scene
            .expect(
                "created",
                [
                    ("configmaps", "+shop-main"),
                    ("applicationrevisions", "+shop-v1"),
                    ("definitionrevisions", "+a-v1.0.0"),
                ],
            )
            .await?;
        let shop = scene.shop().await?;
        ensure!(shop["status"]["status"] == "running", "{}", shop["status"]);
        scene.delete("applications", "shop").await?;
        scene.delete("componentdefinitions", "a").await?;
        scene.settled().await
    })
    .await
}

/// A web server as people have it: values that the API server writes its own way, a Service beside it, and a trait that waits
/// until it is healthy.
fn web() -> [Value; 3] {
    let mut web = definition(
        "ComponentDefinition",
        "web",
        Some("1.0.0"),
        r#"
output: {
	apiVersion: "apps/v1"
	kind:       "Deployment"
	spec: {
		selector: matchLabels: app: context.name
		template: {
			metadata: labels: app: context.name
			spec: containers: [{
				name:  "web"
				image: "web:1"
				ports: [{containerPort: 80}]
				resources: limits: {cpu: "0.5", memory: "1024Mi"}
				env: [{name: "EMPTY", value: ""}]
			}]
		}
	}
}
outputs: service: {
	apiVersion: "v1"
	kind:       "Service"
	spec: {
		selector: app: context.name
		ports: [{port: 80}]
	}
}
parameter: {}
"#,
    );
    web["spec"]["workload"] = json!({"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}});
    web["spec"]["status"] = json!({
        "healthPolicy": "isHealth: (*context.output.status.readyReplicas | 0) == context.output.spec.replicas",
        "customStatus": "message: \"\\(*context.output.status.readyReplicas | 0) ready\"",
    });
    let mut late = definition(
        "TraitDefinition",
        "late",
        Some("1.0.0"),
        "outputs: late: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name, data: late: \"yes\"}\n",
    );
    late["spec"]["stage"] = json!("PostDispatch");
    let mut shop = application("shop", json!({}), &[("web", "web@1")]);
    shop["spec"]["components"][0]["traits"] = json!([{"type": "late@1"}]);
    [web, late, shop]
}

/// A Deployment that does nothing, with parameters that are not always there.
fn paused(version: &str) -> Value {
    let template = r#"
output: {
	apiVersion: "apps/v1"
	kind:       "Deployment"
	metadata: annotations: "example.com/made-by": "VERSION"
	spec: {
		replicas: parameter.replicas
		paused:   true
		selector: matchLabels: app: context.name
		template: {
			metadata: labels: app: context.name
			spec: containers: [{
				name:  context.name
				image: "web:1"
				if parameter.env != _|_ {
					env: [for key, text in parameter.env {name: key, value: text}]
				}
				resources: requests: cpu: parameter.cpu
			}]
		}
	}
}
parameter: {
	replicas: *0 | int
	cpu:      *"100m" | string
	env?: [string]: string
}
"#;
    definition(
        "ComponentDefinition",
        "paused",
        Some(version),
        &template.replace("VERSION", version),
    )
}

/// Without the finalizer it is gone at once, and nothing would prune what is made for it afterwards.
#[tokio::test(start_paused = true)]
async fn an_application_that_is_deleted_before_it_has_the_finalizer_leaves_nothing() -> Result<()> {
    let world = world().await?;
    let faults = Faults::counting(&Filter::writes().of("applications"));
    let mut scene = Scene::set(&world, &faults).await?;
    scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
    scene.settled().await?;
    faults.arm(1, Fault::Late(Duration::from_secs(5)));
    scene
        .apply(&application("shop", json!({}), &[("main", "a@1")]))
        .await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    ensure!(faults.struck().len() == 1, "the finalizer is on its way");
    scene.delete("applications", "shop").await?;
    scene.settled().await?;
    let made = scene.happened(&scene.path("configmaps")).await?;
    ensure!(made.is_empty(), "{made}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_restart_writes_nothing() -> Result<()> {
    let (world, faults) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &faults).await?;
    for object in web() {
        scene.apply(&object).await?;
    }
    scene.apply(&component("legacy", None, "text")).await?;
    scene
        .apply(&application("plain", json!({}), &[("main", "legacy")]))
        .await?;
    scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
    scene
        .apply(&application("bare", json!({}), &[("main", "a")]))
        .await?;
    scene.apply(&paused("1.0.0")).await?;
    let mut idle = application("idle", json!({}), &[("main", "paused@1")]);
    idle["spec"]["components"][0]["properties"] = json!({"env": {"B": "2", "A": "1"}});
    scene.apply(&idle).await?;
    scene.settled().await?;
    scene.apply(&paused("1.1.0")).await?;
    scene.settled().await?;
    // One that nobody takes.
    scene.apply(&paused("2.0.0")).await?;
    scene.apply(&component("a", Some("2.0.0"), "2.0.0")).await?;
    scene.settled().await?;
    let shop = scene.shop().await?;
    ensure!(shop["status"]["status"] == "running", "{:#}", shop["status"]);
    ensure!(
        scene.data("shop-web", "late").await? == "yes",
        "the trait was dispatched"
    );
    for _ in 0..2 {
        faults.recorder().clear();
        scene.restart().await;
        scene.settled().await?;
        let writes = faults.recorder().writes();
        ensure!(writes.is_empty(), "after a restart: {writes:?}");
    }
    // Nor does time.
    faults.recorder().clear();
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    let writes = faults.recorder().writes();
    ensure!(writes.is_empty(), "after a day: {writes:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn of_two_managers_only_the_one_that_leads_writes() -> Result<()> {
    let (world, quiet) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &quiet).await?;
    scene.process = None;
    let lines = [Faults::new(), Faults::new()];
    let wrote = |line: &Faults| {
        line.recorder()
            .writes()
            .iter()
            .any(|call| call.resource != "leases")
    };
    let mut first =
        Some(Process::standing(lines[0].client(&world.cluster.client()), &world.clock, "first").await?);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let second = Process::standing(lines[1].client(&world.cluster.client()), &world.clock, "second").await?;
    scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
    scene
        .apply(&application("shop", json!({}), &[("main", "a@1")]))
        .await?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    ensure!(
        scene.data("shop-main", "version").await? == "1.0.0",
        "it was made"
    );
    ensure!(wrote(&lines[0]) && !wrote(&lines[1]), "the first leads");

    // The first loses its line: it must stop before the second starts.
    lines[0].sever();
    lines[0].recorder().clear();
    scene.apply(&component("a", Some("1.1.0"), "1.1.0")).await?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    ensure!(scene.data("shop-main", "version").await? == "1.1.0", "it moved");
    ensure!(wrote(&lines[1]), "the second has taken over");
    lines[0].mend();
    lines[0].recorder().clear();
    scene.apply(&component("a", Some("1.2.0"), "1.2.0")).await?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    ensure!(
        scene.data("shop-main", "version").await? == "1.2.0",
        "it moved again"
    );
    ensure!(!wrote(&lines[0]), "the first follows now");
    first.take();
    drop(second);
    scene
        .expect(
            "in the end",
            [
                ("configmaps", "+shop-main"),
                ("applicationrevisions", "+shop-v1 +shop-v2 +shop-v3"),
                ("definitionrevisions", "+a-v1.0.0 +a-v1.1.0 +a-v1.2.0"),
            ],
        )
        .await
}

/// Rights that are taken away and given back, and a server that answers nothing but one code for a while.
#[tokio::test(start_paused = true)]
async fn what_is_refused_for_a_while_is_done_afterwards() -> Result<()> {
    let world = world().await?;
    let everything: [(&str, Filter); 3] = [
        ("writes of objects", Filter::writes().of("configmaps")),
        ("reads and watches", Filter::reads()),
        ("everything", Filter::all()),
    ];
    for (what, filter) in &everything {
        for code in [401, 403, 404, 410, 504] {
            let faults = Faults::new();
            let mut scene = Scene::set(&world, &faults).await?;
            scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
            scene
                .apply(&application("shop", json!({}), &[("main", "a@1")]))
                .await?;
            scene.settled().await?;

            faults.refuse(filter, code);
            // Watches that are open go on: they end, too.
            faults.cut();
            scene.apply(&component("a", Some("1.1.0"), "1.1.0")).await?;
            tokio::time::sleep(Duration::from_secs(90)).await;
            let version = scene.data("shop-main", "version").await?;
            let when = format!("{what} answered with {code}");
            ensure!(version == "1.0.0", "{when}: {version}");
            faults.allow();
            // Longer than the longest back-off.
            tokio::time::sleep(Duration::from_secs(400)).await;
            scene.settled().await.context(when.clone())?;
            let version = scene.data("shop-main", "version").await?;
            ensure!(
                version == "1.1.0",
                "{when}: {version} in the end: {}",
                scene.shop().await?
            );
            ensure!(scene.shop().await?["status"]["status"] == "running", "{when}");
            scene
                .expect(
                    &when,
                    [
                        ("configmaps", "+shop-main"),
                        ("applicationrevisions", "+shop-v1 +shop-v2"),
                        ("definitionrevisions", "+a-v1.0.0 +a-v1.1.0"),
                    ],
                )
                .await?;
            scene.at_rest().await.context(when)?;
        }
    }
    Ok(())
}

/// Discovery that lacks a group for a while: what is of it is neither made again nor removed.
#[tokio::test(start_paused = true)]
async fn a_group_that_discovery_does_not_show_is_waited_for() -> Result<()> {
    let world = world().await?;
    for code in [404, 503] {
        let faults = Faults::new();
        let mut scene = Scene::set(&world, &faults).await?;
        let both = application("shop", json!({}), &[("one", "a@1"), ("two", "a@1")]);
        let one = application("shop", json!({}), &[("one", "a@1")]);
        scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
        scene.apply(&both).await?;
        scene.settled().await?;

        faults.refuse(&Filter::only(|call| call.path == "/api/v1"), code);
        // A new process knows no kinds.
        scene.restart().await;
        scene.apply(&one).await?;
        tokio::time::sleep(Duration::from_secs(90)).await;
        let definitions = ("definitionrevisions", "+a-v1.0.0");
        ensure!(
            scene.data("shop-two", "version").await? == "1.0.0",
            "{code}: it stays"
        );
        faults.allow();
        tokio::time::sleep(Duration::from_secs(400)).await;
        scene.settled().await?;
        scene
            .expect(
                &format!("{code}"),
                [
                    ("configmaps", "+shop-one +shop-two -shop-two"),
                    ("applicationrevisions", "+shop-v1 +shop-v2"),
                    definitions,
                ],
            )
            .await?;
        scene.at_rest().await?;
    }
    Ok(())
}

/// A process that is paused for longer than its lease sends what it had decided when another one leads and has gone on.
#[tokio::test(start_paused = true)]
async fn a_write_of_a_leader_that_was_paused_is_undone_by_the_next() -> Result<()> {
    let (world, quiet) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &quiet).await?;
    scene.process = None;
    let patches = Filter::writes().of("configmaps");
    let lines = [Faults::counting(&patches), Faults::new()];
    let first = Process::standing(lines[0].client(&world.cluster.client()), &world.clock, "first").await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let second = Process::standing(lines[1].client(&world.cluster.client()), &world.clock, "second").await?;
    scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
    scene
        .apply(&application("shop", json!({}), &[("main", "a@1")]))
        .await?;
    tokio::time::sleep(Duration::from_secs(30)).await;

    lines[0].arm(1, Fault::Late(Duration::from_secs(120)));
    scene.apply(&component("a", Some("1.1.0"), "1.1.0")).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    ensure!(lines[0].struck().len() == 1, "it was about to apply 1.1.0");
    lines[0].sever();
    scene.apply(&component("a", Some("1.2.0"), "1.2.0")).await?;
    tokio::time::sleep(Duration::from_secs(90)).await;
    let version = scene.data("shop-main", "version").await?;
    ensure!(version == "1.2.0", "the second has gone on: {version}");
    lines[1].recorder().clear();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let wrote = lines[1].recorder().writes();
    ensure!(
        wrote.iter().any(|call| call.resource == "configmaps"),
        "what came late was put right: {wrote:?}"
    );
    let version = scene.data("shop-main", "version").await?;
    ensure!(version == "1.2.0", "{version} in the end");
    drop((first, second));
    Ok(())
}

/// A client whose server can be replaced by another one.
#[derive(Clone)]
struct Replaceable(Arc<Mutex<Client>>);

impl Replaceable {
    fn client(&self) -> Client {
        let current = self.0.clone();
        let service = tower::service_fn(move |request| {
            let client = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
            async move { client.send(request).await }
        });
        Client::new(service, "default")
    }

    fn replace(&self, client: Client) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }
}

/// The store is restored from a backup while the manager runs: whatever it has seen since then is not so any more, though its versions are higher.
/// In real time: a store in a file does not wait for a clock.
#[tokio::test]
async fn a_store_that_is_restored_from_a_backup_is_believed() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let [file, backup] = ["now.redb", "backup.redb"].map(|name| directory.path().join(name));
    let cluster = TestCluster::embedded(ApiServer::builder().file(&file)).await?;
    install(&cluster.raw()).await?;
    let (faults, line) = (Faults::new(), Replaceable(Arc::new(Mutex::new(cluster.client()))));
    let clock = virtual_clock();
    let mut scene = Scene::set(&World { cluster, clock }, &faults).await?;
    scene.process = None;
    scene.client = faults.client(&line.client());
    scene.restart().await;
    let shop = |version: &str| application("shop", json!({}), &[("main", &format!("a@{version}"))]);
    let later = application("later", json!({}), &[("main", "a@1.0.0")]);
    scene.apply(&component("a", Some("1.0.0"), "1.0.0")).await?;
    scene.apply(&shop("1")).await?;
    scene.becomes("shop-main", json!("1.0.0")).await?;
    scene.is_idle().await?;
    std::fs::copy(&file, &backup)?;

    scene.apply(&component("a", Some("1.1.0"), "1.1.0")).await?;
    scene.apply(&later).await?;
    scene.becomes("shop-main", json!("1.1.0")).await?;
    scene.becomes("later-main", json!("1.0.0")).await?;
    scene.delete("applications", "shop").await?;
    scene.becomes("shop-main", Value::Null).await?;
    scene.is_idle().await?;

    let restored = TestCluster::embedded(ApiServer::builder().file(&backup)).await?;
    scene.raw = restored.raw();
    line.replace(restored.client());
    // Whoever restores Kubernetes' store marks what came before as compacted.
    faults.refuse(&Filter::reads(), 410);
    faults.recorder().clear();
    faults.cut();
    eventually("every watch is told that it is behind", || async {
        let calls = faults.recorder().calls();
        let told = |resource: &&str| {
            calls
                .iter()
                .any(|call| call.verb == Verb::Watch && call.resource == **resource)
        };
        let watched = [
            "componentdefinitions",
            "definitionrevisions",
            "applications",
            "applicationrevisions",
            "configmaps",
        ];
        Ok(watched.iter().all(told))
    })
    .await?;
    faults.allow();
    scene.becomes("shop-main", json!("1.0.0")).await?;

    scene.apply(&component("a", Some("1.0.1"), "1.0.1")).await?;
    scene.becomes("shop-main", json!("1.0.1")).await?;
    ensure!(
        scene.data("later-main", "version").await?.is_null(),
        "which never was"
    );
    Ok(())
}

impl Scene<'_> {
    /// Waits until a ConfigMap says so.
    async fn becomes(&self, config_map: &str, version: Value) -> Result<()> {
        let what = format!("{config_map} becomes {version}");
        let is_so = || async { Ok(self.data(config_map, "version").await? == version) };
        eventually(&what, is_so).await
    }

    /// Waits until there is nothing left to do.
    async fn is_idle(&self) -> Result<()> {
        let process = self.process.as_ref().context("a process")?;
        eventually("idle", || async { Ok(process.manager.is_idle()) }).await
    }
}
