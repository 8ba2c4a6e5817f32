//! `cambium diff`: prints the differences between two versions of a definition, or two revisions of a composition.

use anyhow::Result;
use cambium_api::v1beta1::DefinitionType;
use cambium_lineage::{Reference, ReferenceError};
use cambium_reports::diff;
use similar::{ChangeTag, TextDiff};

use super::listing::{Reach, Reading, note_not_listed};
use super::{ask, print};
use crate::cli::Diff;
use crate::exit::WrongUse;
use crate::output;

pub(crate) async fn diff(options: &Diff) -> Result<()> {
    if let (Some(from), Some(to)) = (comprev(&options.from), comprev(&options.to)) {
        return of_compositions(from, to, options).await;
    }
    for text in [&options.from, &options.to] {
        let parsed: Result<Reference, ReferenceError> = text.parse();
        parsed.map_err(|error| WrongUse(error.to_string()))?;
    }
    let (client, namespace) = ask(&options.asking).await?;
    let type_ = options.kind.map(|kind| kind.type_());
    let types = type_.map_or_else(|| DefinitionType::ALL.to_vec(), |type_| vec![type_]);
    let mut reading = Reading::of(&client);
    reading.definitions(Reach::From(&namespace), &types).await?;
    note_not_listed(&reading.inventory);
    let pair = (options.from.as_str(), options.to.as_str());
    let diff = diff::definitions(&reading.inventory, &namespace, type_, pair)?;
    if let Some(format) = options.asking.printed.format() {
        return print(&diff, format);
    }
    let (from, to) = (diff.from.revision.as_str(), diff.to.revision.as_str());
    let parts = diff.parts.iter().map(|part| {
        let named = |revision| format!("{revision} {}", part.part);
        unified((&named(from), &part.from), (&named(to), &part.to))
    });
    tell(from, to, &parts.collect::<String>())
}

/// The name of a revision of a composition, if that is what is named.
fn comprev(text: &str) -> Option<&str> {
    let (kind, name) = text.split_once('/')?;
    let kinds = ["comprev", "compositionrevision", "compositionrevisions"];
    kinds
        .contains(&kind.split('.').next()?.to_lowercase().as_str())
        .then_some(name)
}

async fn of_compositions(from: &str, to: &str, options: &Diff) -> Result<()> {
    let (client, _) = ask(&options.asking).await?;
    let mut reading = Reading::of(&client);
    reading.compositions().await?;
    let diff = diff::compositions(&reading.inventory, from, to)?;
    if let Some(format) = options.asking.printed.format() {
        return print(&diff, format);
    }
    tell(from, to, &unified((from, &diff.from.spec), (to, &diff.to.spec)))
}

fn tell(from: &str, to: &str, text: &str) -> Result<()> {
    if text.is_empty() {
        output::note(&format!("{from} and {to} are the same"));
    }
    output::write(text)
}

/// The differences between two texts, each with its name, as `diff -u` shows them; nothing if there are none.
pub(super) fn unified((from, before): (&str, &str), (to, after): (&str, &str)) -> String {
    if before == after {
        return String::new();
    }
    let colours = output::in_colour();
    let mut out = format!("--- {from}\n+++ {to}\n");
    let text = TextDiff::from_lines(before, after);
    for hunk in text.unified_diff().context_radius(3).iter_hunks() {
        out.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let (sign, colour) = match change.tag() {
                ChangeTag::Delete => ("-", "\u{1b}[31m"),
                ChangeTag::Insert => ("+", "\u{1b}[32m"),
                ChangeTag::Equal => (" ", ""),
            };
            let line = change.value().trim_end_matches('\n');
            out.push_str(&match colours && !colour.is_empty() {
                true => format!("{colour}{sign}{line}\u{1b}[0m\n"),
                false => format!("{sign}{line}\n"),
            });
        }
    }
    out
}
