//! Parameters that a template refers to and does not have.

use super::references::References;
use super::{did_you_mean, name_of, problem};
use cambium_cue::syntax::ast::{Declaration, Expr, ExprKind, File, StructLiteral};
use cambium_cue::{Diagnostic, Source};
use std::collections::BTreeMap;

/// The parameters of a template, as far as they are written down.
#[derive(Debug, Default)]
struct Parameters<'a>(BTreeMap<&'a str, Option<Parameters<'a>>>);

impl<'a> Parameters<'a> {
    /// Those of a struct; none if it may have others.
    fn of(literal: &'a StructLiteral<'_>) -> Option<Self> {
        let mut parameters = Self::default();
        for declaration in &literal.declarations {
            match declaration {
                Declaration::Field(field) => {
                    let (name, _) = name_of(&field.label)?;
                    let inner = match &field.value.kind {
                        ExprKind::Struct(literal) => Self::of(literal),
                        _ => None,
                    };
                    // Said twice, it is as much as both say.
                    let known = parameters.0.contains_key(name);
                    parameters.0.insert(name, inner.filter(|_| !known));
                }
                Declaration::Let(_) | Declaration::Attribute(_) => {}
                Declaration::Embedding(_) | Declaration::Comprehension(_) | Declaration::Ellipsis(_) => {
                    return None;
                }
            }
        }
        Some(parameters)
    }
}

/// References to parameters that the template does not have.
pub(super) fn unknown_parameters(file: &File<'_>, source: &Source) -> Vec<Diagnostic> {
    let references = References::to("parameter", file);
    if references.shadowed {
        return Vec::new();
    }
    // Without a declaration, whatever a user gives is a parameter.
    let [value] = top_level(file, "parameter")[..] else {
        return Vec::new();
    };
    let Some(parameters) = literal_of(file, value, 0).and_then(Parameters::of) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for (path, span) in &references.found {
        let Some((depth, known)) = missing(&parameters, path) else {
            continue;
        };
        if references.asks_for(&path[..=depth]) {
            continue;
        }
        let name = &path[depth];
        let within: String = path[..depth].iter().map(|step| format!(".{step}")).collect();
        let hint = did_you_mean(name, known.0.keys().copied());
        let message = format!("parameter{within} has no field {name:?}{hint}");
        problems.push(problem(source, *span, message));
    }
    problems
}

/// The values of a field at the top of a template.
fn top_level<'a, 't>(file: &'a File<'t>, wanted: &str) -> Vec<&'a Expr<'t>> {
    let values = file
        .declarations
        .iter()
        .filter_map(|declaration| match declaration {
            Declaration::Field(field) => name_of(&field.label)
                .filter(|(name, _)| *name == wanted)
                .map(|_| &field.value),
            _ => None,
        });
    values.collect()
}

/// How many names stand for one another at most.
const NAMES: usize = 8;

/// The struct that an expression at the top of a template is written as: itself, closed, or by the name of a definition.
fn literal_of<'a, 't>(file: &'a File<'t>, expr: &'a Expr<'t>, names: usize) -> Option<&'a StructLiteral<'t>> {
    match &expr.kind {
        ExprKind::Struct(literal) => Some(literal),
        ExprKind::Parenthesized(inner) => literal_of(file, inner, names),
        ExprKind::Call(call) => match (&call.function.kind, call.arguments.as_slice()) {
            (ExprKind::Identifier("close"), [argument]) => literal_of(file, argument, names),
            _ => None,
        },
        ExprKind::Identifier(name) if names < NAMES => match top_level(file, name).as_slice() {
            [value] => literal_of(file, value, names + 1),
            _ => None,
        },
        _ => None,
    }
}

/// Which step of a path is not there, and what is there instead.
fn missing<'p, 'a>(parameters: &'p Parameters<'a>, path: &[String]) -> Option<(usize, &'p Parameters<'a>)> {
    let mut within = parameters;
    for (depth, step) in path.iter().enumerate() {
        match within.0.get(step.as_str()) {
            None => return Some((depth, within)),
            Some(None) => return None,
            Some(Some(inner)) => within = inner,
        }
    }
    None
}
