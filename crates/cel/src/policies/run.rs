//! Evaluates the expressions of a policy on a request.

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::compiler::{Expression, Variables};
use super::declarations::PLACES;
use crate::compose::Composed;
use crate::functions::{Authorize, Check};
use crate::meter;
use crate::value::{Made, Value};

/// The inputs of expressions. Absent ones are null.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inputs<'a> {
    /// `object`; absent on delete.
    pub object: Option<&'a Json>,
    /// `oldObject`; absent on create.
    pub old_object: Option<&'a Json>,
    /// `request`: an AdmissionRequest without the objects.
    pub request: Option<&'a Json>,
    /// `namespaceObject`; absent for cluster-scoped objects.
    pub namespace: Option<&'a Json>,
    /// `params`.
    pub params: Option<&'a Json>,
    /// `authorizer`; without one, a check is an error.
    pub authorizer: Option<&'a dyn Authorize>,
}

/// The cost budget was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfBudget;

impl fmt::Display for OutOfBudget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "validation failed due to running out of cost budget, no further validation rules will be run",
        )
    }
}

/// One operation of a JSON patch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PatchOperation {
    /// `add`, `remove`, `replace`, `move`, `copy` or `test`; others fail when applied.
    pub op: String,
    /// `path`.
    pub path: String,
    /// `from`, for `move` and `copy`.
    pub from: String,
    /// `value`.
    pub value: Option<Json>,
}

/// The value of an expression, an evaluation error, or an exceeded budget.
pub type Outcome<T> = Result<Result<T, String>, OutOfBudget>;

/// An evaluation of several expressions, with shared variables and cost budget.
#[derive(Debug)]
pub struct Run<'a> {
    values: [Option<Value<'a>>; PLACES],
    composed: Composed<'a>,
    budget: i64,
}

impl<'a> Run<'a> {
    /// Starts an evaluation.
    pub fn new(variables: &'a Variables, inputs: &Inputs<'a>, budget: i64) -> Self {
        let json = |json: Option<&'a Json>| Some(json.map_or(Value::Null, Value::dynamic));
        let text = |place: &str| {
            let found = inputs.request.and_then(|request| request.pointer(place));
            found.and_then(Json::as_str).unwrap_or_default()
        };
        let check = |check: Check<'a>| Value::Check(Arc::new(check));
        let about = [
            text("/requestResource/group"),
            text("/requestResource/resource"),
            text("/requestSubResource"),
            text("/namespace"),
            text("/name"),
        ];
        let asked = inputs.authorizer;
        Self {
            values: [
                json(inputs.object),
                json(inputs.old_object),
                json(inputs.request),
                json(inputs.namespace),
                json(inputs.params),
                asked.map(|authorizer| check(Check::start(authorizer))),
                asked.map(|authorizer| check(Check::of_request(authorizer, about))),
                Some(Value::Variables),
            ],
            composed: Composed::new(&variables.0),
            budget,
        }
    }

    /// The remaining budget.
    pub fn budget(&self) -> i64 {
        self.budget
    }

    /// Evaluates a condition; a non-boolean is false.
    pub fn holds(&mut self, expression: &'a Expression) -> Outcome<bool> {
        self.with(expression, |value| Ok(matches!(value, Value::Bool(true))))
    }

    /// Evaluates a string; `None` for other values.
    pub fn text(&mut self, expression: &'a Expression) -> Outcome<Option<String>> {
        self.with(expression, |value| match value {
            Value::String(text) => Ok(Some(text.to_string())),
            _ => Ok(None),
        })
    }

    /// Evaluates an apply configuration.
    pub fn configuration(&mut self, expression: &'a Expression) -> Outcome<Json> {
        self.with(expression, |value| match value {
            Value::Made(made) => {
                well_placed(made)?;
                value.to_json().map_err(|error| error.to_string())
            }
            other => Err(format!(
                "unsupported return type from ApplyConfiguration expression: {}",
                other.type_name()
            )),
        })
    }

    /// Evaluates a JSON patch.
    pub fn patch(&mut self, expression: &'a Expression) -> Outcome<Vec<PatchOperation>> {
        self.with(expression, |value| {
            let Value::List(list) = value else {
                return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
            };
            list.iter()
                .map(|item| match item.map_err(|error| error.to_string())? {
                    Value::Made(made) => operation(&made),
                    other => Err(format!(
                        "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {}",
                        other.type_name()
                    )),
                })
                .collect()
        })
    }

    fn with<T>(
        &mut self,
        expression: &'a Expression,
        read: impl FnOnce(&Value<'a>) -> Result<T, String>,
    ) -> Outcome<T> {
        // What is made of a value counts with it.
        meter::metered(|| self.evaluate(expression, read))
    }

    fn evaluate<T>(
        &mut self,
        expression: &'a Expression,
        read: impl FnOnce(&Value<'a>) -> Result<T, String>,
    ) -> Outcome<T> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(problem) => return Ok(Err(format!("compilation error: {}", problem.detail()))),
        };
        let (value, cost) = program.run_composed(&self.values, Some(&self.composed));
        self.spend(self.composed.take_cost())?;
        self.spend(cost)?;
        Ok(match value {
            Ok(value) => read(&value),
            Err(error) => Err(format!(
                "expression '{}' resulted in error: {error}",
                expression.source
            )),
        })
    }

    fn spend(&mut self, cost: u64) -> Result<(), OutOfBudget> {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.budget => {
                self.budget -= cost;
                Ok(())
            }
            _ => {
                self.budget = -1;
                Err(OutOfBudget)
            }
        }
    }
}

fn well_placed(made: &Made<'_>) -> Result<(), String> {
    let problems = made.misplaced();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(format!("type mismatch: {}", problems.join("\n"))),
    }
}

fn operation(made: &Made<'_>) -> Result<PatchOperation, String> {
    let mut operation = PatchOperation::default();
    for (name, value) in &made.fields {
        match (&**name, value) {
            ("value", value) => {
                if let Value::Made(inner) = value {
                    well_placed(inner)?;
                }
                let json = value.to_json().map_err(|error| {
                    format!(
                        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
                    )
                })?;
                operation.value = Some(json);
            }
            ("op", Value::String(text)) => operation.op = text.to_string(),
            ("path", Value::String(text)) => operation.path = text.to_string(),
            ("from", Value::String(text)) => operation.from = text.to_string(),
            (name, value) => {
                return Err(format!(
                    "unexpected type {} for JSONPatchType '{name}' field",
                    value.type_name()
                ));
            }
        }
    }
    Ok(operation)
}
