//! The kind as a whole: names, versions, conversion, subresources.

use serde_json::Value;

use crate::change::{Change, Effects, Place};
use crate::contract::{Contract, ContractVersion};
use crate::rules;

/// The changes that concern no schema.
pub(super) fn changes(old: &Contract, new: &Contract) -> Vec<Change> {
    let mut changes = Vec::new();
    names(old, new, &mut changes);
    for before in &old.versions {
        match new.version(&before.name) {
            None => {
                let stored = old.stored_versions.contains(&before.name);
                let what = if stored {
                    "objects may be stored at it"
                } else {
                    "removed"
                };
                changes.push(change("R44", &before.name, "spec.versions", what));
            }
            Some(after) => version(before, after, &mut changes),
        }
    }
    for after in new
        .versions
        .iter()
        .filter(|after| old.version(&after.name).is_none())
    {
        changes.push(change("R41", &after.name, "spec.versions", "added"));
    }
    storage(old, new, &mut changes);
    if old.conversion != new.conversion {
        let what = format!("{} -> {}", old.conversion, new.conversion);
        changes.push(change("R45", "", "spec.conversion.strategy", what));
    }
    match (old.preserves_unknown_fields, new.preserves_unknown_fields) {
        (true, false) => changes.push(change("R51", "", "spec.preserveUnknownFields", "true -> false")),
        (false, true) => changes.push(change("R32", "", "spec.preserveUnknownFields", "false -> true")),
        _ => {}
    }
    changes
}

/// The change that the whole CustomResourceDefinition is gone.
pub(crate) fn removed() -> Change {
    change("R50", "", "metadata.name", "removed")
}

fn change(rule: &str, version: &str, path: &str, what: impl Into<String>) -> Change {
    let rule = rules::rule(rule).expect("every rule that is named here is in the table");
    let effects: Effects = rule.effects(Place::Spec);
    Change {
        rule,
        version: version.to_owned(),
        path: path.to_owned(),
        to: None,
        what: what.into(),
        effects,
        bump: rule.bump(Place::Spec),
        witness: None,
    }
}

fn names(old: &Contract, new: &Contract, changes: &mut Vec<Change>) {
    let (before, after) = (&old.names, &new.names);
    for (path, before, after) in [
        ("spec.group", &before.group, &after.group),
        ("spec.names.kind", &before.kind, &after.kind),
        ("spec.names.plural", &before.plural, &after.plural),
        ("spec.scope", &before.scope, &after.scope),
    ] {
        if before != after {
            changes.push(change("R46", "", path, format!("{before} -> {after}")));
        }
    }
    let (gone, come) = apart(
        std::slice::from_ref(&before.singular),
        std::slice::from_ref(&after.singular),
    );
    gained_and_lost("spec.names.singular", "", &gone, &come, changes);
    let (gone, come) = apart(&before.short_names, &after.short_names);
    gained_and_lost("spec.names.shortNames", "", &gone, &come, changes);
    if before.categories != after.categories {
        changes.push(change(
            "R49",
            "",
            "spec.names.categories",
            after.categories.join(", "),
        ));
    }
}

/// What only the first list has, and what only the second has.
fn apart(old: &[String], new: &[String]) -> (Vec<String>, Vec<String>) {
    let without = |some: &[String], others: &[String]| {
        let rest = some.iter().filter(|one| !others.contains(one));
        rest.cloned().collect::<Vec<_>>()
    };
    (without(old, new), without(new, old))
}

fn gained_and_lost(path: &str, version: &str, gone: &[String], come: &[String], changes: &mut Vec<Change>) {
    if !gone.is_empty() {
        changes.push(change("R48", version, path, gone.join(", ")));
    }
    if !come.is_empty() {
        changes.push(change("R52", version, path, come.join(", ")));
    }
}

fn version(before: &ContractVersion, after: &ContractVersion, changes: &mut Vec<Change>) {
    let name = before.name.as_str();
    match (before.served, after.served) {
        (true, false) => changes.push(change("R43", name, "spec.versions[].served", "true -> false")),
        (false, true) => changes.push(change("R41", name, "spec.versions[].served", "false -> true")),
        _ => {}
    }
    let status = |version: &ContractVersion| !version.raw["subresources"]["status"].is_null();
    if status(before) != status(after) {
        let what = if status(after) { "added" } else { "removed" };
        changes.push(change("R47", name, "spec.versions[].subresources.status", what));
    }
    let scale = |version: &ContractVersion| version.raw["subresources"]["scale"].clone();
    match (scale(before), scale(after)) {
        (before, after) if before == after => {}
        (Value::Null, _) => changes.push(change("R52", name, "spec.versions[].subresources.scale", "added")),
        (_, Value::Null) => changes.push(change(
            "R48",
            name,
            "spec.versions[].subresources.scale",
            "removed",
        )),
        _ => changes.push(change(
            "R48",
            name,
            "spec.versions[].subresources.scale",
            "its paths changed",
        )),
    }
    let selectable = |version: &ContractVersion| {
        let fields = version.raw["selectableFields"].as_array().into_iter().flatten();
        fields
            .map(|field| field["jsonPath"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let (gone, come) = apart(&selectable(before), &selectable(after));
    gained_and_lost("spec.versions[].selectableFields", name, &gone, &come, changes);
    if before.raw["additionalPrinterColumns"] != after.raw["additionalPrinterColumns"] {
        changes.push(change(
            "R49",
            name,
            "spec.versions[].additionalPrinterColumns",
            "changed",
        ));
    }
}

fn storage(old: &Contract, new: &Contract, changes: &mut Vec<Change>) {
    let stored = |contract: &Contract| {
        let version = contract.versions.iter().find(|version| version.storage);
        version.map(|version| version.name.clone()).unwrap_or_default()
    };
    let (before, after) = (stored(old), stored(new));
    if before == after {
        return;
    }
    let what = match old.version(&after) {
        Some(_) => format!("{before} -> {after}"),
        None => format!(
            "{before} -> {after}, which is added in the same step: a rollback cannot read what was stored meanwhile"
        ),
    };
    changes.push(change("R42", &after, "spec.versions[].storage", what));
}
