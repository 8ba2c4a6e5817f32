//! A definition, compiled once and rendered any number of times.

use crate::{Definition, Reason};
use cambium_cue::{
    CompileOptions, Data, Diagnostics, EvaluationOptions, Instance, Program, Source, compile_with,
};

/// A compiled definition. It can be shared between threads.
#[derive(Debug)]
pub struct Template {
    definition: Definition,
    program: Program,
    pub(crate) health_policy: Option<Block>,
    pub(crate) custom_status: Option<Block>,
    pub(crate) details: Option<Block>,
}

/// A compiled status block. One that does not compile is in nobody's way until the status is asked for: what was published can be used.
pub(crate) type Block = Result<Program, Diagnostics>;

/// Definitions are written for the CUE that KubeVela carries.
pub(crate) const OPTIONS: CompileOptions<'static> = CompileOptions {
    externals: &["parameter", "context"],
    allow_unused: true,
};

impl Template {
    /// Compiles a definition's template and its status blocks.
    pub fn compile(definition: Definition) -> Result<Self, Diagnostics> {
        let source = |part: &str, text: &str| Source::new(format!("{}{part}", definition.name), text);
        let program = compile_with(&[source("", &definition.template)], OPTIONS)?;
        let block =
            |part: &str, text: &str| (!text.is_empty()).then(|| compile_with(&[source(part, text)], OPTIONS));
        let status = &definition.status;
        Ok(Self {
            health_policy: block(".healthPolicy", &status.health_policy),
            custom_status: block(".customStatus", &status.custom_status),
            details: block(".details", &status.details),
            program,
            definition,
        })
    }

    /// What it was compiled from.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Evaluates the template. What is wrong regardless of what is missing is found here.
    pub(crate) fn evaluate(&self, parameter: Option<&Data>, context: &Data) -> Result<Instance<'_>, Reason> {
        let mut instance = evaluate(&self.program, parameter, context);
        let errors = instance.errors(instance.root());
        if errors.is_empty() {
            Ok(instance)
        } else {
            Err(Reason::Invalid(Diagnostics(errors)))
        }
    }
}

/// Evaluates a program with what definitions may refer to.
pub(crate) fn evaluate<'p>(program: &'p Program, parameter: Option<&Data>, context: &Data) -> Instance<'p> {
    let mut inputs = Vec::with_capacity(2);
    inputs.extend(parameter.map(|parameter| ("parameter", parameter)));
    inputs.push(("context", context));
    program.evaluate(&inputs, as_kubevela())
}

/// KubeVela carries CUE v0.9.2: lists can be added, fields come in its order, and `_` counts as present.
pub(crate) fn as_kubevela() -> EvaluationOptions {
    EvaluationOptions {
        list_arithmetic: true,
        legacy_field_order: true,
        anything_is_present: true,
        ..Default::default()
    }
}
