//! Finds outputs that have no `apiVersion` or `kind` under any condition.

use super::{fields, is_ordinary, name_of, problem};
use crate::DefinitionKind;
use cambium_cue::source::Span;
use cambium_cue::syntax::ast::{Declaration, Expr, ExprKind, File};
use cambium_cue::{Diagnostic, Source};
use std::collections::{BTreeMap, BTreeSet};

/// The fields that every object needs.
const TYPE: [&str; 2] = ["apiVersion", "kind"];

/// Outputs that cannot have a type. One that is a reference, embeds something or has computed names may have any field. Of a trait,
/// `output` is not taken.
pub(super) fn without_type(file: &File<'_>, kind: DefinitionKind, source: &Source) -> Vec<Diagnostic> {
    let mut outputs = Outputs::default();
    // What is embedded at the top may add to every output.
    if fields(&file.declarations).is_none() {
        return Vec::new();
    }
    for (name, value, span) in members(&file.declarations) {
        match name {
            "output" if kind == DefinitionKind::Component => outputs.add("output".to_owned(), value, span),
            "outputs" => match &value.kind {
                ExprKind::Struct(literal) if fields(&literal.declarations).is_some() => {
                    for (name, value, span) in members(&literal.declarations) {
                        outputs.add(format!("outputs.{name}"), value, span);
                    }
                }
                _ => outputs.others_unknown = true,
            },
            _ => {}
        }
    }
    outputs.problems(source)
}

/// The fields that each output may have, and where it stands.
#[derive(Default)]
struct Outputs<'a> {
    found: BTreeMap<String, (Option<BTreeSet<&'a str>>, Span)>,
    /// Something is added to `outputs` that cannot be seen.
    others_unknown: bool,
}

impl<'a> Outputs<'a> {
    fn add(&mut self, output: String, value: &'a Expr<'_>, span: Span) {
        let more = match &value.kind {
            ExprKind::Struct(literal) => {
                fields(&literal.declarations).map(|fields| fields.into_keys().collect())
            }
            _ => None,
        };
        match self.found.get_mut(&output) {
            Some((known, _)) => match (known.as_mut(), more) {
                (Some(known), Some(more)) => known.extend(more),
                _ => *known = None,
            },
            None => {
                self.found.insert(output, (more, span));
            }
        }
    }

    fn problems(&self, source: &Source) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for (output, (fields, span)) in &self.found {
            let Some(fields) = fields else { continue };
            if self.others_unknown && output != "output" {
                continue;
            }
            let missing: Vec<&str> = TYPE.into_iter().filter(|name| !fields.contains(name)).collect();
            if !missing.is_empty() {
                let message = format!("{output} has no {}", missing.join(" and no "));
                problems.push(problem(source, *span, message));
            }
        }
        problems
    }
}

/// The ordinary fields that declarations make, on a condition or not: others are never taken.
pub(super) fn members<'a, 't>(declarations: &'a [Declaration<'t>]) -> Vec<(&'a str, &'a Expr<'t>, Span)> {
    let mut found = Vec::new();
    for declaration in declarations {
        match declaration {
            Declaration::Field(field) if is_ordinary(field) => {
                found.extend(name_of(&field.label).map(|(name, span)| (name, &field.value, span)));
            }
            Declaration::Comprehension(comprehension) => {
                found.extend(members(&comprehension.body.declarations));
            }
            Declaration::Embedding(embedding) => {
                if let ExprKind::Struct(literal) = &embedding.value.kind {
                    found.extend(members(&literal.declarations));
                }
            }
            Declaration::Field(_)
            | Declaration::Let(_)
            | Declaration::Ellipsis(_)
            | Declaration::Attribute(_) => {}
        }
    }
    found
}
