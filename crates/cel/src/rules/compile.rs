//! Compiles a rule of a schema.

use cambium_schema::{FieldPath, Rule, Schema, rule_field_path};

use crate::declare::{Declared, Place, declare};
use crate::program::{Declarations, Program, compile};
use crate::source::CompileError;
use crate::types::Type;

/// The variables of a rule, in this order.
pub(super) const SELF: &str = "self";
pub(super) const OLD_SELF: &str = "oldSelf";

/// A compiled rule, or its error.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    /// `None` for an empty rule.
    pub(super) program: Option<Result<Program, String>>,
    pub(super) message: Option<Result<Program, String>>,
    /// The `fieldPath` of errors, relative to the value.
    pub(super) field_path: Option<FieldPath>,
}

impl CompiledRule {
    pub(super) fn uses_old(&self) -> bool {
        match &self.program {
            Some(Ok(program)) => program.uses(OLD_SELF),
            _ => false,
        }
    }

    pub(super) fn old_is_optional(&self) -> bool {
        self.rule.optional_old_self == Some(true)
    }

    /// The estimated cost of one evaluation.
    pub(super) fn estimated_cost(&self) -> u64 {
        match &self.program {
            Some(Ok(program)) => program.estimated_cost(),
            _ => 0,
        }
    }
}

/// The declaration of `self`; `None` if CEL does not expose the value.
pub(super) fn declare_self(schema: &Schema, place: Place) -> Option<Declared> {
    declare(schema, place, "selfType")
}

/// Compiles a rule.
pub(super) fn compile_rule(schema: &Schema, rule: &Rule, declared: &Declared) -> CompiledRule {
    let mut compiled = CompiledRule {
        rule: rule.clone(),
        program: None,
        message: None,
        field_path: None,
    };
    if rule.rule.trim().is_empty() {
        return compiled;
    }
    let old = match rule.optional_old_self {
        Some(true) => Type::optional(declared.ty.clone()),
        _ => declared.ty.clone(),
    };
    let declarations = Declarations::new()
        .with(SELF, declared.ty.clone(), Some(declared.clone()))
        .with(OLD_SELF, old, None);
    let program = match compile(&rule.rule, &declarations) {
        Ok(program) if *program.result_type() != Type::Bool => {
            Err("cel expression must evaluate to a bool".to_owned())
        }
        Ok(program) => Ok(program),
        Err(CompileError::Unsound(problems)) => Err(format!("compilation failed: {problems}")),
        Err(CompileError::Failing(error)) => Err(format!("program instantiation failed: {error}")),
    };
    let is_sound = program.is_ok();
    compiled.program = Some(program);
    if !is_sound {
        return compiled;
    }
    if let Some(source) = rule
        .message_expression
        .as_deref()
        .filter(|source| !source.is_empty())
    {
        compiled.message = Some(match compile(source, &declarations) {
            Ok(program) if *program.result_type() != Type::String => {
                Err("messageExpression must evaluate to a string".to_owned())
            }
            Ok(program) => Ok(program),
            Err(CompileError::Unsound(problems)) => {
                Err(format!("messageExpression compilation failed: {problems}"))
            }
            Err(CompileError::Failing(error)) => {
                Err(format!("messageExpression instantiation failed: {error}"))
            }
        });
        if matches!(compiled.message, Some(Err(_))) {
            return compiled;
        }
    }
    compiled.field_path = rule
        .field_path
        .as_deref()
        .filter(|path| !path.is_empty())
        .and_then(|path| rule_field_path(schema, path).ok());
    compiled
}
