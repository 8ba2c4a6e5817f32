//! A quota's limits, read from the object.

use cambium_builtin::Amounts;
use serde_json::Value;

use super::charge::{Charge, bucket_of};
use super::scope::{Facts, Scope};
use crate::object;

/// What one quota allows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    pub(super) name: String,
    pub(super) hard: Amounts,
    scopes: Vec<Scope>,
}

impl Limits {
    /// Reads a ResourceQuota.
    pub(super) fn of(quota: &Value) -> Self {
        Self {
            name: object::name(quota).to_owned(),
            hard: Amounts::of(object::at(quota, "spec.hard")),
            scopes: Scope::all(quota),
        }
    }

    /// The resources it limits that objects of a bucket use.
    pub(super) fn names_in<'a>(&'a self, bucket: &'a str) -> impl Iterator<Item = &'a str> {
        self.hard
            .names()
            .filter(move |name| bucket_of(name).as_deref() == Some(bucket))
    }

    /// Whether it is about such objects: every scope holds.
    pub(super) fn covers(&self, facts: &Facts) -> bool {
        self.scopes.iter().all(|scope| scope.holds(facts))
    }

    /// What an object uses of it; nothing when it is not about the object.
    pub(super) fn share(&self, charge: &Charge) -> Amounts {
        match self.covers(&charge.facts) {
            true => charge.amounts.only(|name, _| self.hard.get(name).is_some()),
            false => Amounts::default(),
        }
    }
}
