//! The expressions of admission policies.
//!
//! ```text
//! declarations  what expressions see: object, oldObject, request, namespaceObject, params, authorizer, variables
//! compiler      one policy's expressions, which may refer to its variables
//! run           one evaluation of some of them, with a budget
//! types         what can be said of them once the kinds are known that they are for
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
