//! Compositions and composite resources when everything goes wrong that can: the end is the same, and nothing is made or removed twice.

use crate::scene::{LATE, Process, Scene, World, world};
use anyhow::{Context as _, Result, ensure};
use cambium_testing::faults::Verb;
use cambium_testing::{Dice, Fault, Faults, Filter, campaign, for_every_call};
use cambium_webhooks::admission::Verdict;
use serde_json::{Value, json};

const COMPOSITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositions";
const REVISIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositionrevisions";
const DEFINITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions";

impl Scene<'_> {
    fn group(&self) -> String {
        format!("{}.example.org", self.namespace)
    }

    fn things(&self) -> String {
        format!("/apis/{}/v1/xthings", self.group())
    }

    async fn apply_at(&self, path: &str, object: &Value) -> Result<()> {
        let path = format!("{path}?fieldManager=test&force=true");
        let answer = self.raw.patch("apply", &path, object).await?;
        ensure!(answer.code < 300, "{answer:?}");
        Ok(())
    }

    async fn define(&self) -> Result<()> {
        let (group, name) = (self.group(), format!("xthings.{}", self.group()));
        let definition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": group, "names": {"kind": "XThing", "plural": "xthings"},
                "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object"}, "status": {"type": "object", "properties": {
                        "vpc": {"type": "string"}, "subnet": {"type": "string"},
                    }}},
                }}}],
            },
        });
        self.apply_at(&format!("{DEFINITIONS}/{name}"), &definition).await
    }

    /// A composition with a ConfigMap for each of these names and texts.
    async fn publish_composition(&self, resources: &[(&str, &str)]) -> Result<()> {
        let resources: Vec<Value> = resources
            .iter()
            .map(|(name, says)| {
                json!({
                    "name": name, "readinessChecks": [{"type": "None"}],
                    "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": self.namespace},
                        "data": {"says": says}},
                    "patches": [{"fromFieldPath": "metadata.name", "toFieldPath": "metadata.name",
                        "transforms": [{"type": "string", "string": {"type": "Format", "fmt": format!("%s-{name}")}}]}],
                })
            })
            .collect();
        self.publish_resources(json!(resources)).await
    }

    async fn publish_resources(&self, resources: Value) -> Result<()> {
        let composition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
            "metadata": {"name": self.namespace},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{}/v1", self.group()), "kind": "XThing"},
                "mode": "Resources", "resources": resources,
            },
        });
        self.apply_at(&format!("{COMPOSITIONS}/{}", self.namespace), &composition)
            .await
    }

    /// A composition with a ConfigMap for each of these names and patches.
    async fn publish_patches(&self, resources: &[(&str, Value)]) -> Result<()> {
        let resources: Vec<Value> = resources
            .iter()
            .map(|(name, patches)| {
                let mut all = vec![json!({
                    "fromFieldPath": "metadata.name", "toFieldPath": "metadata.name",
                    "transforms": [{"type": "string", "string": {"type": "Format", "fmt": format!("%s-{name}")}}],
                })];
                all.extend(patches.as_array().cloned().unwrap_or_default());
                json!({
                    "name": name, "readinessChecks": [{"type": "None"}], "patches": all,
                    "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": self.namespace}},
                })
            })
            .collect();
        self.publish_resources(json!(resources)).await
    }

    /// Somebody else says something in a ConfigMap.
    async fn say(&self, name: &str, id: &str) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace);
        let answer = self
            .raw
            .patch("merge", &path, &json!({"data": {"id": id}}))
            .await?;
        ensure!(answer.code < 300, "{answer:?}");
        Ok(())
    }

    async fn data_of(&self, name: &str) -> Result<Value> {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace);
        Ok(self.raw.get(&path).await?.body["data"].clone())
    }

    async fn compose(&self) -> Result<()> {
        self.compose_called("thing").await
    }

    async fn compose_called(&self, name: &str) -> Result<()> {
        let thing = json!({
            "apiVersion": format!("{}/v1", self.group()), "kind": "XThing", "metadata": {"name": name},
            "spec": {"compositionRef": {"name": self.namespace}},
        });
        self.apply_at(&format!("{}/{name}", self.things()), &thing).await
    }

    fn definition_path(&self) -> String {
        format!("{DEFINITIONS}/xthings.{}", self.group())
    }

    fn composition_path(&self) -> String {
        format!("{COMPOSITIONS}/{}", self.namespace)
    }

    /// Why a process refuses the deletion of the object at a path, if it does: its webhook is asked, whether it leads or not.
    async fn refusal(&self, process: &Process, path: &str) -> Result<Option<String>> {
        let object = self.raw.get(path).await?.body;
        let webhook = match object["kind"].as_str() {
            Some("Composition") => "compositions",
            Some("CompositionRevision") => "composition-revisions",
            Some("CompositeResourceDefinition") => "composite-definitions",
            _ => anyhow::bail!("{object}"),
        };
        let request = json!({"uid": "one", "operation": "DELETE", "oldObject": object});
        let validators = process.manager.admission().validators;
        let mut validators = validators.iter();
        let validator = validators.find(|validator| validator.path() == webhook);
        let verdict = validator.context("a validator")?;
        Ok(match verdict.validate(&serde_json::from_value(request)?).await {
            Verdict::Allowed { .. } => None,
            Verdict::Denied { message, .. } => Some(message),
        })
    }

    /// What is published and must not be deleted while something uses it: the definition, the composition, and its current revision.
    async fn published(&self) -> Result<[String; 3]> {
        let composition = self.raw.get(&self.composition_path()).await?.body;
        let revision = composition["status"]["currentRevision"]["name"].as_str();
        let revision = format!("{REVISIONS}/{}", revision.context("a revision")?);
        Ok([self.definition_path(), self.composition_path(), revision])
    }

    async fn delete_at(&self, path: &str) -> Result<()> {
        let answer = self.raw.delete(path, &json!({})).await?;
        ensure!(answer.code < 300, "{answer:?}");
        Ok(())
    }

    /// The ConfigMaps that came and went, and how many revisions are there. A number that was given to what could not be made is not
    /// given again.
    async fn expect_objects(&self, when: &str, config_maps: &str, revisions: usize) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
        let happened = self.happened(&path).await?;
        ensure!(
            happened == config_maps,
            "{when}: {happened:?}, and not {config_maps:?}"
        );
        let selector = format!("crossplane.io/composition-name={}", self.namespace);
        let found = self
            .raw
            .get(&format!("{REVISIONS}?labelSelector={selector}"))
            .await?
            .body;
        let there = found["items"].as_array().map_or(0, Vec::len);
        ensure!(
            there == revisions,
            "{when}: {there} revisions, and not {revisions}"
        );
        Ok(())
    }

    /// All that conditions of composite resources have said since a version.
    async fn said(&self, since: &Value) -> Result<Vec<String>> {
        let since = since.as_str().context("a version")?;
        let path = format!(
            "{}?watch=1&resourceVersion={since}&timeoutSeconds=1",
            self.things()
        );
        let answer = self.raw.send(http::Method::GET, &path, &[], &Value::Null).await?;
        let text = match &answer.body {
            Value::String(text) => text.clone(),
            one => one.to_string(),
        };
        let mut said = Vec::new();
        for line in text.lines() {
            let event: Value = serde_json::from_str(line)?;
            ensure!(event["type"] != "ERROR", "{event}");
            let conditions = event["object"]["status"]["conditions"].as_array();
            let messages = conditions
                .into_iter()
                .flatten()
                .filter_map(|known| known["message"].as_str());
            said.extend(messages.map(str::to_owned));
        }
        Ok(said)
    }

    async fn ready(&self, when: &str) -> Result<Value> {
        let thing = self.raw.get(&format!("{}/thing", self.things())).await?.body;
        for type_ in ["Synced", "Ready"] {
            let conditions = thing["status"]["conditions"].as_array().context("conditions")?;
            let holds = conditions
                .iter()
                .any(|known| known["type"] == type_ && known["status"] == "True");
            ensure!(holds, "{when}: {thing}");
        }
        Ok(thing)
    }
}

/// A composite resource comes, moves, loses a resource, gets it back, and goes.
async fn story(world: &World, faults: &Faults) -> Result<()> {
    let mut scene = Scene::set(world, faults).await?;
    scene.define().await?;
    scene.settled().await?;
    scene.publish_composition(&[("one", "a"), ("two", "a")]).await?;
    scene.compose().await?;
    scene.settled().await?;
    scene.ready("created").await?;
    scene
        .expect_objects("created", "+thing-one +thing-two", 1)
        .await?;

    scene.publish_composition(&[("one", "b")]).await?;
    scene.settled().await?;
    let thing = scene.ready("moved").await?;
    let references = thing["spec"]["resourceRefs"].as_array().map(Vec::len);
    ensure!(references == Some(1), "moved: {thing}");
    scene
        .expect_objects("moved", "+thing-one +thing-two -thing-two", 2)
        .await?;

    scene.publish_composition(&[("one", "a"), ("two", "a")]).await?;
    scene.settled().await?;
    scene.ready("reverted").await?;
    scene
        .expect_objects("reverted", "+thing-one +thing-two*2 -thing-two", 2)
        .await?;

    scene.at_rest().await?;

    scene.delete_at(&format!("{}/thing", scene.things())).await?;
    scene.settled().await?;
    scene
        .delete_at(&format!("{COMPOSITIONS}/{}", scene.namespace))
        .await?;
    scene
        .delete_at(&format!("{DEFINITIONS}/xthings.{}", scene.group()))
        .await?;
    scene.settled().await?;
    scene
        .expect_objects("deleted", "+thing-one +thing-two*2 -thing-one -thing-two*2", 0)
        .await?;
    ensure!(
        scene.raw.get(&scene.things()).await?.code == 404,
        "the kind is gone"
    );
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

/// What one resource says goes through the composite resource to the next, and from there to a third; it is said late, and again.
async fn chained(world: &World, faults: &Faults) -> Result<()> {
    let mut scene = Scene::set(world, faults).await?;
    scene.define().await?;
    scene.settled().await?;
    let label =
        json!({"fromFieldPath": "metadata.labels[crossplane.io/composite]", "toFieldPath": "data.label"});
    scene
        .publish_patches(&[
            (
                "host",
                json!([label, {"fromFieldPath": "status.subnet", "toFieldPath": "data.subnet"}]),
            ),
            (
                "subnet",
                json!([
                    label,
                    {"fromFieldPath": "status.vpc", "toFieldPath": "data.vpc"},
                    {"type": "ToCompositeFieldPath", "fromFieldPath": "data.vpc", "toFieldPath": "status.subnet"},
                ]),
            ),
            (
                "vpc",
                json!([label, {"type": "ToCompositeFieldPath", "fromFieldPath": "data.id", "toFieldPath": "status.vpc"}]),
            ),
        ])
        .await?;
    scene.compose().await?;
    scene.settled().await?;
    for id in ["one", "two"] {
        scene.say("thing-vpc", id).await?;
        scene.settled().await?;
        let all = json!([
            scene.data_of("thing-vpc").await?,
            scene.data_of("thing-subnet").await?,
            scene.data_of("thing-host").await?
        ]);
        let expected = json!([
            {"label": "thing", "id": id}, {"label": "thing", "vpc": id}, {"label": "thing", "subnet": id}
        ]);
        ensure!(all == expected, "{id}: {all}");
    }
    scene.at_rest().await?;
    scene.delete_at(&format!("{}/thing", scene.things())).await?;
    scene.settled().await?;
    for path in [
        format!("{COMPOSITIONS}/{}", scene.namespace),
        format!("{DEFINITIONS}/xthings.{}", scene.group()),
    ] {
        scene.delete_at(&path).await?;
    }
    scene.settled().await
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_what_one_resource_says_reaches_the_others() -> Result<()> {
    let world = world().await?;
    let writes = Filter::writes().without("events");
    let faults = [Fault::Refuse(500), Fault::LoseAnswer, Fault::Crash];
    for_every_call(&writes, &faults, async |faults| chained(&world, &faults).await).await
}

/// A composite resource whose composition makes something else of it each time is composed less and less often.
#[tokio::test(start_paused = true)]
async fn what_never_comes_to_rest_is_composed_less_and_less_often() -> Result<()> {
    let (world, faults) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &faults).await?;
    scene.define().await?;
    scene.settled().await?;
    let longer = json!([{"type": "string", "string": {"type": "Format", "fmt": "%s."}}]);
    scene
        .publish_patches(&[(
            "longer",
            json!([
                {"fromFieldPath": "status.vpc", "toFieldPath": "data.vpc"},
                {"type": "ToCompositeFieldPath", "fromFieldPath": "data.vpc", "toFieldPath": "status.vpc", "transforms": longer},
            ]),
        )])
        .await?;
    scene.compose().await?;
    scene.settled().await?;
    faults.recorder().clear();
    let path = format!("{}/thing/status", scene.things());
    let began = json!({"status": {"vpc": "begins"}});
    let answer = scene.raw.patch("merge", &path, &began).await?;
    ensure!(answer.code < 300, "{answer:?}");
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    let writes = faults.recorder().writes().len();
    ensure!((20..60).contains(&writes), "{writes} writes in ten minutes");
    Ok(())
}

/// A composition that is being published is waited for: whoever uses it does not say that it has no revision.
#[tokio::test(start_paused = true)]
async fn a_composition_that_is_being_published_is_waited_for() -> Result<()> {
    let world = world().await?;
    let writes = Filter::writes().of("compositionrevisions");
    let faults = [
        Fault::Refuse(500),
        Fault::Refuse(409),
        Fault::LoseAnswer,
        Fault::Delay(std::time::Duration::from_secs(1)),
    ];
    for_every_call(&writes, &faults, async |faults| {
        let mut scene = Scene::set(&world, &faults).await?;
        scene.define().await?;
        scene.settled().await?;
        let since = scene.raw.get(&scene.things()).await?.body["metadata"]["resourceVersion"].clone();
        scene.publish_composition(&[("one", "a")]).await?;
        scene.compose().await?;
        scene.settled().await?;
        scene.ready("created").await?;
        let said = scene.said(&since).await?;
        ensure!(
            !said.iter().any(|said| said.contains("has no revision yet")),
            "{said:?}"
        );
        scene.delete_at(&format!("{}/thing", scene.things())).await?;
        scene.settled().await
    })
    .await
}

/// A composition that nobody has seen yet is asked for before anybody says that there is none with the labels.
#[tokio::test(start_paused = true)]
async fn a_composition_that_no_watch_shows_yet_is_selected() -> Result<()> {
    let (world, faults) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &faults).await?;
    scene.define().await?;
    scene.settled().await?;
    let since = scene.raw.get(&scene.things()).await?.body["metadata"]["resourceVersion"].clone();
    faults.lag(std::time::Duration::from_secs(5));
    let labels = json!({"matchLabels": {"channel": "stable"}});
    let thing = json!({
        "apiVersion": format!("{}/v1", scene.group()), "kind": "XThing", "metadata": {"name": "thing"},
        "spec": {"compositionSelector": labels, "compositionRevisionSelector": labels},
    });
    scene
        .apply_at(&format!("{}/thing", scene.things()), &thing)
        .await?;
    // Watches show it a second after they show the composite resource.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let composition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": scene.namespace, "labels": {"channel": "stable"}},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{}/v1", scene.group()), "kind": "XThing"},
            "mode": "Resources", "resources": [{
                "name": "one", "readinessChecks": [{"type": "None"}],
                "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": scene.namespace}},
            }],
        },
    });
    scene.apply_at(&scene.composition_path(), &composition).await?;
    scene.settled().await?;
    scene.ready("created").await?;
    let said = scene.said(&since).await?;
    ensure!(!said.iter().any(|said| said.contains("cannot")), "{said:?}");
    Ok(())
}

/// A kind that is deleted and made again, again and again, is composed as fast as the first time.
#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_and_goes_does_not_get_slower() -> Result<()> {
    let (world, faults) = (world().await?, Faults::new());
    let scene = Scene::set(&world, &faults).await?;
    scene.publish_composition(&[("one", "a")]).await?;
    let path = format!("{DEFINITIONS}/xthings.{}", scene.group());
    for cycle in 0..10 {
        scene.define().await?;
        let begin = tokio::time::Instant::now();
        loop {
            // As soon as the kind is served.
            let served = scene.raw.get(&scene.things()).await?.code == 200;
            if served && scene.compose().await.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        while scene.data_of("thing-one").await?.is_null() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            ensure!(begin.elapsed().as_secs() < 3, "cycle {cycle} takes longer");
        }
        scene.delete_at(&path).await?;
        while scene.raw.get(&scene.things()).await?.code != 404 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    Ok(())
}

/// Two processes: the one that leads, and one that stands by and has seen nothing of the kind.
async fn standing_by(world: &World, scene: &mut Scene<'_>, lines: &[Faults; 2]) -> Result<[Process; 2]> {
    scene.process = None;
    let client = |line: &Faults| line.client(&world.cluster.client());
    let first = Process::standing(client(&lines[0]), &world.clock, "first").await?;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let second = Process::standing(client(&lines[1]), &world.clock, "second").await?;
    second.manager.synced().await;
    Ok([first, second])
}

const A_WHILE: std::time::Duration = std::time::Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_replica_that_does_not_lead_refuses_to_delete_what_is_in_use() -> Result<()> {
    let (world, quiet) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &quiet).await?;
    let lines = [Faults::new(), Faults::new()];
    let [_first, second] = standing_by(&world, &mut scene, &lines).await?;
    scene.define().await?;
    tokio::time::sleep(A_WHILE).await;
    scene.publish_composition(&[("one", "a")]).await?;
    scene.compose().await?;
    tokio::time::sleep(A_WHILE).await;
    scene.ready("created").await?;
    let published = scene.published().await?;
    for path in &published {
        let refusal = scene.refusal(&second, path).await?.unwrap_or_default();
        ensure!(
            refusal.contains("is in use by XThing thing"),
            "{path}: {refusal:?}"
        );
    }
    scene.delete_at(&format!("{}/thing", scene.things())).await?;
    tokio::time::sleep(A_WHILE).await;
    for path in &published {
        let refusal = scene.refusal(&second, path).await?;
        ensure!(refusal.is_none(), "{path}: {refusal:?}");
    }
    Ok(())
}

/// Nobody deletes what may be in use because a list failed.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_listed_may_be_in_use() -> Result<()> {
    let (world, faults) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &faults).await?;
    scene.define().await?;
    scene.settled().await?;
    scene.publish_composition(&[("one", "a")]).await?;
    scene.compose().await?;
    scene.settled().await?;
    let published = scene.published().await?;
    for code in [403, 404, 500] {
        let line = Faults::new();
        line.refuse(&Filter::only(|call| call.name.is_empty()).of("xthings"), code);
        let client = line.client(&world.cluster.client());
        // It only answers.
        let blind = Process::start(client, &world.clock).await?;
        blind.work.abort();
        for path in &published {
            let refusal = scene.refusal(&blind, path).await?.unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            let words = format!("{name:?} may be in use: ");
            ensure!(refusal.contains(&words), "{code}, {path}: {refusal:?}");
        }
        line.allow();
        tokio::time::sleep(2 * A_WHILE).await;
        for path in &published {
            let refusal = scene.refusal(&blind, path).await?.unwrap_or_default();
            ensure!(
                refusal.contains("is in use by XThing thing"),
                "{code}, {path}: {refusal:?}"
            );
        }
    }
    Ok(())
}

/// The CRD of a definition goes with it, whether the definition can be read or not.
#[tokio::test(start_paused = true)]
async fn a_definition_that_cannot_be_read_is_not_deleted_while_there_is_something_of_its_kind() -> Result<()>
{
    let (world, faults) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &faults).await?;
    scene.define().await?;
    scene.settled().await?;
    scene.publish_composition(&[("one", "a")]).await?;
    scene.compose().await?;
    scene.settled().await?;
    let [definition, composition, revision] = scene.published().await?;
    let mut versions = scene.raw.get(&definition).await?.body["spec"]["versions"].clone();
    versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({"type": "string"});
    let unreadable = json!({"spec": {"versions": versions}});
    let unreadable = scene.raw.patch("merge", &definition, &unreadable).await?;
    ensure!(unreadable.code == 200, "{unreadable:?}");
    for restarted in [false, true] {
        if restarted {
            scene.restart().await;
        }
        scene.settled().await?;
        let process = scene.process.as_ref().context("a process")?;
        let refusal = scene.refusal(process, &definition).await?.unwrap_or_default();
        ensure!(
            refusal.contains("is in use by XThing thing"),
            "{restarted}: {refusal:?}"
        );
        for path in [&composition, &revision] {
            let refusal = scene.refusal(process, path).await?.unwrap_or_default();
            ensure!(refusal.contains("in use"), "{restarted}, {path}: {refusal:?}");
        }
    }
    Ok(())
}

/// `kubectl delete xthings --all`, and then the definition: the API server may know before us that they are going.
#[tokio::test(start_paused = true)]
async fn any_number_of_users_may_be_going() -> Result<()> {
    let (world, faults) = (world().await?, Faults::new());
    let mut scene = Scene::set(&world, &faults).await?;
    scene.define().await?;
    scene.settled().await?;
    scene.publish_composition(&[("one", "a")]).await?;
    let names: Vec<String> = (10..25).map(|number| format!("thing-{number}")).collect();
    for name in &names {
        scene.compose_called(name).await?;
    }
    scene.settled().await?;
    faults.freeze();
    for name in &names[..14] {
        scene.delete_at(&format!("{}/{name}", scene.things())).await?;
    }
    let process = scene.process.as_ref().context("a process")?;
    let paths = [scene.definition_path(), scene.composition_path()];
    for path in &paths {
        faults.recorder().clear();
        let refusal = scene.refusal(process, path).await?.unwrap_or_default();
        ensure!(
            refusal.contains("is in use by XThing thing-24;"),
            "{path}: {refusal:?}"
        );
        let calls = faults.recorder().calls();
        let about = calls.iter().filter(|call| call.resource == "xthings");
        let verbs: Vec<Verb> = about.map(|call| call.verb).collect();
        ensure!(verbs == [Verb::List], "{path}: {verbs:?}");
    }
    scene
        .delete_at(&format!("{}/{}", scene.things(), names[14]))
        .await?;
    for path in &paths {
        let refusal = scene.refusal(process, path).await?;
        ensure!(refusal.is_none(), "{path}: {refusal:?}");
    }
    faults.thaw();
    scene.settled().await
}
