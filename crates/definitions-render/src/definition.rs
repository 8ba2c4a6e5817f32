//! The parsed definition of a component or trait.

use crate::Template;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A definition before it is compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// Whether it defines components or traits.
    pub kind: DefinitionKind,
    /// Its name, which diagnostics carry.
    pub name: String,
    /// The template's text.
    pub template: String,
    /// The texts of its status blocks.
    pub status: StatusText,
    /// When a trait's objects are dispatched.
    pub stage: Stage,
    /// The field of a trait's objects that takes a reference to the workload, such as `spec.workloadRef`.
    pub workload_ref_path: String,
}

/// The kinds of definitions that have templates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DefinitionKind {
    /// A `ComponentDefinition`.
    #[default]
    Component,
    /// A `TraitDefinition`.
    Trait,
}

/// The status blocks of a definition; empty where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusText {
    /// Computes `isHealth`.
    pub health_policy: String,
    /// Computes `message`.
    pub custom_status: String,
    /// Computes details, field by field.
    pub details: String,
}

/// When objects are dispatched, relative to the workload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Before the workload.
    PreDispatch,
    /// With the workload.
    #[default]
    DefaultDispatch,
    /// When the workload is healthy.
    PostDispatch,
}

/// The reasons that a definition cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDefinition {
    /// Neither a component nor a trait definition.
    #[error("kind {0:?} is neither ComponentDefinition nor TraitDefinition")]
    Kind(String),
    /// It has no name.
    #[error("metadata.name is missing")]
    Name,
    /// It is rendered by something else than CUE.
    #[error(
        "{name}: schematic.{schematic} is not rendered here; write the template in CUE, as schematic.cue.template"
    )]
    Schematic {
        /// The definition.
        name: String,
        /// What it is rendered by.
        schematic: &'static str,
    },
    /// A stage that does not exist.
    #[error("{name}: stage {stage:?} is none of PreDispatch, DefaultDispatch and PostDispatch")]
    Stage {
        /// The definition.
        name: String,
        /// Its stage.
        stage: String,
    },
}

impl Definition {
    /// Reads the manifest of a `ComponentDefinition` or `TraitDefinition`.
    pub fn from_manifest(manifest: &Value) -> Result<Self, InvalidDefinition> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = match manifest["kind"].as_str() {
            Some("ComponentDefinition") => DefinitionKind::Component,
            Some("TraitDefinition") => DefinitionKind::Trait,
            other => return Err(InvalidDefinition::Kind(other.unwrap_or_default().to_owned())),
        };
        let name = text(&manifest["metadata"]["name"]);
        if name.is_empty() {
            return Err(InvalidDefinition::Name);
        }
        let spec = &manifest["spec"];
        let schematic = &spec["schematic"];
        let other = ["helm", "kube", "terraform"]
            .into_iter()
            .find(|other| !schematic[other].is_null());
        let template = match (&schematic["cue"]["template"], other) {
            (Value::String(template), _) => template.clone(),
            (_, Some(schematic)) => return Err(InvalidDefinition::Schematic { name, schematic }),
            (_, None) => text(&spec["extension"]["template"]),
        };
        let status = &spec["status"];
        Ok(Self {
            kind,
            template,
            status: StatusText {
                health_policy: text(&status["healthPolicy"]),
                custom_status: text(&status["customStatus"]),
                details: text(&status["details"]),
            },
            stage: Stage::parse(&text(&spec["stage"]), &name)?,
            workload_ref_path: text(&spec["workloadRefPath"]),
            name,
        })
    }
}

impl Stage {
    fn parse(text: &str, name: &str) -> Result<Self, InvalidDefinition> {
        match text {
            "PreDispatch" => Ok(Self::PreDispatch),
            "" | "DefaultDispatch" => Ok(Self::DefaultDispatch),
            "PostDispatch" => Ok(Self::PostDispatch),
            other => Err(InvalidDefinition::Stage {
                name: name.to_owned(),
                stage: other.to_owned(),
            }),
        }
    }
}

/// The compiled definitions that an application's references stand for.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    templates: BTreeMap<(DefinitionKind, String), Arc<Template>>,
}

impl Definitions {
    /// Makes a reference, as it is written in `type`, stand for a template.
    pub fn insert(&mut self, reference: impl Into<String>, template: Arc<Template>) {
        self.templates
            .insert((template.definition().kind, reference.into()), template);
    }

    /// The template that a reference stands for.
    pub fn get(&self, kind: DefinitionKind, reference: &str) -> Option<&Arc<Template>> {
        self.templates.get(&(kind, reference.to_owned()))
    }

    /// Whether any of them says how live objects are, which evaluates it.
    pub fn have_status(&self) -> bool {
        self.templates.values().any(|template| template.has_status())
    }
}
