//! Sequences of edits, the laws that hold after each, and what a place holds, for comparing what edits made of it with what a fresh creation makes.

use crate::scene::{Scene, World};
use anyhow::{Context as _, Result, ensure};
use cambium_objects::merge_patch;
use cambium_testing::{Dice, Fault, Faults, Filter, Raw};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

/// The words of a language of edits.
pub(crate) trait Words: Clone {
    /// What people wrote.
    type Model: Default;

    /// What every sequence begins with.
    fn first() -> Vec<Self>;

    /// Any edit, possible or not; with or without what goes wrong by itself.
    fn any(dice: &mut Dice, model: &Self::Model, faults: bool) -> Self;

    /// Nothing is edited until nothing is left to do.
    fn rest() -> Self;

    /// What it makes of what people wrote; whether it can be done, and changes anything there.
    fn change(&self, model: &mut Self::Model) -> bool;
}

/// The sequence that a number makes.
pub(crate) fn sequence<W: Words>(seed: u64) -> Vec<W> {
    let mut dice = Dice::new(seed);
    let (mut model, mut edits) = (W::Model::default(), W::first());
    let (length, haste, faults) = (8 + dice.below(16), 1 + dice.below(4), dice.once_in(2));
    for edit in &edits {
        edit.change(&mut model);
    }
    while edits.len() < length {
        let edit = W::any(&mut dice, &model, faults);
        if !edit.change(&mut model) {
            continue;
        }
        edits.push(edit);
        if dice.once_in(haste) {
            edits.push(W::rest());
        }
    }
    edits
}

/// One who edits in a place of their own.
pub(crate) trait Player<'a>: Sized {
    type Edit: Display;

    async fn new(world: &World, faults: &'a Faults) -> Result<Self>;

    fn scene(&mut self) -> &mut Scene<'a>;

    /// Carries out one edit.
    async fn play(&mut self, edit: &Self::Edit) -> Result<()>;

    /// Waits until nothing is left to do, and looks at what must hold then.
    async fn rest(&mut self) -> Result<()>;

    /// What was made for people, as it is.
    async fn made(&self) -> Result<Snapshot>;

    /// What was made for people, and what is said about it, whenever that was.
    async fn running(&self) -> Result<Snapshot>;

    /// The same objects in a place of their own, created in one go.
    async fn created_at_once(&self, world: &World, faults: &'a Faults) -> Result<Self>;

    /// What is compared with another place. Everything that depends on the path is left out there, and only there.
    async fn end(&self) -> Result<Snapshot>;

    /// Deletes everything, and looks at what is left.
    async fn leaves_nothing(self) -> Result<()>;

    /// Something wrong, and back. What runs stays as it is meanwhile, and afterwards everything is as it was before.
    async fn recovers(&mut self, path: &str, wrong: &Value, good: &Value) -> Result<()> {
        self.rest().await?;
        let (before, made) = (self.running().await?, self.made().await?);
        let _may_be_refused = self.scene().change(path, good, wrong).await?;
        self.scene().a_while().await;
        ensure_same(
            "while something is wrong, what runs stays",
            &made,
            &self.made().await?,
        )?;
        let answer = self.scene().change(path, wrong, good).await?;
        ensure!(answer.code < 300, "{answer:?}");
        self.rest().await?;
        ensure_same("going back recovers", &before, &self.running().await?)
    }
}

/// Two lines: one on which things may go wrong, and one on which nothing does.
pub(crate) fn lines() -> [Faults; 2] {
    [Faults::counting(&Filter::all().without("events")), Faults::new()]
}

/// Plays a sequence in a world of its own, and looks at the laws.
pub(crate) async fn laws_hold<'a, P: Player<'a>>(
    world: &World,
    [faults, quiet]: &'a [Faults; 2],
    edits: &[P::Edit],
) -> Result<()> {
    let mut player = P::new(world, faults).await?;
    for edit in edits {
        player.play(edit).await.with_context(|| format!("{edit}"))?;
    }
    // What has not gone wrong by now will not.
    faults.arm(usize::MAX / 2, Fault::Crash);
    player.rest().await?;
    player.scene().writes_nothing_again().await?;
    player.scene().process = None;
    let fresh = player.created_at_once(world, quiet).await;
    let fresh = fresh.context("created at once")?;
    let end = (fresh.end().await?, player.end().await?);
    ensure_same("whatever the path, the end is a fresh creation", &end.0, &end.1)?;
    drop(fresh);
    player.scene().restart().await;
    player.leaves_nothing().await
}

/// Objects by resource and name.
pub(crate) type Snapshot = BTreeMap<String, Value>;

/// What these lists show.
pub(crate) async fn snapshot(raw: &Raw, lists: &[String]) -> Result<Snapshot> {
    let mut snapshot = Snapshot::new();
    for list in lists {
        let answer = raw.get(list).await?;
        ensure!(answer.code == 200, "{list}: {answer:?}");
        let resource = list.split('?').next().and_then(|path| path.rsplit('/').next());
        for object in answer.body["items"].as_array().context("items")? {
            let name = object["metadata"]["name"].as_str().context("a name")?;
            if name != "kube-root-ca.crt" {
                snapshot.insert(format!("{} {name}", resource.unwrap_or_default()), object.clone());
            }
        }
    }
    Ok(snapshot)
}

/// Leaves out what tells when something happened, or how often something was written: the same objects, made at another time, have others.
pub(crate) fn without_times(mut snapshot: Snapshot) -> Snapshot {
    let times = [
        "creationTimestamp",
        "generation",
        "lastPublishedTime",
        "lastTransitionTime",
        "managedFields",
        "observedGeneration",
        "resourceVersion",
        "since",
    ];
    for object in snapshot.values_mut() {
        without(object, &times);
    }
    snapshot
}

/// Leaves out fields of these names, wherever they are.
pub(crate) fn without(value: &mut Value, fields: &[&str]) {
    match value {
        Value::Object(map) => {
            map.retain(|field, _| !fields.contains(&field.as_str()));
            map.values_mut().for_each(|value| without(value, fields));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| without(value, fields)),
        _ => {}
    }
}

/// Puts one text in the place of another, wherever that is, also in the names of fields.
pub(crate) fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, from, to)),
        Value::Object(map) => {
            let old = std::mem::take(map);
            map.extend(old.into_iter().map(|(field, mut value)| {
                replace(&mut value, from, to);
                (field.replace(from, to), value)
            }));
        }
        _ => {}
    }
}

/// Fails with every difference between what is expected and what was found.
pub(crate) fn ensure_same(law: &str, expected: &Snapshot, found: &Snapshot) -> Result<()> {
    let mut differences = Vec::new();
    let names: std::collections::BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for name in names {
        let get = |snapshot: &Snapshot| snapshot.get(name).cloned().unwrap_or(Value::Null);
        compare(name, &get(expected), &get(found), &mut differences);
    }
    ensure!(differences.is_empty(), "{law}:\n{}", differences.join("\n"));
    Ok(())
}

fn compare(place: &str, expected: &Value, found: &Value, differences: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(left), Value::Object(right)) => {
            let fields: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for field in fields {
                let place = format!("{place} .{field}");
                compare(&place, &expected[field], &found[field], differences);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{place}[{index}]"), left, right, differences);
            }
        }
        _ if expected == found => {}
        _ => differences.push(format!("  {place}: expected {expected}, found {found}")),
    }
}

impl Scene<'_> {
    /// Applies an object as its author does. What an earlier one said besides is taken away.
    pub(crate) async fn put(&self, path: &str, object: &Value) -> Result<cambium_testing::Answer> {
        let path = format!("{path}?fieldManager=test&force=true");
        self.raw.patch("apply", &path, object).await
    }

    /// Changes an object as `kubectl apply` does: what its author wrote before and does not write any more is taken away.
    pub(crate) async fn change(
        &self,
        path: &str,
        before: &Value,
        after: &Value,
    ) -> Result<cambium_testing::Answer> {
        let patch = merge_patch(before, after).unwrap_or_else(|| serde_json::json!({}));
        self.raw.patch("merge", path, &patch).await
    }

    pub(crate) async fn accepted(&self, path: &str, object: &Value) -> Result<Value> {
        let answer = self.put(path, object).await?;
        ensure!(answer.code < 300, "{object}: {answer:?}");
        Ok(answer.body)
    }

    pub(crate) async fn remove(&self, path: &str) -> Result<()> {
        let answer = self.raw.delete(path, &serde_json::json!({})).await?;
        ensure!(answer.code < 300 || answer.code == 404, "{path}: {answer:?}");
        Ok(())
    }

    /// Applies an object; one of that name that is going must have gone.
    pub(crate) async fn write(&mut self, path: &str, object: &Value) -> Result<Value> {
        let known = self.raw.get(path).await?.body;
        if !known["metadata"]["deletionTimestamp"].is_null() {
            self.settled().await?;
        }
        self.accepted(path, object).await
    }

    /// Applies what publishes, and waits until it was seen: what is replaced before is never published.
    pub(crate) async fn publish(&mut self, path: &str, object: &Value) -> Result<()> {
        let stored = self.write(path, object).await?;
        for _ in 0..600 {
            let found = self.raw.get(path).await?.body;
            if found["status"]["observedGeneration"] == stored["metadata"]["generation"] {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            if self.faults.has_crashed() {
                self.restart().await;
            }
        }
        anyhow::bail!("{path} was not looked at")
    }

    /// Lets time pass: what is wrong may be tried again and again.
    pub(crate) async fn a_while(&mut self) {
        for _ in 0..40 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if self.faults.has_crashed() {
                self.restart().await;
            }
        }
    }

    /// The law of every reconciler: *at rest, reconciling again changes nothing*. A new process looks at everything again, and writes nothing.
    pub(crate) async fn writes_nothing_again(&mut self) -> Result<()> {
        self.process = None;
        self.faults.recorder().clear();
        self.restart().await;
        self.settled().await?;
        let writes = self.faults.recorder().writes();
        ensure!(writes.is_empty(), "not at rest: a restart wrote {writes:?}");
        Ok(())
    }
}
