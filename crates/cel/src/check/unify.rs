//! Unification and type inference.

use std::collections::HashMap;

use crate::types::{Param, Type};

/// The substitution of type variables.
#[derive(Debug, Clone, Default)]
pub(super) struct Inferred {
    found: HashMap<Param, Type>,
}

impl Inferred {
    pub(super) fn add(&mut self, parameter: Param, ty: Type) {
        self.found.insert(parameter, ty);
    }

    /// Whether one type is assignable to the other; infers type variables, if so.
    pub(super) fn assignable(&mut self, a: &Type, b: &Type) -> bool {
        let mut attempt = self.clone();
        let fits = attempt.fits(a, b);
        if fits {
            *self = attempt;
        }
        fits
    }

    /// As [`Inferred::assignable`], for lists of types.
    pub(super) fn all_assignable(&mut self, a: &[Type], b: &[Type]) -> bool {
        if a.len() != b.len() {
            return false;
        }
        let mut attempt = self.clone();
        let fits = a.iter().zip(b).all(|(a, b)| attempt.fits(a, b));
        if fits {
            *self = attempt;
        }
        fits
    }

    fn fits(&mut self, a: &Type, b: &Type) -> bool {
        if let Type::Param(parameter) = b {
            match self.substitutes(a, *parameter) {
                Substitution::Valid => return true,
                Substitution::Conflict => return false,
                Substitution::Cyclic => {}
            }
        }
        if let Type::Param(parameter) = a {
            return self.substitutes(b, *parameter) == Substitution::Valid;
        }
        if a.is_dyn_or_error() || b.is_dyn_or_error() {
            return true;
        }
        match (a, b) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            _ => {
                let (inner_a, inner_b) = (a.parameters(), b.parameters());
                a.same_constructor(b)
                    && inner_a.len() == inner_b.len()
                    && inner_a.iter().zip(inner_b).all(|(a, b)| self.fits(a, b))
            }
        }
    }

    fn substitutes(&mut self, ty: &Type, parameter: Param) -> Substitution {
        if *ty == Type::Param(parameter) {
            return Substitution::Valid;
        }
        if let Some(known) = self.found.get(&parameter).cloned() {
            if *ty == known {
                return Substitution::Valid;
            }
            if !self.fits(ty, &known) {
                return Substitution::Conflict;
            }
            let general = most_general(ty, &known);
            if self.is_free_of(parameter, general) {
                let general = general.clone();
                self.found.insert(parameter, general);
            }
            return Substitution::Valid;
        }
        if self.is_free_of(parameter, ty) {
            self.found.insert(parameter, ty.clone());
            return Substitution::Valid;
        }
        Substitution::Cyclic
    }

    fn is_free_of(&self, parameter: Param, ty: &Type) -> bool {
        match ty {
            Type::Param(other) if *other == parameter => false,
            Type::Param(other) => match self.found.get(other) {
                Some(known) => self.is_free_of(parameter, known),
                None => true,
            },
            _ => ty
                .parameters()
                .into_iter()
                .all(|inner| self.is_free_of(parameter, inner)),
        }
    }

    /// Applies the substitution to a type.
    pub(super) fn substitute(&self, ty: &Type) -> Type {
        match ty {
            Type::Param(parameter) => match self.found.get(parameter) {
                Some(known) => self.substitute(known),
                None => ty.clone(),
            },
            Type::List(item) => Type::list(self.substitute(item)),
            Type::Optional(inner) => Type::optional(self.substitute(inner)),
            Type::Map(entry) => Type::map(self.substitute(&entry.0), self.substitute(&entry.1)),
            Type::Type(Some(inner)) => Type::Type(Some(self.substitute(inner).into())),
            _ => ty.clone(),
        }
    }

    /// As [`Inferred::substitute`]; unknown type variables become `dyn`.
    pub(super) fn finish(&self, ty: &Type) -> Type {
        fn without_parameters(ty: Type) -> Type {
            match ty {
                Type::Param(_) => Type::Dyn,
                Type::List(item) => Type::list(without_parameters((*item).clone())),
                Type::Optional(inner) => Type::optional(without_parameters((*inner).clone())),
                Type::Map(entry) => Type::map(
                    without_parameters(entry.0.clone()),
                    without_parameters(entry.1.clone()),
                ),
                Type::Type(Some(inner)) => Type::Type(Some(without_parameters((*inner).clone()).into())),
                ty => ty,
            }
        }
        without_parameters(self.substitute(ty))
    }
}

#[derive(PartialEq)]
enum Substitution {
    Valid,
    Conflict,
    Cyclic,
}

fn is_nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Object(_)
            | Type::Named(_)
            | Type::Message(_)
            | Type::Optional(_)
            | Type::Duration
            | Type::Timestamp
    )
}

pub(super) fn most_general<'a>(a: &'a Type, b: &'a Type) -> &'a Type {
    if is_equal_or_less_specific(a, b) { a } else { b }
}

fn is_equal_or_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::Type(_), Type::Type(_)) => true,
        _ => {
            let (inner_a, inner_b) = (a.parameters(), b.parameters());
            a.same_constructor(b)
                && inner_a.len() == inner_b.len()
                && inner_a
                    .iter()
                    .zip(inner_b)
                    .all(|(a, b)| is_equal_or_less_specific(a, b))
        }
    }
}
