//! `docs/reference/conformance.md`: what was found on both servers, side by side.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use super::record::{Outcome, Record};
use super::selection::Selection;
use super::servers::Backend;
use crate::kubernetes;

/// Writes the page anew.
pub(super) fn write(selection: &Selection) -> Result<()> {
    let embedded = Record::read(Backend::Embedded)?;
    let real = Record::read(Backend::Kubernetes)?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/conformance.md");
    Ok(std::fs::write(path, page(selection, &embedded, &real)?)?)
}

fn page(selection: &Selection, embedded: &Record, real: &Record) -> Result<String> {
    let mut page = format!(
        "# Conformance: Kubernetes' own specs\n\n\
         <!-- Written by `cargo xtask conformance --write-docs`. -->\n\n\
         Kubernetes {version} tests every release with the specs of its module `test/e2e`. `cargo xtask conformance` builds them from the published module, starts\n\
         `cambium up`, and runs those that need no nodes: all of `[sig-api-machinery]`, and the `[Conformance]` specs of everybody else. With\n\
         `--backend kubernetes` the same specs run against etcd, kube-apiserver and kube-controller-manager of that version.\n\n",
        version = kubernetes::KUBERNETES,
    );
    let count = |record: &Record| {
        let passed = |spec: &&super::suite::Spec| matches!(record.of(&spec.name), Some(Outcome::Passed));
        selection.taken.iter().filter(passed).count()
    };
    let total = selection.taken.len();
    writeln!(page, "| | embedded | Kubernetes |\n|---|---|---|")?;
    writeln!(
        page,
        "| pass, of {total} | {} | {} |\n",
        count(embedded),
        count(real)
    )?;
    writeln!(
        page,
        "## Every spec\n\n| spec | embedded | Kubernetes |\n|---|---|---|"
    )?;
    for spec in &selection.taken {
        let (ours, theirs) = (embedded.of(&spec.name), real.of(&spec.name));
        writeln!(
            page,
            "| {} | {} | {} |",
            cell(&spec.name),
            word(ours),
            word(theirs)
        )?;
    }
    let failing = |record: &Record, title: &str, page: &mut String| -> Result<()> {
        let mut lines = String::new();
        for spec in &selection.taken {
            if let Some(Outcome::Failed(reason) | Outcome::Skipped(reason)) = record.of(&spec.name) {
                writeln!(lines, "| {} | {} |", cell(&spec.name), cell(reason))?;
            }
        }
        if !lines.is_empty() {
            write!(page, "\n## {title}\n\n| spec | message |\n|---|---|\n{lines}")?;
        }
        Ok(())
    };
    failing(embedded, "Failed or skipped on the embedded server", &mut page)?;
    failing(
        real,
        "Failed or skipped on Kubernetes, without running nodes",
        &mut page,
    )?;
    writeln!(page, "\n## Not run")?;
    for (reason, names) in &selection.left_out {
        writeln!(page, "\n{} specs, each of which {reason}:\n", names.len())?;
        for name in names {
            writeln!(page, "- {name}")?;
        }
    }
    Ok(page)
}

fn word(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Passed) => "passes",
        Some(Outcome::Skipped(_)) => "skips itself",
        Some(Outcome::Failed(_)) => "**fails**",
        None => "has not run",
    }
}

/// Text that a table can hold.
fn cell(text: &str) -> String {
    let brief: String = text.chars().take(300).collect();
    brief.replace('|', "\\|").replace('<', "&lt;")
}
