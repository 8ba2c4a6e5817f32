//! ControllerRevisions: the template history of StatefulSets and DaemonSets.

use serde_json::{Value, json};

use super::write::{Plan, Write};
use super::{read, template};
use crate::object;

/// The label with a revision's hash, on revisions and pods.
pub(super) const REVISION_HASH: &str = "controller-revision-hash";

/// The ControllerRevision of the current template; created, or renumbered as the newest, if necessary.
pub(super) fn current(owner: &Value, revisions: &[Value], plan: &mut Plan) -> Value {
    let template = object::at(owner, "spec.template").unwrap_or(&Value::Null);
    let newest = revisions
        .iter()
        .max_by_key(|one| read::number(one, "revision", 0));
    let next = 1 + newest.map_or(0, |one| read::number(one, "revision", 0));
    let equal = |one: &&Value| template::same(&template_of(one), template);
    let found = newest.filter(equal).or_else(|| {
        revisions
            .iter()
            .filter(equal)
            .max_by_key(|one| read::number(one, "revision", 0))
    });
    if let Some(found) = found {
        let mut found = found.clone();
        if read::number(&found, "revision", 0) + 1 != next {
            plan.writes
                .push(Write::Patch(found.clone(), json!({"revision": next})));
            found["revision"] = json!(next);
        }
        return found;
    }
    let hash = template::hash(template, read::number(owner, "status.collisionCount", 0));
    let mut labels = object::at(template, "metadata.labels")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let label = if owner["kind"] == "DaemonSet" {
        REVISION_HASH
    } else {
        "controller.kubernetes.io/hash"
    };
    labels[label] = json!(hash);
    let mut data = template.clone();
    data["$patch"] = json!("replace");
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {"name": format!("{}-{hash}", object::name(owner)), "namespace": object::namespace(owner), "labels": labels,
            "ownerReferences": [template::controller_reference(owner)]},
        "data": {"spec": {"template": data}}, "revision": next});
    plan.writes.push(Write::Ensure(revision.clone()));
    revision
}

/// The pod template of a revision.
pub(super) fn template_of(revision: &Value) -> Value {
    let mut template = object::at(revision, "data.spec.template")
        .cloned()
        .unwrap_or_default();
    if let Some(map) = template.as_object_mut() {
        map.remove("$patch");
    }
    template
}

/// Deletes the oldest unused revisions beyond `revisionHistoryLimit`.
pub(super) fn clean_up(
    owner: &Value,
    revisions: &[Value],
    is_used: impl Fn(&Value) -> bool,
    plan: &mut Plan,
) {
    let limit = usize::try_from(read::number(owner, "spec.revisionHistoryLimit", 10)).unwrap_or_default();
    let mut unused: Vec<&Value> = revisions.iter().filter(|one| !is_used(one)).collect();
    unused.sort_by_key(|one| read::number(one, "revision", 0));
    let surplus = unused.len().saturating_sub(limit);
    plan.writes.extend(
        unused
            .into_iter()
            .take(surplus)
            .map(|one| Write::Delete(one.clone())),
    );
}
