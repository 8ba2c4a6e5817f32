//! A compiled definition, which is rendered any number of times.

use crate::environment::Context;
use crate::explanation::explain;
use crate::{Definition, Reason};
use cambium_cue::{
    CompileOptions, Data, Diagnostics, EvaluationOptions, Instance, Limits, Program, Source, compile_with,
};
use std::sync::OnceLock;

/// A compiled definition. It can be shared between threads.
#[derive(Debug)]
pub struct Template {
    definition: Definition,
    program: Program,
    pub(crate) health_policy: Option<Block>,
    pub(crate) custom_status: Option<Block>,
    pub(crate) details: Option<Block>,
    /// The schema of its parameters, once somebody has asked.
    pub(crate) parameters: OnceLock<Option<serde_json::Value>>,
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
            parameters: OnceLock::new(),
            program,
            definition,
        })
    }

    /// The definition that it was compiled from.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Evaluates the template. What is wrong regardless of what is missing is found here.
    pub(crate) fn evaluate(
        &self,
        parameter: Option<&Data>,
        context: &Context,
    ) -> Result<Instance<'_>, Reason> {
        let seen = context.data();
        let mut instance = evaluate(&self.program, parameter, &seen, context.limits);
        let mut errors = instance.errors(instance.root());
        if let Some(problem) = instance.exhausted() {
            return Err(Reason::TooExpensive(Diagnostics(vec![problem])));
        }
        if errors.is_empty() {
            return Ok(instance);
        }
        if let Some(given) = parameter {
            let mut declared = evaluate(&self.program, None, &seen, context.limits);
            explain(&mut errors, given, &mut declared);
        }
        Err(Reason::Invalid(Diagnostics(errors)))
    }
}

/// What an evaluation gave, unless its budget was used up: then nothing that it gave counts.
pub(crate) fn within_budget<T>(instance: &mut Instance<'_>, result: Result<T, Reason>) -> Result<T, Reason> {
    match instance.exhausted() {
        Some(problem) => Err(Reason::TooExpensive(Diagnostics(vec![problem]))),
        None => result,
    }
}

/// Evaluates a program with what definitions may refer to.
pub(crate) fn evaluate<'p>(
    program: &'p Program,
    parameter: Option<&Data>,
    context: &Data,
    limits: Limits,
) -> Instance<'p> {
    let mut inputs = Vec::with_capacity(2);
    inputs.extend(parameter.map(|parameter| ("parameter", parameter)));
    inputs.push(("context", context));
    let options = EvaluationOptions {
        limits,
        ..as_kubevela()
    };
    program.evaluate(&inputs, options)
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
