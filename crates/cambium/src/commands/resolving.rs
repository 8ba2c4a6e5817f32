//! `cambium resolve`: prints the revision that each reference of an application resolves to, and why.

use anyhow::Result;
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_definitions::Refused;
use cambium_reports::resolve::{Detail, Reference, resolve as answers};
use serde_json::Value;

use super::listing::{Reach, Reading};
use super::locking::application_in;
use super::{ask, or_none, print, text};
use crate::cli::Resolve;
use crate::exit::Refusals;
use crate::table::Table;
use crate::{cue, output};

pub(crate) async fn resolve(options: &Resolve) -> Result<()> {
    let from_file = match &options.file {
        Some(file) => Some(application_in(&cue::read(file)?)?),
        None => None,
    };
    let (client, mut namespace) = ask(&options.asking).await?;
    if let Some(own) = from_file
        .as_ref()
        .and_then(|application| application["metadata"]["namespace"].as_str())
    {
        own.clone_into(&mut namespace);
    }
    let inventory = Reading::all_of_applications(&client, Reach::From(&namespace)).await?;
    let application = match (&from_file, &options.application) {
        (Some(application), _) => application,
        (None, Some(name)) => inventory.definitions.application(&namespace, name)?.1,
        (None, None) => &Value::Null,
    };
    let detail = match options.explain {
        true => Detail::EveryRevision,
        false => Detail::Answer,
    };
    let references = answers(&inventory, &namespace, application, detail)?;
    let printed = options.asking.printed;
    match printed.format() {
        Some(format) => print(&references, format)?,
        None => output::write(&(text(&table(&references), printed) + &explained(&references)))?,
    }
    let refused: Vec<Refused> = references
        .into_iter()
        .filter_map(|reference| reference.refused)
        .collect();
    match refused.is_empty() {
        true => Ok(()),
        false => Err(Refusals::from(refused).into()),
    }
}

fn table(references: &[Reference]) -> Table {
    let mut table = Table::new(&["PLACE", "ASKED", "GOT", "RUNNING", "FROM", "WHY"]);
    for reference in references {
        let running = reference.running.as_ref();
        table.add([
            reference.path.clone(),
            reference.asked.clone(),
            or_none(reference.version.as_deref()),
            or_none(running.map(|running| running.called())),
            or_none(reference.namespace.as_deref()),
            reference.why.clone(),
        ]);
    }
    table
}

/// Every revision of each reference, with a mark at the one that it gets.
fn explained(references: &[Reference]) -> String {
    let mut text = String::new();
    for reference in references {
        let Some(hides_shared) = reference.hides_shared else {
            continue;
        };
        text.push_str(&format!("\n{} {}\n", reference.path, reference.asked));
        if let Some(refused) = &reference.refused {
            text.push_str(&format!("  refused: {}\n", refused.message));
        }
        if reference.frozen.is_some() {
            text.push_str(&format!("  {}; without publishVersion:\n", reference.why));
        }
        if let Some(namespace) = reference.namespace.as_ref().filter(|_| hides_shared) {
            let definition = reference.asked.split('@').next().unwrap_or_default();
            text.push_str(&format!(
                "  {namespace}'s own definition hides the shared {definition} in {SYSTEM_NAMESPACE}\n"
            ));
        }
        for line in reference.revisions.iter().flatten() {
            let mark = if line.chosen { "*" } else { " " };
            text.push_str(&format!("  {mark} {:<16} {}\n", line.version, line.why));
        }
    }
    text
}
