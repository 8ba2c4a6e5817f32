//! `cambium gc --dry-run`: what would go, what stays, and why.

use anyhow::Result;
use cambium_api::names::annotation;
use cambium_composites::revision::LabelEdits;
use cambium_lineage::{KeepReason, Retention, Users};
use cambium_oam::Stored;
use cambium_oam::definition::{Observed, plan};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

use super::fleet::Fleet;
use super::world::World;
use super::{answer, heading};
use crate::cli::Gc;
use crate::client;
use crate::exit::WrongUse;

pub(crate) async fn gc(options: &Gc) -> Result<()> {
    if !options.dry_run {
        return Err(WrongUse(
            "the manager deletes what nobody needs; `cambium gc --dry-run` shows what that is".to_owned(),
        )
        .into());
    }
    let client = client::connect(&options.cluster).await?;
    let world = World::read(&client).await?;
    let mut rows = vec![heading(["NAMESPACE", "REVISION", "VERSION", "ACTION", "WHY"])];
    let mut all = Vec::new();
    let wanted = |namespace: &str| options.namespace.as_deref().is_none_or(|only| only == namespace);
    for (artifact, shelf) in world
        .catalogue
        .iter()
        .filter(|(artifact, _)| wanted(&artifact.namespace))
    {
        let stored: Vec<Arc<Stored>> = shelf.revisions().cloned().collect();
        let uses = world.consumers.uses(artifact, shelf.lineage().ok(), Users::SHOWN);
        let planned = plan(
            &Observed {
                artifact,
                definition: world.definitions.get(artifact),
                stored: &stored,
                uses: &uses,
                taken: &|_| false,
                retention: Retention {
                    newest: options.definition_revision_limit,
                    grace: SignedDuration::ZERO,
                    delay: SignedDuration::ZERO,
                },
            },
            Timestamp::now(),
        );
        for one in &stored {
            let name = one.revision.name();
            let goes = planned.mark.contains(name) || planned.delete.iter().any(|(gone, _)| gone == name);
            let reasons = planned.kept.iter().find(|(kept, _)| kept == name);
            let why: Vec<String> = match (goes, reasons) {
                (true, _) => vec!["nobody uses it, and newer ones are kept".to_owned()],
                (false, Some((_, reasons))) => reasons.iter().map(text).collect(),
                (false, None) if one.deleting => vec!["its deletion waits for those who use it".to_owned()],
                (false, None) => vec!["its definition is gone; those who use it keep it".to_owned()],
            };
            let action = if goes { "delete" } else { "keep" };
            rows.push(vec![
                artifact.namespace.clone(),
                name.to_string(),
                one.revision
                    .version()
                    .map_or_else(|| "<none>".to_owned(), ToString::to_string),
                action.to_owned(),
                why.join("; "),
            ]);
            all.push(json!({
                "namespace": artifact.namespace, "revision": name, "version": one.revision.version(),
                "action": action, "why": why,
            }));
        }
    }
    if options.namespace.is_none() {
        of_compositions(&Fleet::read(&client).await?, options, &mut rows, &mut all);
    }
    answer(&rows, &all, options.output)
}

/// The revisions of compositions, which are in no namespace.
fn of_compositions(fleet: &Fleet, options: &Gc, rows: &mut Vec<Vec<String>>, all: &mut Vec<Value>) {
    for (name, shelf) in fleet.catalogue.iter() {
        let uses = fleet.consumers.uses(&fleet.catalogue, name, Users::SHOWN);
        let composition = fleet.compositions.get(name);
        let said = composition.and_then(|composition| {
            let limit = &composition["metadata"]["annotations"][annotation::REVISION_LIMIT];
            limit.as_str()?.parse().ok()
        });
        let planned = cambium_composites::revision::plan(
            &cambium_composites::revision::Observed {
                name,
                composition,
                shelf,
                issued: 0,
                taken: &|name| fleet.catalogue.revision(name).is_some(),
                uses: &uses,
                edits: LabelEdits::default(),
                retention: Retention {
                    newest: said.unwrap_or(options.composition_revision_limit),
                    grace: SignedDuration::ZERO,
                    delay: SignedDuration::ZERO,
                },
            },
            Timestamp::now(),
        );
        for stored in shelf.revisions() {
            let name = stored.revision.name();
            let reasons = planned.kept.iter().find(|(kept, _)| kept == name);
            let (action, why) = match reasons {
                Some((_, reasons)) if reasons.is_empty() => (
                    "delete",
                    vec!["nobody uses it, and newer ones are kept".to_owned()],
                ),
                Some((_, reasons)) => ("keep", reasons.iter().map(text).collect()),
                None => (
                    "keep",
                    vec!["it belongs to no Composition that is there".to_owned()],
                ),
            };
            let none = || "<none>".to_owned();
            rows.push(vec![
                none(),
                name.to_string(),
                none(),
                action.to_owned(),
                why.join("; "),
            ]);
            all.push(json!({
                "composition": stored.composition, "revision": name, "number": stored.revision.number(),
                "action": action, "why": why,
            }));
        }
    }
}

fn text(reason: &KeepReason) -> String {
    match reason {
        KeepReason::Current => "it is what a new consumer gets".to_owned(),
        KeepReason::Declared => "its definition declares it".to_owned(),
        KeepReason::Used { by } => {
            let by: Vec<&str> = by.iter().map(String::as_str).collect();
            format!("used by {}", by.join(", "))
        }
        KeepReason::Newest { of } => format!("it is what {of} gets"),
        KeepReason::Recent => "it is one of the newest".to_owned(),
        KeepReason::Young => "it is new".to_owned(),
    }
}
