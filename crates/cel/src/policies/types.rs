//! Type checking: what is wrong with an expression once the kind is known that it is for.

use cambium_schema::Schema;

use super::compiler::composed_type;
use super::declarations::{Authorizer, Seen, declarations, no_variables};
use crate::check::Vocabulary;
use crate::declare::{Place, declare};
use crate::program::check_types;
use crate::types::Type;

/// What the expressions of a policy are checked against: one kind of objects, and perhaps one of parameters.
#[derive(Debug)]
pub struct TypeCheck {
    seen: Seen,
}

impl TypeCheck {
    /// For objects of a kind, by its name and the shape of its objects.
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

    /// With parameters of a kind; of one that is not there, nothing is known.
    #[must_use]
    pub fn with_params(mut self, kind: Option<(&str, &Schema)>) -> Self {
        self.seen.params = Some(kind.map_or(Type::Dyn, |(kind, schema)| object_type(kind, schema)));
        self
    }

    /// Adds a variable, which later expressions may mention; one that is wrong can be anything.
    pub fn add_variable(&mut self, name: &str, source: &str) {
        let ty = check_types(source, &declarations(&self.seen, Vocabulary::Plain));
        let ty = ty.map_or(Type::Dyn, |ty| composed_type(&ty));
        self.seen.add_variable(name, ty);
    }

    /// What is wrong with an expression.
    pub fn check(&self, source: &str) -> Option<String> {
        let checked = check_types(source, &declarations(&self.seen, Vocabulary::Plain));
        checked.err().map(|problems| problems.to_string())
    }
}

fn object_type(kind: &str, schema: &Schema) -> Type {
    declare(schema, Place::Root, kind).map_or(Type::Dyn, |declared| declared.ty)
}
