//! `cambium history`: prints the revisions of a definition, an application or a composition, and the users of each.

use anyhow::Result;
use cambium_api::v1beta1::DefinitionType;
use cambium_reports::history::{self, ApplicationHistory, CompositionHistory, DefinitionHistory};
use cambium_reports::{Asked, Inventory, Kind};
use kube::Client;

use super::listing::{Reach, Reading, is_forbidden, note_not_listed};
use super::{age, answer, ask};
use crate::cli::{History, Names};
use crate::exit::said;
use crate::output;
use crate::table::Table;

pub(crate) async fn history(options: &History) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let asked = Asked::of(&options.subject, options.name.as_deref());
    let printed = options.asking.printed;
    let names = printed.names();
    let kind = match &asked.kind {
        Some(kind) => Kind::called(kind)?,
        None => find(&client, &namespace, &asked.name).await?,
    };
    let mut reading = Reading::of(&client);
    match kind {
        Kind::Application => {
            reading.applications(Reach::In(&namespace)).await?;
            let history = history::of_application(&reading.inventory, &namespace, &asked.name)?;
            answer(&[of_application(&history)], &history, printed)
        }
        Kind::Composition => {
            reading.compositions().await?;
            reading.composites_if_allowed().await?;
            let history = history::of_composition(&reading.inventory, &asked.name)?;
            answer(&[of_composition(&history, names)], &history, printed)
        }
        Kind::Definition(type_) => {
            reading.definitions(Reach::From(&namespace), &[type_]).await?;
            note_not_listed(&reading.inventory);
            reading.users(&namespace).await?;
            let history = history::of_definition(&reading.inventory, &namespace, type_, &asked.name)?;
            answer(&[of_definition(&history, names)], &history, printed)
        }
    }
}

/// The kind of the only thing that has this name, among what may be listed.
async fn find(client: &Client, namespace: &str, name: &str) -> Result<Kind> {
    let mut reading = Reading::of(client);
    reading
        .definitions(Reach::From(namespace), &DefinitionType::ALL)
        .await?;
    note_not_listed(&reading.inventory);
    forgiving(reading.applications(Reach::In(namespace)).await)?;
    forgiving(reading.compositions().await)?;
    let inventory: &Inventory = &reading.inventory;
    Ok(Kind::of_the_one_called(inventory, namespace, name)?)
}

/// Turns a list that is forbidden into a note that its objects are left out.
fn forgiving(listed: Result<()>) -> Result<()> {
    match listed {
        Err(error) if is_forbidden(&error) => {
            output::note(&format!("left out: {}", said(&error)));
            Ok(())
        }
        listed => listed,
    }
}

fn of_definition(history: &DefinitionHistory, names: Names) -> Table {
    let mut table = Table::new(&[
        "REVISION", "VERSION", "NUMBER", "DIGEST", "AGE", "RUN BY", "USED BY",
    ]);
    for one in &history.revisions {
        let version = one.version.as_ref();
        table.add([
            one.revision.to_string(),
            version.map_or_else(|| "<none>".to_owned(), ToString::to_string),
            one.number.to_string(),
            one.digest.short(),
            age(one.created),
            users(one.run_by.iter().flatten(), one.run_by.is_some(), names),
            users(one.used_by.iter().flatten(), one.used_by.is_some(), names),
        ]);
    }
    table
}

/// The count of users, or all of their names.
fn users<'u>(users: impl Iterator<Item = &'u String>, is_known: bool, names: Names) -> String {
    if !is_known {
        return "<unknown>".to_owned();
    }
    let users: Vec<&str> = users.map(String::as_str).collect();
    match names {
        Names::Counted => users.len().to_string(),
        Names::Listed if users.is_empty() => "<none>".to_owned(),
        Names::Listed => users.join(", "),
    }
}

fn of_application(history: &ApplicationHistory) -> Table {
    let mut table = Table::new(&["REVISION", "NUMBER", "DIGEST", "AGE", "CURRENT", "DEFINITIONS"]);
    for one in &history.revisions {
        let mut definitions: Vec<&str> = Vec::new();
        for used in &one.definitions {
            // Two references may lead to one revision.
            if !definitions.contains(&used.revision.as_str()) {
                definitions.push(&used.revision);
            }
        }
        table.add([
            one.revision.to_string(),
            one.number.to_string(),
            one.digest.short(),
            age(one.created),
            yes(one.current),
            definitions.join(","),
        ]);
    }
    table
}

fn of_composition(history: &CompositionHistory, names: Names) -> Table {
    let mut table = Table::new(&[
        "REVISION", "NUMBER", "DIGEST", "AGE", "CURRENT", "LABELS", "USED BY",
    ]);
    for one in &history.revisions {
        let labels = one.own_labels();
        table.add([
            one.revision.to_string(),
            one.number.to_string(),
            one.digest.short(),
            age(one.created),
            yes(one.current),
            match labels.is_empty() {
                true => "<none>".to_owned(),
                false => labels.join(","),
            },
            users(one.used_by.iter().flatten(), true, names),
        ]);
    }
    table
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "" }.to_owned()
}
