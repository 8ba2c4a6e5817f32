//! What a place holds, for comparing what edits made of it with what a fresh creation makes.

#![allow(dead_code, reason = "each test uses some of it")]

use crate::scene::Scene;
use anyhow::{Context as _, Result, ensure};
use cambium_objects::merge_patch;
use cambium_testing::Raw;
use serde_json::Value;
use std::collections::BTreeMap;

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

    /// Lets time pass: what is wrong may be tried again and again.
    pub(crate) async fn a_while(&mut self) {
        for _ in 0..40 {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
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
