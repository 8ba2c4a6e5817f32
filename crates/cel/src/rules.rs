//! The rules of a schema (`x-kubernetes-validations`): checked when the schema is, evaluated when an object is.
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
