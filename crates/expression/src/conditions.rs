//! The match conditions of admission webhooks: whether a request concerns a webhook at all.
//!
//! A condition sees `object`, `oldObject`, `request`, `namespaceObject` and `authorizer`. The authorizer is declared,
//! so that conditions with it are accepted, but to ask it is an error: nobody answers yet.

mod declarations;

#[cfg(test)]
mod tests;

use cambium_schema::{ErrorKind, FieldError, FieldPath};
use serde_json::Value as Json;

use crate::error::EvaluationError;
use crate::limits::CONDITIONS_BUDGET;
use crate::program::{Program, compile};
use crate::source::CompileError;
use crate::types::Type;
use crate::value::Value;

/// What conditions are asked about.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConditionInput<'a> {
    /// The object as it would become; absent when it is deleted.
    pub object: Option<&'a Json>,
    /// The object as it is; absent when it is created.
    pub old_object: Option<&'a Json>,
    /// The request, as an `AdmissionRequest` without the objects.
    pub request: Option<&'a Json>,
    /// The object's namespace; absent when it has none.
    pub namespace: Option<&'a Json>,
}

/// Conditions that are ready to be asked.
#[derive(Debug)]
pub struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    name: String,
    source: String,
    program: Result<Program, ConditionError>,
}

/// What the conditions say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matched {
    /// All of them hold.
    Yes,
    /// The one of this name does not.
    No(String),
    /// None is known not to hold, but these have no answer.
    Unknown(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ConditionError {
    Invalid(String),
    Internal(String),
}

/// Checks a condition's expression, which is at the given place.
pub fn check_condition(source: &str, at: &FieldPath) -> Option<FieldError> {
    let trimmed = source.trim();
    if trimmed.is_empty() {
        return Some(FieldError::required(at.clone(), ""));
    }
    match compile_condition(trimmed).err()? {
        ConditionError::Invalid(detail) => {
            let value = Json::String(trimmed.to_owned());
            Some(FieldError::invalid(at.clone(), &value, detail))
        }
        ConditionError::Internal(detail) => Some(FieldError {
            kind: ErrorKind::Internal,
            path: at.clone(),
            shown: String::new(),
            detail,
        }),
    }
}

fn compile_condition(source: &str) -> Result<Program, ConditionError> {
    match compile(source, declarations::declarations()) {
        Ok(program) if *program.result_type() != Type::Bool => Err(ConditionError::Invalid(format!(
            "must evaluate to bool but got {}",
            program.result_type()
        ))),
        Ok(program) => Ok(program),
        Err(CompileError::Unsound(problems)) => {
            Err(ConditionError::Invalid(format!("compilation failed: {problems}")))
        }
        Err(CompileError::Failing(error)) => Err(ConditionError::Internal(format!(
            "program instantiation failed: {error}"
        ))),
    }
}

impl Conditions {
    /// Compiles conditions, given by name and expression. One that does not compile has no answer.
    pub fn compile<'a>(conditions: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let compiled = conditions.into_iter().map(|(name, source)| Condition {
            name: name.to_owned(),
            source: source.trim().to_owned(),
            program: compile_condition(source.trim()),
        });
        Self(compiled.collect())
    }

    /// Whether all conditions hold.
    pub fn matches(&self, input: &ConditionInput<'_>) -> Matched {
        let variables = [
            value(input.object),
            value(input.old_object),
            value(input.request),
            value(input.namespace),
            Some(Value::Authorizer),
            Some(Value::Authorizer),
        ];
        let mut budget = CONDITIONS_BUDGET;
        let mut problems = Vec::new();
        for condition in &self.0 {
            let program = match &condition.program {
                Ok(program) => program,
                Err(ConditionError::Invalid(detail) | ConditionError::Internal(detail)) => {
                    problems.push(format!("compilation error: {detail}"));
                    continue;
                }
            };
            let (result, cost) = program.run(&variables);
            match i64::try_from(cost) {
                Ok(cost) if cost <= budget => budget -= cost,
                _ => {
                    problems.push(
                        "validation failed due to running out of cost budget, no further validation rules will be run"
                            .to_owned(),
                    );
                    return Matched::Unknown(problems);
                }
            }
            match result {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Matched::No(condition.name.clone()),
                Ok(_) => problems.push(condition.failed(&EvaluationError::Failed("no such overload".into()))),
                Err(error) => problems.push(condition.failed(&error)),
            }
        }
        match problems.is_empty() {
            true => Matched::Yes,
            false => Matched::Unknown(problems),
        }
    }
}

/// What is absent is null.
fn value(json: Option<&Json>) -> Option<Value<'_>> {
    Some(json.map_or(Value::Null, Value::dynamic))
}

impl Condition {
    fn failed(&self, error: &EvaluationError) -> String {
        format!("expression '{}' resulted in error: {error}", self.source)
    }
}
