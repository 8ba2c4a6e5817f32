//! `cambium outdated`: every application and composite resource that could move to something newer.

use anyhow::Result;
use cambium_reports::outdated::{self, Outdated as Row};

use super::reading::{Reach, Reading, is_forbidden};
use super::{answer, ask, or_none};
use crate::cli::Outdated;
use crate::exit::said;
use crate::output;
use crate::table::Table;

pub(crate) async fn outdated(options: &Outdated) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let reach = match options.all_namespaces {
        true => Reach::Everything,
        false => Reach::From(&namespace),
    };
    let inventory = Reading::all_of_applications(&client, reach).await?;
    let mut reading = Reading::into(&client, inventory);
    let read = match reading.compositions().await {
        Ok(()) => reading.composites().await,
        failed => failed,
    };
    let only = (!options.all_namespaces).then_some(namespace.as_str());
    let mut rows = outdated::applications(&reading.inventory, only);
    match read {
        Err(error) if is_forbidden(&error) && !options.all_namespaces => {
            output::note(&format!("composite resources are not shown: {}", said(&error)));
        }
        read => {
            read?;
            rows.extend(outdated::composites(&reading.inventory, only));
        }
    }
    if rows.is_empty() && options.asking.output.is_none() {
        output::note("nothing could move to something newer");
        return Ok(());
    }
    answer(&[table(&rows)], &rows, options.asking.output)
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "NAMESPACE",
        "CONSUMER",
        "PLACE",
        "ASKED",
        "AT",
        "NEWEST",
        "WHY NOT",
    ]);
    for row in rows {
        table.add([
            or_none(row.namespace.as_deref()),
            row.consumer(),
            row.place().to_owned(),
            or_none(row.asked.as_deref()),
            or_none(row.at.as_deref()),
            or_none(row.newest.as_deref()),
            row.why_not.clone(),
        ]);
    }
    table
}
