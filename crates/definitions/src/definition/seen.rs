//! Gathers the observed state of a definition from the catalogue and the index of consumers.
//!
//! The controller and `cambium gc --dry-run` gather it here, so that a dry run cannot decide about something else than the controller.

use super::{Observed, Plan, Templates, Uses, plan};
use crate::{Artifact, Catalogue, Consumers, Stored};
use cambium_lineage::{Retention, RevisionName, Users};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The observed state of one definition. It is owned, so that no lock is held while a plan is made.
pub struct Seen {
    /// The object, at v1beta1; none if it is gone.
    pub definition: Option<Value>,
    stored: Vec<Arc<Stored>>,
    uses: Uses,
    /// Names that its revisions could have, and others have.
    taken: BTreeSet<String>,
}

impl Seen {
    /// Gathers the state of one definition.
    pub fn of(
        artifact: &Artifact,
        definition: Option<Value>,
        catalogue: &Catalogue,
        consumers: &Consumers,
    ) -> Self {
        let shelf = catalogue.get(artifact);
        let lineage = shelf.and_then(|shelf| shelf.lineage().ok());
        Self {
            definition,
            stored: shelf
                .into_iter()
                .flat_map(|shelf| shelf.revisions().cloned())
                .collect(),
            uses: consumers.uses(artifact, lineage, Users::SHOWN),
            taken: catalogue.taken(artifact),
        }
    }

    /// Its revisions.
    pub fn stored(&self) -> &[Arc<Stored>] {
        &self.stored
    }

    /// The users of a revision.
    pub fn users(&self, revision: &RevisionName) -> Option<&Users> {
        self.uses.by.get(revision)
    }

    /// Decides about the definition.
    pub fn plan(
        &self,
        artifact: &Artifact,
        retention: Retention,
        templates: Templates,
        now: Timestamp,
    ) -> Plan {
        let observed = Observed {
            artifact,
            definition: self.definition.as_ref(),
            stored: &self.stored,
            uses: &self.uses,
            taken: &|name| self.taken.contains(name),
            retention,
            templates,
        };
        plan(&observed, now)
    }
}
