//! `cambium outdated`: consumers that could move to something newer, and the reasons that they do not.

mod applications;
mod composites;

pub use applications::applications;
pub use composites::composites;

use serde::Serialize;

/// A consumer that could move to something newer, or that resolves to nothing.
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
    /// The path of the reference in the application, such as `components[web]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The reference as it is written, or the composition.
    pub asked: Option<String>,
    /// The revision that it is at.
    pub at: Option<String>,
    /// The newest revision that it could be at.
    pub newest: Option<String>,
    /// The reason that it is not there.
    pub why_not: String,
}

impl Outdated {
    /// The consumer as a table shows it: an application by its name, a composite resource by kind and name.
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
