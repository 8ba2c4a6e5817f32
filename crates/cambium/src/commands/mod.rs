//! The commands that read a cluster, and those that change an object in it.

mod diff;
mod gc;
mod history;
mod listing;
mod locking;
mod moving;
mod outdated;
mod pinning;
mod resolving;
mod verify;

use anyhow::Result;
use kube::Client;
use serde::Serialize;

use crate::cli::{Asking, Format, Names, Printed};
use crate::client;
use crate::output;
use crate::table::Table;

pub(crate) use diff::diff;
pub(crate) use gc::gc;
pub(crate) use history::history;
pub(crate) use locking::lock;
pub(crate) use moving::{rollback, upgrade};
pub(crate) use outdated::outdated;
pub(crate) use pinning::{follow, pin};
pub(crate) use resolving::resolve;
pub(crate) use verify::verify;

/// Runs one command to its end.
pub(crate) fn run<F: Future<Output = Result<()>>>(command: F) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(command)
}

/// A client and the namespace that is meant.
pub(crate) async fn ask(asking: &Asking) -> Result<(Client, String)> {
    let client = client::connect(&asking.cluster).await?;
    let namespace = asking
        .namespace
        .clone()
        .unwrap_or_else(|| client.default_namespace().to_owned());
    Ok((client, namespace))
}

/// Prints tables for a person, or the answer as it is for a program.
fn answer(tables: &[Table], answer: &impl Serialize, printed: Printed) -> Result<()> {
    match printed.format() {
        None => {
            let tables = tables.iter().filter(|table| !table.is_empty());
            let texts: Vec<String> = tables.map(|table| text(table, printed)).collect();
            output::write(&texts.join("\n"))
        }
        Some(format) => print(answer, format),
    }
}

/// A table for a person, who may want all of it.
fn text(table: &Table, printed: Printed) -> String {
    match printed.names() {
        Names::Counted => table.text(),
        Names::Listed => table.wide_text(),
    }
}

pub(crate) fn print(answer: &impl Serialize, format: Format) -> Result<()> {
    output::write(&match format {
        Format::Json => serde_json::to_string_pretty(answer)? + "\n",
        Format::Yaml => serde_saphyr::to_string(answer)?,
    })
}

fn or_none(text: Option<&str>) -> String {
    text.unwrap_or("<none>").to_owned()
}

/// The age of an object, as kubectl prints it.
fn age(since: jiff::Timestamp) -> String {
    let seconds = jiff::Timestamp::now().duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
