//! Message construction: `Object.spec{replicas: 3}`, `JSONPatch{op: "remove"}`.

use std::sync::Arc;

use cel::common::ast::{EntryExpr, IdedExpr, StructExpr};

use super::Checker;
use crate::functions::{Overload, overloads};
use crate::types::Type;

/// Additional types and functions of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Vocabulary {
    /// None.
    #[default]
    Plain,
    /// For mutations: `Object` and the types below it, `JSONPatch`, `jsonpatch.escapeKey`.
    Patches,
}

/// The type of an operation of a JSON patch.
pub(crate) const JSON_PATCH: &str = "JSONPatch";
/// The type of an apply configuration; types of its parts are named by path.
pub(crate) const OBJECT: &str = "Object";

impl Vocabulary {
    /// The message type of a name.
    pub(super) fn message(self, name: &str) -> Option<Type> {
        let is_part = || {
            name.strip_prefix(OBJECT)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let known = name == JSON_PATCH || name == OBJECT || is_part();
        (self == Self::Patches && known).then(|| Type::Message(Arc::from(name)))
    }

    /// The signatures of a function.
    pub(super) fn overloads(self, name: &str) -> Option<(&'static str, &'static [Overload])> {
        match (self, name) {
            (Self::Plain, "jsonpatch.escapeKey") => None,
            _ => overloads(name),
        }
    }
}

/// The type of a field; any part of an object may have any field.
pub(super) fn field(message: &str, name: &str) -> Option<Type> {
    match (message, name) {
        (JSON_PATCH, "op" | "path" | "from") => Some(Type::String),
        (JSON_PATCH, "value") => Some(Type::Dyn),
        (JSON_PATCH, _) => None,
        _ => Some(Type::Dyn),
    }
}

impl<'a> Checker<'a> {
    pub(super) fn message(&mut self, node: &'a IdedExpr, message: &'a StructExpr) -> Type {
        let name = message.type_name.trim_start_matches('.');
        let Some((ty, _)) = self.lookup(name) else {
            self.undeclared(node, name);
            return Type::Error;
        };
        let made = match ty {
            Type::Type(Some(inner)) if matches!(*inner, Type::Message(_)) => (*inner).clone(),
            Type::Type(_) => {
                self.report(node, format!("'{name}' is not a message type"));
                Type::Error
            }
            _ => {
                self.report(node, format!("'{ty}' is not a type"));
                Type::Error
            }
        };
        for entry in &message.entries {
            let EntryExpr::StructField(given) = &entry.expr else {
                continue;
            };
            let mut found = self.check(&given.value);
            if given.optional {
                found = self.unwrapped(&given.value, found);
            }
            let Type::Message(name) = &made else { continue };
            let Some(wanted) = field(name, &given.field) else {
                let problem = format!("undefined field '{}'", given.field);
                self.problems.push(self.parsed.problem(entry.id, problem));
                continue;
            };
            if !self.inferred.assignable(&wanted, &found) {
                let problem = format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{found}'",
                    given.field
                );
                self.problems.push(self.parsed.problem(entry.id, problem));
            }
        }
        made
    }
}
