//! Converts trees to CUE text and back.

use super::tree::{Tree, read};
use crate::template::as_kubevela;
use cambium_cue::{CompileOptions, Data, Diagnostic, MemberKind, Source, compile_with};

/// A value as CUE text on one line.
pub(super) fn text(tree: &Tree) -> String {
    match tree {
        Tree::Scalar(data) => data.to_json(),
        Tree::Constraint(text) | Tree::Bytes { text, .. } => text.clone(),
        Tree::List { elements, rest } => {
            let mut parts: Vec<_> = elements.iter().map(text).collect();
            parts.extend(rest.as_ref().map(|rest| format!("...({})", text(rest))));
            format!("[{}]", parts.join(", "))
        }
        Tree::Struct(fields) => {
            let field = |field: &super::tree::Field| {
                let label = Data::String(field.name.clone()).to_json();
                let value = text(&field.value);
                match field.kind {
                    MemberKind::Ordinary => format!("{label}: {value}"),
                    MemberKind::Optional => format!("{label}?: {value}"),
                    MemberKind::Definition => format!("{}: {value}", field.name),
                }
            };
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Tree::Alternatives { values, defaults } => {
            let alternative = |(index, value): (usize, &Tree)| {
                format!("{}({})", if index < *defaults { "*" } else { "" }, text(value))
            };
            values
                .iter()
                .enumerate()
                .map(alternative)
                .collect::<Vec<_>>()
                .join(" | ")
        }
    }
}

/// The unification of two values, by the evaluator.
pub(super) fn evaluate(left: &Tree, right: &Tree) -> Result<Tree, Diagnostic> {
    let source = Source::new("patch", format!("value: ({}) & ({})", text(left), text(right)));
    let program = match compile_with(&[source], CompileOptions::default()) {
        Ok(program) => program,
        Err(problems) => return Err(first(problems.0)),
    };
    let mut instance = program.evaluate(&[], as_kubevela());
    let errors = instance.errors(instance.root());
    if !errors.is_empty() {
        return Err(first(errors));
    }
    match instance.lookup(&["value"]) {
        Some(at) => read(&mut instance, at).map_err(|problem| first(vec![problem])),
        None => Err(first(Vec::new())),
    }
}

/// The first of some problems, without the place in a text that nobody wrote.
fn first(problems: Vec<Diagnostic>) -> Diagnostic {
    let unknown = || Diagnostic {
        severity: cambium_cue::diagnostic::Severity::Error,
        path: String::new(),
        message: "cannot be unified".to_owned(),
        places: Vec::new(),
    };
    let problem = problems.into_iter().next().unwrap_or_else(unknown);
    let path = problem.path.strip_prefix("value").unwrap_or_default().to_owned();
    Diagnostic {
        path,
        places: Vec::new(),
        ..problem
    }
}
