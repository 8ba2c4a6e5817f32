//! `cambium check`: whom a change of CustomResourceDefinitions breaks, and which version it demands; `cambium explain`: the rules of it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use cambium_evolve::{Change, Contract, ContractError, KindComparison, RULES, Rule, compare_all, rule};
use cambium_lineage::Bump;
use serde_json::Value;

use crate::cli::{Check, Explain};
use crate::exit::{Breaking, NotFound, WrongInput, WrongUse};
use crate::output;
use crate::render::documents;
use crate::table::Table;

/// Compares two sets of CRDs.
pub(crate) fn check(options: &Check) -> Result<()> {
    if [&options.old, &options.new]
        .iter()
        .all(|path| path.as_os_str() == "-")
    {
        return Err(WrongUse("only one of the two can be read from standard input".to_owned()).into());
    }
    let (old, new) = (contracts(&options.old), contracts(&options.new));
    // Both are read first, so that the problems of both are shown.
    let (old, new) = (old?, new?);
    let compared = compare_all(&old, &new);
    if let Some(directory) = &options.witness {
        write_witnesses(directory, &compared)?;
    }
    match options.printed.format() {
        Some(format) => crate::commands::print(&compared, format)?,
        None => output::write(&text(&compared, options))?,
    }
    let breaks = compared.iter().map(|one| one.comparison.breaks().count()).sum();
    match breaks {
        0 => Ok(()),
        count => Err(Breaking(count).into()),
    }
}

/// The contracts of the CRDs in a file or a directory. Other objects in it are left out.
fn contracts(path: &Path) -> Result<Vec<Contract>> {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for file in crate::render::files(&[path.to_owned()])? {
        let shown = match file.as_os_str() == "-" {
            true => "standard input".to_owned(),
            false => file.display().to_string(),
        };
        let mut unreadable = Vec::new();
        for document in documents(&file, &mut unreadable)? {
            if document["kind"] != "CustomResourceDefinition" {
                continue;
            }
            let name = document["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if !names.insert(name.clone()) {
                problems.push(format!(
                    "{shown}: CustomResourceDefinition {name:?} is there twice"
                ));
            }
            match Contract::of_crd(&document) {
                Ok(contract) => found.push(contract),
                Err(errors) => problems.extend(
                    errors
                        .iter()
                        .flat_map(told)
                        .map(|told| format!("{shown}: {name}: {told}")),
                ),
            }
        }
        problems.extend(unreadable.into_iter().map(|problem| problem.message));
    }
    if !problems.is_empty() {
        for problem in &problems {
            output::note(&format!("error: {problem}"));
        }
        return Err(WrongInput {
            count: problems.len(),
        }
        .into());
    }
    if found.is_empty() {
        return Err(NotFound(format!("{} has no CustomResourceDefinition", path.display())).into());
    }
    Ok(found)
}

/// Each problem of a contract in a line of its own.
fn told(error: &ContractError) -> Vec<String> {
    let text = error.to_string();
    text.split("; ").map(str::to_owned).collect()
}

fn text(compared: &[KindComparison], options: &Check) -> String {
    let mut text = String::new();
    let mut bump = None;
    let several = compared.len() > 1;
    for one in compared.iter().filter(|one| !one.comparison.is_empty()) {
        bump = bump.max(one.comparison.bump);
        if several {
            text += &format!("{}\n", one.crd);
        }
        let table = table(&one.comparison.changes);
        let table = match options.printed.names() {
            crate::cli::Names::Listed => table.wide_text(),
            crate::cli::Names::Counted => table.text(),
        };
        text += &(table + "\n");
    }
    text + &match bump {
        None => String::new(),
        Some(Bump::Major) => {
            "needs: major. `cambium explain RULE` says why, and what to do instead\n".to_owned()
        }
        Some(bump) => format!("needs: {bump}\n"),
    }
}

fn table(changes: &[Change]) -> Table {
    let mut table = Table::new(&[
        "RULE", "VERSION", "PATH", "CHANGE", "WRITERS", "STORED", "READERS", "BUMP",
    ]);
    for change in changes {
        table.add([
            change.rule.id.to_owned(),
            match change.version.as_str() {
                "" => "<all>".to_owned(),
                version => version.to_owned(),
            },
            change.path.clone(),
            format!("{}: {}", change.rule.title, change.what),
            change.effects.writers.to_string(),
            change.effects.stored.to_string(),
            change.effects.readers.to_string(),
            change.bump.to_string(),
        ]);
    }
    table
}

/// Writes the witness of each break: one object in each file, named after its kind, rule and number.
fn write_witnesses(directory: &Path, compared: &[KindComparison]) -> Result<()> {
    let failed = || format!("failed to write witnesses into {}", directory.display());
    std::fs::create_dir_all(directory).with_context(failed)?;
    let mut count = 0;
    for one in compared {
        for (index, change) in one.comparison.breaks().enumerate() {
            let Some(witness) = &change.witness else { continue };
            let name = format!(
                "{}-{}-{}.yaml",
                one.kind.to_lowercase(),
                change.rule.id,
                index + 1
            );
            let mut object: Value = witness.object.clone();
            object["metadata"]["name"] = format!("witness-{}", index + 1).into();
            let text = format!(
                "# {} {}: {}\n{}",
                change.rule.id,
                change.path,
                change.rule.title,
                serde_saphyr::to_string(&object)?
            );
            std::fs::write(directory.join(name), text).with_context(failed)?;
            count += 1;
        }
    }
    output::note(&format!("{count} witnesses written to {}", directory.display()));
    Ok(())
}

/// Explains one rule, or lists all.
pub(crate) fn explain(options: &Explain) -> Result<()> {
    let Some(asked) = &options.rule else {
        let mut table = Table::new(&["RULE", "CHANGE", "BUMP", "IN STATUS"]);
        for rule in RULES {
            let [spec, status] = bumps(rule);
            table.add([rule.id.to_owned(), rule.title.to_owned(), spec, status]);
        }
        return output::write(&table.text());
    };
    let Some(rule) = rule(asked) else {
        let (first, last) = (RULES.first(), RULES.last());
        let range = first
            .zip(last)
            .map(|(first, last)| format!("{} to {}", first.id, last.id));
        return Err(NotFound(format!(
            "no rule {asked:?}; rules are {}",
            range.unwrap_or_default()
        ))
        .into());
    };
    let [spec, status] = bumps(rule);
    output::write(&format!(
        "{}: {}\n\nBump: {spec}, under status {status}\nWriters: {}\nStored objects: {}\nReaders: {}\n\n{}\n\nWhat to do: {}.\n",
        rule.id, rule.title, rule.spec.writers, rule.spec.stored, rule.spec.readers, rule.why, rule.fix
    ))
}

fn bumps(rule: &Rule) -> [String; 2] {
    use cambium_evolve::Place;
    [Place::Spec, Place::Status].map(|place| rule.bump(place).to_string())
}
