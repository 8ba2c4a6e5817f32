//! `outdated`: who could move to something newer, and why they do not.

mod applications;
mod composites;

pub use applications::applications;
pub use composites::composites;

use serde::Serialize;

/// Somebody who could move to something newer, or gets nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outdated {
    /// Its namespace; none if it is in none.
    pub namespace: Option<String>,
    /// The application, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The kind of composite resource, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name of the composite resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the reference stands in the application, such as `components[web]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The reference as it is written, or the composition.
    pub asked: Option<String>,
    /// What it is at.
    pub at: Option<String>,
    /// What it could be at.
    pub newest: Option<String>,
    /// Why it is not there.
    pub why_not: String,
}

impl Outdated {
    /// What it is called: an application by its name, a composite resource by kind and name.
    pub fn consumer(&self) -> String {
        match (&self.application, &self.kind, &self.name) {
            (Some(application), ..) => application.clone(),
            (None, Some(kind), Some(name)) => format!("{kind}/{name}"),
            _ => String::new(),
        }
    }

    /// The field that says what it asks for.
    pub fn place(&self) -> &str {
        match (&self.path, &self.application) {
            (Some(path), _) => path,
            (None, Some(_)) => "annotations",
            (None, None) => "compositionRevisionRef",
        }
    }
}
