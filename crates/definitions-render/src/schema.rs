//! Definitions without a template to render (policies, workflow steps): only the schema of their parameters is used.

use crate::component::missing;
use crate::explanation::explain;
use crate::parameters::through_go;
use crate::template::{OPTIONS, as_kubevela};
use crate::unknown_properties::{UnknownProperty, parameter_schema, unknown_properties};
use cambium_cue::{Data, Diagnostics, Program, Source, compile_with};
use serde_json::Value;
use std::sync::OnceLock;

/// The parameters that a template takes. It can be shared between threads.
#[derive(Debug)]
pub struct ParameterSchema {
    program: Program,
    /// Which names it has, once somebody has asked.
    parameters: OnceLock<Option<Value>>,
}

impl ParameterSchema {
    /// Compiles a template; `None` for one that uses what only its own runtime has, such as `vela/op`.
    pub fn compile(name: &str, template: &str) -> Option<Self> {
        let program = compile_with(&[Source::new(name, template)], OPTIONS).ok()?;
        Some(Self {
            program,
            parameters: OnceLock::new(),
        })
    }

    /// The properties that no parameter has the name of. Where parameters are open on purpose, nothing is unknown.
    pub fn unknown_properties(&self, properties: Option<&Value>) -> Vec<UnknownProperty> {
        let make = || parameter_schema(&self.program);
        let schema = self.parameters.get_or_init(make).as_ref();
        unknown_properties(schema, properties)
    }

    /// The problems of these properties, at paths that begin with `parameter`.
    pub fn problems(&self, properties: Option<&Value>) -> Option<Diagnostics> {
        let parameter = properties.map_or(Data::Struct(Vec::new()), through_go);
        let mut instance = self.program.evaluate(&[("parameter", &parameter)], as_kubevela());
        let mut errors = instance.errors(instance.root());
        if let Some(problem) = instance.exhausted() {
            return Some(Diagnostics(vec![problem]));
        }
        // The rest of the template is for somebody who knows more than the parameters.
        errors.retain(|error| {
            let below = error.path.strip_prefix("parameter");
            below.is_some_and(|below| below.is_empty() || below.starts_with(['.', '[']))
        });
        if !errors.is_empty() {
            explain(
                &mut errors,
                &parameter,
                &mut self.program.evaluate(&[], as_kubevela()),
            );
            return Some(Diagnostics(errors));
        }
        missing(&mut instance)
    }
}
