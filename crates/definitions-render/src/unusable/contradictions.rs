//! Finds templates that contradict themselves whatever properties they get, by evaluating them with their parameters as declared.

use crate::template::as_kubevela;
use crate::{DefinitionKind, Template};
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Diagnostic, EvaluationOptions, Instance, Lookup, Shape};

/// Conflicts, operands and arguments that never fit, fields that closed structs do not have, outputs that are no objects.
pub(super) fn contradictions(template: &Template) -> Vec<Diagnostic> {
    let options = EvaluationOptions {
        whatever_is_given: true,
        ..as_kubevela()
    };
    let mut instance = template.program().evaluate(&[], options);
    let root = instance.root();
    let mut problems = instance.errors(root);
    for (name, at) in objects(template.definition().kind, &mut instance) {
        problems.extend(no_object(&mut instance, &name, at));
    }
    // What is too expensive is told elsewhere.
    if instance.exhausted().is_some() {
        return Vec::new();
    }
    problems.retain(|problem| problem.severity == Severity::Error);
    problems
}

/// The fields of a template that must be objects.
fn objects(kind: DefinitionKind, instance: &mut Instance<'_>) -> Vec<(String, Lookup)> {
    let mut objects = Vec::new();
    if kind == DefinitionKind::Component {
        objects.extend(instance.lookup(&["output"]).map(|at| ("output".to_owned(), at)));
    }
    let outputs = instance.lookup(&["outputs"]).and_then(|at| instance.fields(at));
    for (name, at) in outputs.into_iter().flatten() {
        objects.push((format!("outputs.{name}"), at));
    }
    objects
}

fn no_object(instance: &mut Instance<'_>, name: &str, at: Lookup) -> Option<Diagnostic> {
    let found = match instance.shape(at) {
        Shape::Scalar(data) => data.to_json(),
        Shape::Bytes { text, .. } => text,
        Shape::List { .. } => "a list".to_owned(),
        Shape::Constraint(text)
            if ["bool", "bytes", "float", "int", "number", "string"].contains(&text.as_str()) =>
        {
            text
        }
        _ => return None,
    };
    Some(Diagnostic {
        severity: Severity::Error,
        path: name.to_owned(),
        message: format!("must be an object, not {found}"),
        places: instance.places(at),
    })
}
