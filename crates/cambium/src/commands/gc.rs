//! `cambium gc --dry-run`: what would go, what stays, and why.

use anyhow::Result;
use cambium_api::names::{SYSTEM_NAMESPACE, annotation};
use cambium_api::v1beta1::DefinitionType;
use cambium_compositions::revision::LabelEdits;
use cambium_controllers::Settings;
use cambium_definitions::application::{Recorded, superfluous};
use cambium_definitions::definition::{Observed, Templates, plan};
use cambium_definitions::{Consuming, Stored};
use cambium_lineage::{KeepReason, Retention, RevisionName, Users};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

use super::fleet::Fleet;
use super::world::{Reach, Sight, World};
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
    let world = match options.namespace.as_deref() {
        None => World::read(&client, Reach::Everything).await?,
        // Those who use what everybody shares are in all namespaces.
        Some(SYSTEM_NAMESPACE) => {
            let reach = Reach::In(SYSTEM_NAMESPACE);
            let mut world = World::published(&client, reach, &DefinitionType::ALL).await?;
            world.note_unseen();
            world.read_users(&client, SYSTEM_NAMESPACE).await?;
            world
        }
        Some(namespace) => World::read(&client, Reach::In(namespace)).await?,
    };
    let mut verdicts = Verdicts::default();
    let wanted = |namespace: &str| options.namespace.as_deref().is_none_or(|only| only == namespace);
    for (artifact, shelf) in world.catalogue.iter() {
        // Whether its definition is there is not known.
        if world.is_unseen(artifact.type_, &artifact.namespace).is_some() {
            continue;
        }
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
                templates: Templates::Unchecked,
            },
            Timestamp::now(),
        );
        for one in &stored {
            let name = one.revision.name();
            let goes = planned.mark.contains(name) || planned.delete.iter().any(|(gone, _)| gone == name);
            let reasons = planned.kept.iter().find(|(kept, _)| kept == name);
            let why: Vec<String> = match (goes, reasons) {
                (true, _) if world.users != Sight::All => {
                    vec!["nobody that you may see uses it, and newer ones are kept".to_owned()]
                }
                (true, _) => vec!["nobody uses it, and newer ones are kept".to_owned()],
                (false, Some((_, reasons))) => reasons.iter().map(|why| text(why, "definition")).collect(),
                (false, None) if one.deleting => vec!["its deletion waits for those who use it".to_owned()],
                (false, None) => vec!["its definition is gone; those who use it keep it".to_owned()],
            };
            let about = json!({
                "namespace": artifact.namespace, "revision": name, "version": one.revision.version(),
            });
            verdicts.add(goes, why, about);
        }
    }
    for (key, recorded) in world.recorded.iter().filter(|(key, _)| wanted(&key.namespace)) {
        of_application(key, &world, recorded, options, &mut verdicts);
    }
    if options.namespace.is_none() {
        of_compositions(&Fleet::read(&client).await?, options, &mut verdicts);
    }
    answer(&verdicts.rows, &verdicts.all, options.output)
}

/// What becomes of each revision, for a person and for a program.
struct Verdicts {
    rows: Vec<Vec<String>>,
    all: Vec<Value>,
}

impl Default for Verdicts {
    fn default() -> Self {
        Self {
            rows: vec![heading(["NAMESPACE", "REVISION", "VERSION", "ACTION", "WHY"])],
            all: Vec::new(),
        }
    }
}

impl Verdicts {
    fn add(&mut self, goes: bool, why: Vec<String>, mut about: Value) {
        let action = if goes { "delete" } else { "keep" };
        let shown = |field: &str| about[field].as_str().unwrap_or("<none>").to_owned();
        let [namespace, revision, version] = ["namespace", "revision", "version"].map(shown);
        self.rows.push(vec![
            namespace,
            revision,
            version,
            action.to_owned(),
            why.join("; "),
        ]);
        about["action"] = json!(action);
        about["why"] = json!(why);
        self.all.push(about);
    }
}

/// The revisions of an application: the current one and the newest of the others stay.
fn of_application(
    key: &Consuming,
    world: &World,
    recorded: &[Recorded],
    options: &Gc,
    verdicts: &mut Verdicts,
) {
    let application = world.applications.get(key);
    let current =
        application.and_then(|application| application["status"]["latestRevision"]["name"].as_str());
    let current: Option<RevisionName> = current.and_then(|name| name.parse().ok());
    let going = current
        .as_ref()
        .map(|current| superfluous(recorded, current, options.application_revision_limit))
        .unwrap_or_default();
    for one in recorded {
        let name = one.revision.name();
        let goes = going.iter().any(|(gone, _)| gone == name);
        let why = match &current {
            None if application.is_none() => "its Application is gone, and Kubernetes collects it",
            None => "its Application has no current revision yet",
            Some(current) if current == name => "it is what its Application is now",
            Some(_) if goes => "it is not current, and newer ones are kept to roll back to",
            Some(_) => "it is one of the newest to roll back to",
        };
        let about = json!({
            "namespace": key.namespace, "application": key.name, "revision": name, "number": one.revision.number(),
        });
        verdicts.add(goes, vec![why.to_owned()], about);
    }
}

/// The revisions of compositions, which are in no namespace.
fn of_compositions(fleet: &Fleet, options: &Gc, verdicts: &mut Verdicts) {
    for (name, shelf) in fleet.catalogue.iter() {
        let uses = fleet.consumers.uses(&fleet.catalogue, name, Users::SHOWN);
        let composition = fleet.compositions.get(name);
        let said = composition.and_then(|composition| {
            let limit = &composition["metadata"]["annotations"][annotation::REVISION_LIMIT];
            limit.as_str()?.parse().ok()
        });
        let planned = cambium_compositions::revision::plan(
            &cambium_compositions::revision::Observed {
                name,
                composition,
                shelf,
                issued: 0,
                taken: &|name| fleet.catalogue.revision(name).is_some(),
                uses: &uses,
                edits: LabelEdits::default(),
                retention: Retention {
                    newest: said.unwrap_or(options.composition_revision_limit),
                    grace: Settings::default().revision_grace,
                    delay: SignedDuration::ZERO,
                },
            },
            Timestamp::now(),
        );
        for stored in shelf.revisions() {
            let name = stored.revision.name();
            let reasons = planned.kept.iter().find(|(kept, _)| kept == name);
            let (goes, why) = match reasons {
                Some((_, reasons)) if reasons.is_empty() => {
                    (true, vec!["nobody uses it, and newer ones are kept".to_owned()])
                }
                Some((_, reasons)) => (
                    false,
                    reasons.iter().map(|why| text(why, "composition")).collect(),
                ),
                None => (
                    false,
                    vec!["it belongs to no Composition that is there".to_owned()],
                ),
            };
            let about = json!({
                "composition": stored.composition, "revision": name, "number": stored.revision.number(),
            });
            verdicts.add(goes, why, about);
        }
    }
}

/// Why a revision stays; `publisher` is what declares it.
fn text(reason: &KeepReason, publisher: &str) -> String {
    match reason {
        KeepReason::Current => "it is what a new consumer gets".to_owned(),
        KeepReason::Declared => format!("its {publisher} declares it"),
        KeepReason::Used { by } => {
            let by: Vec<&str> = by.iter().map(String::as_str).collect();
            format!("used by {}", by.join(", "))
        }
        KeepReason::Newest { of } => format!("it is what {of} gets"),
        KeepReason::Recent => "it is one of the newest".to_owned(),
        KeepReason::Young => "it is new".to_owned(),
    }
}
