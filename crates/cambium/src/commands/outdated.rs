//! `cambium outdated`: prints the Applications and composite resources that could move to something newer.

use anyhow::Result;
use cambium_reports::outdated::{self, Outdated as Row};

use super::listing::{Reach, Reading, is_forbidden};
use super::{answer, ask, or_none};
use crate::cli::{Names, Outdated};
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
    if rows.is_empty() && options.asking.printed.format().is_none() {
        output::note("everything is at the newest revision");
        return Ok(());
    }
    let (applications, composites): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.application.is_some());
    let mut tables = [of_applications(&applications), of_composites(&composites)];
    if options.asking.printed.names() == Names::Counted {
        tables = tables.map(|table| match options.all_namespaces {
            true => table.without("COMPOSITION"),
            false => table.without("COMPOSITION").without("NAMESPACE"),
        });
    }
    answer(&tables, &rows, options.asking.printed)
}

fn of_applications(rows: &[&Row]) -> Table {
    let mut table = Table::new(&[
        "NAMESPACE",
        "APPLICATION",
        "PLACE",
        "ASKED",
        "AT",
        "NEWEST",
        "WHY NOT",
    ]);
    for row in rows {
        let [namespace, asked, at, newest] =
            [&row.namespace, &row.asked, &row.at, &row.newest].map(|text| or_none(text.as_deref()));
        let (consumer, place) = (row.consumer(), row.place().to_owned());
        table.add([namespace, consumer, place, asked, at, newest, row.why_not.clone()]);
    }
    table
}

fn of_composites(rows: &[&Row]) -> Table {
    let mut table = Table::new(&["NAMESPACE", "COMPOSITE", "COMPOSITION", "AT", "NEWEST", "WHY NOT"]);
    for row in rows {
        let [namespace, asked, at, newest] =
            [&row.namespace, &row.asked, &row.at, &row.newest].map(|text| or_none(text.as_deref()));
        table.add([namespace, row.consumer(), asked, at, newest, row.why_not.clone()]);
    }
    table
}
