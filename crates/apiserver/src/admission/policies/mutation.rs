//! Compiled mutations of a mutating policy.

use cambium_cel::RULES_BUDGET;
use cambium_cel::policies::{Compiler, Expression, Inputs, Outcome, Purpose, Run, Variables};
use cambium_schema::Schema;
use serde_json::Value;

use super::index::Compile;
use super::{apply, json_patch};
use crate::object::{items, text};

/// The mutations of a policy, in order.
pub(super) struct Mutations {
    pub(super) all: Vec<Mutation>,
    /// `reinvocationPolicy: IfNeeded`.
    pub(super) reinvokes: bool,
}

/// One mutation.
pub(super) enum Mutation {
    Apply(Expression),
    JsonPatch(Expression),
}

impl Compile for Mutations {
    fn compile(spec: &Value, compiler: &Compiler) -> Self {
        let mutation = |mutation: &Value| {
            let source = |field: &str| mutation.get(field).map(|one| text(one, "expression"));
            match text(mutation, "patchType") {
                "ApplyConfiguration" => source("applyConfiguration")
                    .map(|source| Mutation::Apply(compiler.compile(source, Purpose::ApplyConfiguration))),
                _ => source("jsonPatch")
                    .map(|source| Mutation::JsonPatch(compiler.compile(source, Purpose::JsonPatch))),
            }
        };
        Self {
            all: items(spec, "mutations").iter().filter_map(mutation).collect(),
            reinvokes: text(spec, "reinvocationPolicy") == "IfNeeded",
        }
    }
}

impl Mutation {
    /// The object after the mutation.
    pub(super) fn carry_out(
        &self,
        variables: &Variables,
        inputs: &Inputs<'_>,
        schema: &Schema,
        object: &Value,
    ) -> Result<Value, String> {
        let (Self::Apply(expression) | Self::JsonPatch(expression)) = self;
        if let Some(problem) = expression.problem() {
            return Err(problem.detail().to_owned());
        }
        let mut run = Run::new(variables, inputs, RULES_BUDGET);
        match self {
            Self::Apply(expression) => {
                let configuration = settled(run.configuration(expression))?;
                apply::apply(schema, object, configuration)
                    .map_err(|why| format!("error applying patch: {why}"))
            }
            Self::JsonPatch(expression) => {
                let operations = settled(run.patch(expression))?;
                json_patch::apply(object, &operations).map_err(|why| format!("JSON Patch: {why}"))
            }
        }
    }
}

fn settled<T>(outcome: Outcome<T>) -> Result<T, String> {
    outcome.map_err(|exhausted| exhausted.to_string())?
}
