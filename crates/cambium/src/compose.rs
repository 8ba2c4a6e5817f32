//! `cambium compose`: what a composition makes of a composite resource, without a cluster.

use anyhow::Result;
use cambium_api::crossplane::{CompositeResourceDefinition, Mode, Scope};
use cambium_compose::{ObservedResource, observe};
use cambium_composites::Content;
use cambium_composites::composite::wanted;
use cambium_composites::definition::read;
use cambium_cue::Diagnostics;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::Compose;
use crate::exit::{WrongInput, WrongUse};
use crate::{output, render};

/// Composes, or shows everything that stands in the way.
pub(crate) fn run(options: &Compose) -> Result<()> {
    let mut composite = only(&options.file, None)?;
    let composition = only(&options.composition, Some("Composition"))?;
    if let Some(file) = &options.definition {
        check(only(file, Some("CompositeResourceDefinition"))?, &composite)?;
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
    if content.mode() != Some(Mode::Resources) {
        return Err(WrongUse("only `mode: Resources` can be composed without a cluster".to_owned()).into());
    }
    let templates = match content.templates() {
        Ok(templates) => templates,
        Err(problems) => return Err(shown(&[problems.to_owned()]).into()),
    };
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
    let made = wanted(templates, &composite, &known);
    let failures: Vec<String> = made
        .iter()
        .filter_map(|wanted| wanted.outcome.clone().err())
        .collect();
    let there: BTreeMap<String, ObservedResource> = known
        .into_iter()
        .map(|(name, object)| {
            (
                name,
                ObservedResource {
                    object,
                    ..Default::default()
                },
            )
        })
        .collect();
    let seen = observe(templates, &composite, &there);
    let mut documents = vec![seen.composite];
    documents.extend(made.into_iter().filter_map(|wanted| wanted.outcome.ok()));
    render::print(documents.iter(), options.output)?;
    match failures.is_empty() {
        true => Ok(()),
        false => Err(shown(&failures).into()),
    }
}

/// Whether a definition is right, and defines the composite resource.
fn check(definition: Value, composite: &Value) -> Result<()> {
    let version = definition["apiVersion"].as_str().unwrap_or_default();
    let version = version.rsplit('/').next().unwrap_or_default().to_owned();
    let mut typed: CompositeResourceDefinition = serde_json::from_value(definition)?;
    if typed.spec.scope.is_none() {
        typed.spec.scope = Some(Scope::default_at(&version));
    }
    let definition = read(&typed).map_err(|problems| shown(&[problems.to_string()]))?;
    let defined = definition.composite_type();
    if composite["kind"] == defined.kind.as_str() && composite["apiVersion"] == defined.api_version.as_str() {
        return Ok(());
    }
    Err(WrongUse(format!(
        "{} defines {} of {}, and the composite resource is a {} of {}",
        definition.name(),
        defined.kind,
        defined.api_version,
        text(&composite["kind"]),
        text(&composite["apiVersion"]),
    ))
    .into())
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
