//! What is not the same, and whether that is meant.

use super::scenario::Scenario;
use super::snapshot::Snapshot;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// One leaf that is not the same.
pub(crate) struct Difference {
    /// The object and the path.
    pub(crate) at: String,
    theirs: Option<Value>,
    ours: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        write!(
            formatter,
            "{}\n      Crossplane: {}\n      Cambium:    {}",
            self.at,
            show(&self.theirs),
            show(&self.ours)
        )
    }
}

/// Everything that differs, leaf by leaf; an object that only one side has is one difference.
pub(crate) fn between(theirs: &Snapshot, ours: &Snapshot) -> Vec<Difference> {
    let mut differences = Vec::new();
    each(&theirs.0, &ours.0, |object, theirs, ours| match (theirs, ours) {
        (Some(theirs), Some(ours)) => each(theirs, ours, |path, theirs, ours| {
            if theirs != ours {
                differences.push(Difference {
                    at: format!("{object} {path}"),
                    theirs: theirs.cloned(),
                    ours: ours.cloned(),
                });
            }
        }),
        (theirs, ours) => differences.push(Difference {
            at: object.to_owned(),
            theirs: theirs.map(|_| "is there".into()),
            ours: ours.map(|_| "is there".into()),
        }),
    });
    differences
}

fn each<'a, T>(
    theirs: &'a BTreeMap<String, T>,
    ours: &'a BTreeMap<String, T>,
    mut tell: impl FnMut(&str, Option<&'a T>, Option<&'a T>),
) {
    let keys: std::collections::BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for key in keys {
        tell(key, theirs.get(key), ours.get(key));
    }
}

/// Differences that are meant in every scenario: a kind, how the path begins, and why.
pub(crate) const EVERYWHERE: [(&str, &str, &str); 0] = [];

/// Which of a scenario's own reasons covers a difference.
pub(crate) fn reason(scenario: &Scenario, step: usize, difference: &Difference) -> Option<usize> {
    scenario.differs.iter().position(|meant| {
        meant.step.is_none_or(|meant| meant == step) && difference.at.starts_with(meant.at.as_str())
    })
}

/// Whether a difference is meant wherever it occurs.
pub(crate) fn is_everywhere(difference: &Difference) -> bool {
    let (object, path) = difference.at.split_once(' ').unwrap_or((&difference.at, ""));
    let kind = object.split('/').next().unwrap_or_default();
    EVERYWHERE
        .iter()
        .any(|(meant, begins, _)| *meant == kind && path.starts_with(begins))
}
