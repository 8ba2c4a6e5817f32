//! Finds misspelt fields at the top level of a template.

use super::objects::members;
use super::references::References;
use super::{fields, problem};
use crate::DefinitionKind;
use cambium_cue::source::Span;
use cambium_cue::syntax::ast::{Declaration, Expr, File};
use cambium_cue::{Diagnostic, Source};
use cambium_objects::meant;
use std::collections::BTreeSet;

/// The names of which a component needs one, and a trait that does anything.
fn needed(kind: DefinitionKind) -> &'static [&'static str] {
    match kind {
        DefinitionKind::Component => &["output"],
        DefinitionKind::Trait => &["outputs", "patch", "patchOutputs", "errs", "processing"],
    }
}

/// The names that are read in a template of a kind.
fn read(kind: DefinitionKind) -> &'static [&'static str] {
    match kind {
        DefinitionKind::Component => &["output", "outputs", "parameter", "context"],
        DefinitionKind::Trait => &[
            "outputs",
            "patch",
            "patchOutputs",
            "errs",
            "processing",
            "parameter",
            "context",
        ],
    }
}

/// A template that makes nothing. A component is refused for it; a trait may have no effect, unless a name is misspelt.
pub(super) fn nothing_made(file: &File<'_>, kind: DefinitionKind, source: &Source) -> Vec<Diagnostic> {
    let needed = needed(kind);
    let Some(known) = fields(&file.declarations) else {
        return Vec::new();
    };
    if file.declarations.is_empty() || needed.iter().any(|name| known.contains_key(name)) {
        return Vec::new();
    }
    let slip = misspelt(file, members(&file.declarations), needed).next();
    match (kind, slip) {
        (_, Some((_, meant, span))) => {
            let message = format!("{}; did you mean {meant}?", without(kind));
            vec![problem(source, span, message)]
        }
        (DefinitionKind::Component, None) => {
            vec![problem(
                source,
                Span { start: 0, end: 1 },
                without(kind).to_owned(),
            )]
        }
        (DefinitionKind::Trait, None) => Vec::new(),
    }
}

fn without(kind: DefinitionKind) -> &'static str {
    match kind {
        DefinitionKind::Component => "the template has no output",
        DefinitionKind::Trait => "the template has neither outputs nor patch",
    }
}

/// Fields that nobody reads, and that have almost the name of one that is read.
pub(super) fn unread(file: &File<'_>, kind: DefinitionKind, source: &Source) -> Vec<Diagnostic> {
    let read = read(kind);
    // A field in a struct of its own may be used there.
    let fields = file
        .declarations
        .iter()
        .flat_map(|declaration| match declaration {
            Declaration::Field(_) => members(std::slice::from_ref(declaration)),
            _ => Vec::new(),
        });
    let slips = misspelt(file, fields, read).map(|(name, meant, span)| {
        let message = format!("nothing reads the field {name:?}; did you mean {meant}?");
        problem(source, span, message)
    });
    slips.collect()
}

/// The fields that the template itself does not use, with the names that were probably meant.
fn misspelt<'a, 't: 'a>(
    file: &'a File<'t>,
    fields: impl IntoIterator<Item = (&'a str, &'a Expr<'t>, Span)>,
    names: &'static [&'static str],
) -> impl Iterator<Item = (&'a str, &'static str, Span)> {
    let top = members(&file.declarations);
    let declared: BTreeSet<&str> = top.into_iter().map(|(name, ..)| name).collect();
    fields.into_iter().filter_map(move |(name, _, span)| {
        if KNOWN.contains(&name) {
            return None;
        }
        // Rather one that is not there yet.
        let absent = names.iter().copied().filter(|name| !declared.contains(name));
        let meant = meant(name, absent).or_else(|| meant(name, names.iter().copied()))?;
        // A field that is used for something is none that was misspelt.
        (!References::to(name, file).any).then_some((name, meant, span))
    })
}

/// Names that mean something to somebody, in one kind of template or another.
const KNOWN: [&str; 8] = [
    "output",
    "outputs",
    "patch",
    "patchOutputs",
    "errs",
    "processing",
    "parameter",
    "context",
];
