//! Compiled expressions.

use serde_json::Value as Json;

use crate::check::{Reference, Variable, Vocabulary, check};
use crate::compose::Composed;
use crate::declare::Declared;
use crate::depth::{MOST_TOGETHER, depth};
use crate::error::{EvaluationError, Result};
use crate::estimate::estimate;
use crate::evaluate::Evaluation;
use crate::limits::PER_CALL_LIMIT;
use crate::mentions::{Mentions, mentions};
use crate::meter;
use crate::parse::parse;
use crate::plan::{Step, plan};
use crate::source::CompileError;
use crate::types::Type;
use crate::value::Value;

/// The variables that an expression may use.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    pub(crate) variables: Vec<Variable>,
    pub(crate) vocabulary: Vocabulary,
}

impl Declarations {
    /// No variables at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable of type `dyn`.
    #[must_use]
    pub fn with_dynamic(self, name: &'static str) -> Self {
        self.with(name, Type::Dyn, None)
    }

    pub(crate) fn with(mut self, name: &'static str, ty: Type, declared: Option<Declared>) -> Self {
        self.variables.push(Variable { name, ty, declared });
        self
    }
}

/// A compiled expression. Compile once, run often.
#[derive(Debug)]
pub struct Program {
    step: Step,
    names: Vec<&'static str>,
    used: Vec<bool>,
    result: Type,
    estimated_cost: u64,
    nesting: usize,
    mentions: Mentions,
}

/// Compiles an expression.
///
/// # Errors
/// All problems of the expression, with their positions.
pub fn compile(source: &str, declarations: &Declarations) -> std::result::Result<Program, CompileError> {
    let too_deep = || CompileError::nowhere(source, "expression recursion limit exceeded: 250".to_owned());
    let depth = depth(source).ok_or_else(too_deep)?;
    if depth <= SHALLOW {
        return compile_here(source, declarations);
    }
    // The parser needs much of the stack for every level, more than the caller may have.
    std::thread::scope(|scope| {
        let compiling = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || compile_here(source, declarations));
        match compiling.map(|compiling| compiling.join()) {
            Ok(Ok(compiled)) => compiled,
            Ok(Err(_)) | Err(_) => Err(too_deep()),
        }
    })
}

/// Maximum nesting of expressions that are compiled on the caller's stack.
const SHALLOW: usize = 24;

/// Stack size for the most deeply nested expression.
const STACK: usize = 64 << 20;

/// Type checks an expression without compiling it.
///
/// # Errors
/// All problems of the expression, with their positions.
pub(crate) fn check_types(
    source: &str,
    declarations: &Declarations,
) -> std::result::Result<Type, CompileError> {
    compile(source, declarations).map_or_else(
        |error| match error {
            // It is sound; that it always fails is known only to those who run it.
            CompileError::Failing(_) => Ok(Type::Dyn),
            unsound => Err(unsound),
        },
        |program| Ok(program.result),
    )
}

fn compile_here(source: &str, declarations: &Declarations) -> std::result::Result<Program, CompileError> {
    let parsed = parse(source)?;
    let checked = check(&parsed, &declarations.variables, declarations.vocabulary)?;
    let step = plan(&parsed.root, &checked).map_err(CompileError::Failing)?;
    let mut used = vec![false; declarations.variables.len()];
    for reference in checked.references.values() {
        if let Reference::Variable(index) = reference {
            used[*index] = true;
        }
    }
    let composed = declarations
        .variables
        .iter()
        .position(|variable| variable.name == "variables");
    Ok(Program {
        step,
        names: declarations
            .variables
            .iter()
            .map(|variable| variable.name)
            .collect(),
        used,
        result: checked.ty(&parsed.root).clone(),
        estimated_cost: estimate(&parsed.root, &checked, &declarations.variables),
        nesting: depth(source).unwrap_or(MOST_TOGETHER),
        mentions: composed.map_or_else(Mentions::default, |index| mentions(&parsed.root, &checked, index)),
    })
}

impl Program {
    /// The result type.
    pub fn result_type(&self) -> &Type {
        &self.result
    }

    /// The estimated maximum cost.
    pub fn estimated_cost(&self) -> u64 {
        self.estimated_cost
    }

    /// Its nesting depth.
    pub(crate) fn nesting(&self) -> usize {
        self.nesting
    }

    /// Its references to `variables`.
    pub(crate) fn mentions(&self) -> &Mentions {
        &self.mentions
    }

    /// Whether it references a variable.
    pub fn uses(&self, name: &str) -> bool {
        let index = self.names.iter().position(|known| *known == name);
        index.is_some_and(|index| self.used[index])
    }

    /// Evaluates it on dynamic values, in the order of the declarations; also returns the cost.
    pub fn run_bool(&self, variables: &[Option<&Json>]) -> (Result<bool>, u64) {
        let variables: Vec<Option<Value<'_>>> =
            variables.iter().map(|value| value.map(Value::dynamic)).collect();
        let (result, cost) = self.run(&variables);
        let result = match result {
            Ok(Value::Bool(value)) => Ok(value),
            Ok(_) => Err(EvaluationError::Failed("the expression must give a bool".into())),
            Err(error) => Err(error),
        };
        (result, cost)
    }

    pub(crate) fn run<'a>(&'a self, variables: &[Option<Value<'a>>]) -> (Result<Value<'a>>, u64) {
        self.run_composed(variables, None)
    }

    /// As [`Program::run`], with composited `variables`.
    pub(crate) fn run_composed<'a>(
        &'a self,
        variables: &[Option<Value<'a>>],
        composed: Option<&Composed<'a>>,
    ) -> (Result<Value<'a>>, u64) {
        let mut evaluation = Evaluation::new(variables, &self.names, composed, PER_CALL_LIMIT);
        let result = meter::metered(|| evaluation.run(&self.step));
        (result, evaluation.cost())
    }
}
