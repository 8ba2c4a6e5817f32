//! Compositions, composite resources and claims after any sequence of edits: whatever the path, the end is what a fresh creation gives, and
//! going back after something wrong recovers.

use crate::composition_edits::{Edit, Follow, Model, Place, is_claim};
use crate::edits::{
    Player, Snapshot, Words as _, laws_hold, lines, replace, sequence, snapshot, without, without_times,
};
use crate::scene::{Scene, World, world};
use anyhow::{Context as _, Result, ensure};
use cambium_testing::{Faults, campaign, run_and_shrink};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const GROUP: &str = "/apis/apiextensions.crossplane.io/v1";

/// One who edits, and what they have seen.
struct Composer<'a> {
    scene: Scene<'a>,
    model: Model,
    /// What each that stays was at when nothing was left to do: identity and revision.
    stays: BTreeMap<&'static str, (Value, Value)>,
}

impl Composer<'_> {
    fn place(&self) -> Place<'_> {
        Place(&self.scene.namespace)
    }

    fn definition(&self) -> Value {
        let group = self.place().group();
        let properties = json!({"spec": {"type": "object", "properties": {"text": {"type": "string"}}}});
        json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": format!("xthings.{group}")},
            "spec": {
                "group": group, "names": {"kind": "XThing", "plural": "xthings"},
                "claimNames": {"kind": "Thing", "plural": "things"},
                "versions": [{"name": "v1", "served": true, "referenceable": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}],
            },
        })
    }

    fn definition_path(&self) -> String {
        format!(
            "{GROUP}/compositeresourcedefinitions/xthings.{}",
            self.place().group()
        )
    }

    fn composition_path(&self, name: &str) -> String {
        format!("{GROUP}/compositions/{}", self.place().composition(name))
    }

    fn list(&self, resource: &str) -> String {
        let (group, namespace) = (self.place().group(), &self.scene.namespace);
        match resource {
            "configmaps" => format!("/api/v1/namespaces/{namespace}/configmaps"),
            "things" => format!("/apis/{group}/v1/namespaces/{namespace}/things"),
            "xthings" => format!("/apis/{group}/v1/xthings"),
            _ => format!("{GROUP}/{resource}"),
        }
    }

    fn path(&self, thing: &str) -> String {
        let resource = if is_claim(thing) { "things" } else { "xthings" };
        format!("{}/{thing}", self.list(resource))
    }

    /// Objects of this place.
    async fn snapshot(&self, resources: &[&str]) -> Result<Snapshot> {
        let lists: Vec<String> = resources.iter().map(|resource| self.list(resource)).collect();
        let mut all = snapshot(&self.scene.raw, &lists).await?;
        // What is in no namespace has its name in its own.
        all.retain(|name, _| !name.starts_with("composit") || name.contains(&self.scene.namespace));
        Ok(all)
    }

    /// Writes what is another one now than before.
    async fn carry_out(&mut self, before: &Model) -> Result<()> {
        let model = self.model.clone();
        for (&name, lineage) in &model.compositions {
            let known = before.compositions.get(name);
            if known == Some(lineage) {
                continue;
            }
            let all = match known {
                Some(_) => lineage.as_slice().rchunks(1).next().unwrap_or_default(),
                None => lineage,
            };
            for document in all {
                let object = document.object(self.place(), name);
                let path = self.composition_path(name);
                self.scene.publish(&path, &object).await?;
            }
        }
        for (&name, thing) in &model.things {
            if before.things.get(name) != Some(thing) {
                let object = thing.object(self.place(), name, None);
                match before.things.get(name) {
                    Some(known) => {
                        // Not by server-side apply: whoever drops a reference that the controller writes too is refused by Kubernetes, because
                        // an empty reference is left.
                        let known = known.object(self.place(), name, None);
                        let answer = self.scene.change(&self.path(name), &known, &object).await?;
                        ensure!(answer.code < 300, "{answer:?}");
                    }
                    None => {
                        let path = self.path(name);
                        self.scene.write(&path, &object).await?;
                    }
                }
            }
        }
        for &name in before.things.keys() {
            if !model.things.contains_key(name) {
                self.scene.remove(&self.path(name)).await?;
            }
        }
        for &name in before.compositions.keys() {
            if !model.compositions.contains_key(name) {
                // Whoever used it has left it.
                self.scene.settled().await?;
                self.scene.remove(&self.composition_path(name)).await?;
            }
        }
        Ok(())
    }

    /// Whoever does not follow stays where they were.
    async fn stay(&mut self) -> Result<()> {
        let mut stays = BTreeMap::new();
        for (&name, thing) in &self.model.things {
            if thing.follow == Follow::Manual {
                let found = self.composite(name).await?;
                let revision = &found["spec"]["compositionRevisionRef"]["name"];
                stays.insert(name, (found["metadata"]["uid"].clone(), revision.clone()));
            }
        }
        for (name, (uid, revision)) in &stays {
            let before = self.stays.get(name).filter(|before| before.0 == *uid);
            let before = before.map_or(revision, |before| &before.1);
            ensure!(
                before == revision,
                "{name} stayed at {before}, and moved to {revision}"
            );
        }
        self.stays = stays;
        Ok(())
    }

    /// A composite resource, or that of a claim.
    async fn composite(&self, name: &str) -> Result<Value> {
        let thing = self.scene.raw.get(&self.path(name)).await?.body;
        match thing["spec"]["resourceRef"]["name"].as_str() {
            Some(claimed) => Ok(self.scene.raw.get(&self.path_of_composite(claimed)).await?.body),
            None => Ok(thing),
        }
    }

    fn path_of_composite(&self, name: &str) -> String {
        format!("{}/{name}", self.list("xthings"))
    }

    /// What each revision says, by name: the same in every place.
    async fn contents(&self) -> Result<BTreeMap<String, String>> {
        let revisions = self.snapshot(&["compositionrevisions"]).await?;
        let content = |revision: &Value| {
            let spec = &revision["spec"];
            let mut content = json!([spec["compositeTypeRef"], spec["resources"]]);
            replace(&mut content, &self.scene.namespace, "NAMESPACE");
            let owner = &revision["metadata"]["labels"]["crossplane.io/composition-name"];
            let owner = owner.as_str().unwrap_or_default();
            format!(
                "{} with {content}",
                owner.replace(&self.scene.namespace, "NAMESPACE")
            )
        };
        let contents = revisions.values().map(|revision| {
            let name = revision["metadata"]["name"].as_str().unwrap_or_default();
            (name.to_owned(), content(revision))
        });
        Ok(contents.collect())
    }
}

impl<'a> Player<'a> for Composer<'a> {
    type Edit = Edit;

    async fn new(world: &World, faults: &'a Faults) -> Result<Self> {
        let mut player = Self {
            scene: Scene::set(world, faults).await?,
            model: Model::default(),
            stays: BTreeMap::new(),
        };
        let (path, definition) = (player.definition_path(), player.definition());
        player.scene.accepted(&path, &definition).await?;
        player.scene.settled().await?;
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
                let good = self.model.things[name].object(self.place(), name, None);
                self.recovers(&self.path(name), &slip.make(good.clone()), &good)
                    .await?;
            }
            Edit::Break(name, how) => {
                let document = self.model.compositions[name].last().context("a document")?;
                let good = document.object(self.place(), name);
                self.recovers(&self.composition_path(name), &how.make(good.clone()), &good)
                    .await?;
            }
            _ => self.carry_out(&before).await?,
        }
        Ok(())
    }

    async fn rest(&mut self) -> Result<()> {
        self.scene.settled().await?;
        let revisions = self.snapshot(&["compositionrevisions"]).await?;
        let (config_maps, composites) = (
            self.snapshot(&["configmaps"]).await?,
            self.snapshot(&["xthings"]).await?,
        );
        ensure!(
            composites.len() == self.model.things.len(),
            "composite resources: {:?}",
            composites.keys()
        );
        let mut composed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for object in config_maps.values() {
            let (composite, resource) = composed_as(object).context("a ConfigMap of a composite resource")?;
            composed.entry(composite).or_default().insert(resource);
        }
        for object in composites.values() {
            let name = object["metadata"]["name"].as_str().context("a name")?;
            let used = object["spec"]["compositionRevisionRef"]["name"]
                .as_str()
                .unwrap_or_default();
            let revision = revisions.get(&format!("compositionrevisions {used}"));
            let revision = revision.with_context(|| format!("{name} uses {used:?}, which is not there"))?;
            let resources = revision["spec"]["resources"].as_array().context("resources")?;
            let wanted: BTreeSet<&str> = resources.iter().filter_map(|one| one["name"].as_str()).collect();
            let found = composed.remove(name).unwrap_or_default();
            ensure!(
                found == wanted,
                "{name} is composed of {found:?}, and not of {wanted:?}"
            );
        }
        ensure!(composed.is_empty(), "left behind: {composed:?}");
        self.stay().await
    }

    async fn made(&self) -> Result<Snapshot> {
        self.snapshot(&["configmaps"]).await
    }

    async fn running(&self) -> Result<Snapshot> {
        Ok(without_times(
            self.snapshot(&["configmaps", "xthings", "things"]).await?,
        ))
    }

    async fn created_at_once(&self, world: &World, faults: &'a Faults) -> Result<Self> {
        let mut fresh = Self::new(world, faults).await?;
        fresh.model.compositions = self.model.compositions.clone();
        fresh.carry_out(&Model::default()).await?;
        fresh.scene.settled().await?;
        let (here, there) = (self.contents().await?, fresh.contents().await?);
        for (&name, thing) in &self.model.things {
            // Where one that stays has stayed is history.
            let found = self.composite(name).await?;
            let used = found["spec"]["compositionRevisionRef"]["name"].as_str();
            let content = used
                .and_then(|used| here.get(used))
                .context("a revision in use")?;
            let same = there.iter().find(|(_, other)| *other == content);
            let stays = thing.follow == Follow::Manual;
            let revision = same.filter(|_| stays).map(|(name, _)| name.as_str());
            let object = thing.object(fresh.place(), name, revision);
            fresh.scene.accepted(&fresh.path(name), &object).await?;
        }
        fresh.model = self.model.clone();
        fresh.rest().await?;
        Ok(fresh)
    }

    async fn end(&self) -> Result<Snapshot> {
        let resources = [
            "configmaps",
            "xthings",
            "things",
            "compositions",
            "compositeresourcedefinitions",
        ];
        let all = without_times(self.snapshot(&resources).await?);
        // Names that are made up are called after what they stand for.
        let mut called: Vec<(String, String)> = self.contents().await?.into_iter().collect();
        for object in all.values() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if let Some((composite, resource)) = composed_as(object) {
                called.push((name, format!("{resource} of {composite}")));
            } else if let Some(claim) = object["spec"]["claimRef"]["name"].as_str() {
                called.push((name, format!("what {claim} claims")));
            }
        }
        called.push((self.scene.namespace.clone(), "NAMESPACE".to_owned()));
        // What contains the name of another comes first.
        called.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut things = self.model.things.iter();
        let claims_stay = things.any(|(name, thing)| is_claim(name) && thing.follow == Follow::Manual);
        let rename = |(name, mut object): (String, Value)| {
            let mut name = json!(name);
            for (from, to) in &called {
                replace(&mut object, from, to);
                replace(&mut name, from, to);
            }
            // Other objects in another place; digests and hashes contain their names.
            without(
                &mut object,
                &[
                    "uid",
                    "composition.cambium.dev/applied",
                    "crossplane.io/composition-spec-hash",
                    "revisionHash",
                    // How many revisions there were before the current one.
                    "revision",
                    "highWaterMark",
                    "revisions",
                ],
            );
            // A claim that stays says where only if somebody wrote it there, as whoever creates it anew must, and is counted then.
            if claims_stay {
                without(&mut object, &["consumers"]);
            }
            let spec = &mut object["spec"];
            if spec["compositionUpdatePolicy"] == "Manual" && !spec["resourceRef"].is_null() {
                spec["compositionRevisionRef"].take();
            }
            for condition in object["status"]["conditions"]
                .as_array_mut()
                .into_iter()
                .flatten()
            {
                let message = condition["message"].as_str().unwrap_or_default();
                if message.ends_with("has the current spec") {
                    condition["message"].take();
                }
            }
            (name.as_str().unwrap_or_default().to_owned(), object)
        };
        Ok(all.into_iter().map(rename).collect())
    }

    async fn leaves_nothing(mut self) -> Result<()> {
        let before = std::mem::take(&mut self.model);
        self.carry_out(&before).await?;
        self.scene.settled().await?;
        self.scene.remove(&self.definition_path()).await?;
        self.scene.settled().await?;
        let resources = [
            "configmaps",
            "compositions",
            "compositionrevisions",
            "compositeresourcedefinitions",
        ];
        let left: Vec<String> = self.snapshot(&resources).await?.into_keys().collect();
        ensure!(left.is_empty(), "left behind: {left:?}");
        let code = self.scene.raw.get(&self.list("xthings")).await?.code;
        ensure!(code == 404, "the kind is gone");
        Ok(())
    }
}

/// The composite resource that an object belongs to, and what it is called there.
fn composed_as(object: &Value) -> Option<(&str, &str)> {
    let metadata = &object["metadata"];
    let composite = metadata["labels"]["crossplane.io/composite"].as_str()?;
    let resource = metadata["annotations"]["crossplane.io/composition-resource-name"].as_str()?;
    Some((composite, resource))
}

async fn holds(edits: &[Edit]) -> Result<()> {
    let (world, lines) = (world().await?, lines());
    laws_hold::<Composer<'_>>(&world, &lines, edits).await
}

#[tokio::test(start_paused = true)]
async fn whatever_the_path_the_end_is_a_fresh_creation() -> Result<()> {
    campaign(12, async |seed| run_and_shrink(sequence(seed), holds).await).await
}
