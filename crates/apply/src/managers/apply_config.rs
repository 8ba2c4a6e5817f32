//! Server-side apply of a configuration to an object.

use serde_json::Value;
use thiserror::Error;

use super::entry::{Entry, ManagerId};
use super::managed_fields::ManagedFields;
use super::ownership::{Change, Force, OwnershipError, follow_schemas};
use super::prune::prune;
use super::stripped::stripped_fields;
use super::timestamp::Timestamp;
use super::versions::Versions;
use crate::fieldpath::{Set, equal_values};
use crate::typed::{self, Duplicates, Type, TypedErrors};

/// A failed apply.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum ConfigError {
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
    #[error("failed to create typed patch object ({0}): {1}")]
    Config(String, TypedErrors),
    #[error("failed to create typed live object ({0}): {1}")]
    Live(String, TypedErrors),
    #[error("failed to merge config: {0}")]
    Merge(TypedErrors),
    #[error("no corresponding type for {0}")]
    NoType(String),
}

/// The inputs of an apply.
#[derive(Clone, Copy)]
pub(super) struct Apply<'a> {
    pub(super) versions: &'a dyn Versions,
    pub(super) api_version: &'a str,
    pub(super) reset_fields: &'a Set,
    pub(super) live: &'a Value,
    pub(super) config: &'a Value,
    pub(super) manager: &'a ManagerId,
    pub(super) now: Timestamp,
}

impl Apply<'_> {
    /// Applies the configuration; returns the object without managed fields, and its managers.
    pub(super) fn run(
        self,
        mut managers: ManagedFields,
        force: Force,
    ) -> Result<(Value, ManagedFields), ConfigError> {
        let ty = self.object_type()?;
        typed::validate(ty, self.config, Duplicates::Refused)
            .map_err(|errors| ConfigError::Config(describe(self.config), errors))?;
        typed::validate(ty, self.live, Duplicates::Allowed)
            .map_err(|errors| ConfigError::Live(describe(self.live), errors))?;

        follow_schemas(self.versions, &mut managers);
        let merged = typed::merge(ty, self.live, self.config).map_err(ConfigError::Merge)?;
        let fields = typed::to_field_set(ty, self.config).recursive_difference(self.reset_fields);
        let last = managers.remove(self.manager);
        managers.entries.push(Entry {
            id: self.manager.clone(),
            api_version: self.api_version.to_owned(),
            time: last.as_ref().and_then(|last| last.time),
            fields,
        });
        let new = prune(self.versions, merged, self.api_version, &managers, last.as_ref());

        let change = Change {
            versions: self.versions,
            api_version: self.api_version,
            old: self.live,
            new: &new,
            reset_fields: self.reset_fields,
        };
        change.settle(&mut managers, Some(self.manager), force)?;

        let changed = !equal_values(self.live, &new);
        if let Some(entry) = managers.get_mut(self.manager) {
            entry.fields = entry.fields.difference(stripped_fields());
            if changed {
                entry.time = Some(self.now);
            }
        }
        managers.drop_empty();
        Ok((new, managers))
    }

    pub(super) fn object_type(&self) -> Result<Type<'_>, ConfigError> {
        self.versions
            .type_of(self.api_version)
            .ok_or_else(|| ConfigError::NoType(describe(self.config)))
    }
}

/// Namespace, name and kind of an object, for messages.
pub(super) fn describe(object: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = object.get("metadata");
    let namespace = text(metadata.and_then(|metadata| metadata.get("namespace")));
    let name = text(metadata.and_then(|metadata| metadata.get("name")));
    format!("{namespace}/{name}; {}", kind_of(object))
}

/// Group, version and kind as upstream prints them: `apps/v1, Kind=Deployment`.
pub(super) fn kind_of(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={}", text("kind"))
}
