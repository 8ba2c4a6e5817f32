//! Builds structs from decoded fields.

use super::{Budget, CallError};
use crate::data::Data;
use std::collections::HashMap;

/// Fields that are reordered per evaluation step.
const REBUILT: u64 = 16;

/// Collects fields in order. Values of a duplicate field are unified: they must be equal, or structs that merge.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: Vec<(String, Data)>,
    places: HashMap<String, usize>,
}

impl Fields {
    /// Adds a field, or unifies it with the one of that name.
    pub(super) fn add(
        &mut self,
        name: String,
        value: Data,
        budget: &mut dyn Budget,
    ) -> Result<(), CallError> {
        Ok(self.unify(name, value, budget)?)
    }

    fn unify(&mut self, name: String, value: Data, budget: &mut dyn Budget) -> Result<(), Conflict> {
        match self.places.get(&name) {
            Some(place) => {
                unify(&mut self.fields[*place].1, value, budget).map_err(|conflict| conflict.inside(name))
            }
            None => {
                self.set(name, value);
                Ok(())
            }
        }
    }

    /// Adds a field, or replaces the one of that name.
    pub(super) fn set(&mut self, name: String, value: Data) {
        match self.places.get(&name) {
            Some(place) => self.fields[*place].1 = value,
            None => {
                self.places.insert(name.clone(), self.fields.len());
                self.fields.push((name, value));
            }
        }
    }

    /// The struct.
    pub(super) fn finish(self) -> Data {
        Data::Struct(self.fields)
    }
}

fn unify(left: &mut Data, right: Data, budget: &mut dyn Budget) -> Result<(), Conflict> {
    match (left, right) {
        (Data::Struct(left), Data::Struct(right)) => {
            // The same field may be given often, and each time all of it is looked at.
            budget.take((left.len() + right.len()) as u64 / REBUILT, 0)?;
            let mut fields = Fields::default();
            for (name, value) in std::mem::take(left) {
                fields.set(name, value);
            }
            for (name, value) in right {
                fields.unify(name, value, budget)?;
            }
            *left = fields.fields;
            Ok(())
        }
        (Data::List(left), Data::List(right)) => {
            if left.len() != right.len() {
                let (left, right) = (left.len(), right.len());
                return Err(Conflict::new(format!(
                    "incompatible list lengths ({right} and {left})"
                )));
            }
            for (index, (left, right)) in left.iter_mut().zip(right).enumerate() {
                unify(left, right, budget).map_err(|conflict| conflict.inside(index))?;
            }
            Ok(())
        }
        (left, right) if *left == right => Ok(()),
        (left, right) => {
            let (left, right) = (left.to_json(), right.to_json());
            Err(Conflict::new(format!("conflicting values {right} and {left}")))
        }
    }
}

/// A conflict of two values, with its path from the inside out.
struct Conflict {
    path: Vec<String>,
    error: CallError,
}

impl Conflict {
    fn new(message: String) -> Self {
        Self::from(CallError::Failed(message))
    }

    fn inside(mut self, part: impl ToString) -> Self {
        self.path.push(part.to_string());
        self
    }
}

impl From<CallError> for Conflict {
    fn from(error: CallError) -> Self {
        let path = Vec::new();
        Self { path, error }
    }
}

impl From<Conflict> for CallError {
    fn from(Conflict { mut path, error }: Conflict) -> Self {
        path.reverse();
        match error {
            Self::Failed(message) => Self::Failed(format!("{}: {message}", path.join("."))),
            other => other,
        }
    }
}
