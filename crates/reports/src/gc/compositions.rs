//! `cambium gc` for CompositionRevisions, by the manager's own `compositions::revision::plan`.

use super::{Action, Limits, Revision, judged};
use crate::{Compositions, Visibility};
use cambium_compositions::revision::{Observed, Plan, Stored, plan, retention};
use cambium_compositions::{Catalogue, Live, Shelf, Uses};
use cambium_lineage::{Retention, Users};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// The fate of the revisions of all compositions.
pub(super) fn fates(compositions: &Compositions, limits: &Limits, now: Timestamp) -> Vec<Revision> {
    let all = compositions.catalogue().iter();
    all.flat_map(|(name, shelf)| of_composition(compositions, name, shelf, limits, now))
        .collect()
}

fn of_composition(
    compositions: &Compositions,
    name: &str,
    shelf: &Shelf,
    limits: &Limits,
    now: Timestamp,
) -> Vec<Revision> {
    let catalogue = compositions.catalogue();
    let type_ = shelf.live().and_then(|live| live.composite_type.as_ref());
    let unseen = type_
        .map(|type_| compositions.unseen_for(type_))
        .unwrap_or_default();
    let mut uses = compositions.consumers().uses(catalogue, name, Users::SHOWN);
    uses.unseen = !unseen.is_empty();
    let decide = Decide {
        compositions,
        name,
        uses: &uses,
        limits,
        now,
    };
    let mut planned = decide.plan(shelf, catalogue);
    // The manager publishes first, and looks again: what is current then is what was created.
    if let Some(created) = planned.create.take()
        && let Ok(created) = Stored::read(&created, compositions.label_edits())
    {
        let mut next = Catalogue::default();
        next.declare(name, compositions.object(name).map(Live::read));
        for stored in shelf.revisions().cloned().chain([Arc::new(created)]) {
            next.put(stored);
        }
        if let Some(shelf) = next.get(name) {
            planned = decide.plan(shelf, &next);
        }
    }
    let revisions = shelf.revisions().map(|stored| {
        let kept = planned
            .kept
            .iter()
            .find(|(kept, _)| kept == stored.revision.name());
        let (action, why) = match kept {
            Some((_, reasons)) if reasons.is_empty() && uses.unseen => {
                let unseen = unseen.join(", ");
                let why = format!(
                    "its users are not known: the composite resources of {unseen} could not be listed"
                );
                (Action::Keep, vec![why])
            }
            Some((_, reasons)) => judged(reasons, "composition", Visibility::All),
            None => (Action::Keep, vec![decide.not_judged(shelf, stored).to_owned()]),
        };
        Revision {
            namespace: None,
            definition: None,
            application: None,
            composition: Some(stored.composition.clone()),
            revision: stored.revision.name().clone(),
            number: stored.revision.number(),
            version: None,
            users: uses.by.get(stored.revision.name()).map_or(0, Users::count),
            action,
            why,
        }
    });
    revisions.collect()
}

/// The input of a decision about one composition besides its revisions.
struct Decide<'a> {
    compositions: &'a Compositions,
    name: &'a str,
    uses: &'a Uses,
    limits: &'a Limits,
    now: Timestamp,
}

impl Decide<'_> {
    fn plan(&self, shelf: &Shelf, catalogue: &Catalogue) -> Plan {
        let composition = self.compositions.object(self.name);
        let told = Retention {
            newest: self.limits.compositions,
            grace: self.limits.grace,
            delay: SignedDuration::ZERO,
        };
        let observed = Observed {
            name: self.name,
            composition,
            shelf,
            // Which number a new revision gets decides nothing about the others.
            issued: 0,
            taken: &|name| catalogue.revision(name).is_some(),
            uses: self.uses,
            edits: self.compositions.label_edits(),
            retention: retention(composition, told),
        };
        plan(&observed, self.now)
    }

    /// The reason to keep a revision that retention does not apply to.
    fn not_judged(&self, shelf: &Shelf, stored: &Stored) -> &'static str {
        match (stored.deleting, self.compositions.object(self.name)) {
            (true, _) => "its deletion was requested",
            (false, None) => "its Composition is gone; Kubernetes garbage collects it",
            (false, Some(_)) if shelf.live().is_none() => "its Composition is being deleted",
            (false, Some(_)) => "belongs to another Composition than the one that is there",
        }
    }
}
