//! `cambium gc` for DefinitionRevisions, by the manager's own `definitions::definition::plan`.

use super::{Action, Fate, Limits, Revision, judged};
use crate::Inventory;
use cambium_definitions::definition::{Plan, Seen, Templates};
use cambium_definitions::{Artifact, Shelf, Stored};
use cambium_lineage::{Retention, Users};
use jiff::{SignedDuration, Timestamp};

/// What becomes of the revisions of all definitions. Those whose definitions may not be listed are left out: whether their definition is there is
/// not known.
pub(super) fn fates(inventory: &Inventory, limits: &Limits, now: Timestamp) -> Vec<Revision> {
    let known = inventory.definitions.catalogue().iter().filter(|(artifact, _)| {
        let hidden = inventory.hidden_kind(artifact.type_, &artifact.namespace);
        hidden.is_none()
    });
    known
        .flat_map(|(artifact, shelf)| of_definition(inventory, artifact, shelf, limits, now))
        .collect()
}

fn of_definition(
    inventory: &Inventory,
    artifact: &Artifact,
    shelf: &Shelf,
    limits: &Limits,
    now: Timestamp,
) -> Vec<Revision> {
    let seen = inventory.definitions.seen(artifact);
    // Revisions that nothing keeps are marked, and deleted when they have been marked for some time: without a delay, both are seen at once.
    let retention = Retention {
        newest: limits.definitions,
        grace: SignedDuration::ZERO,
        delay: SignedDuration::ZERO,
    };
    let plan = seen.plan(artifact, retention, Templates::Unchecked, now);
    let revisions = seen.stored().iter().map(|stored| {
        let name = stored.revision.name();
        let kept = plan.kept.iter().find(|(kept, _)| kept == name);
        let (action, why) = match kept {
            Some((_, reasons)) => judged(reasons, "definition", inventory.users),
            None => not_judged(&seen, shelf, &plan, stored),
        };
        Revision {
            namespace: Some(artifact.namespace.clone()),
            definition: Some(artifact.name.clone()),
            application: None,
            composition: None,
            revision: name.clone(),
            number: stored.revision.number(),
            version: stored.revision.version().cloned(),
            users: seen.users(name).map_or(0, Users::count),
            action,
            why,
        }
    });
    revisions.collect()
}

/// The fate of a revision that retention does not apply to.
fn not_judged(seen: &Seen, shelf: &Shelf, plan: &Plan, stored: &Stored) -> Fate {
    let keep = |why: &str| (Action::Keep, vec![why.to_owned()]);
    if stored.deleting {
        return match plan.release.contains(stored.revision.name()) {
            true => (
                Action::Delete,
                vec!["its deletion was requested, and it is not in use".to_owned()],
            ),
            false => keep("its deletion was requested; the finalizer stays while it is used"),
        };
    }
    match &seen.definition {
        None => keep("its definition is gone; it stays while it is used"),
        Some(definition) if !definition["metadata"]["deletionTimestamp"].is_null() => {
            keep("its definition is being deleted; it stays while it is used")
        }
        Some(_) => match shelf.lineage() {
            Err(error) => keep(&format!("nothing is deleted: {error}")),
            Ok(_) => keep("its definition cannot be published; nothing is deleted until then"),
        },
    }
}
