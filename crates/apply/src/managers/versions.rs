//! The same object in other versions.

use std::borrow::Cow;

use cambium_schema::Schema;
use serde_json::Value;

use crate::typed::Type;

/// The versions in which an object can be seen. Managers name their fields in the version that they wrote.
pub trait Versions {
    /// The schema of a whole object in a version; `None` when the version is gone.
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// The object in a version; `None` when the version is gone. Never asked for the version it has.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;
}

/// Objects that have one version only.
#[derive(Debug, Clone, Copy)]
pub struct OneVersion<'s> {
    /// That version.
    pub api_version: &'s str,
    /// Its schema.
    pub schema: &'s Schema,
}

impl Versions for OneVersion<'_> {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        (api_version == self.api_version).then_some(self.schema)
    }

    fn convert(&self, _: &Value, _: &str) -> Option<Value> {
        None
    }
}

/// Objects that have several versions, with a function between them.
#[derive(Debug, Clone, Copy)]
pub struct ByVersion<'s, C> {
    /// Each version with its schema.
    pub schemas: &'s [(&'s str, &'s Schema)],
    /// Converts an object to a version, if there is such a version.
    pub convert: C,
}

impl<C: Fn(&Value, &str) -> Option<Value>> Versions for ByVersion<'_, C> {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        self.schemas
            .iter()
            .find(|(version, _)| *version == api_version)
            .map(|(_, schema)| *schema)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        (self.convert)(object, api_version)
    }
}

impl dyn Versions + '_ {
    /// How objects of a version merge.
    pub(super) fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        self.schema(api_version).map(Type::object)
    }

    /// The object in a version, and how it merges there.
    pub(super) fn see<'v>(
        &self,
        object: Cow<'v, Value>,
        api_version: &str,
    ) -> Option<(Type<'_>, Cow<'v, Value>)> {
        let ty = self.type_of(api_version)?;
        let has = object.get("apiVersion").and_then(Value::as_str);
        if has.is_none_or(|has| has == api_version) {
            return Some((ty, object));
        }
        Some((ty, Cow::Owned(self.convert(&object, api_version)?)))
    }
}
