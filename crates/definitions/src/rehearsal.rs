//! Renders the followers of a definition with a new version before it is stored, to warn of those that would be held back.

use crate::application::Draft;
use crate::definition::{Observed, Templates, Uses, plan};
use crate::{Artifact, Consuming, Shelf, Stored};
use cambium_lineage::Retention;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::sync::Arc;

/// How many followers that cannot be rendered are named in a warning.
const NAMED: usize = 3;

/// The revisions that a definition would add, if it were stored now. This evaluates its templates, unless they are checked already.
pub fn additions(
    artifact: &Artifact,
    definition: &Value,
    shelf: Option<&Shelf>,
    templates: Templates,
    now: Timestamp,
) -> Vec<Arc<Stored>> {
    let stored: Vec<Arc<Stored>> = shelf.into_iter().flat_map(Shelf::revisions).cloned().collect();
    let observed = Observed {
        artifact,
        definition: Some(definition),
        stored: &stored,
        uses: &Uses::default(),
        taken: &|_| false,
        retention: Retention {
            newest: usize::MAX,
            grace: SignedDuration::ZERO,
            delay: SignedDuration::ZERO,
        },
        templates,
    };
    let published = plan(&observed, now).publish;
    let is_new = |stored: &Stored| {
        let known = shelf.and_then(|shelf| shelf.stored(stored.revision.name()));
        known.is_none()
    };
    published
        .iter()
        .filter_map(|object| Stored::read(object).ok())
        .filter(is_new)
        .map(Arc::new)
        .collect()
}

/// The reason that a follower cannot be rendered with a revision of this definition, in one line; none if it can.
pub fn held_back(artifact: &Artifact, draft: &Draft) -> Option<String> {
    let answer = draft.answers.iter().find(|answer| {
        answer.asked.type_ == artifact.type_
            && answer.asked.definition() == artifact.name
            && answer.held_back.is_some()
    })?;
    let why = &answer.held_back.as_ref()?.why;
    Some(why.lines().next().unwrap_or_default().to_owned())
}

/// The warning for the user who publishes: of `followers`, `tried` were rendered, and these failed.
pub fn warning(
    artifact: &Artifact,
    additions: &[Arc<Stored>],
    failed: &[(Arc<Consuming>, String)],
    tried: usize,
    followers: usize,
) -> Option<String> {
    if failed.is_empty() {
        return None;
    }
    let versions: Vec<String> = additions
        .iter()
        .map(|stored| stored.revision.to_string())
        .collect();
    let named: Vec<String> = failed
        .iter()
        .take(NAMED)
        .map(|(consumer, why)| format!("{consumer} ({why})"))
        .collect();
    let more = match failed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let of = match tried == followers {
        true => format!("{followers} followers"),
        false => format!("the {tried} of {followers} followers that were tried"),
    };
    Some(format!(
        "{} {} cannot be rendered for {} of {of}: {}{more}; they stay at what they run",
        artifact.name,
        versions.join(", "),
        failed.len(),
        named.join(", "),
    ))
}
