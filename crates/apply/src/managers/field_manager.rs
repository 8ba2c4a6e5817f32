//! The field manager of an API server: updates managed fields, and applies.

use std::borrow::Cow;

use serde_json::{Value, json};
use thiserror::Error;

use super::apply_config::{Apply, ConfigError, describe, kind_of};
use super::cap::cap_updaters;
use super::conflicts::Conflicts;
use super::entry::{Entry, ManagerId};
use super::last_applied::{apply_over_last_applied, refresh_annotation};
use super::managed_fields::{self, ManagedFields, ManagedFieldsError};
use super::ownership::{Change, Force, OwnershipError, follow_schemas};
use super::stripped::stripped_fields;
use super::timestamp::Timestamp;
use super::versions::Versions;
use crate::fieldpath::Set;
use crate::typed::{self, Duplicates, TypedErrors};

/// The manager of fields that existed before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The field manager for one request.
#[derive(Clone, Copy)]
pub struct FieldManager<'a> {
    /// The API version of the request, and of all objects passed and returned.
    pub api_version: &'a str,
    /// The kind of the request.
    pub kind: &'a str,
    /// The subresource of the request; empty for the main resource.
    pub subresource: &'a str,
    /// The schemas of all versions, and conversion between them.
    pub versions: &'a dyn Versions,
    /// Reset fields: fields that this request cannot change (`status` for the main resource, all but `status` for `/status`).
    pub reset_fields: &'a Set,
    /// The empty object; `None` for `apiVersion` and `kind` only.
    ///
    /// Upstream's built-in types have every struct that is not a pointer as an empty object from the start.
    pub blank: Option<&'a Value>,
    /// The time of the request.
    pub now: Timestamp,
}

/// Failure to update managed fields.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UpdateError {
    /// An object does not match its schema.
    #[error("failed to convert {which} object ({object}) to smd typed: {source}")]
    Typed {
        /// `new` or `live`.
        which: &'static str,
        /// Its namespace, name and kind.
        object: String,
        /// The errors.
        source: TypedErrors,
    },
    /// The objects cannot be compared.
    #[error("failed to update ManagedFields ({object}): {reason}")]
    Compare {
        /// The object.
        object: String,
        /// The errors.
        reason: String,
    },
    /// The version of the request has no schema.
    #[error("no corresponding type for {0}")]
    NoType(String),
}

/// A failed apply.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// An invalid request (400).
    #[error("{0}")]
    BadRequest(String),
    /// Conflicts with other managers (409).
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    /// The live object's managed fields cannot be read (500).
    #[error("failed to decode managed fields: {0}")]
    ManagedFields(#[from] ManagedFieldsError),
    /// An object does not match its schema, or cannot be merged (500).
    #[error("{0}")]
    Internal(String),
}

impl FieldManager<'_> {
    /// Updates the managed fields of `new`, the result of a create, update or patch of `live`.
    ///
    /// Upstream never fails a request for this: on an error, `new` is left without managed fields, and the caller only logs
    /// the error.
    pub fn update(&self, live: Option<&Value>, new: &mut Value, manager: &str) -> Result<(), UpdateError> {
        if !new.is_object() {
            return Ok(());
        }
        let live = live.map_or_else(|| self.blank(), Cow::Borrowed);
        let managers = self.managers_of_update(&live, new);
        ManagedFields::default().store(new);
        let is_stored = live
            .pointer("/metadata/uid")
            .is_some_and(|uid| uid.as_str().is_some_and(|uid| !uid.is_empty()));
        if managers.entries.is_empty() && is_stored {
            // The object was created before managed fields were tracked, or a client has reset them: upstream does not
            // start tracking with an update.
            return Ok(());
        }
        self.update_managers(&live, new, managers, manager)?.store(new);
        Ok(())
    }

    /// Applies a configuration; returns the object to store. `live` is `None` if the object does not exist.
    pub fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        manager: &str,
        force: Force,
    ) -> Result<Value, ApplyError> {
        let live = live.map_or_else(|| self.blank(), Cow::Borrowed);
        let mut managers = ManagedFields::of(&live)?;
        self.check_config(config)?;
        // Existing fields of an object without managers get an owner, so that an apply conflicts with them instead of silently
        // taking them over.
        if managers.entries.is_empty() {
            managers = self
                .update_managers(&self.blank(), &live, managers, BEFORE_FIRST_APPLY)
                .map_err(|error| {
                    ApplyError::Internal(format!("failed to create manager for existing fields: {error}"))
                })?;
        }
        let id = ManagerId::applier(name_or_unknown(manager), self.subresource);
        let apply = Apply {
            versions: self.versions,
            api_version: self.api_version,
            reset_fields: self.reset_fields,
            live: &live,
            config,
            manager: &id,
            now: self.now,
        };
        let (mut object, managers) = apply_over_last_applied(apply, managers, force)?;
        if manager == "kubectl" {
            refresh_annotation(&mut object, config);
        }
        managers.store(&mut object);
        Ok(object)
    }

    fn check_config(&self, config: &Value) -> Result<(), ApplyError> {
        let is = |name: &str, expected: &str| config.get(name).and_then(Value::as_str) == Some(expected);
        if !is("apiVersion", self.api_version) || !is("kind", self.kind) {
            return Err(ApplyError::BadRequest(format!(
                "invalid object type: {}",
                kind_of(config)
            )));
        }
        if managed_fields::raw(config).is_some_and(Value::is_array) {
            return Err(ApplyError::BadRequest(
                "metadata.managedFields must be nil".to_owned(),
            ));
        }
        Ok(())
    }

    /// The managers before an update: those that the client sent, or the live ones if it sent none or writes a subresource.
    fn managers_of_update(&self, live: &Value, new: &Value) -> ManagedFields {
        let of_live = || ManagedFields::of(live).unwrap_or_default();
        if !self.subresource.is_empty() {
            return of_live();
        }
        if managed_fields::is_reset(new) {
            return ManagedFields::default();
        }
        match ManagedFields::of(new) {
            // An absent or unreadable list is no reset: clients that drop unknown fields must not drop the ownership of others.
            Ok(managers) if !managers.entries.is_empty() => managers,
            _ => of_live(),
        }
    }

    fn update_managers(
        &self,
        live: &Value,
        new: &Value,
        mut managers: ManagedFields,
        manager: &str,
    ) -> Result<ManagedFields, UpdateError> {
        let ty = self
            .versions
            .type_of(self.api_version)
            .ok_or_else(|| UpdateError::NoType(kind_of(new)))?;
        // Stored objects may have duplicate list items from before a list became a map; only apply refuses them.
        typed::validate(ty, new, Duplicates::Allowed).map_err(typed_error("new", new))?;
        typed::validate_beside(ty, live, new).map_err(typed_error("live", live))?;
        // A CRD's schema may have changed between granular and atomic since the fields were recorded.
        follow_schemas(self.versions, &mut managers);
        let change = Change {
            versions: self.versions,
            api_version: self.api_version,
            old: live,
            new,
            reset_fields: self.reset_fields,
        };
        let changed =
            change
                .settle(&mut managers, None, Force::Yes)
                .map_err(|error| UpdateError::Compare {
                    object: describe(new),
                    reason: error.to_string(),
                })?;
        let fields = changed
            .modified
            .union(&changed.added)
            .recursive_difference(self.reset_fields)
            .difference(stripped_fields());
        if !fields.is_empty() {
            let id = ManagerId::updater(name_or_unknown(manager), self.api_version, self.subresource);
            let fields = match managers.remove(&id) {
                // An update never gives up fields of its own manager: it only adds those that it changes.
                Some(previous) => fields.union(&previous.fields),
                None => fields,
            };
            managers.entries.push(Entry {
                id,
                api_version: self.api_version.to_owned(),
                time: Some(self.now),
                fields,
            });
        }
        cap_updaters(&mut managers);
        Ok(managers)
    }

    fn blank(&self) -> Cow<'_, Value> {
        match self.blank {
            Some(blank) => Cow::Borrowed(blank),
            None => Cow::Owned(json!({"apiVersion": self.api_version, "kind": self.kind})),
        }
    }
}

fn typed_error(which: &'static str, object: &Value) -> impl FnOnce(TypedErrors) -> UpdateError {
    move |source| UpdateError::Typed {
        which,
        object: describe(object),
        source,
    }
}

fn name_or_unknown(manager: &str) -> &str {
    if manager.is_empty() { "unknown" } else { manager }
}

impl From<ConfigError> for ApplyError {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Ownership(OwnershipError::Conflicts(conflicts)) => Self::Conflicts(conflicts),
            other => Self::Internal(other.to_string()),
        }
    }
}
