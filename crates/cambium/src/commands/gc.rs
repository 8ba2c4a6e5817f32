//! `cambium gc --dry-run`: what would go, what stays, and why.

use anyhow::Result;
use cambium_lineage::{KeepReason, Retention, Users};
use cambium_oam::Stored;
use cambium_oam::definition::{Observed, plan};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::sync::Arc;

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
    answer(&rows, &all, options.output)
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
