//! Name acceptance of CRDs: `status.acceptedNames`, and the conditions NamesAccepted and Established. Pure.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::CLEANUP;
use crate::object;

/// The new status of a CRD, given the other CRDs of its group; `None` when it is unchanged.
pub(super) fn status(crd: &Value, others: &[Value], now: &str) -> Option<Value> {
    let wanted = crd.pointer("/spec/names").cloned().unwrap_or_default();
    let had = crd.pointer("/status/acceptedNames").cloned().unwrap_or_default();
    let (resources, kinds) = taken(others);
    let text = |names: &Value, field: &str| {
        names
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };

    let mut accepted = json!({"plural": "", "kind": ""});
    let mut problem: Option<(&str, String)> = None;
    let used = |name: &str| format!("{name:?} is already in use");
    for (field, reason, taken) in [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ] {
        let (asked, before) = (text(&wanted, field), text(&had, field));
        if asked != before && taken.contains(&asked) {
            problem = Some((reason, used(&asked)));
            accepted[field] = json!(before);
        } else {
            accepted[field] = json!(asked);
        }
    }
    let short = |names: &Value| -> Vec<String> {
        let list = names
            .get("shortNames")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let before = short(&had);
    let clashes: Vec<String> = short(&wanted)
        .iter()
        .filter(|name| !before.contains(name) && resources.contains(*name))
        .map(|name| used(name))
        .collect();
    let shorts = match clashes.as_slice() {
        [] => short(&wanted),
        _ => {
            let message = if clashes.len() == 1 {
                clashes[0].clone()
            } else {
                format!("[{}]", clashes.join(", "))
            };
            problem = Some(("ShortNamesConflict", message));
            before
        }
    };
    if !shorts.is_empty() {
        accepted["shortNames"] = json!(shorts);
    }
    if let Some(categories) = wanted.get("categories") {
        accepted["categories"] = categories.clone();
    }

    let mut next = crd.get("status").cloned().unwrap_or_else(|| json!({}));
    next["acceptedNames"] = accepted;
    let (status, reason, message) = match &problem {
        None => ("True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, message)) => ("False", *reason, message.clone()),
    };
    set_condition(&mut next, "NamesAccepted", status, reason, &message, now);
    let established = is_true(crd, "Established");
    match (established, problem.is_none()) {
        (true, _) => {}
        (false, true) => {
            let message = "the initial names have been accepted";
            set_condition(
                &mut next,
                "Established",
                "True",
                "InitialNamesAccepted",
                message,
                now,
            );
        }
        (false, false) => {
            set_condition(
                &mut next,
                "Established",
                "False",
                "NotAccepted",
                "not all names are accepted",
                now,
            );
        }
    }
    (crd.get("status") != Some(&next)).then_some(next)
}

/// Whether a condition of a CRD is true.
pub(super) fn is_true(crd: &Value, kind: &str) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|one| one["type"] == kind && one["status"] == "True")
}

/// Sets a condition; `lastTransitionTime` changes only with the status.
pub(super) fn set_condition(
    status: &mut Value,
    kind: &str,
    to: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(list) = status["conditions"].as_array_mut() else {
        return;
    };
    let condition =
        json!({"type": kind, "status": to, "reason": reason, "message": message, "lastTransitionTime": now});
    match list.iter_mut().find(|one| one["type"] == kind) {
        None => list.push(condition),
        Some(existing) => {
            let since = existing["lastTransitionTime"].clone();
            let same = existing["status"] == to;
            *existing = condition;
            if same {
                existing["lastTransitionTime"] = since;
            }
        }
    }
}

/// Sets the condition Terminating on a CRD that is being deleted.
pub(crate) fn mark_deleted(crd: &mut Value, now: &str) {
    if object::is_deleting(crd) || !is_true(crd, "Established") {
        return;
    }
    let mut finalizers: Vec<String> = object::finalizers(crd).into_iter().map(str::to_owned).collect();
    if !finalizers.iter().any(|one| one == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
    }
    object::metadata_mut(crd).insert("finalizers".to_owned(), json!(finalizers));
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    let mut status = crd.get("status").cloned().unwrap_or_else(|| json!({}));
    set_condition(
        &mut status,
        "Terminating",
        "True",
        "InstanceDeletionPending",
        message,
        now,
    );
    crd["status"] = status;
}

/// The accepted names of other CRDs in the group.
fn taken(others: &[Value]) -> (HashSet<String>, HashSet<String>) {
    let (mut resources, mut kinds) = (HashSet::new(), HashSet::new());
    for names in others
        .iter()
        .filter_map(|other| other.pointer("/status/acceptedNames"))
    {
        let text = |field: &str| names.get(field).and_then(Value::as_str).map(str::to_owned);
        resources.extend(["plural", "singular"].into_iter().filter_map(text));
        let shorts = names
            .get("shortNames")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        resources.extend(shorts.filter_map(Value::as_str).map(str::to_owned));
        kinds.extend(["kind", "listKind"].into_iter().filter_map(text));
    }
    (resources, kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(plural: &str, kind: &str, short: &str) -> Value {
        json!({"metadata": {"name": plural}, "spec": {"names": {
            "plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List"), "shortNames": [short]}}})
    }

    #[test]
    fn free_names_are_accepted_and_the_crd_is_established() {
        let mut crd = crd("a", "A", "x");
        let next = status(&crd, &[], "t1").unwrap();
        crd["status"] = next;
        assert!(is_true(&crd, "NamesAccepted") && is_true(&crd, "Established"));
        assert_eq!(status(&crd, &[], "t2"), None, "an unchanged world writes nothing");
    }

    #[test]
    fn taken_names_are_refused_until_they_are_free() {
        let mut first = crd("a", "A", "x");
        first["status"] = status(&first, &[], "t1").unwrap();
        let mut second = crd("b", "B", "x");
        let refused = status(&second, &[first], "t2").unwrap();
        second["status"] = refused;
        assert!(!is_true(&second, "NamesAccepted") && !is_true(&second, "Established"));
        assert_eq!(second["status"]["conditions"][0]["reason"], "ShortNamesConflict");
        assert_eq!(
            second["status"]["conditions"][0]["message"],
            "\"x\" is already in use"
        );
        second["status"] = status(&second, &[], "t3").unwrap();
        assert!(is_true(&second, "Established"));
    }
}
