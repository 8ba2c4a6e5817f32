//! `cambium compose`: renders a composite resource with a Composition, without a cluster.

use anyhow::Result;
use cambium_api::crossplane::{CompositeResourceDefinition, Mode, Scope};
use cambium_compositions::Content;
use cambium_compositions::admission::check_composition;
use cambium_compositions::composite::{Wanted, wanted};
use cambium_compositions::definition::{composite_crd, read};
use cambium_compositions::pipeline::{self, Next};
use cambium_compositions::revision::LabelEdits;
use cambium_compositions_render::{ObservedResource, observe};
use cambium_cue::Diagnostics;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::Compose;
use crate::exit::{WrongInput, WrongUse};
use crate::validation::as_served;
use crate::{output, render};

/// Composes, or shows everything that stands in the way.
pub(crate) fn run(options: &Compose) -> Result<()> {
    let mut composite = only(&options.file, None)?;
    let composition = only(&options.composition, Some("Composition"))?;
    if let Some(file) = &options.definition {
        check(only(file, Some("CompositeResourceDefinition"))?, &mut composite)?;
    }
    let refused: Vec<String> = check_composition(None, &composition, None, LabelEdits::Follow)
        .iter()
        .map(ToString::to_string)
        .collect();
    if !refused.is_empty() {
        return Err(shown(&refused).into());
    }
    let fits = &composition["spec"]["compositeTypeRef"];
    if (&fits["apiVersion"], &fits["kind"]) != (&composite["apiVersion"], &composite["kind"]) {
        return Err(WrongUse(format!(
            "the Composition is for {} of {}, and the composite resource is a {} of {}",
            text(&fits["kind"]),
            text(&fits["apiVersion"]),
            text(&composite["kind"]),
            text(&composite["apiVersion"]),
        ))
        .into());
    }
    let content = Content::new(composition["spec"].clone());
    if composite["metadata"]["uid"].is_null() {
        composite["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    }
    let existing: Vec<Value> = match &options.observed {
        Some(file) => documents(file)?,
        None => Vec::new(),
    };
    let named = |object: &Value| {
        let annotations = &object["metadata"]["annotations"];
        annotations["crossplane.io/composition-resource-name"]
            .as_str()
            .map(str::to_owned)
    };
    let known: BTreeMap<String, Value> = existing
        .into_iter()
        .filter_map(|object| Some((named(&object)?, object)))
        .collect();
    let there: BTreeMap<String, ObservedResource> = known
        .into_iter()
        .map(|(name, object)| {
            let secret = Default::default();
            (name, ObservedResource { object, secret })
        })
        .collect();
    let (composite, made) = match content.mode() {
        Some(Mode::Resources) => with_templates(&content, &composite, &there)?,
        Some(Mode::Pipeline) => with_functions(&content, &composite, &there)?,
        None => {
            let mode = text(&composition["spec"]["mode"]);
            return Err(WrongUse(format!("{mode:?} is neither Resources nor Pipeline")).into());
        }
    };
    let failures: Vec<String> = made
        .iter()
        .filter_map(|wanted| wanted.outcome.clone().err())
        .collect();
    let mut documents = vec![composite];
    documents.extend(made.into_iter().filter_map(|wanted| wanted.outcome.ok()));
    render::print(documents.iter(), options.output)?;
    match failures.is_empty() {
        true => Ok(()),
        false => Err(shown(&failures).into()),
    }
}

/// Composes with templates: mode Resources.
fn with_templates(
    content: &Content,
    composite: &Value,
    there: &BTreeMap<String, ObservedResource>,
) -> Result<(Value, Vec<Wanted>)> {
    let templates = content
        .templates()
        .map_err(|problems| shown(&[problems.to_owned()]))?;
    let known = there
        .iter()
        .map(|(name, known)| (name.clone(), known.object.clone()))
        .collect();
    let made = wanted(templates, composite, &known);
    Ok((observe(templates, composite, there).composite, made))
}

/// Composes with functions: mode Pipeline, built-in functions only.
fn with_functions(
    content: &Content,
    composite: &Value,
    there: &BTreeMap<String, ObservedResource>,
) -> Result<(Value, Vec<Wanted>)> {
    let steps = content
        .steps()
        .map_err(|problems| shown(&[problems.to_owned()]))?;
    let observed = pipeline::observed(composite, Default::default(), there);
    let mut run = pipeline::Run::new(steps, observed, BTreeMap::new());
    let mut next = run.start();
    let done = loop {
        next = match next {
            Next::Call(step, request) => match step.built_in() {
                Some(function) => run.answered(function(&request)),
                None => run.failed(&format!(
                    "{} is not built in, and cannot be called without a cluster",
                    step.function
                )),
            },
            Next::Need(..) => run.failed("it requires other resources, and there is no cluster"),
            Next::Failed(failed) => return Err(shown(&[failed.message]).into()),
            Next::Done(done) => break done,
        };
    };
    for note in &done.notes {
        output::note(&note.text);
    }
    let mut composite = composite.clone();
    if let Some(status) = done.desired.composite.resource.get("status") {
        composite["status"] = status.clone();
    }
    let made = pipeline::wanted(&done.desired, &composite, there);
    Ok((composite, made))
}

/// Whether a definition is right, and the composite resource is one that it defines; fills in what it defaults.
fn check(definition: Value, composite: &mut Value) -> Result<()> {
    let version = definition["apiVersion"].as_str().unwrap_or_default();
    let version = version.rsplit('/').next().unwrap_or_default().to_owned();
    let mut typed: CompositeResourceDefinition = serde_json::from_value(definition)?;
    if typed.spec.scope.is_none() {
        typed.spec.scope = Some(Scope::default_at(&version));
    }
    let definition = read(&typed).map_err(|problems| shown(&[problems.to_string()]))?;
    let defined = definition.composite_type();
    if composite["kind"] != defined.kind.as_str() || composite["apiVersion"] != defined.api_version.as_str() {
        return Err(WrongUse(format!(
            "{} defines {} of {}, and the composite resource is a {} of {}",
            definition.name(),
            defined.kind,
            defined.api_version,
            text(&composite["kind"]),
            text(&composite["apiVersion"]),
        ))
        .into());
    }
    let wrong = as_served(&composite_crd(&definition), definition.referenceable(), composite);
    let problems: Vec<String> = wrong.into_iter().map(|one| one.message).collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(shown(&problems).into()),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("<none>")
}

/// Shows problems; how many there were.
fn shown(problems: &[String]) -> WrongInput {
    for problem in problems {
        output::note(problem);
    }
    WrongInput {
        count: problems.len(),
    }
}

/// The one object of a kind in a file.
fn only(file: &Path, kind: Option<&str>) -> Result<Value> {
    let mut found = documents(file)?;
    found.retain(|object| kind.is_none_or(|kind| object["kind"] == kind));
    match found.len() {
        1 => Ok(found.remove(0)),
        count => Err(WrongUse(format!(
            "{} has {count} {}s; give exactly one",
            file.display(),
            kind.unwrap_or("object")
        ))
        .into()),
    }
}

fn documents(file: &Path) -> Result<Vec<Value>> {
    let mut problems = Vec::new();
    let documents = render::documents(file, &mut problems)?;
    match problems.is_empty() {
        true => Ok(documents),
        false => Err(crate::caret::show(&Diagnostics(problems)).into()),
    }
}
