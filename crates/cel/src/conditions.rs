//! `matchConditions` of webhooks and policies.

#[cfg(test)]
mod tests;

use cambium_schema::{FieldError, FieldPath};

use crate::limits::CONDITIONS_BUDGET;
use crate::policies::{Compiler, Expression, Inputs, Params, Purpose, Run, Variables};

/// Compiled match conditions.
#[derive(Debug)]
pub struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    name: String,
    expression: Expression,
}

/// The result of match conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matched {
    /// All conditions are true.
    Yes,
    /// The condition of this name is false.
    No(String),
    /// No condition is false, but some failed to evaluate, with this error.
    Unknown(String),
}

/// Validates a condition's expression at a field path.
pub fn check_condition(source: &str, params: Params, at: &FieldPath) -> Option<FieldError> {
    let trimmed = source.trim();
    if trimmed.is_empty() {
        return Some(FieldError::required(at.clone(), ""));
    }
    let problem = Compiler::alone(params).check(trimmed, Purpose::Condition)?;
    Some(problem.at(at.clone(), trimmed))
}

impl Conditions {
    /// Compiles conditions, given by name and expression. One that does not compile evaluates to an error.
    pub fn compile<'a>(
        compiler: &Compiler,
        conditions: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let compiled = conditions.into_iter().map(|(name, source)| Condition {
            name: name.to_owned(),
            expression: compiler.compile(source, Purpose::Condition),
        });
        Self(compiled.collect())
    }

    /// Evaluates the conditions. `namespaceObject` is not available to them.
    pub fn matches(&self, variables: &Variables, inputs: &Inputs<'_>) -> Matched {
        let inputs = Inputs {
            namespace: None,
            ..*inputs
        };
        let mut run = Run::new(variables, &inputs, CONDITIONS_BUDGET);
        let mut answers = Vec::with_capacity(self.0.len());
        for condition in &self.0 {
            match run.holds(&condition.expression) {
                Ok(answer) => answers.push((&condition.name, answer)),
                Err(exhausted) => return Matched::Unknown(exhausted.to_string()),
            }
        }
        let mut problems: Vec<String> = Vec::new();
        for (name, answer) in answers {
            match answer {
                Ok(true) => {}
                Ok(false) => return Matched::No(name.clone()),
                Err(problem) if problems.contains(&problem) => {}
                Err(problem) => problems.push(problem),
            }
        }
        match problems.as_slice() {
            [] => Matched::Yes,
            [problem] => Matched::Unknown(problem.clone()),
            problems => Matched::Unknown(format!("[{}]", problems.join(", "))),
        }
    }
}
