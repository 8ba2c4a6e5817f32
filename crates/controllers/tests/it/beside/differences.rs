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

impl Difference {
    /// Whether both say the same in a condition, and ours goes on to say why, or what to do.
    fn says_more(&self) -> bool {
        let (Some(Value::String(theirs)), Some(Value::String(ours))) = (&self.theirs, &self.ours) else {
            return false;
        };
        let more = ours.strip_prefix(theirs.as_str());
        self.at.contains(" status.conditions.")
            && self.at.ends_with(".message")
            && more.is_some_and(|more| {
                [": ", "; ", " (", " with "]
                    .iter()
                    .any(|with| more.starts_with(with))
            })
    }
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
const EVERYWHERE: [(&str, &str, &str); 11] = [
    (
        "CompositeResourceDefinition",
        "spec.scope",
        "the scopes of Crossplane 2",
    ),
    (
        "CompositeResourceDefinition",
        "status.controllers.compositeResourceClaimType",
        "a kind that is not there is not named",
    ),
    (
        "CompositeResourceDefinition",
        "status.conditions.Established.observedGeneration",
        OBSERVED,
    ),
    (
        "CompositeResourceDefinition",
        "status.conditions.Offered.observedGeneration",
        OBSERVED,
    ),
    ("Composition", "status", "what is current, and who follows it"),
    (
        "CompositionRevision",
        "status",
        "whether it is as it was published, and who uses it",
    ),
    (
        "Composition",
        "spec.publishConnectionDetailsWithStoreConfigRef",
        "there are no external secret stores",
    ),
    (
        "CompositionRevision",
        "spec.publishConnectionDetailsWithStoreConfigRef",
        "there are no external secret stores",
    ),
    ("Composition", "spec.resources[", WRITTEN),
    ("CompositionRevision", "spec.resources[", WRITTEN),
    ("CompositionRevision", "spec.patchSets[", WRITTEN),
];

const OBSERVED: &str = "says for which generation it holds";
const WRITTEN: &str = "a composition is kept as it was written: defaults are for who reads it";

/// Fields of CRDs that we have and Crossplane 1.20 has not.
const MORE: [(&str, &str); 3] = [
    (
        "spec.properties.resourceRefs.items.properties.namespace",
        "composed objects may be in a namespace",
    ),
    (
        "status.properties.compositionUpdatePolicy",
        "an enforced policy is shown",
    ),
    (
        "status.properties.conditions.items.properties.observedGeneration",
        "as Crossplane 2 has it",
    ),
];

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
    let more = kind == "CustomResourceDefinition" && MORE.iter().any(|(field, _)| path.contains(field));
    let known = EVERYWHERE
        .iter()
        .any(|(meant, begins, _)| *meant == kind && path.starts_with(begins));
    // What was defaulted is only on their side.
    let written = known && path.starts_with("spec.resources[") && difference.ours.is_some();
    more || (known && !written) || difference.says_more()
}
