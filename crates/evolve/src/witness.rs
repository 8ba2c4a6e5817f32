//! Witnesses: objects that the old contract accepts, and the new one refuses or changes.

use cambium_pipeline::Pipeline;
use cambium_schema::{FieldError, Schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::compare::Wanted;
use crate::contract::ContractVersion;
use crate::path::Path;
use crate::sample;

/// An object that shows a break: both pipelines have been run on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Witness {
    /// The object, which the old contract accepts.
    pub object: Value,
    /// What the new contract makes of it.
    pub outcome: Outcome,
}

/// What a contract makes of a new object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It is refused, with these messages.
    Refused(Vec<String>),
    /// These fields are pruned.
    Pruned(Vec<String>),
    /// It is stored, and looks different from what was stored before.
    Different,
}

/// Looks for an object that shows the difference at the path.
pub(crate) fn find(
    (api_version, kind): &(String, String),
    old: &ContractVersion,
    new: &ContractVersion,
    path: &Path,
    wanted: &Wanted,
) -> Option<Witness> {
    let mut object = object_around(old.schema(), path, wanted)?;
    let fields = object.as_object_mut()?;
    fields.insert("apiVersion".to_owned(), api_version.as_str().into());
    fields.insert("kind".to_owned(), kind.as_str().into());
    fields.insert("metadata".to_owned(), json!({"name": "witness"}));
    let before = old.pipeline().create(object.clone()).ok()?;
    if !before.is_accepted() || !before.unknown_fields.is_empty() {
        return None;
    }
    let outcome = outcome(new.pipeline(), &object, &before.object)?;
    Some(Witness { object, outcome })
}

/// An object with what is around the path. A field that the old schema lacks can only be absent.
fn object_around(schema: &Schema, path: &Path, wanted: &Wanted) -> Option<Value> {
    match wanted {
        Wanted::Value(value) => return sample::object(schema, path.steps(), Some(value)),
        Wanted::Any => return sample::object(schema, path.steps(), None),
        Wanted::Absent => {}
    }
    let mut object = sample::object(schema, path.parent().steps(), None)?;
    remove(&mut object, path);
    Some(object)
}

fn remove(object: &mut Value, path: &Path) {
    use crate::path::Step;
    let Some((Step::Field(name), parents)) = path.steps().split_last() else {
        return;
    };
    let mut at = object;
    for step in parents {
        let inner = match step {
            Step::Field(name) => at.get_mut(name),
            Step::Items => at.get_mut(0),
            Step::Values => at.get_mut("key"),
        };
        match inner {
            Some(inner) => at = inner,
            None => return,
        }
    }
    if let Some(fields) = at.as_object_mut() {
        fields.remove(name);
    }
}

/// What the new contract makes of an object, if that is something else than before.
fn outcome(new: &Pipeline, object: &Value, before: &Value) -> Option<Outcome> {
    let written = match new.create(object.clone()) {
        Ok(written) => written,
        Err(error) => return Some(Outcome::Refused(vec![error.to_string()])),
    };
    if !written.errors.is_empty() {
        let texts = written.errors.iter().map(FieldError::to_string);
        return Some(Outcome::Refused(texts.collect()));
    }
    if !written.unknown_fields.is_empty() {
        return Some(Outcome::Pruned(written.unknown_fields));
    }
    (written.object != *before).then_some(Outcome::Different)
}
