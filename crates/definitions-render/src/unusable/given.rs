//! Finds references to fields of `context` that do not exist.

use super::references::{References, Step};
use super::{did_you_mean, fields, problem};
use cambium_cue::syntax::ast::File;
use cambium_cue::{Diagnostic, Source};

/// The fields of `context` that templates may use, here or in KubeVela.
const FIELDS: [&str; 32] = [
    "appAnnotations",
    "appComponents",
    "appLabels",
    "appName",
    "appRevision",
    "appRevisionNum",
    "artifacts",
    "cluster",
    "clusterVersion",
    "componentName",
    "componentType",
    "components",
    "config",
    "dependency",
    "name",
    "namespace",
    "operationName",
    "operationParams",
    "operationScope",
    "output",
    "outputs",
    "parameter",
    "publishVersion",
    "replicaKey",
    "revision",
    "spanID",
    "startTime",
    "status",
    "stepGroupName",
    "stepName",
    "stepSessionID",
    "workflowName",
];

/// References to misspelt fields of `context`.
pub(super) fn unknown_context(file: &File<'_>, source: &Source) -> Vec<Diagnostic> {
    // A template that declares its context, or may, knows better.
    if fields(&file.declarations).is_none_or(|fields| fields.contains_key("context")) {
        return Vec::new();
    }
    let references = References::to("context", file);
    let mut problems = Vec::new();
    for reference in &references.found {
        let Some(Step::Field(name)) = reference.path.first() else {
            continue;
        };
        let is_told = reference.known > 0;
        if is_told || FIELDS.contains(&name.as_str()) || references.asks_for(reference, 1) {
            continue;
        }
        // Other versions of KubeVela may have more: only a name that is close to another one is a mistake.
        let hint = did_you_mean(name, FIELDS.into_iter());
        if hint.is_empty() {
            continue;
        }
        let message = format!("context has no field {name:?}{hint}");
        problems.push(problem(source, reference.span, message));
    }
    problems
}
