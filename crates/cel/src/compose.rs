//! Composited variables of a policy: evaluated lazily, once.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::error::{Result, failure};
use crate::program::Program;
use crate::value::Value;

/// A variable, by name and expression.
#[derive(Debug)]
pub(crate) struct NamedProgram {
    pub(crate) name: String,
    /// The compiled expression, or its error.
    pub(crate) program: std::result::Result<Program, String>,
}

/// The variables during one evaluation of a policy's expressions.
#[derive(Debug)]
pub(crate) struct Composed<'a> {
    variables: &'a [NamedProgram],
    found: RefCell<HashMap<&'a str, Result<Value<'a>>>>,
    cost: Cell<u64>,
}

impl<'a> Composed<'a> {
    pub(crate) fn new(variables: &'a [NamedProgram]) -> Self {
        Self {
            variables,
            found: RefCell::default(),
            cost: Cell::new(0),
        }
    }

    /// The value of a variable, if there is one of that name. All expressions of a policy share the values. A variable
    /// cannot refer to itself, as it would not have compiled, and names are unique.
    pub(crate) fn find(&self, name: &str, inputs: &[Option<Value<'a>>]) -> Result<Option<Value<'a>>> {
        if let Some(known) = self.found.borrow().get(name) {
            return known.clone().map(Some);
        }
        let Some(variable) = self.variables.iter().find(|variable| variable.name == name) else {
            return Ok(None);
        };
        let value = self.evaluate(variable, inputs);
        self.found.borrow_mut().insert(&variable.name, value.clone());
        value.map(Some)
    }

    fn evaluate(&self, variable: &'a NamedProgram, inputs: &[Option<Value<'a>>]) -> Result<Value<'a>> {
        let name = &variable.name;
        let program = match &variable.program {
            Ok(program) => program,
            Err(why) => return failure(format!("composited variable {name:?} fails to compile: {why}")),
        };
        let (value, cost) = program.run_composed(inputs, Some(self));
        self.cost.set(self.cost.get().saturating_add(cost));
        match value {
            Ok(value) => Ok(value),
            Err(error) => failure(format!("composited variable {name:?} fails to evaluate: {error}")),
        }
    }

    /// Returns and resets the cost of variables evaluated since the last call.
    pub(crate) fn take_cost(&self) -> u64 {
        self.cost.take()
    }
}
