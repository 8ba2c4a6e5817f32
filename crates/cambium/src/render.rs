//! `cambium render`: renders an Application with a folder of definitions, without a cluster.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cambium_api::names::reason;
use cambium_api::v1beta1::DefinitionType;
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Data, Diagnostic, Diagnostics, Source, syntax};
use cambium_definitions::admission::{check_components, check_definition, warnings};
use cambium_definitions::application::{Observed, Step, draft};
use cambium_definitions::definition::{Called, Declared, Templates, Uses, declared};
use cambium_definitions::rehearsal::additions;
use cambium_definitions::{Answer, Artifact, Catalogue, Refused};
use cambium_definitions_render::{
    Application, ClusterVersion, Definition, DefinitionKind, Definitions, Environment, Failure, Reason,
    Template,
};
use cambium_lineage::Findings;
use cambium_schema::names::dns1123_subdomain;
use cambium_schema::{FieldError, FieldPath, validate_object};
use serde_json::Value;

use crate::cli::{Format, Render};
use crate::exit::UnreadableFile;
use crate::validation::{Positions, as_served};
use crate::{caret, cue, output};

/// Renders, or shows everything that stands in the way: what a cluster would refuse is refused.
pub(crate) fn run(options: &Render) -> Result<()> {
    let mut problems = Vec::new();
    let application = application(&options.file, &mut problems)?;
    let namespace = application
        .as_ref()
        .map(|application| &application["metadata"]["namespace"]);
    let namespace = namespace.and_then(Value::as_str).unwrap_or("default").to_owned();
    let catalogue = published(&options.definitions, &namespace, &mut problems)?;
    let cluster_version = cluster_version(&options.cluster_version, &mut problems);
    let Some(mut application) = application.filter(|_| problems.is_empty()) else {
        return Err(caret::show(&Diagnostics(problems)).into());
    };
    application["metadata"]["namespace"] = Value::String(namespace);
    let draft = draft(&Observed {
        application: &application,
        recorded: &[],
        catalogue: &catalogue,
        cluster_version: &cluster_version,
    });
    for warning in warnings(&application, &draft) {
        output::note(&format!("Warning: {warning}"));
    }
    match &draft.outcome {
        Ok(work) => return print(work.objects().iter(), options.output),
        Err((Step::Render, refused)) => {
            // The same failures again, with their places in the templates.
            let failures = failures(&application, &draft.answers, cluster_version);
            match failures.is_empty() {
                true => problems.extend(refused.iter().map(|one| problem(one.message.clone()))),
                false => problems.extend(failures.iter().flat_map(explain)),
            }
        }
        Err((Step::Resolve, _)) if !draft.answers.is_empty() => {
            problems.extend(draft.answers.iter().filter_map(unresolved));
            // What else is wrong is told at once.
            let failures = failures(&application, &draft.answers, cluster_version);
            let is_news = |failure: &&Failure| !matches!(failure.reason, Reason::NotFound { .. });
            problems.extend(failures.iter().filter(is_news).flat_map(explain));
        }
        Err((_, refused)) => problems.extend(refused.iter().map(|one| problem(one.message.clone()))),
    }
    Err(caret::show(&Diagnostics(problems)).into())
}

/// The problem of a reference that resolves to nothing.
fn unresolved(answer: &Answer) -> Option<Diagnostic> {
    let refused = answer.outcome.as_ref().err()?;
    let asked = &answer.asked;
    let message = match refused.reason == reason::DEFINITION_NOT_FOUND {
        true => format!(
            "no {} {:?} in the given definitions",
            asked.type_.kind(),
            asked.definition()
        ),
        false => refused.message.clone(),
    };
    Some(problem(format!("{}: {message}", asked.path)))
}

/// The rendering problems of an application whose references are resolved.
fn failures(application: &Value, answers: &[Answer], cluster_version: ClusterVersion) -> Vec<Failure> {
    let Ok(application) = Application::from_manifest(application) else {
        return Vec::new();
    };
    let mut definitions = Definitions::default();
    for answer in answers {
        let template = answer.rendered().and_then(|stored| stored.template().ok());
        if let Some(template) = template {
            definitions.insert(answer.asked.text.clone(), template);
        }
    }
    let environment = Environment {
        cluster_version,
        cluster: "local".to_owned(),
        ..Environment::default()
    };
    let rendered = cambium_definitions_render::render(&application, &definitions, &environment);
    rendered.err().map(|failures| failures.0).unwrap_or_default()
}

/// The definitions that the files and directories publish.
fn published(paths: &[PathBuf], namespace: &str, problems: &mut Vec<Diagnostic>) -> Result<Catalogue> {
    let mut catalogue = Catalogue::default();
    for file in files(paths)? {
        let source = cue::read(&file)?;
        let documents = documents_in(&source, problems);
        for (index, mut document) in documents.into_iter().enumerate() {
            if Artifact::of(&document).is_none() {
                continue;
            }
            problems.extend(not_served(&source, index, &mut document));
            if document["metadata"]["namespace"].is_null() && document["metadata"].is_object() {
                document["metadata"]["namespace"] = Value::String(namespace.to_owned());
            }
            let Some(artifact) = Artifact::of(&document) else {
                continue;
            };
            let declared = declared(&document);
            // In a cluster, a file with the same definition again publishes a further version, or a further revision.
            let shelf = catalogue.get(&artifact);
            let Findings { refused, warnings } = check_definition(None, &document, shelf, &Uses::default());
            for one in &refused {
                problems.extend(not_published(&artifact, &declared, one, &file));
            }
            for warning in warnings {
                let (kind, name) = (artifact.type_.kind(), &artifact.name);
                output::note(&format!("Warning: {kind} {name:?}: {warning}"));
            }
            let revisions = additions(
                &artifact,
                &document,
                shelf,
                Templates::Checked,
                jiff::Timestamp::UNIX_EPOCH,
            );
            if revisions.is_empty() && refused.is_empty() && shelf.is_none() && problems.is_empty() {
                let name = &artifact.name;
                problems.push(problem(format!(
                    "{}: {} {name:?} publishes nothing; a cluster would refuse it",
                    file.display(),
                    artifact.type_.kind()
                )));
            }
            catalogue.declare(&artifact, declared.scheme, 0);
            for stored in revisions {
                catalogue.put(stored);
            }
        }
    }
    Ok(catalogue)
}

/// Why a cluster would not publish a definition: a template's problems with their places in it, anything else with its file.
fn not_published(
    artifact: &Artifact,
    declared: &Declared,
    refused: &Refused,
    file: &Path,
) -> Vec<Diagnostic> {
    let (kind, name) = (artifact.type_.kind(), &artifact.name);
    let is_template = [reason::INVALID_TEMPLATE, reason::TEMPLATE_TOO_EXPENSIVE].contains(&refused.reason);
    for version in declared.versions.iter().filter(|_| is_template) {
        let called = match &version.called {
            Called::Version { written, .. } => format!("version {written:?}: "),
            _ => String::new(),
        };
        if !refused.message.starts_with(&called) {
            continue;
        }
        if let Some((what, diagnostics)) = wrong_template(artifact, &version.spec) {
            let placed = diagnostics.0.into_iter();
            let prefix = format!("{kind} {name:?}: {called}{what}");
            return placed.map(|diagnostic| told(diagnostic, &prefix)).collect();
        }
    }
    vec![problem(format!(
        "{}: {kind} {name:?}: {}",
        file.display(),
        refused.message
    ))]
}

/// What a cluster finds wrong with the template of a version, in the order it looks; what it says before it.
fn wrong_template(artifact: &Artifact, spec: &Value) -> Option<(&'static str, Diagnostics)> {
    if let DefinitionType::Policy | DefinitionType::WorkflowStep = artifact.type_ {
        let text = spec["schematic"]["cue"]["template"].as_str()?;
        let diagnostics = syntax::parse(&Source::new(artifact.name.as_str(), text)).err()?;
        return Some(("the template does not compile: ", diagnostics));
    }
    let manifest = serde_json::json!({
        "kind": artifact.type_.kind(), "metadata": {"name": artifact.name}, "spec": spec,
    });
    let template = match Template::compile(Definition::from_manifest(&manifest).ok()?) {
        Ok(template) => template,
        Err(diagnostics) => return Some(("the template does not compile: ", diagnostics)),
    };
    if let Some(diagnostics) = template.status_problems() {
        return Some(("the status blocks are wrong: ", diagnostics));
    }
    if let Some(diagnostics) = template.unusable() {
        return Some(("", diagnostics));
    }
    let diagnostics = template.too_expensive()?;
    Some(("the template is too expensive: ", diagnostics))
}

/// The files that are named, and the YAML files in the directories that are named, in the order of their names.
pub(crate) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let unreadable = |path: &Path| {
        let path = path.display().to_string();
        move |source| UnreadableFile { path, source }
    };
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(unreadable(path))? {
            let file = entry.map_err(unreadable(path))?.path();
            if file
                .extension()
                .is_some_and(|extension| extension == "yaml" || extension == "yml")
            {
                found.push(file);
            }
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

/// The documents of a YAML file.
pub(crate) fn documents(file: &Path, problems: &mut Vec<Diagnostic>) -> Result<Vec<Value>> {
    Ok(documents_in(&cue::read(file)?, problems))
}

fn documents_in(source: &Source, problems: &mut Vec<Diagnostic>) -> Vec<Value> {
    yaml(&source.text).unwrap_or_else(|error| {
        problems.push(problem(format!("{}: {error}", source.name)));
        Vec::new()
    })
}

/// The documents of a text, with numbers as kubectl reads them: `0644` is octal.
fn yaml(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_multiple_with_options(text, options)
}

/// The one Application in a file, as a cluster would store it.
fn application(file: &Path, problems: &mut Vec<Diagnostic>) -> Result<Option<Value>> {
    let source = cue::read(file)?;
    let documents = documents_in(&source, problems);
    let is_application = |(_, document): &(usize, Value)| document["kind"] == "Application";
    let mut applications: Vec<_> = documents.into_iter().enumerate().filter(is_application).collect();
    if applications.len() != 1 {
        if problems.is_empty() {
            let count = applications.len();
            problems.push(problem(format!(
                "{} has {count} Applications; give exactly one",
                file.display()
            )));
        }
        return Ok(None);
    }
    let (index, mut application) = applications.remove(0);
    problems.extend(not_served(&source, index, &mut application));
    Ok(Some(application))
}

/// What the schema of a kind refuses, and the admission of components, with the places in the text.
fn not_served(source: &Source, document: usize, object: &mut Value) -> Vec<Diagnostic> {
    let mut crds = cambium_api::crds::each();
    let Some(crd) = crds.find(|crd| object["kind"] == crd.spec.names.kind.as_str()) else {
        return Vec::new();
    };
    let version = object["apiVersion"].as_str().and_then(|one| one.split_once('/'));
    let version = version.map_or("v1beta1", |(_, version)| version).to_owned();
    let wrong = as_served(&crd, &version, object).into_iter();
    let mut refused: Vec<(String, String)> = wrong.map(|one| (one.path, one.message)).collect();
    let misnamed = misnamed(object).into_iter();
    refused.extend(misnamed.map(|error| (error.path.to_string(), error.to_string())));
    refused.extend(check_components(object).into_iter().map(|one| {
        let path = one.message.split(": ").next().unwrap_or_default().to_owned();
        (path, one.message)
    }));
    let positions = Positions::of(&source.text, document);
    let placed = |(path, message): (String, String)| positions.place(source, &path, problem(message));
    refused.into_iter().map(placed).collect()
}

/// The errors of an object's metadata, as an API server reports them.
fn misnamed(object: &Value) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let at = FieldPath::new("metadata");
    let mut errors = match (text("name"), text("generateName")) {
        ("", "") => vec![FieldError::required(
            at.child("name"),
            "name or generateName is required",
        )],
        ("", _) => Vec::new(),
        (name, _) => {
            let problems = dns1123_subdomain(name).into_iter();
            let invalid = |problem| FieldError::invalid(at.child("name"), &metadata["name"], problem);
            problems.map(invalid).collect()
        }
    };
    let Some(fields) = object.as_object() else {
        return errors;
    };
    // The rule for any object's name is weaker than that for these kinds.
    let others = validate_object(fields, &FieldPath::root()).into_iter();
    errors.extend(
        others.filter(|error| !["", "apiVersion", "kind", "metadata.name"].contains(&error.path.as_str())),
    );
    errors
}

/// `1.36` or `v1.36.4`.
fn cluster_version(text: &str, problems: &mut Vec<Diagnostic>) -> ClusterVersion {
    let plain = text.strip_prefix('v').unwrap_or(text);
    let mut parts = plain.split('.');
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (Some(major), Some(minor)) = (parts.next().filter(is_number), parts.next().filter(is_number)) else {
        problems.push(problem(format!(
            "--cluster-version {text:?} is not a version such as 1.36"
        )));
        return ClusterVersion::default();
    };
    let git_version = if plain.split('.').count() > 2 {
        format!("v{plain}")
    } else {
        format!("v{plain}.0")
    };
    ClusterVersion {
        major: major.to_owned(),
        minor: minor.to_owned(),
        git_version,
        platform: "linux/amd64".to_owned(),
    }
}

/// A failure to render, as problems with their places.
fn explain(failure: &Failure) -> Vec<Diagnostic> {
    let what = match &failure.trait_ {
        Some(name) => format!("component {:?}, trait {name:?}", failure.component),
        None => format!("component {:?}", failure.component),
    };
    let within = |diagnostics: &Diagnostics, prefix: &str| {
        let placed = |diagnostic: &Diagnostic| told(diagnostic.clone(), &format!("{what}: {prefix}"));
        diagnostics.0.iter().map(placed).collect()
    };
    match &failure.reason {
        Reason::Invalid(diagnostics) | Reason::Missing(diagnostics) => within(diagnostics, ""),
        Reason::TooExpensive(diagnostics) => within(diagnostics, "the template is too expensive: "),
        Reason::Incomplete { output, diagnostics } => {
            within(diagnostics, &format!("{output} is not concrete: "))
        }
        Reason::Patch { target, diagnostics } => within(diagnostics, &format!("cannot patch {target}: ")),
        Reason::NotFound { kind, reference } => {
            let kind = match kind {
                DefinitionKind::Component => "ComponentDefinition",
                DefinitionKind::Trait => "TraitDefinition",
            };
            vec![problem(format!(
                "{what}: no {kind} {reference:?} in the given definitions"
            ))]
        }
        reason => vec![problem(format!("{what}: {reason}"))],
    }
}

/// A problem of a template, after what it is about.
fn told(diagnostic: Diagnostic, prefix: &str) -> Diagnostic {
    let path = match diagnostic.path.as_str() {
        "" => String::new(),
        path => format!("{path}: "),
    };
    Diagnostic {
        message: format!("{prefix}{path}{}", diagnostic.message),
        path: String::new(),
        ..diagnostic
    }
}

fn problem(message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        path: String::new(),
        message,
        places: Vec::new(),
    }
}

pub(crate) fn print<'a>(objects: impl Iterator<Item = &'a Value>, format: Format) -> Result<()> {
    for (index, object) in objects.enumerate() {
        if index > 0 && format == Format::Yaml {
            output::write("---\n")?;
        }
        cue::print(&Data::from(object), format)?;
    }
    Ok(())
}
