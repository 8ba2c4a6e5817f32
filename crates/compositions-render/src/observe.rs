//! Evaluates patches to the composite resource, readiness and connection details of observed resources.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::budget::Budget;
use crate::connection::{ConnectionDetails, connection_details};
use crate::desired::RenderError;
use crate::path::Repeats;
use crate::readiness::{Readiness, readiness};
use crate::template::{Composition, Template};

/// A composed resource as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObservedResource {
    /// The object.
    pub object: Value,
    /// What its own connection secret holds.
    pub secret: ConnectionDetails,
}

/// What the composed resources say.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The composite resource with what its resources patch into it.
    pub composite: Value,
    /// What each template's resource says, in the order of the composition.
    pub resources: Vec<ResourceObservation>,
    /// What belongs into the connection secret of the composite resource: the last template that gives a key wins.
    pub connection_details: ConnectionDetails,
}

/// What one composed resource says.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceObservation {
    /// The template's name, or `resource 1` by its place.
    pub name: String,
    /// Whether the resource is ready; nothing if it does not exist.
    pub readiness: Option<Readiness>,
    /// What it gives to the connection secret.
    pub connection_details: ConnectionDetails,
    /// The patch to the composite resource that failed. Those before it were made; those after it were not.
    pub problem: Option<RenderError>,
}

impl Observation {
    /// Whether every resource exists and is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.resources
            .iter()
            .all(|resource| resource.readiness.as_ref().is_some_and(Readiness::is_ready))
    }
}

/// Reads from the resources that exist, by the names of their templates ([`Template::label`]): patches to the composite resource,
/// readiness, connection details. A failure of one resource does not stop the others.
#[must_use]
pub fn observe(
    composition: &Composition,
    composite: &Value,
    observed: &BTreeMap<String, ObservedResource>,
) -> Observation {
    let mut composite = composite.clone();
    let mut resources = Vec::with_capacity(composition.templates().len());
    let (mut all, budget) = (ConnectionDetails::new(), Budget::default());
    for template in composition.templates() {
        let name = template.label.clone();
        let Some(resource) = observed.get(&name) else {
            let (readiness, connection_details) = (None, ConnectionDetails::new());
            resources.push(ResourceObservation {
                name,
                readiness,
                connection_details,
                problem: None,
            });
            continue;
        };
        let details = connection_details(&resource.object, &resource.secret, &template.connection_details);
        all.extend(details.clone());
        resources.push(ResourceObservation {
            name,
            readiness: Some(readiness(&resource.object, &template.readiness_checks)),
            connection_details: details,
            problem: patch_composite(template, &resource.object, &mut composite, &budget).err(),
        });
    }
    Observation {
        composite,
        resources,
        connection_details: all,
    }
}

fn patch_composite(
    template: &Template,
    object: &Value,
    composite: &mut Value,
    budget: &Budget,
) -> Result<(), RenderError> {
    for (index, patch) in template.patches.iter().enumerate() {
        if patch.kind.is_to_composite() {
            // The composite resource is its own last result: what it has is not appended again.
            patch
                .apply(object, composite, Repeats::LeaveOut, budget)
                .map_err(|error| RenderError::Patch {
                    kind: patch.kind.name(),
                    index,
                    error: error.into(),
                })?;
        }
    }
    Ok(())
}
