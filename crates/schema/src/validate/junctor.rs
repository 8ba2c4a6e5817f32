//! Validates `anyOf`, `oneOf`, `allOf` and `not`. Nothing inside them is ratcheted.

use serde_json::Value;

use super::Walk;
use super::outcome::{Outcome, Problem};
use crate::model::{Constraints, Schema};
use cambium_go_text::quote;

impl Walk {
    pub(super) fn junctors(&mut self, limits: &Constraints, value: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        if !limits.any_of.is_empty() {
            self.any_of(&limits.any_of, value, &mut outcome);
        }
        if !limits.one_of.is_empty() {
            self.one_of(&limits.one_of, value, &mut outcome);
        }
        if !limits.all_of.is_empty() {
            self.all_of(&limits.all_of, value, &mut outcome);
        }
        if let Some(schema) = &limits.not
            && self.node(schema, value, None).is_valid()
        {
            outcome.add(Problem::unnamed(format!(
                "{} must not validate the schema (not)",
                quote(&self.path)
            )));
        }
        outcome.count();
        outcome
    }

    fn any_of(&mut self, schemas: &[Schema], value: &Value, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            let result = self.node(schema, value, None);
            if result.is_valid() {
                return outcome.merge(result);
            }
            best = Some(further(best, result));
        }
        outcome.add(Problem::unnamed(format!(
            "{} must validate at least one schema (anyOf)",
            quote(&self.path)
        )));
        outcome.merge(best.unwrap_or_default());
    }

    fn one_of(&mut self, schemas: &[Schema], value: &Value, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        let mut valid = Vec::new();
        for schema in schemas {
            let result = self.node(schema, value, None);
            match result.is_valid() {
                true => valid.push(result),
                false if valid.is_empty() => best = Some(further(best, result)),
                false => {}
            }
        }
        let found = match valid.len() {
            1 => return valid.into_iter().for_each(|result| outcome.merge(result)),
            0 => "Found none valid".to_owned(),
            several => format!("Found {several} valid alternatives"),
        };
        let path = quote(&self.path);
        outcome.add(Problem::unnamed(format!(
            "{path} must validate one and only one schema (oneOf). {found}"
        )));
        if valid.is_empty() {
            outcome.merge(best.unwrap_or_default());
        }
    }

    fn all_of(&mut self, schemas: &[Schema], value: &Value, outcome: &mut Outcome) {
        let mut valid = 0;
        for schema in schemas {
            let result = self.node(schema, value, None);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid != schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let path = quote(&self.path);
            outcome.add(Problem::unnamed(format!(
                "{path} must validate all the schemas (allOf){none}"
            )));
        }
    }
}

/// Of two failed alternatives, the one with more passed checks; the first when equal.
fn further(best: Option<Outcome>, result: Outcome) -> Outcome {
    match best {
        Some(best) if best.checks >= result.checks => best,
        _ => result,
    }
}
