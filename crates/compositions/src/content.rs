//! The spec of a Composition, parsed once for all composite resources that use it.

use crate::admission::Refused;
use crate::pipeline::{self, Step};
use crate::revision::candidate;
use cambium_api::crossplane::Mode;
use cambium_compositions_render::Composition;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// The spec of a composition or of a revision. Clones share what was read.
#[derive(Debug, Clone)]
pub struct Content(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    spec: Value,
    templates: OnceLock<Result<Arc<Composition>, String>>,
    steps: OnceLock<Result<Vec<Step>, String>>,
    problems: OnceLock<Vec<Refused>>,
}

impl Content {
    /// What this spec says. Nothing is read yet.
    pub fn new(spec: Value) -> Self {
        Self(Arc::new(Inner {
            spec,
            templates: OnceLock::new(),
            steps: OnceLock::new(),
            problems: OnceLock::new(),
        }))
    }

    /// The spec, as it was written.
    pub fn spec(&self) -> &Value {
        &self.0.spec
    }

    /// How it composes; nothing for a mode that does not exist.
    pub fn mode(&self) -> Option<Mode> {
        let mode = self.0.spec.get("mode").cloned();
        let mode = mode.map(|mode| ("mode".to_owned(), mode));
        cambium_api::crossplane::CompositionSpec(mode.into_iter().collect()).mode()
    }

    /// Reads how it composes, unless that was read. It may take long: expressions are compiled.
    pub fn read(&self) {
        match self.mode() {
            Some(Mode::Resources) => drop(self.templates()),
            Some(Mode::Pipeline) => drop(self.steps()),
            None => {}
        }
    }

    /// Whether how it composes was read.
    pub fn is_read(&self) -> bool {
        match self.mode() {
            Some(Mode::Resources) => self.0.templates.get().is_some(),
            Some(Mode::Pipeline) => self.0.steps.get().is_some(),
            None => true,
        }
    }

    /// Its templates, if it composes with them; or everything that is wrong with them.
    pub fn templates(&self) -> Result<&Arc<Composition>, &str> {
        let read = || {
            let read = Composition::read(&self.0.spec).map(Arc::new);
            read.map_err(|problems| problems.to_string())
        };
        self.0
            .templates
            .get_or_init(read)
            .as_ref()
            .map_err(String::as_str)
    }

    /// The steps of its pipeline, if it composes with functions; or everything that is wrong with them.
    pub fn steps(&self) -> Result<&[Step], &str> {
        let read = || pipeline::read(&self.0.spec).map_err(|problems| problems.to_string());
        let steps = self.0.steps.get_or_init(read).as_ref();
        steps.map(Vec::as_slice).map_err(String::as_str)
    }

    /// Finds out what speaks against publishing it, unless that was done. It may take long: expressions are compiled.
    pub fn judge(&self) {
        let _ = self.problems();
    }

    /// Whether that was found out.
    pub fn is_judged(&self) -> bool {
        self.0.problems.get().is_some()
    }

    /// Everything that speaks against publishing it.
    pub fn problems(&self) -> &[Refused] {
        self.0.problems.get_or_init(|| candidate::check(&self.0.spec))
    }

    /// Where the connection secrets of composite resources go, if it says so.
    pub fn secret_namespace(&self) -> Option<&str> {
        self.0.spec["writeConnectionSecretsToNamespace"].as_str()
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.0.spec == other.0.spec
    }
}
