//! Static checks of a template before it is published: problems that no properties could avoid.

mod contradictions;
mod given;
mod objects;
mod parameters;
mod references;
mod slips;

use crate::environment::Context;
use crate::template::evaluate;
use crate::{Application, Component, Environment, Live, Template};
use cambium_cue::diagnostic::{Place, Severity};
use cambium_cue::source::Span;
use cambium_cue::syntax::ast::{Constraint, Declaration, ExprKind, Field, Label};
use cambium_cue::{Data, Diagnostic, Diagnostics, Limits, Source, syntax};
use cambium_objects::meant;
use std::collections::BTreeMap;

impl Template {
    /// Why nobody could use it: it makes nothing, or no object, refers to what it does not have, or contradicts itself. What cannot be told
    /// for certain is not told.
    pub fn unusable(&self) -> Option<Diagnostics> {
        let definition = self.definition();
        let source = Source::new(definition.name.as_str(), definition.template.as_str());
        let file = syntax::parse(&source).ok()?;
        let mut problems = slips::nothing_made(&file, definition.kind, &source);
        problems.extend(parameters::unknown_parameters(&file, &source));
        problems.extend(given::unknown_context(&file, &source));
        problems.extend(objects::without_type(&file, definition.kind, &source));
        let is_told = |place: &Place| {
            let told = problems.iter().flat_map(|problem| &problem.places);
            told.into_iter().any(|known| known.span.start == place.span.start)
        };
        let mut found = contradictions::contradictions(self);
        found.retain(|problem| !problem.places.iter().any(is_told));
        problems.append(&mut found);
        (!problems.is_empty()).then_some(Diagnostics(problems))
    }

    /// Fields that nobody reads, and whose names are close to those of fields that somebody would: they have no effect.
    pub fn slips(&self) -> Vec<Diagnostic> {
        let definition = self.definition();
        let source = Source::new(definition.name.as_str(), definition.template.as_str());
        let file = syntax::parse(&source);
        file.map(|file| slips::unread(&file, definition.kind, &source))
            .unwrap_or_default()
    }

    /// What is used up of the budget when it is evaluated with its defaults.
    pub fn too_expensive(&self) -> Option<Diagnostics> {
        let environment = Environment::default();
        let application = Application {
            name: "application".to_owned(),
            ..Application::default()
        };
        let component = Component {
            name: "component".to_owned(),
            ..Component::default()
        };
        let context = Context::new(&application, &component, &environment);
        let parameter = Data::Struct(Vec::new());
        let mut instance = evaluate(
            self.program(),
            Some(&parameter),
            &context.data(),
            Limits::default(),
        );
        instance.errors(instance.root());
        for name in MADE {
            if let Some(at) = instance.lookup(&[name]) {
                // What is missing is for whoever uses it to give.
                instance.export_at(at).ok();
            }
        }
        if let Some(problem) = instance.exhausted() {
            return Some(Diagnostics(vec![problem]));
        }
        let status = self.status(&Live::default());
        let problems = status.problems.into_iter().flat_map(|problems| problems.0);
        let exhausted: Vec<Diagnostic> = problems
            .filter(|problem| problem.severity == Severity::Exhausted)
            .collect();
        (!exhausted.is_empty()).then_some(Diagnostics(exhausted))
    }
}

/// The fields with which templates make objects.
const MADE: [&str; 5] = ["output", "outputs", "patch", "patchOutputs", "errs"];

/// The suggestion for a misspelt name.
fn did_you_mean<'n>(written: &str, names: impl Iterator<Item = &'n str>) -> String {
    meant(written, names).map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}

fn problem(source: &Source, span: Span, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        path: String::new(),
        message,
        places: vec![Place {
            source: source.clone(),
            span,
        }],
    }
}

fn name_of<'a>(label: &'a Label<'_>) -> Option<(&'a str, Span)> {
    match label {
        Label::Identifier(identifier) => Some((identifier.name, identifier.span)),
        Label::String(name, span) => Some((name.as_ref(), *span)),
        _ => None,
    }
}

/// Whether a field is one of those that a renderer takes: neither hidden, nor a definition, nor a constraint.
fn is_ordinary(field: &Field<'_>) -> bool {
    let is_regular = match &field.label {
        Label::Identifier(identifier) => !identifier.name.starts_with(['_', '#']),
        _ => true,
    };
    is_regular && field.constraint == Constraint::None
}

/// The fields that declarations may make; none if they may make any.
fn fields<'a>(declarations: &'a [Declaration<'_>]) -> Option<BTreeMap<&'a str, Span>> {
    let mut found = BTreeMap::new();
    for declaration in declarations {
        match declaration {
            Declaration::Field(field) => {
                let (name, span) = name_of(&field.label)?;
                found.insert(name, span);
            }
            Declaration::Comprehension(comprehension) => {
                found.extend(fields(&comprehension.body.declarations)?)
            }
            Declaration::Embedding(embedding) => match &embedding.value.kind {
                ExprKind::Struct(literal) => found.extend(fields(&literal.declarations)?),
                _ => return None,
            },
            Declaration::Let(_) | Declaration::Ellipsis(_) | Declaration::Attribute(_) => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
