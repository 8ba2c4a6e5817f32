//! Definitions and applications after any sequence of edits: whatever the path, the end is what a fresh creation gives, and going back after
//! something wrong recovers.

use crate::application_edits::{Edit, Model, Reference, Slip};
use crate::edits::{
    Player, Snapshot, Words as _, ensure_same, laws_hold, lines, replace, sequence, snapshot, without,
    without_times,
};
use crate::scene::{Scene, World, world};
use anyhow::{Context as _, Result, ensure};
use cambium_testing::{Faults, campaign, run_and_shrink};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One who edits, and what they have seen.
struct Publisher<'a> {
    scene: Scene<'a>,
    model: Model,
    /// What each reference that stays was at when nothing was left to do, by application and text.
    pins: BTreeMap<(String, String), Value>,
}

impl Publisher<'_> {
    fn list(&self, resource: &str) -> String {
        let prefix = match resource {
            "configmaps" => "/api/v1",
            _ => "/apis/core.oam.dev/v1beta1",
        };
        format!("{prefix}/namespaces/{}/{resource}", self.scene.namespace)
    }

    fn path(&self, resource: &str, name: &str) -> String {
        format!("{}/{name}", self.list(resource))
    }

    async fn snapshot(&self, resources: &[&str]) -> Result<Snapshot> {
        let lists: Vec<String> = resources.iter().map(|resource| self.list(resource)).collect();
        snapshot(&self.scene.raw, &lists).await
    }

    async fn publish(&mut self, definition: &Value) -> Result<()> {
        let name = definition["metadata"]["name"].as_str().context("a name")?;
        let path = self.path(&plural(definition), name);
        self.scene.publish(&path, definition).await
    }

    /// Writes what is another one now than before.
    async fn carry_out(&mut self, before: &Model) -> Result<()> {
        let model = self.model.clone();
        for (&name, lineage) in &model.definitions {
            let known = before.definitions.get(name).map_or(0, Vec::len);
            for document in lineage.iter().skip(known) {
                self.publish(&document.object(name)).await?;
            }
        }
        for (&name, app) in &model.applications {
            if before.applications.get(name) != Some(app) {
                let path = self.path("applications", name);
                self.scene.write(&path, &app.object(name)).await?;
            }
        }
        for &name in before.applications.keys() {
            if !model.applications.contains_key(name) {
                self.scene.remove(&self.path("applications", name)).await?;
            }
        }
        for (&name, lineage) in &before.definitions {
            if !model.definitions.contains_key(name) {
                let object = lineage.last().context("a version")?.object(name);
                self.scene.remove(&self.path(&plural(&object), name)).await?;
            }
        }
        Ok(())
    }

    /// What is pinned stays where it was for as long as it is asked for.
    async fn stays_pinned(&mut self) -> Result<()> {
        let mut pins = BTreeMap::new();
        for (&name, app) in &self.model.applications {
            let found = self.scene.raw.get(&self.path("applications", name)).await?.body;
            for reference in found["status"]["references"].as_array().context("references")? {
                let asked = reference["asked"].as_str().context("a reference")?;
                // Without versions, an edit of the application takes the newest.
                if app.is_pinned(asked) && !reference["version"].is_null() {
                    pins.insert((name.to_owned(), asked.to_owned()), reference["version"].clone());
                }
            }
        }
        for (key, version) in &pins {
            let before = self.pins.get(key).unwrap_or(version);
            ensure!(
                before == version,
                "{key:?} was pinned to {before}, and moved to {version}"
            );
        }
        self.pins = pins;
        Ok(())
    }
}

impl<'a> Player<'a> for Publisher<'a> {
    type Edit = Edit;

    async fn new(world: &World, faults: &'a Faults) -> Result<Self> {
        let player = Self {
            scene: Scene::set(world, faults).await?,
            model: Model::default(),
            pins: BTreeMap::new(),
        };
        let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "foreign"}});
        let path = player.path("configmaps", "foreign");
        player.scene.accepted(&path, &foreign).await?;
        Ok(player)
    }

    fn scene(&mut self) -> &mut Scene<'a> {
        &mut self.scene
    }

    async fn play(&mut self, edit: &Edit) -> Result<()> {
        let before = self.model.clone();
        if !edit.change(&mut self.model) {
            // What made it possible was left out.
            return Ok(());
        }
        match *edit {
            Edit::Rest => return self.rest().await,
            Edit::Restart => self.scene.restart().await,
            Edit::Fault(call, fault) => self.scene.faults.arm(call, fault),
            Edit::Slip(name, slip) => {
                let good = self.model.applications[name].object(name);
                let path = self.path("applications", name);
                self.recovers(&path, &slip.make(good.clone()), &good).await?;
            }
            Edit::Tamper(name) => {
                let good = self.model.definitions[name]
                    .last()
                    .context("a version")?
                    .object(name);
                let mut other = good.clone();
                other["spec"]["schematic"]["cue"]["template"] =
                    json!("output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\nparameter: {}\n");
                let path = self.path(&plural(&good), name);
                self.recovers(&path, &other, &good).await?;
            }
            Edit::Break(name) => {
                self.rest().await?;
                let running = self.snapshot(&["configmaps"]).await?;
                let [.., broken, mended] = self.model.definitions[name].as_slice() else {
                    anyhow::bail!("two versions");
                };
                let (broken, mended) = (broken.object(name), mended.object(name));
                self.publish(&broken).await?;
                self.scene.settled().await?;
                ensure_same(
                    "while a version is broken, what runs stays",
                    &running,
                    &self.snapshot(&["configmaps"]).await?,
                )?;
                self.publish(&mended).await?;
            }
            _ => self.carry_out(&before).await?,
        }
        Ok(())
    }

    async fn rest(&mut self) -> Result<()> {
        self.scene.settled().await?;
        let mut expected: Vec<String> = vec!["foreign".to_owned()];
        for (&name, app) in &self.model.applications {
            expected.extend(app.config_maps(name));
        }
        expected.sort();
        let found = self.snapshot(&["configmaps"]).await?;
        let found: Vec<&str> = found.keys().filter_map(|key| key.split(' ').nth(1)).collect();
        ensure!(found == expected, "there are {found:?}, and not {expected:?}");
        self.stays_pinned().await
    }

    async fn made(&self) -> Result<Snapshot> {
        self.snapshot(&["configmaps"]).await
    }

    async fn running(&self) -> Result<Snapshot> {
        let mut all = without_times(self.snapshot(&["configmaps", "applications"]).await?);
        all.values_mut().for_each(without_news);
        Ok(all)
    }

    async fn created_at_once(&self, world: &World, faults: &'a Faults) -> Result<Self> {
        let mut fresh = Self::new(world, faults).await?;
        fresh.model.definitions = self.model.definitions.clone();
        fresh.carry_out(&Model::default()).await?;
        fresh.scene.settled().await?;
        for (&name, app) in &self.model.applications {
            let found = self.scene.raw.get(&self.path("applications", name)).await?.body;
            let object = app.object_with(name, &|asked| {
                let exact = app.is_pinned(asked).then(|| exact(asked, &found)).flatten();
                exact.unwrap_or_else(|| asked.to_owned())
            });
            fresh
                .scene
                .accepted(&fresh.path("applications", name), &object)
                .await?;
        }
        fresh.model = self.model.clone();
        fresh.rest().await?;
        Ok(fresh)
    }

    async fn end(&self) -> Result<Snapshot> {
        let resources = [
            "configmaps",
            "applications",
            "componentdefinitions",
            "traitdefinitions",
            "definitionrevisions",
        ];
        let mut all = without_times(self.snapshot(&resources).await?);
        // Revisions of a definition that was deleted stay for as long as old revisions of applications use them.
        all.retain(|name, object| {
            let definition = ["componentdefinition.oam.dev/name", "trait.oam.dev/name"]
                .iter()
                .find_map(|label| object["metadata"]["labels"][label].as_str());
            !name.starts_with("definitionrevisions ")
                || definition.is_some_and(|definition| self.model.definitions.contains_key(definition))
        });
        for (name, object) in &mut all {
            // Another object, in another place; digests of what was applied contain both.
            without(object, &["uid", "app.oam.dev/application-uid", "applied"]);
            replace(object, &self.scene.namespace, "NAMESPACE");
            match name.split(' ').next() {
                Some("configmaps") => {
                    // How many revisions there were before the current one.
                    without(object, &["app.oam.dev/appRevision"]);
                    // A label with the text of the reference: a pinned one and the exact one that stands for it differ in it.
                    for label in ["workload.oam.dev/type", "trait.oam.dev/type"] {
                        if let Some(text) = object["metadata"]["labels"].get_mut(label) {
                            *text = json!(text.as_str().and_then(|text| text.split("-v").next()));
                        }
                    }
                }
                Some("applications") => {
                    // The numbers of its revisions.
                    without(object, &["latestRevision", "highWaterMark"]);
                    without_news(object);
                    // The texts of references: an exact one stands for each that is pinned.
                    object["spec"].take();
                    let status = &mut object["status"];
                    list(status, "references").for_each(|reference| drop(reference["asked"].take()));
                    for part in list(status, "services").flat_map(|service| list(service, "traits")) {
                        let text = part["type"].as_str().unwrap_or_default();
                        part["type"] = json!(text.split('@').next());
                    }
                }
                // Old revisions of applications use them too. If a definition is created again before its revisions have gone, numbers go on,
                // and a deletion that was asked for cannot be taken back: the revision is published anew when nobody uses it any more.
                Some("definitionrevisions") => without(
                    object,
                    &[
                        "inUseBy",
                        "revision",
                        "deletionTimestamp",
                        "deletionGracePeriodSeconds",
                    ],
                ),
                _ => without(object, &["highWaterMark", "revision"]),
            }
        }
        Ok(all)
    }

    async fn leaves_nothing(mut self) -> Result<()> {
        let before = std::mem::take(&mut self.model);
        let applications = Model {
            definitions: before.definitions.clone(),
            ..Model::default()
        };
        self.model = applications.clone();
        self.carry_out(&before).await?;
        self.scene.settled().await?;
        self.model = Model::default();
        self.carry_out(&applications).await?;
        self.scene.settled().await?;
        let resources = [
            "configmaps",
            "applications",
            "applicationrevisions",
            "componentdefinitions",
            "traitdefinitions",
            "definitionrevisions",
        ];
        let left: Vec<String> = self.snapshot(&resources).await?.into_keys().collect();
        ensure!(left == ["configmaps foreign"], "left behind: {left:?}");
        Ok(())
    }
}

fn plural(object: &Value) -> String {
    format!("{}s", object["kind"].as_str().unwrap_or_default().to_lowercase())
}

/// The exact reference that stands for one that is pinned: when it came is history.
fn exact(asked: &str, application: &Value) -> Option<String> {
    let references = application["status"]["references"].as_array()?;
    let known = references.iter().find(|known| known["asked"] == asked)?;
    let at = match known["version"].as_str() {
        Some(version) => version,
        None => known["revision"]
            .as_str()?
            .strip_prefix(asked)?
            .strip_prefix('-')?,
    };
    Some(format!("{asked}@{at}"))
}

/// Leaves out what a reference could move to and why it is where it is, which is told along with whatever changes next, and that what was
/// held back once is held back no longer.
fn without_news(application: &mut Value) {
    let status = &mut application["status"];
    for reference in list(status, "references") {
        without(reference, &["message", "newer"]);
    }
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        conditions.retain(|known| known["type"] != "Upgraded" || known["status"] != "True");
    }
}

fn list<'v>(value: &'v mut Value, field: &str) -> impl Iterator<Item = &'v mut Value> {
    value
        .get_mut(field)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

async fn holds(edits: &[Edit]) -> Result<()> {
    let (world, lines) = (world().await?, lines());
    laws_hold::<Publisher<'_>>(&world, &lines, edits).await
}

#[tokio::test(start_paused = true)]
async fn whatever_the_path_the_end_is_a_fresh_creation() -> Result<()> {
    campaign(12, async |seed| run_and_shrink(sequence(seed), holds).await).await
}

/// What an application took while something was wrong in it is forgotten when it says again what was recorded.
#[tokio::test(start_paused = true)]
async fn going_back_is_going_back_to_the_definitions_that_were_in_use() -> Result<()> {
    let old = Reference::bare("old");
    holds(&[
        Edit::Rewrite("old"),
        Edit::Create("shop", "one", old),
        Edit::Rest,
        Edit::Rewrite("old"),
        Edit::Slip("shop", Slip::WrongProperty),
    ])
    .await
}
