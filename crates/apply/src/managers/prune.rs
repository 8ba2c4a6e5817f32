//! Removes fields that an applier no longer applies.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::Entry;
use super::managed_fields::ManagedFields;
use super::versions::Versions;
use crate::fieldpath::Set;
use crate::typed::{self, Type, with_named_fields};

/// `merged` without the fields that `last` owned, that the new configuration omits, and that no other manager owns.
///
/// `managers` hold the applier's new fields already; `api_version` is the version of `merged`.
pub(super) fn prune(
    versions: &dyn Versions,
    merged: Value,
    api_version: &str,
    managers: &ManagedFields,
    last: Option<&Entry>,
) -> Value {
    let Some(last) = last.filter(|last| !last.fields.is_empty()) else {
        return merged;
    };
    if nothing_dropped(managers, last, api_version) {
        return merged;
    }
    let Some((ty, seen)) = versions.see(Cow::Borrowed(&merged), &last.api_version) else {
        return merged;
    };
    let last_fields = with_named_fields(Some(ty), &last.fields);
    let pruned = typed::remove(ty, &seen, &last_fields);
    // In the version in which the applier recorded its fields; other managers may have recorded theirs in other versions.
    let pruned = add_back_owned(versions, &seen, pruned, &last.api_version, managers);
    let pruned = match versions.see(Cow::Owned(pruned), &last.api_version) {
        Some((_, pruned)) => add_back_dangling(ty, &seen, &pruned, &last_fields),
        None => seen.into_owned(),
    };
    match versions.see(Cow::Owned(pruned), api_version) {
        Some((_, pruned)) => pruned.into_owned(),
        None => merged,
    }
}

/// Fast path: all fields that were applied last time are applied again.
fn nothing_dropped(managers: &ManagedFields, last: &Entry, api_version: &str) -> bool {
    let now = managers
        .get(&last.id)
        .filter(|now| now.api_version == last.api_version);
    last.api_version == api_version && now.is_some_and(|now| last.fields.difference(&now.fields).is_empty())
}

/// Adds back fields of other managers, in each of their versions; the version of `pruned` first.
fn add_back_owned(
    versions: &dyn Versions,
    merged: &Value,
    pruned: Value,
    api_version: &str,
    managers: &ManagedFields,
) -> Value {
    let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
    for entry in &managers.entries {
        let fields = owned.entry(&entry.api_version).or_default();
        *fields = fields.union(&entry.fields);
    }
    let first = owned.remove(api_version).map(|fields| (api_version, fields));
    let mut merged = Cow::Borrowed(merged);
    let mut pruned = pruned;
    for (version, owned) in first.into_iter().chain(owned) {
        let Some((ty, seen)) = versions.see(merged.clone(), version) else {
            continue;
        };
        merged = seen;
        let Some((_, seen)) = versions.see(Cow::Borrowed(&pruned), version) else {
            continue;
        };
        let kept = with_named_fields(Some(ty), &typed::to_field_set(ty, &seen))
            .union(&with_named_fields(Some(ty), &owned));
        let all = with_named_fields(Some(ty), &typed::to_field_set(ty, &merged));
        pruned = typed::remove(ty, &merged, &all.difference(&kept));
    }
    pruned
}

/// Adds back fields below the applier's own that no manager owns.
fn add_back_dangling(ty: Type<'_>, merged: &Value, pruned: &Value, last_fields: &Set) -> Value {
    let left = with_named_fields(Some(ty), &typed::to_field_set(ty, pruned));
    let all = with_named_fields(Some(ty), &typed::to_field_set(ty, merged));
    typed::remove(ty, merged, &all.difference(&left).intersection(last_fields))
}
