//! The registry of converters, by group and kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::ConvertError;

type Convert = Arc<dyn Fn(Value, &str) -> Result<Value, ConvertError> + Send + Sync>;

/// Converts the objects of one kind between its API versions.
#[derive(Clone)]
pub struct Converter {
    api_versions: Vec<String>,
    convert: Convert,
}

impl Converter {
    /// A converter between these API versions (`group/version`). `convert` gets an object at one of them, and the one that is wanted.
    pub fn new<V: Into<String>>(
        api_versions: impl IntoIterator<Item = V>,
        convert: impl Fn(Value, &str) -> Result<Value, ConvertError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            api_versions: api_versions.into_iter().map(Into::into).collect(),
            convert: Arc::new(convert),
        }
    }

    /// The API versions that it knows.
    pub fn api_versions(&self) -> &[String] {
        &self.api_versions
    }

    fn convert(&self, object: Value, desired: &str) -> Result<Value, ConvertError> {
        let found = object["apiVersion"].as_str().unwrap_or_default();
        check_versions(found, desired, &self.api_versions)?;
        (self.convert)(object, desired)
    }
}

/// Refuses versions that a converter does not know.
pub(crate) fn check_versions<V: AsRef<str>>(
    found: &str,
    desired: &str,
    known: &[V],
) -> Result<(), ConvertError> {
    let is_known = |version: &str| known.iter().any(|one| one.as_ref() == version);
    let names = || known.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if !is_known(found) {
        return Err(ConvertError::UnknownVersion {
            found: found.to_owned(),
            known: names(),
        });
    }
    if !is_known(desired) {
        return Err(ConvertError::UnknownDesiredVersion {
            desired: desired.to_owned(),
            known: names(),
        });
    }
    Ok(())
}

/// Converters by group and kind: what a conversion webhook asks.
#[derive(Clone, Default)]
pub struct Registry {
    groups: BTreeMap<String, BTreeMap<String, Converter>>,
}

impl Registry {
    /// One that converts nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that converts the kinds of Cambium that have several versions.
    pub fn of_cambium() -> Self {
        let mut registry = Self::new();
        crate::definition::register(&mut registry);
        registry
    }

    /// Sets the converter of a kind, in place of the one that it had.
    pub fn register(&mut self, group: impl Into<String>, kind: impl Into<String>, converter: Converter) {
        let kinds = self.groups.entry(group.into()).or_default();
        kinds.insert(kind.into(), converter);
    }

    /// The converter of a kind.
    pub fn find(&self, group: &str, kind: &str) -> Option<&Converter> {
        self.groups.get(group)?.get(kind)
    }

    /// The object at another API version, by the converter of its group and kind.
    ///
    /// # Errors
    /// When nobody converts objects of its kind or at these versions, or when its converter cannot.
    pub fn convert(&self, object: Value, desired: &str) -> Result<Value, ConvertError> {
        if !object.is_object() {
            return Err(ConvertError::NotAnObject);
        }
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
        let Some(converter) = self.find(group, text("kind")) else {
            let kind = text("kind").to_owned();
            return Err(ConvertError::UnknownKind { kind });
        };
        converter.convert(object, desired)
    }
}
