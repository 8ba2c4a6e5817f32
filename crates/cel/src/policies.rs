//! Expressions of admission policies.
//!
//! ```text
//! declarations  variables of expressions: object, oldObject, request, namespaceObject, params, authorizer, variables
//! compiler      compiles the expressions of a policy, which may refer to its variables
//! run           evaluates expressions, with a cost budget
//! types         type checking against the matched kinds
//! ```

mod compiler;
mod declarations;
mod run;
mod types;

#[cfg(test)]
mod tests;

pub use compiler::{Compiler, Expression, Params, Problem, Purpose, Variables};
pub use run::{Inputs, OutOfBudget, Outcome, PatchOperation, Run};
pub use types::TypeCheck;
