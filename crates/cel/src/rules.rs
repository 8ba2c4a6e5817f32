//! CEL rules of schemas (`x-kubernetes-validations`): validated with the schema, evaluated on objects.
//!
//! ```text
//!   check_schema_rules     does every rule compile, is it cheap enough, may it use oldSelf?
//!   CompiledRules          compile once ─▶ validate(new, old) for every object
//! ```

mod check;
mod compile;
mod validate;

#[cfg(test)]
mod tests;

pub use check::check_schema_rules;
pub use validate::{CompiledRules, Judgement};
