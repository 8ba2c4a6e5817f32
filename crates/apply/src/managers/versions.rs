//! Conversion of objects between versions.

use std::borrow::Cow;

use cambium_schema::Schema;
use serde_json::Value;

use crate::typed::Type;

/// The served versions of an object. Managers record their fields in the version that they wrote.
pub trait Versions {
    /// The schema of a version; `None` when it is no longer served.
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// Converts the object to another version; `None` when that is no longer served.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;
}

/// Objects with a single version.
#[derive(Debug, Clone, Copy)]
pub struct OneVersion<'s> {
    /// The version.
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

/// Objects with several versions, and a conversion function.
#[derive(Debug, Clone, Copy)]
pub struct ByVersion<'s, C> {
    /// The versions with their schemas.
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
    /// The type of objects at a version.
    pub(super) fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        self.schema(api_version).map(Type::object)
    }

    /// The object converted to a version, with its type.
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
