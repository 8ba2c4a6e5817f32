//! Structs that text gives field by field.

use super::CallError;
use crate::data::Data;
use std::collections::HashMap;

/// Collects fields in order. A field given twice has to be the same thing twice, or two structs that make one: what
/// text says is unified, as everything in CUE.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: Vec<(String, Data)>,
    places: HashMap<String, usize>,
}

impl Fields {
    /// Adds a field, or unifies it with the one of that name.
    pub(super) fn add(&mut self, name: String, value: Data) -> Result<(), CallError> {
        match self.places.get(&name) {
            Some(place) => unify(&name, &mut self.fields[*place].1, value),
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

fn unify(path: &str, left: &mut Data, right: Data) -> Result<(), CallError> {
    match (left, right) {
        (Data::Struct(left), Data::Struct(right)) => {
            let mut fields = Fields::default();
            for (name, value) in std::mem::take(left) {
                fields.set(name, value);
            }
            for (name, value) in right {
                fields
                    .add(name, value)
                    .map_err(|error| CallError::Failed(format!("{path}.{error}")))?;
            }
            *left = fields.fields;
            Ok(())
        }
        (Data::List(left), Data::List(right)) => {
            if left.len() != right.len() {
                let message = format!(
                    "{path}: incompatible list lengths ({} and {})",
                    right.len(),
                    left.len()
                );
                return Err(CallError::Failed(message));
            }
            left.iter_mut()
                .zip(right)
                .enumerate()
                .try_for_each(|(index, (left, right))| unify(&format!("{path}.{index}"), left, right))
        }
        (left, right) if *left == right => Ok(()),
        (left, right) => {
            let message = format!(
                "{path}: conflicting values {} and {}",
                right.to_json(),
                left.to_json()
            );
            Err(CallError::Failed(message))
        }
    }
}
