//! Names and labels of CompositionRevisions.

use super::{Labels, Stored};
use cambium_api::names::label;
use cambium_lineage::Digest;
use serde_json::json;

/// The longest value of a label.
const LONGEST_LABEL: usize = 63;
/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// The digits of the digest in the name of a revision, unless another revision has that name.
const SHORTEST: usize = 7;
/// The digits of the hash that stands for what was cut off.
const CUT: usize = 16;
/// The digits in the label that the first CompositionRevisions had.
const SPEC_HASH: usize = 16;

/// The name of a composition as its revisions' label has it: longer ones are cut, and end with digits that tell them apart.
pub fn composition_label(composition: &str) -> String {
    shorten(composition, LONGEST_LABEL)
}

/// A name for a revision: the composition's, and as many digits of its digest as no other revision has.
pub(super) fn revision_name(composition: &str, digest: Digest, taken: &dyn Fn(&str) -> bool) -> String {
    let hex = digest.hex();
    let named = |digits: usize| {
        let composition = shorten(composition, LONGEST_NAME - digits - 1);
        format!("{composition}-{}", &hex[..digits])
    };
    (SHORTEST..hex.len())
        .map(named)
        .find(|name| !taken(name))
        .unwrap_or_else(|| named(hex.len()))
}

fn shorten(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let hash = &Digest::of(&json!(text)).hex()[..CUT];
    let kept = text[..longest - CUT - 1].trim_end_matches(['-', '.']);
    format!("{kept}-{hash}")
}

/// The labels that a revision gets: the composition's, and ours over them.
pub(super) fn labels(composition: &str, of_composition: &Labels, content: Digest) -> Labels {
    let hex = content.hex();
    let mut labels = copied(of_composition);
    labels.insert(label::COMPOSITION_NAME.to_owned(), composition_label(composition));
    labels.insert(
        label::COMPOSITION_SPEC_HASH.to_owned(),
        hex[..SPEC_HASH].to_owned(),
    );
    labels.insert(
        label::COMPOSITION_HASH.to_owned(),
        hex[..LONGEST_LABEL].to_owned(),
    );
    labels
}

/// The labels of a composition that its revisions get: all but those that mean something else on a revision.
pub(crate) fn copied(of_composition: &Labels) -> Labels {
    let ours = [
        label::COMPOSITION_NAME,
        label::COMPOSITION_SPEC_HASH,
        label::COMPOSITION_HASH,
    ];
    let labels = of_composition
        .iter()
        .filter(|(name, _)| !ours.contains(&name.as_str()));
    labels
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// How the labels of a revision follow its composition.
#[derive(Debug, PartialEq)]
pub(super) struct Relabelled {
    /// The labels that it does not have as it should, with what they should be; none for those that should go.
    pub(super) changes: Vec<(String, Option<String>)>,
    /// The labels that came from the composition, to be remembered: what a revision has instead, people gave it.
    pub(super) copied: Labels,
}

/// The labels of a revision that came from the composition follow it. One that somebody has set, or taken away, on the revision itself stays
/// so, which is how a revision is promoted; it follows again when it is set to what the composition says.
pub(super) fn relabelled(
    stored: &Stored,
    composition: &str,
    of_composition: &Labels,
    content: Digest,
) -> Relabelled {
    let wanted = labels(composition, of_composition, content);
    let theirs = copied(of_composition);
    let (mut changes, mut remembered) = (Vec::new(), Labels::new());
    for (name, known) in &stored.copied {
        if !wanted.contains_key(name) && stored.labels.get(name) == Some(known) {
            changes.push((name.clone(), None));
        }
    }
    for (name, value) in wanted {
        let (known, live) = (stored.copied.get(&name), stored.labels.get(&name));
        let by_hand = theirs.contains_key(&name) && known != live && live != Some(&value);
        let now = if by_hand {
            known.cloned()
        } else {
            Some(value.clone())
        };
        if theirs.contains_key(&name)
            && let Some(now) = now
        {
            remembered.insert(name.clone(), now);
        }
        if !by_hand && live != Some(&value) {
            changes.push((name, Some(value)));
        }
    }
    Relabelled {
        changes,
        copied: remembered,
    }
}
