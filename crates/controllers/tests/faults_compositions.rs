//! Compositions and composite resources when everything goes wrong that can: the end is the same, and nothing is made or removed twice.

mod platform;
mod scene;

use anyhow::{Context as _, Result, ensure};
use cambium_testing::{Dice, Fault, Faults, Filter, campaign, for_every_call};
use scene::{LATE, Scene, World, world};
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

    async fn apply(&self, path: &str, object: &Value) -> Result<()> {
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
        self.apply(&format!("{DEFINITIONS}/{name}"), &definition).await
    }

    /// A composition with a ConfigMap for each of these names and texts.
    async fn publish(&self, resources: &[(&str, &str)]) -> Result<()> {
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
        self.apply(&format!("{COMPOSITIONS}/{}", self.namespace), &composition)
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

    async fn data(&self, name: &str) -> Result<Value> {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace);
        Ok(self.raw.get(&path).await?.body["data"].clone())
    }

    async fn compose(&self) -> Result<()> {
        let thing = json!({
            "apiVersion": format!("{}/v1", self.group()), "kind": "XThing", "metadata": {"name": "thing"},
            "spec": {"compositionRef": {"name": self.namespace}},
        });
        self.apply(&format!("{}/thing", self.things()), &thing).await
    }

    async fn delete(&self, path: &str) -> Result<()> {
        let answer = self.raw.delete(path, &json!({})).await?;
        ensure!(answer.code < 300, "{answer:?}");
        Ok(())
    }

    /// The ConfigMaps that came and went, and how many revisions are there. A number that was given to what could not be made is not
    /// given again.
    async fn expect(&self, when: &str, config_maps: &str, revisions: usize) -> Result<()> {
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
    scene.publish(&[("one", "a"), ("two", "a")]).await?;
    scene.compose().await?;
    scene.settled().await?;
    scene.ready("created").await?;
    scene.expect("created", "+thing-one +thing-two", 1).await?;

    scene.publish(&[("one", "b")]).await?;
    scene.settled().await?;
    let thing = scene.ready("moved").await?;
    let references = thing["spec"]["resourceRefs"].as_array().map(Vec::len);
    ensure!(references == Some(1), "moved: {thing}");
    scene
        .expect("moved", "+thing-one +thing-two -thing-two", 2)
        .await?;

    scene.publish(&[("one", "a"), ("two", "a")]).await?;
    scene.settled().await?;
    scene.ready("reverted").await?;
    scene
        .expect("reverted", "+thing-one +thing-two*2 -thing-two", 2)
        .await?;

    scene.at_rest().await?;

    scene.delete(&format!("{}/thing", scene.things())).await?;
    scene.settled().await?;
    scene
        .delete(&format!("{COMPOSITIONS}/{}", scene.namespace))
        .await?;
    scene
        .delete(&format!("{DEFINITIONS}/xthings.{}", scene.group()))
        .await?;
    scene.settled().await?;
    scene
        .expect("deleted", "+thing-one +thing-two*2 -thing-one -thing-two*2", 0)
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
            scene.data("thing-vpc").await?,
            scene.data("thing-subnet").await?,
            scene.data("thing-host").await?
        ]);
        let expected = json!([
            {"label": "thing", "id": id}, {"label": "thing", "vpc": id}, {"label": "thing", "subnet": id}
        ]);
        ensure!(all == expected, "{id}: {all}");
    }
    scene.at_rest().await?;
    scene.delete(&format!("{}/thing", scene.things())).await?;
    scene.settled().await?;
    for path in [
        format!("{COMPOSITIONS}/{}", scene.namespace),
        format!("{DEFINITIONS}/xthings.{}", scene.group()),
    ] {
        scene.delete(&path).await?;
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
        scene.publish(&[("one", "a")]).await?;
        scene.compose().await?;
        scene.settled().await?;
        scene.ready("created").await?;
        let said = scene.said(&since).await?;
        ensure!(
            !said.iter().any(|said| said.contains("has no revision yet")),
            "{said:?}"
        );
        scene.delete(&format!("{}/thing", scene.things())).await?;
        scene.settled().await
    })
    .await
}

/// A kind that is deleted and made again, again and again, is composed as fast as the first time.
#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_and_goes_does_not_get_slower() -> Result<()> {
    let (world, faults) = (world().await?, Faults::new());
    let scene = Scene::set(&world, &faults).await?;
    scene.publish(&[("one", "a")]).await?;
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
        while scene.data("thing-one").await?.is_null() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            ensure!(begin.elapsed().as_secs() < 3, "cycle {cycle} takes longer");
        }
        scene.delete(&path).await?;
        while scene.raw.get(&scene.things()).await?.code != 404 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    Ok(())
}
