//! Compositions and composite resources when everything goes wrong that can: the end is the same, and nothing is made or removed twice.

mod platform;
mod scene;

use anyhow::{Context as _, Result, ensure};
use cambium_testing::{Fault, Faults, Filter, for_every_call};
use scene::{Scene, World, world};
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
                    "type": "object", "properties": {"spec": {"type": "object"}},
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

    // Whatever went wrong before, a new process finds nothing to do.
    scene.process = None;
    faults.recorder().clear();
    scene.restart().await;
    scene.settled().await?;
    let writes: Vec<_> = faults.recorder().writes();
    ensure!(
        writes.is_empty() || faults.struck().is_some_and(|call| writes.contains(&call)),
        "after a restart: {writes:?}"
    );

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
