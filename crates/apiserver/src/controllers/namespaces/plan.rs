//! Decides which objects of a terminating namespace to delete, and its conditions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::ObjectKey;
use crate::object;

/// A terminating namespace and its content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    /// `spec.finalizers`.
    pub(super) finalizers: Vec<String>,
    /// `status.conditions`.
    pub(super) conditions: Vec<Value>,
    pub(super) content: Vec<Content>,
    /// Errors of earlier deletions, by object.
    pub(super) refusals: BTreeMap<ObjectKey, String>,
}

/// An object in the namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) object_key: ObjectKey,
    /// The resource as the conditions name it: `pods.`, `widgets.example.com`.
    pub(super) resource: String,
    pub(super) uid: String,
    pub(super) deleting: bool,
    pub(super) finalizers: Vec<String>,
}

/// The writes for a namespace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// Objects to delete, with their UIDs.
    pub(super) delete: Vec<(ObjectKey, String)>,
    /// `status.conditions`, where they change.
    pub(super) conditions: Option<Vec<Value>>,
    /// `spec.finalizers` without `kubernetes`, when no content is left.
    pub(super) finalizers: Option<Vec<String>>,
}

/// The finalizer of this controller, which every namespace has.
const FINALIZER: &str = "kubernetes";
const PODS: &str = "pods.";

/// Decides the next step: pods first, then everything else, then the finalizer.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    if !observed.finalizers.iter().any(|one| one == FINALIZER) {
        return Plan {
            delete: vec![],
            conditions: None,
            finalizers: None,
        };
    }
    let pods_remain = observed.content.iter().any(|content| content.resource == PODS);
    let turn = |content: &&Content| !pods_remain || content.resource == PODS;
    let doomed = observed
        .content
        .iter()
        .filter(turn)
        .filter(|content| !content.deleting);
    let delete: Vec<_> = doomed
        .map(|content| (content.object_key.clone(), content.uid.clone()))
        .collect();
    let conditions = conditions(observed, &delete, now);
    let rest = || {
        observed
            .finalizers
            .iter()
            .filter(|one| *one != FINALIZER)
            .cloned()
            .collect()
    };
    let finalizers = observed.content.is_empty().then(rest);
    Plan {
        delete,
        conditions,
        finalizers,
    }
}

/// The new conditions; `None` when unchanged. Objects that are deleted in this step count as remaining only if a
/// finalizer keeps them.
fn conditions(observed: &Observed, delete: &[(ObjectKey, String)], now: Timestamp) -> Option<Vec<Value>> {
    let vanishing: BTreeSet<&ObjectKey> = delete.iter().map(|(object_key, _)| object_key).collect();
    let (mut resources, mut finalizers) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    for content in &observed.content {
        if vanishing.contains(&content.object_key) && content.finalizers.is_empty() {
            continue;
        }
        *resources.entry(&content.resource).or_default() += 1;
        for finalizer in &content.finalizers {
            *finalizers.entry(finalizer).or_default() += 1;
        }
    }
    let list = |counts: &BTreeMap<&str, usize>, verb: &str| {
        counts
            .iter()
            .map(|(name, count)| format!("{name} {verb} {count} resource instances"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let refusals: Vec<&str> = observed.refusals.values().map(String::as_str).collect();
    let wanted = [
        (
            "NamespaceDeletionDiscoveryFailure",
            None,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            (!refusals.is_empty()).then(|| {
                let list = refusals.join(", ");
                (
                    "ContentDeletionFailed",
                    format!(
                        "Failed to delete all resource types, {} remaining: {list}",
                        refusals.len()
                    ),
                )
            }),
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            (!resources.is_empty()).then(|| {
                (
                    "SomeResourcesRemain",
                    format!("Some resources are remaining: {}", list(&resources, "has")),
                )
            }),
            "ContentRemoved",
            "All content successfully removed",
        ),
        (
            "NamespaceFinalizersRemaining",
            (!finalizers.is_empty()).then(|| {
                let list = list(&finalizers, "in");
                (
                    "SomeFinalizersRemain",
                    format!("Some content in the namespace has finalizers remaining: {list}"),
                )
            }),
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ];
    let mut conditions = observed.conditions.clone();
    for (kind, problem, fine, fine_message) in wanted {
        let (status, reason, message) = match problem {
            Some((reason, message)) => ("True", reason, message),
            None => ("False", fine, fine_message.to_owned()),
        };
        set(&mut conditions, kind, status, reason, &message, now);
    }
    (conditions != observed.conditions).then_some(conditions)
}

fn set(conditions: &mut Vec<Value>, kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
    let mut wanted = json!({"type": kind, "status": status, "lastTransitionTime": object::timestamp(now), "reason": reason, "message": message});
    match conditions
        .iter_mut()
        .find(|one| one.get("type").and_then(Value::as_str) == Some(kind))
    {
        Some(existing) => {
            if existing.get("status").and_then(Value::as_str) == Some(status) {
                wanted["lastTransitionTime"] = existing["lastTransitionTime"].clone();
            }
            *existing = wanted;
        }
        None => conditions.push(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(resource: &str, name: &str, finalizers: &[&str]) -> Content {
        let object_key = ObjectKey {
            bucket: resource.into(),
            key: format!("n/{name}").into(),
        };
        let finalizers = finalizers.iter().map(ToString::to_string).collect();
        Content {
            object_key,
            resource: resource.into(),
            uid: format!("uid-{name}"),
            deleting: false,
            finalizers,
        }
    }

    fn observed(content: Vec<Content>) -> Observed {
        Observed {
            finalizers: vec!["kubernetes".into()],
            conditions: vec![],
            content,
            refusals: BTreeMap::new(),
        }
    }

    fn messages(plan: &Plan) -> Vec<String> {
        let conditions = plan.conditions.iter().flatten();
        conditions
            .filter(|one| one["status"] == "True")
            .map(|one| one["message"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn pods_go_first() {
        let plan = plan(
            &observed(vec![content("configmaps.", "a", &[]), content("pods.", "p", &[])]),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(plan.delete.len(), 1);
        assert_eq!(&*plan.delete[0].0.key, "n/p");
        assert_eq!(plan.finalizers, None);
    }

    #[test]
    fn an_empty_namespace_is_let_go() {
        let mut observed = observed(vec![]);
        observed.finalizers.push("example.com/mine".into());
        assert_eq!(
            plan(&observed, Timestamp::UNIX_EPOCH).finalizers,
            Some(vec!["example.com/mine".to_owned()])
        );
        observed.finalizers.remove(0);
        assert_eq!(
            plan(&observed, Timestamp::UNIX_EPOCH),
            Plan {
                delete: vec![],
                conditions: None,
                finalizers: None
            }
        );
    }

    #[test]
    fn the_conditions_say_what_remains_and_then_stay_quiet() {
        let mut observed = observed(vec![
            content("configmaps.", "a", &["x/y"]),
            content("widgets.example.com", "b", &[]),
        ]);
        let first = plan(&observed, Timestamp::UNIX_EPOCH);
        assert_eq!(
            messages(&first),
            [
                "Some resources are remaining: configmaps. has 1 resource instances",
                "Some content in the namespace has finalizers remaining: x/y in 1 resource instances"
            ]
        );
        observed.conditions = first.conditions.unwrap();
        observed.content.pop();
        observed.content[0].deleting = true;
        let later = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(9);
        assert_eq!(
            plan(&observed, later),
            Plan {
                delete: vec![],
                conditions: None,
                finalizers: None
            }
        );
    }
}
