//! `cambium render`: an Application and a folder of definitions become manifests, without a cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Data, Diagnostic, Diagnostics};
use cambium_render::{
    Application, ClusterVersion, Definition, DefinitionKind, Definitions, Environment, Failure, Reason,
    Template,
};
use serde_json::Value;

use crate::cli::{Format, Render};
use crate::exit::UnreadableFile;
use crate::{caret, cue, output};

/// Renders, or shows everything that stands in the way.
pub(crate) fn run(options: &Render) -> Result<()> {
    let mut problems = Vec::new();
    let definitions = definitions(&options.definitions, &mut problems)?;
    let application = application(&options.file, &mut problems)?;
    let environment = Environment {
        cluster_version: cluster_version(&options.cluster_version, &mut problems),
        cluster: "local".to_owned(),
        ..Environment::default()
    };
    let rendered =
        application.map(|application| cambium_render::render(&application, &definitions, &environment));
    match rendered {
        Some(Ok(rendered)) if problems.is_empty() => return print(rendered.objects(), options.output),
        Some(Err(failures)) => problems.extend(failures.0.iter().flat_map(explain)),
        _ => {}
    }
    Err(caret::show(&Diagnostics(problems)).into())
}

/// Every definition in the files and directories.
fn definitions(paths: &[PathBuf], problems: &mut Vec<Diagnostic>) -> Result<Definitions> {
    let mut definitions = Definitions::default();
    for file in files(paths)? {
        for document in documents(&file, problems)? {
            let is_definition = |kind: &str| matches!(kind, "ComponentDefinition" | "TraitDefinition");
            if !document["kind"].as_str().is_some_and(is_definition) {
                continue;
            }
            let definition = match Definition::from_manifest(&document) {
                Ok(definition) => definition,
                Err(error) => {
                    problems.push(problem(format!("{}: {error}", file.display())));
                    continue;
                }
            };
            let name = definition.name.clone();
            match Template::compile(definition) {
                Ok(template) => definitions.insert(name, Arc::new(template)),
                Err(diagnostics) => problems.extend(diagnostics.0),
            }
        }
    }
    Ok(definitions)
}

/// The files that are named, and the YAML files in the directories that are named, in the order of their names.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
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
    let source = cue::read(file)?;
    Ok(serde_saphyr::from_multiple(&source.text).unwrap_or_else(|error| {
        problems.push(problem(format!("{}: {error}", source.name)));
        Vec::new()
    }))
}

fn application(file: &Path, problems: &mut Vec<Diagnostic>) -> Result<Option<Application>> {
    let documents = documents(file, problems)?;
    let applications: Vec<_> = documents
        .iter()
        .filter(|document| document["kind"] == "Application")
        .collect();
    let [manifest] = applications.as_slice() else {
        if problems.is_empty() {
            let count = applications.len();
            problems.push(problem(format!(
                "{} has {count} Applications; give exactly one",
                file.display()
            )));
        }
        return Ok(None);
    };
    match Application::from_manifest(manifest) {
        Ok(application) => Ok(Some(application)),
        Err(error) => {
            problems.push(problem(format!("{}: {error}", file.display())));
            Ok(None)
        }
    }
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
        let placed = |diagnostic: &Diagnostic| {
            let path = if diagnostic.path.is_empty() {
                String::new()
            } else {
                format!("{}: ", diagnostic.path)
            };
            let message = format!("{what}: {prefix}{path}{}", diagnostic.message);
            Diagnostic {
                message,
                path: String::new(),
                ..diagnostic.clone()
            }
        };
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
                "{what}: no {kind} {reference:?} in the definitions that were given"
            ))]
        }
        reason => vec![problem(format!("{what}: {reason}"))],
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
