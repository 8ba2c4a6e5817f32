//! Parses a Composition, and collects all of its validation errors.

mod checks;
mod node;
mod patch;
mod transform;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::function;
use crate::number;
use crate::patch::Patch;
use crate::problem::Problems;
use crate::template::{Composition, Template};
use node::Node;
use patch::Written;

/// Which of the two forms of patch-and-transform is read: they differ in what they know and what they demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `mode: Resources` of a Composition.
    Core,
    /// The input of the patch-and-transform function.
    Function,
}

/// The input of the patch-and-transform function.
#[derive(Debug, Clone)]
pub(crate) struct FunctionInput {
    pub(crate) templates: Vec<Template>,
    pub(crate) environment: Vec<Patch>,
    pub(crate) secret: Option<SecretReference>,
}

/// Where the function writes connection details.
#[derive(Debug, Clone)]
pub(crate) struct SecretReference {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) patches: Vec<Patch>,
}

pub(crate) fn composition(spec: &Value) -> Result<Composition, Problems> {
    let mut problems = Problems::default();
    let composition = resources_mode(&Node::root(spec, "spec"), &mut problems);
    problems.or(composition)
}

pub(crate) fn validate(spec: &Value) -> Problems {
    let mut problems = Problems::default();
    let spec = Node::root(spec, "spec");
    let mode = spec.child("mode");
    // Crossplane 1.x takes one where nothing is said, 2.x the other: what is there tells which was meant.
    let meant = match (spec.child("pipeline").value(), spec.child("resources").value()) {
        (Some(_), None) => "Pipeline",
        _ => "Resources",
    };
    match mode.text(&mut problems).unwrap_or(meant) {
        "Resources" => {
            resources_mode(&spec, &mut problems);
        }
        "Pipeline" => pipeline_mode(&spec, &mut problems),
        other => mode.unknown(
            other,
            "unknown composition mode",
            &["Resources", "Pipeline"],
            &mut problems,
        ),
    }
    problems
}

fn resources_mode(spec: &Node<'_>, problems: &mut Problems) -> Composition {
    let resources = spec.child("resources");
    if resources.has_no_items() {
        resources.required(
            "an array of resources is required in Resources mode (the default if no mode is specified)",
            "add a resource, or set mode: Pipeline",
            problems,
        );
    }
    let namespace = spec.child("writeConnectionSecretsToNamespace");
    Composition {
        templates: templates(spec, Dialect::Core, problems),
        write_connection_secrets_to_namespace: namespace.text(problems).map(str::to_owned),
    }
}

fn pipeline_mode(spec: &Node<'_>, problems: &mut Problems) {
    let pipeline = spec.child("pipeline");
    let steps = pipeline.items(problems);
    if pipeline.has_no_items() {
        pipeline.required(
            "an array of pipeline steps is required in Pipeline mode",
            "add a step that names a function",
            problems,
        );
    }
    let mut seen = BTreeSet::new();
    for step in &steps {
        let name = step.child("step");
        match name.text(problems) {
            None | Some("") => name.required("a step needs a name", "name it after what it does", problems),
            Some(text) if !seen.insert(text) => {
                problems.duplicate(name.field(), text, "give each step its own name");
            }
            Some(_) => {}
        }
        let function = step.child("functionRef").child("name");
        if function.text(problems).is_none_or(str::is_empty) {
            function.required("a step calls a function", "name a Function", problems);
        }
        let schemas = step.child("requirements").child("requiredSchemas");
        if !schemas.items(problems).is_empty() {
            problems.invalid(
                schemas.field(),
                "[…]",
                "schemas of kinds are not given to functions",
                "leave it out",
            );
        }
        credentials(step, problems);
        let input = step.child("input");
        if let Some(value) = input
            .value()
            .filter(|input| function::is_patch_and_transform_input(input))
        {
            read_function_input(&Node::root(value, input.field()), problems);
        }
    }
}

fn credentials(step: &Node<'_>, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for credential in step.child("credentials").items(problems) {
        let name = credential.child("name");
        if let Some(text) = name.text(problems)
            && !seen.insert(text)
        {
            problems.duplicate(name.field(), text, "give each set of credentials its own name");
        }
        let secret = credential.child("secretRef");
        if credential.child("source").text(problems) == Some("Secret") && secret.value().is_none() {
            secret.required(
                "must be specified when source is Secret",
                "name the secret",
                problems,
            );
        }
    }
}

/// The input of the patch-and-transform function, with places counted from the input itself.
pub(crate) fn function_input(input: &Value) -> Result<FunctionInput, Problems> {
    let mut problems = Problems::default();
    let read = read_function_input(&Node::root(input, ""), &mut problems);
    problems.or(read)
}

fn read_function_input(input: &Node<'_>, problems: &mut Problems) -> FunctionInput {
    let resources = input.child("resources");
    let environment = input.child("environment").child("patches");
    let patches = environment.items(problems);
    if resources.has_no_items() && environment.has_no_items() {
        resources.required(
            "resources or environment patches are required",
            "add a resource or an environment patch",
            problems,
        );
    }
    let secret = input.child("writeConnectionSecretToRef");
    FunctionInput {
        templates: templates(input, Dialect::Function, problems),
        environment: patches
            .iter()
            .filter_map(|patch| patch::environment(patch, problems))
            .collect(),
        secret: secret.value().map(|_| SecretReference {
            name: secret.child("name").text(problems).unwrap_or_default().to_owned(),
            namespace: secret
                .child("namespace")
                .text(problems)
                .unwrap_or_default()
                .to_owned(),
            patches: secret
                .child("patches")
                .items(problems)
                .iter()
                .filter_map(|patch| patch::secret(patch, problems))
                .collect(),
        }),
    }
}

fn templates(parent: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Vec<Template> {
    let mut sets = BTreeMap::new();
    for set in parent.child("patchSets").items(problems) {
        let name = set.child("name");
        let patches: Vec<Patch> = set
            .child("patches")
            .items(problems)
            .iter()
            .filter_map(|patch| patch::in_set(patch, dialect, problems))
            .collect();
        match name.text(problems) {
            None | Some("") => {
                name.required(
                    "name is required",
                    "name the patch set, and use it by that name",
                    problems,
                );
            }
            Some(text) => {
                sets.insert(text, patches);
            }
        }
    }
    let resources = parent.child("resources").items(problems);
    names(&resources, dialect, problems);
    let read = |(position, resource)| template(position, resource, &sets, dialect, problems);
    resources.iter().enumerate().map(read).collect()
}

/// Either all templates have names of their own, or none has.
fn names(resources: &[Node<'_>], dialect: Dialect, problems: &mut Problems) {
    const MIXED: &str =
        "cannot mix named and anonymous resources, all resources must have a name or none must have a name";
    let mut seen = BTreeSet::new();
    for (position, resource) in resources.iter().enumerate() {
        let name = resource.child("name");
        match name.text(problems).unwrap_or_default() {
            "" if dialect == Dialect::Function => {
                name.required(
                    "name is required",
                    "name the resource after what it is for",
                    problems,
                );
            }
            "" if !seen.is_empty() => name.required(MIXED, "name this resource, too", problems),
            "" => {}
            // In a pipeline, a template may patch what another one of its name made before it. One with a base of its own would replace that.
            text if seen.contains(text)
                && (dialect == Dialect::Core || resource.child("base").is_written()) =>
            {
                problems.duplicate(name.field(), text, "give each resource its own name");
            }
            _ if position > 0 && seen.is_empty() && dialect == Dialect::Core => {
                name.invalid(MIXED, "name the resources before this one, too", problems);
            }
            text => {
                seen.insert(text);
            }
        }
    }
}

fn template(
    position: usize,
    resource: &Node<'_>,
    sets: &BTreeMap<&str, Vec<Patch>>,
    dialect: Dialect,
    problems: &mut Problems,
) -> Template {
    let name = resource
        .child("name")
        .value()
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    let mut patches = Vec::new();
    for written in resource.child("patches").items(problems) {
        match patch::composed(&written, dialect, problems) {
            Some(Written::Patch(patch)) => patches.push(*patch),
            Some(Written::Set(name)) => match sets.get(name) {
                Some(set) => patches.extend(set.iter().cloned()),
                None => written.child("patchSetName").invalid(
                    "patchSetName must be the name of a declared patchSet",
                    node::choices(name, sets.keys().copied()),
                    problems,
                ),
            },
            None => {}
        }
    }
    Template {
        name: name.map(str::to_owned),
        label: name.map_or_else(|| format!("resource {}", position + 1), str::to_owned),
        base: base(resource, dialect, problems),
        patches,
        connection_details: checks::connection_details(resource, dialect, problems),
        readiness_checks: checks::readiness_checks(resource, dialect, problems),
    }
}

fn base(resource: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<Value> {
    let base = resource.child("base");
    let Some(value) = base.value() else {
        if dialect == Dialect::Core {
            base.required(
                "a resource needs a base",
                "add the object that patches start from",
                problems,
            );
        }
        return None;
    };
    if !value.is_object() {
        base.invalid(
            "a base must be an object",
            "write an object with apiVersion and kind",
            problems,
        );
        return None;
    }
    for field in ["apiVersion", "kind"] {
        let field = base.child(field);
        if field.text(problems).is_none_or(str::is_empty) {
            field.required(
                "must not be empty",
                "say what kind of object the base is",
                problems,
            );
        }
    }
    let metadata = base.child("metadata");
    if metadata.value().is_some_and(|metadata| !metadata.is_object()) {
        metadata.invalid(
            "metadata must be an object",
            "write labels and annotations below it",
            problems,
        );
    }
    let mut value = value.clone();
    number::settle(&mut value);
    Some(value)
}
