//! The visibility of kinds: what the user is allowed to list.

use super::Inventory;
use crate::Unanswered;
use cambium_api::names::{SYSTEM_NAMESPACE, reason};
use cambium_api::v1beta1::DefinitionType;
use cambium_definitions::{Asked, Refused, asked};
use serde_json::Value;

/// How much of a kind the user is allowed to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Visibility {
    /// All of it.
    #[default]
    All,
    /// Only some namespaces.
    Part,
    /// None.
    Nothing,
}

/// A kind of definitions, or their revisions, that may not be listed in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotListed {
    /// The kind.
    pub kind: String,
    /// The namespace.
    pub namespace: String,
    /// The message of the API server.
    pub why: String,
}

impl Inventory {
    /// The reason that definitions of this kind in this namespace are not known.
    pub fn hidden_kind(&self, type_: DefinitionType, namespace: &str) -> Option<String> {
        let hidden = self.hides(type_, namespace)?;
        Some(match hidden.namespace == SYSTEM_NAMESPACE {
            true => format!("you may not list what namespace {SYSTEM_NAMESPACE} publishes"),
            false => format!("you may not list {}s in namespace {namespace}", hidden.kind),
        })
    }

    fn hides(&self, type_: DefinitionType, namespace: &str) -> Option<&NotListed> {
        let kinds = [type_.kind(), "DefinitionRevision"];
        let mut all = self.not_listed.iter();
        all.find(|one| one.namespace == namespace && kinds.contains(&one.kind.as_str()))
    }

    /// Why it is not known what a reference gets: something of its kind may not be listed. What the namespace has itself comes first, and
    /// nobody can say that it has none; what everybody shares matters to a reference that is found nowhere else.
    pub fn hidden(&self, namespace: &str, asked: &Asked, refused: Option<&Refused>) -> Option<String> {
        let not_found = refused.is_some_and(|refused| refused.reason == reason::DEFINITION_NOT_FOUND);
        let shared = || {
            self.hidden_kind(asked.type_, SYSTEM_NAMESPACE)
                .filter(|_| not_found)
        };
        self.hidden_kind(asked.type_, namespace)
            .filter(|_| namespace != SYSTEM_NAMESPACE || not_found)
            .or_else(shared)
    }

    /// Refuses to go on if something that may not be listed matters to a reference of this application.
    pub fn sees_all_of(&self, namespace: &str, application: &Value) -> Result<(), Unanswered> {
        for asked in asked(application) {
            if let Some(hidden) = self.hides(asked.type_, namespace) {
                let (path, text) = (&asked.path, &asked.text);
                let why = &hidden.why;
                return Err(Unanswered::Forbidden(format!("{path} refers to {text}: {why}")));
            }
        }
        Ok(())
    }
}
