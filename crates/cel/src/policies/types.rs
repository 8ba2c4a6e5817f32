//! Type checking of policy expressions against a kind.

use cambium_schema::Schema;

use super::compiler::composed_type;
use super::declarations::{Authorizer, Seen, declarations, no_variables};
use crate::check::Vocabulary;
use crate::declare::{Place, declare};
use crate::program::check_types;
use crate::types::Type;

/// The kinds that a policy's expressions are checked against: objects, and optionally parameters.
#[derive(Debug)]
pub struct TypeCheck {
    seen: Seen,
}

impl TypeCheck {
    /// A check for a kind, by name and schema.
    pub fn new((kind, schema): (&str, &Schema)) -> Self {
        Self {
            seen: Seen {
                object: object_type(kind, schema),
                params: None,
                authorizer: Authorizer::General,
                variables: Some(no_variables()),
            },
        }
    }

    /// Adds the kind of parameters; an unknown kind is `dyn`.
    #[must_use]
    pub fn with_params(mut self, kind: Option<(&str, &Schema)>) -> Self {
        self.seen.params = Some(kind.map_or(Type::Dyn, |(kind, schema)| object_type(kind, schema)));
        self
    }

    /// Adds a variable for later expressions; one with errors is `dyn`.
    pub fn add_variable(&mut self, name: &str, source: &str) {
        let ty = check_types(source, &declarations(&self.seen, Vocabulary::Plain));
        let ty = ty.map_or(Type::Dyn, |ty| composed_type(&ty));
        self.seen.add_variable(name, ty);
    }

    /// Type checks an expression; returns the errors.
    pub fn check(&self, source: &str) -> Option<String> {
        let checked = check_types(source, &declarations(&self.seen, Vocabulary::Plain));
        checked.err().map(|problems| problems.to_string())
    }
}

fn object_type(kind: &str, schema: &Schema) -> Type {
    declare(schema, Place::Root, kind).map_or(Type::Dyn, |declared| declared.ty)
}
