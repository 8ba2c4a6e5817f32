//! A scenario: a platform API of its own, and what is done with it, step by step.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::path::Path;

/// What is done on both sides, and how they may differ after it.
pub(crate) struct Scenario {
    /// Its name, which its group, its namespace and its compositions have too.
    pub(crate) name: String,
    /// What is done, in order.
    pub(crate) steps: Vec<Value>,
    /// Differences that are meant.
    pub(crate) differs: Vec<Differs>,
    definition: Value,
}

/// A difference that is meant.
pub(crate) struct Differs {
    /// After which step; after any if there is none.
    pub(crate) step: Option<usize>,
    /// Where: an object, and a path in it; what begins so is meant.
    pub(crate) at: String,
    /// Why.
    pub(crate) because: String,
    /// Whether it is seen only sometimes: Crossplane gets there by trying again, sooner or later.
    pub(crate) sometimes: bool,
}

/// Reads all scenarios in a directory. `$GROUP` and `$NAME` stand for what a scenario has for itself.
pub(crate) fn read_all(directory: &Path) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let name = name.context("a scenario has a name")?;
        let text = std::fs::read_to_string(&path)?;
        scenarios.push(read(name, &text).with_context(|| name.to_owned())?);
    }
    scenarios.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(scenarios)
}

fn read(name: &str, text: &str) -> Result<Scenario> {
    let text = text
        .replace("$GROUP", &format!("{name}.example.org"))
        .replace("$NAME", name);
    let value: Value = serde_saphyr::from_str(&text)?;
    let list = |field: &str| value[field].as_array().cloned().unwrap_or_default();
    let differs = list("differs").into_iter().map(|differs| {
        Ok(Differs {
            step: differs["step"].as_u64().map(usize::try_from).transpose()?,
            at: differs["at"].as_str().context("differs: at")?.to_owned(),
            because: differs["because"]
                .as_str()
                .context("differs: because")?
                .to_owned(),
            sometimes: differs["sometimes"] == true,
        })
    });
    Ok(Scenario {
        name: name.to_owned(),
        steps: list("steps"),
        differs: differs.collect::<Result<_>>()?,
        definition: value["definition"].clone(),
    })
}

impl Scenario {
    /// The group of its kinds.
    pub(crate) fn group(&self) -> String {
        format!("{}.example.org", self.name)
    }

    /// Whether there are claims.
    pub(crate) fn has_claims(&self) -> bool {
        !self.definition["claimNames"].is_null()
    }

    /// What defines its composite resources: a field of each type, and what the scenario adds.
    pub(crate) fn definition(&self) -> Value {
        let group = self.group();
        let mut definition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": format!("xthings.{group}")},
            "spec": {
                "group": group,
                "names": {"kind": "XThing", "plural": "xthings"},
                "versions": [{
                    "name": "v1", "served": true, "referenceable": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {
                            "region": {"type": "string"}, "copy": {"type": "string"},
                            "size": {"type": "integer"}, "ratio": {"type": "number"}, "enabled": {"type": "boolean"},
                            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                            "zones": {"type": "array", "items": {"type": "string"}},
                            "parts": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        }},
                        "status": {"type": "object", "properties": {
                            "address": {"type": "string"}, "count": {"type": "integer"},
                            "parts": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        }},
                    }}},
                }],
            },
        });
        for (field, value) in self.definition.as_object().into_iter().flatten() {
            definition["spec"][field] = value.clone();
        }
        definition
    }
}
