//! The parsed application: components and their traits.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// An application, as far as rendering needs it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Its namespace; empty means `default`.
    pub namespace: String,
    /// Its labels, which every manifest gets too.
    pub labels: BTreeMap<String, String>,
    /// Its annotations, which every manifest gets too.
    pub annotations: BTreeMap<String, String>,
    /// The components, in order.
    pub components: Vec<Component>,
}

/// One component of an application.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its `type`: a reference to a component definition.
    pub definition: String,
    /// The value of `parameter` in the template.
    pub properties: Option<Value>,
    /// The traits, in the order they are applied.
    pub traits: Vec<TraitUse>,
    /// The component as it was written, which templates see in `context.components`.
    pub written: Value,
}

/// A trait of a component.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraitUse {
    /// Its `type`: a reference to a trait definition.
    pub definition: String,
    /// The value of `parameter` in the template.
    pub properties: Option<Value>,
}

/// The reasons that a manifest is not an application.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct InvalidApplication {
    /// The path in the manifest.
    pub path: String,
    /// The message.
    pub message: String,
}

impl Application {
    /// Reads the manifest of an `Application`.
    pub fn from_manifest(manifest: &Value) -> Result<Self, InvalidApplication> {
        if manifest["kind"].as_str() != Some("Application") {
            return Err(invalid("kind", "must be Application"));
        }
        let metadata = &manifest["metadata"];
        let components = match &manifest["spec"]["components"] {
            Value::Null => Vec::new(),
            Value::Array(components) => {
                let read = |(index, value)| Component::read(value, &format!("spec.components[{index}]"));
                components
                    .iter()
                    .enumerate()
                    .map(read)
                    .collect::<Result<_, _>>()?
            }
            _ => return Err(invalid("spec.components", "must be a list")),
        };
        Ok(Self {
            name: text(metadata, "name", "metadata")?,
            namespace: optional_text(metadata, "namespace", "metadata")?,
            labels: texts(metadata, "labels")?,
            annotations: texts(metadata, "annotations")?,
            components,
        })
    }

    /// The namespace that objects go to.
    pub fn effective_namespace(&self) -> &str {
        if self.namespace.is_empty() {
            "default"
        } else {
            &self.namespace
        }
    }
}

impl Component {
    fn read(value: &Value, path: &str) -> Result<Self, InvalidApplication> {
        let traits = match &value["traits"] {
            Value::Null => Vec::new(),
            Value::Array(traits) => {
                let read = |(index, value)| TraitUse::read(value, &format!("{path}.traits[{index}]"));
                traits.iter().enumerate().map(read).collect::<Result<_, _>>()?
            }
            _ => return Err(invalid(&format!("{path}.traits"), "must be a list")),
        };
        Ok(Self {
            name: text(value, "name", path)?,
            definition: text(value, "type", path)?,
            properties: properties(value, path)?,
            traits,
            written: value.clone(),
        })
    }
}

impl TraitUse {
    fn read(value: &Value, path: &str) -> Result<Self, InvalidApplication> {
        Ok(Self {
            definition: text(value, "type", path)?,
            properties: properties(value, path)?,
        })
    }
}

fn properties(value: &Value, path: &str) -> Result<Option<Value>, InvalidApplication> {
    match &value["properties"] {
        Value::Null => Ok(None),
        object @ Value::Object(_) => Ok(Some(object.clone())),
        _ => Err(invalid(&format!("{path}.properties"), "must be an object")),
    }
}

fn text(value: &Value, field: &str, path: &str) -> Result<String, InvalidApplication> {
    match &value[field] {
        Value::String(text) => Ok(text.clone()),
        _ => Err(invalid(&format!("{path}.{field}"), "must be a string")),
    }
}

fn optional_text(value: &Value, field: &str, path: &str) -> Result<String, InvalidApplication> {
    if value[field].is_null() {
        Ok(String::new())
    } else {
        text(value, field, path)
    }
}

fn texts(metadata: &Value, field: &str) -> Result<BTreeMap<String, String>, InvalidApplication> {
    let fields = match &metadata[field] {
        Value::Null => &Map::new(),
        Value::Object(fields) => fields,
        _ => return Err(invalid(&format!("metadata.{field}"), "must be an object")),
    };
    let read = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        _ => Err(invalid(&format!("metadata.{field}.{name}"), "must be a string")),
    };
    fields.iter().map(read).collect()
}

fn invalid(path: &str, message: &str) -> InvalidApplication {
    InvalidApplication {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}
