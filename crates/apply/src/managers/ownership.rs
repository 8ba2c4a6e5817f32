//! Transfers ownership of changed fields, and finds conflicts.

use std::borrow::Cow;

use serde_json::Value;
use thiserror::Error;

use super::conflicts::Conflicts;
use super::entry::ManagerId;
use super::managed_fields::ManagedFields;
use super::versions::Versions;
use crate::fieldpath::Set;
use crate::typed::{self, Comparison, TypedErrors};

/// `force`: how to treat fields of other managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Report a conflict.
    No,
    /// Take ownership.
    Yes,
}

/// Failure to update ownership.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum OwnershipError {
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    #[error("failed to compare objects: {0}")]
    Compare(#[from] TypedErrors),
}

/// A change of an object, compared in every version that a manager uses.
pub(super) struct Change<'a> {
    pub(super) versions: &'a dyn Versions,
    pub(super) api_version: &'a str,
    pub(super) old: &'a Value,
    pub(super) new: &'a Value,
    /// Reset fields of the request.
    pub(super) reset_fields: &'a Set,
}

struct Seen {
    api_version: String,
    comparison: Comparison,
    /// Added or modified.
    changed: Set,
}

impl Change<'_> {
    /// Removes the changed fields from every manager but `own`; returns the changes in the request's version.
    pub(super) fn settle(
        &self,
        managers: &mut ManagedFields,
        own: Option<&ManagerId>,
        force: Force,
    ) -> Result<Comparison, OwnershipError> {
        let mut seen = Vec::with_capacity(1);
        seen.extend(self.see(self.api_version)?);
        let mut gone = Vec::new();
        let mut taken = Vec::new();
        for entry in managers.entries.iter().filter(|entry| Some(&entry.id) != own) {
            if !seen.iter().any(|seen| seen.api_version == entry.api_version) {
                seen.extend(self.see(&entry.api_version)?);
            }
            let Some(seen) = seen.iter().find(|seen| seen.api_version == entry.api_version) else {
                // A manager of a version that is no longer served cannot be converted, and loses its fields, as upstream.
                gone.push(entry.id.clone());
                continue;
            };
            let conflict = entry.fields.intersection(&seen.changed);
            if !conflict.is_empty() {
                taken.push((entry.id.clone(), conflict));
            }
        }
        if force == Force::No && !taken.is_empty() {
            return Err(Conflicts::of(taken).into());
        }
        managers.entries.retain(|entry| !gone.contains(&entry.id));
        for (id, fields) in &taken {
            if let Some(entry) = managers.get_mut(id) {
                entry.fields = entry.fields.difference(fields);
            }
        }
        for entry in managers.entries.iter_mut().filter(|entry| Some(&entry.id) != own) {
            if let Some(seen) = seen.iter().find(|seen| seen.api_version == entry.api_version)
                && !seen.comparison.removed.is_empty()
            {
                entry.fields = entry.fields.difference(&seen.comparison.removed);
            }
        }
        managers.drop_empty();
        let own = seen.into_iter().find(|seen| seen.api_version == self.api_version);
        Ok(own.map(|seen| seen.comparison).unwrap_or_default())
    }

    /// `None` when the version is no longer served.
    fn see(&self, api_version: &str) -> Result<Option<Seen>, OwnershipError> {
        let old = self.versions.see(Cow::Borrowed(self.old), api_version);
        let new = self.versions.see(Cow::Borrowed(self.new), api_version);
        let (Some((ty, old)), Some((_, new))) = (old, new) else {
            return Ok(None);
        };
        // Fields that this request cannot change must not cause conflicts or take ownership.
        let comparison = typed::compare(ty, &old, &new)?.excluding(self.reset_fields);
        let changed = comparison.modified.union(&comparison.added);
        Ok(Some(Seen {
            api_version: api_version.to_owned(),
            comparison,
            changed,
        }))
    }
}

/// Reconciles owned fields with changed schemas, and drops managers of removed versions.
pub(super) fn follow_schemas(versions: &dyn Versions, managers: &mut ManagedFields) {
    managers.entries.retain_mut(|entry| {
        let Some(ty) = versions.type_of(&entry.api_version) else {
            return false;
        };
        if let Some(fields) = typed::reconcile(ty, &entry.fields) {
            entry.fields = fields;
        }
        true
    });
}
