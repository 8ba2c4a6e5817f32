//! Rendered manifests and the template that each comes from.

use crate::Stage;
use serde_json::Value;

/// All manifests of an application, component by component.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered {
    /// In the order of the application.
    pub components: Vec<RenderedComponent>,
}

/// The manifests of one component.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedComponent {
    /// The component's name.
    pub name: String,
    /// The main object.
    pub workload: Manifest,
    /// The component's other objects, then those of its traits in their order.
    pub auxiliaries: Vec<Manifest>,
}

/// One object.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The object, field names sorted.
    pub object: Value,
    /// The template that rendered it.
    pub origin: Origin,
    /// When it is dispatched.
    pub stage: Stage,
}

/// The template that rendered an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The component's `output`.
    Workload,
    /// The component's `outputs`, by name.
    Auxiliary {
        /// The name in `outputs`.
        name: String,
    },
    /// A trait's `outputs`, by name.
    Trait {
        /// The trait's type.
        definition: String,
        /// The name in `outputs`.
        name: String,
    },
}

impl Rendered {
    /// All objects: for each component the workload, then the rest.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.components.iter().flat_map(|component| {
            std::iter::once(&component.workload)
                .chain(&component.auxiliaries)
                .map(|manifest| &manifest.object)
        })
    }
}

impl RenderedComponent {
    /// The objects in the order they are dispatched: by stage, and within a stage the workload first.
    pub fn in_dispatch_order(&self) -> Vec<&Manifest> {
        let mut manifests: Vec<_> = std::iter::once(&self.workload).chain(&self.auxiliaries).collect();
        manifests.sort_by_key(|manifest| manifest.stage);
        manifests
    }
}
