//! The revisions that an Application resolved to and ran at the end of the previous reconcile.

use super::Recorded;
use super::draft::newest;
use crate::{Asked, Using};
use cambium_api::v1beta1::{ApplicationStatus, DefinitionType};
use cambium_lineage::InUse;
use serde_json::Value;
use std::collections::BTreeMap;

/// Uses by the kind of definition and the text of the reference: one text, one answer.
type Uses = BTreeMap<(DefinitionType, String), Using>;

/// The state of an Application at the end of the previous reconcile.
pub(super) struct Previous {
    taken: Uses,
    running: Uses,
    recorded: Uses,
}

impl Previous {
    /// Reads the status and the newest revision. The revision is recorded first: after a crash in between, the status is the older one.
    pub(super) fn of(application: &Value, recorded: &[Recorded]) -> Self {
        let status: ApplicationStatus =
            serde_json::from_value(application["status"].clone()).unwrap_or_default();
        let newest = newest(recorded);
        let mut from_revision = Uses::new();
        for used in newest.iter().flat_map(|recorded| &recorded.definitions) {
            let using = using(used.namespace.as_deref(), &used.revision, Some(&used.digest));
            from_revision.extend(using.map(|using| ((used.type_, used.reference.clone()), using)));
        }
        let (mut taken, mut running) = (Uses::new(), Uses::new());
        for reference in &status.references {
            let key = (reference.definition_type, reference.asked.clone());
            if let Some(revision) = &reference.revision {
                let using = using(
                    reference.namespace.as_deref(),
                    revision,
                    reference.digest.as_deref(),
                );
                taken.extend(using.map(|using| (key.clone(), using)));
            }
            if let Some(runs) = &reference.running {
                let using = using(runs.namespace.as_deref(), &runs.revision, runs.digest.as_deref());
                running.extend(using.map(|using| (key, using)));
            }
        }
        let known = status.latest_revision.map_or(0, |latest| latest.revision);
        let known = u64::try_from(known).unwrap_or(0);
        let is_older = newest.is_some_and(|newest| newest.revision.number() > known);
        let fallback = match is_older {
            true => over(taken.clone(), &from_revision),
            false => over(from_revision.clone(), &taken),
        };
        Self {
            running: over(fallback.clone(), &running),
            taken: fallback,
            recorded: from_revision,
        }
    }

    /// The revision that was recorded with the newest revision of the application, which is another one than it got since if nothing could
    /// be rendered with that.
    pub(super) fn recorded(&self, asked: &Asked) -> Option<&Using> {
        self.recorded.get(&(asked.type_, asked.text.clone()))
    }

    /// The revision that a reference got.
    pub(super) fn taken(&self, asked: &Asked) -> Option<&Using> {
        self.taken.get(&(asked.type_, asked.text.clone()))
    }

    /// The revision that the objects were made from, which is another one if the reference could not move.
    pub(super) fn running(&self, asked: &Asked) -> Option<&Using> {
        self.running.get(&(asked.type_, asked.text.clone()))
    }
}

/// All of both, and `upper` where they differ.
fn over(mut lower: Uses, upper: &Uses) -> Uses {
    lower.extend(upper.iter().map(|(key, using)| (key.clone(), using.clone())));
    lower
}

fn using(namespace: Option<&str>, revision: &str, digest: Option<&str>) -> Option<Using> {
    Some(Using {
        namespace: namespace.unwrap_or_default().to_owned(),
        revision: InUse {
            name: revision.parse().ok()?,
            digest: digest.and_then(|digest| digest.parse().ok()),
        },
    })
}
