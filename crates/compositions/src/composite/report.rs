//! The report of a composer, templates or functions: readiness, connection details, problems.

use super::status::Note;
use cambium_compositions_render::function::Condition;
use cambium_compositions_render::{Composition, ConnectionDetails, ObservedResource, Readiness, observe};
use serde_json::Value;
use std::collections::BTreeMap;

/// The report of templates or functions about their composite resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The composite resource, with what was patched into it.
    pub composite: Value,
    /// Resources with which something is wrong, and what.
    pub problems: Vec<(String, String)>,
    /// Resources that are not ready.
    pub unready: Vec<String>,
    /// Whether the composite resource is ready, if somebody said so outright.
    pub ready: Option<bool>,
    /// What belongs into its connection secret.
    pub details: ConnectionDetails,
    /// Conditions that somebody else gives to it.
    pub conditions: Vec<Condition>,
    /// What somebody else tells about it.
    pub notes: Vec<Note>,
}

impl Report {
    /// What the resources that templates made, by the names of the templates, say about their composite resource.
    pub fn of_templates(
        composition: &Composition,
        composite: &Value,
        there: &BTreeMap<String, ObservedResource>,
    ) -> Self {
        let seen = observe(composition, composite, there);
        let mut problems = Vec::new();
        let mut unready = Vec::new();
        for resource in &seen.resources {
            let name = &resource.name;
            if let Some(problem) = &resource.problem {
                let why =
                    format!("cannot render ToComposite patches for composed resource {name:?}: {problem}");
                problems.push((name.clone(), why));
            }
            match &resource.readiness {
                Some(Readiness::Ready) => {}
                Some(Readiness::Failed(error)) => {
                    let why = format!("cannot check whether composed resource {name:?} is ready: {error}");
                    problems.push((name.clone(), why));
                    unready.push(name.clone());
                }
                Some(Readiness::NotReady { .. }) | None => unready.push(name.clone()),
            }
        }
        Self {
            composite: seen.composite,
            problems,
            unready,
            details: seen.connection_details,
            ..Self::default()
        }
    }
}
