//! The steps of a pipeline, as a composition writes them.

use cambium_compositions_render::function::{self, Function, MatchLabels, ResourceSelector};
use cambium_compositions_render::{Problems, validate};
use serde_json::Value;
use std::collections::BTreeMap;

/// One step: a function, and what it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name. No two steps have the same.
    pub name: String,
    /// The function that is called.
    pub function: String,
    /// What the function is given, in a form of its own.
    pub input: Option<Value>,
    /// Secret values that the function is given.
    pub credentials: Vec<Credential>,
    /// Resources that the function is given without asking, by what it calls them.
    pub required: BTreeMap<String, ResourceSelector>,
}

/// Secret values for a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// What the function calls them.
    pub name: String,
    /// The namespace of the Secret that holds them.
    pub namespace: String,
    /// The name of that Secret.
    pub secret: String,
}

/// Functions that are built in and need no input, by the names that people give them.
const WITHOUT_INPUT: [&str; 2] = ["function-auto-ready", "crossplane-contrib-function-auto-ready"];

/// Functions that are built in, by the end of the names that people give them, and the inputs that they take.
const INPUTS: [(&str, &str); 2] = [
    (
        "function-patch-and-transform",
        "Resources of pt.fn.crossplane.io/v1beta1",
    ),
    (
        "function-auto-ready",
        "none, or one of autoready.fn.crossplane.io/v1beta1",
    ),
];

impl Step {
    /// The input that is wanted, if the function has the name of one that is built in, and its input is for another one.
    pub fn wanted_input(&self) -> Option<&'static str> {
        let known = INPUTS.iter().find(|(name, _)| self.function.ends_with(name));
        let (_, input) = known.filter(|_| self.built_in().is_none())?;
        Some(input)
    }

    /// The function itself, if it is built in: by the kind of its input, or by its name where it has none.
    pub fn built_in(&self) -> Option<Function> {
        match &self.input {
            Some(input) => function::for_input(input),
            None if WITHOUT_INPUT.contains(&self.function.as_str()) => Some(function::auto_ready),
            None => None,
        }
    }
}

/// Reads the steps of a composition in mode Pipeline; or everything that is wrong with it.
pub(crate) fn read(spec: &Value) -> Result<Vec<Step>, Problems> {
    let problems = validate(spec);
    if !problems.is_empty() {
        return Err(problems);
    }
    let steps = spec["pipeline"].as_array();
    Ok(steps.into_iter().flatten().map(step).collect())
}

fn step(step: &Value) -> Step {
    let credentials = step["credentials"].as_array().into_iter().flatten();
    let required = step["requirements"]["requiredResources"].as_array();
    Step {
        name: text(&step["step"]),
        function: text(&step["functionRef"]["name"]),
        input: step.get("input").filter(|input| !input.is_null()).cloned(),
        credentials: credentials
            .filter(|credential| credential["source"] == "Secret")
            .map(|credential| Credential {
                name: text(&credential["name"]),
                namespace: text(&credential["secretRef"]["namespace"]),
                secret: text(&credential["secretRef"]["name"]),
            })
            .collect(),
        required: required
            .into_iter()
            .flatten()
            .map(|required| (text(&required["requirementName"]), selector(required)))
            .collect(),
    }
}

fn selector(required: &Value) -> ResourceSelector {
    let some = |value: &Value| value.as_str().map(str::to_owned);
    let labels = required["matchLabels"].as_object().map(|labels| MatchLabels {
        labels: labels
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
    });
    ResourceSelector {
        api_version: text(&required["apiVersion"]),
        kind: text(&required["kind"]),
        match_name: some(&required["name"]),
        match_labels: labels,
        namespace: some(&required["namespace"]),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
