//! `cambium gc --dry-run`: prints what the manager would delete and what it keeps.

use anyhow::Result;
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::DefinitionType;
use cambium_compositions::revision::LabelEdits;
use cambium_controllers::Settings;
use cambium_reports::gc::{Limits, Revision, gc as fates};
use cambium_reports::{Compositions, Inventory};
use jiff::Timestamp;
use kube::Client;

use super::listing::{Reach, Reading, note_not_listed};
use super::{answer, or_none};
use crate::cli::{Gate, Gc, Names};
use crate::client;
use crate::exit::WrongUse;
use crate::table::Table;

pub(crate) async fn gc(options: &Gc) -> Result<()> {
    if !options.dry_run {
        return Err(WrongUse(
            "the manager deletes revisions that nobody uses; `cambium gc --dry-run` shows which".to_owned(),
        )
        .into());
    }
    let client = client::connect(&options.cluster).await?;
    let namespace = options.namespace.as_deref();
    let inventory = read(&client, namespace, options).await?;
    let limits = Limits {
        definitions: options.definition_revision_limit,
        applications: options.application_revision_limit,
        compositions: options.composition_revision_limit,
        grace: Settings::default().revision_grace,
    };
    let revisions = fates(&inventory, namespace, &limits, Timestamp::now());
    answer(
        &[table(&revisions, options.printed.names())],
        &revisions,
        options.printed,
    )
}

async fn read(client: &Client, namespace: Option<&str>, options: &Gc) -> Result<Inventory> {
    match namespace {
        None => {
            let mut inventory = Reading::all_of_applications(client, Reach::Everything).await?;
            let issues = options.features.is_on(Gate::CompositionLabelRevisions, false);
            inventory.compositions = Compositions::with_label_edits(match issues {
                true => LabelEdits::Issue,
                false => LabelEdits::Follow,
            });
            let mut reading = Reading::into(client, inventory);
            reading.compositions().await?;
            reading.composites().await?;
            Ok(reading.inventory)
        }
        // Those who use what everybody shares are in all namespaces.
        Some(SYSTEM_NAMESPACE) => {
            let mut reading = Reading::of(client);
            let reach = Reach::In(SYSTEM_NAMESPACE);
            reading.definitions(reach, &DefinitionType::ALL).await?;
            note_not_listed(&reading.inventory);
            reading.users(SYSTEM_NAMESPACE).await?;
            Ok(reading.inventory)
        }
        Some(namespace) => Reading::all_of_applications(client, Reach::In(namespace)).await,
    }
}

fn table(revisions: &[Revision], names: Names) -> Table {
    let mut table = Table::new(&["NAMESPACE", "REVISION", "VERSION", "ACTION", "WHY"]);
    for one in revisions {
        let version = one.version.as_ref().map(ToString::to_string);
        table.add([
            or_none(one.namespace.as_deref()),
            one.revision.to_string(),
            or_none(version.as_deref()),
            one.action.text().to_owned(),
            match names {
                Names::Counted => one.why_in_short().join("; "),
                Names::Listed => one.why.join("; "),
            },
        ]);
    }
    table
}
