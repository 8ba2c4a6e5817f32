//! The inventory: the objects of a cluster, fed by lists or by watches.

mod compositions;
mod definitions;
mod visibility;

pub use compositions::{CompositeKind, Compositions};
pub use definitions::Definitions;
pub use visibility::{NotListed, Visibility};

use cambium_api::{GROUP, crossplane};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// All objects that answers depend on. It takes one object at a time, from a list or from a watch, and costs what changed.
///
/// CompositeResourceDefinitions come before the composite resources and claims that they define.
#[derive(Default)]
pub struct Inventory {
    /// Definitions, applications and their revisions.
    pub definitions: Definitions,
    /// Compositions, composite resources and claims.
    pub compositions: Compositions,
    /// How many users of definitions are visible.
    pub users: Visibility,
    not_listed: Vec<NotListed>,
}

/// An object that cannot be read. It is left out, and so is nothing else.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name} is left out: {why}")]
pub struct Unreadable {
    /// Its kind.
    pub kind: String,
    /// Its namespace and name.
    pub name: ObjectName,
    /// The problem with it.
    pub why: String,
}

/// A namespace and a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ObjectName {
    /// The namespace; empty if the object is in none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectName {
    /// The namespace and name of an object.
    pub fn of(object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        Self {
            namespace: text("namespace"),
            name: text("name"),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => formatter.write_str(&self.name),
            namespace => write!(formatter, "{namespace}/{}", self.name),
        }
    }
}

/// A change of an object.
#[derive(Clone, Copy)]
enum Change {
    Put,
    Remove,
}

impl Inventory {
    /// Takes an object, or what it has become.
    pub fn put(&mut self, object: &Value) -> Result<(), Unreadable> {
        self.change(object, Change::Put)
    }

    /// Forgets an object.
    pub fn remove(&mut self, object: &Value) -> Result<(), Unreadable> {
        self.change(object, Change::Remove)
    }

    fn change(&mut self, object: &Value, change: Change) -> Result<(), Unreadable> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let changed = match group_of(api_version) {
            GROUP => self.definitions.change(kind, object, change),
            crossplane::GROUP => self.compositions.change(kind, object, change),
            group => self.compositions.change_composite(group, kind, object, change),
        };
        changed.map_err(|why| Unreadable {
            kind: kind.to_owned(),
            name: ObjectName::of(object),
            why,
        })
    }

    /// Records that the user may not list something.
    pub fn not_listed(&mut self, not_listed: NotListed) {
        self.not_listed.push(not_listed);
    }

    /// Everything that the user may not list.
    pub fn all_not_listed(&self) -> &[NotListed] {
        &self.not_listed
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
