//! Definitions that others run: all that matters of them here is which parameters they take.

use crate::component::missing;
use crate::explanation::explain;
use crate::parameters::through_go;
use crate::template::{OPTIONS, as_kubevela};
use cambium_cue::{Data, Diagnostics, Program, Source, compile_with};
use serde_json::Value;

/// The parameters that a template takes. It can be shared between threads.
#[derive(Debug)]
pub struct ParameterSchema(Program);

impl ParameterSchema {
    /// Compiles a template; `None` for one that uses what only its own runtime has, such as `vela/op`.
    pub fn compile(name: &str, template: &str) -> Option<Self> {
        compile_with(&[Source::new(name, template)], OPTIONS)
            .ok()
            .map(Self)
    }

    /// What of these properties does not fit, at paths that begin with `parameter`.
    pub fn problems(&self, properties: Option<&Value>) -> Option<Diagnostics> {
        let parameter = properties.map_or(Data::Struct(Vec::new()), through_go);
        let mut instance = self.0.evaluate(&[("parameter", &parameter)], as_kubevela());
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
            explain(&mut errors, &parameter, &mut self.0.evaluate(&[], as_kubevela()));
            return Some(Diagnostics(errors));
        }
        missing(&mut instance)
    }
}
