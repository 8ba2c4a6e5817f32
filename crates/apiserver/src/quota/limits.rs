//! The parsed spec of a ResourceQuota.

use cambium_builtin::Amounts;
use serde_json::Value;

use super::charge::{Charge, bucket_of};
use super::scope::{Facts, Scope};
use crate::object;

/// The hard limits and scopes of a quota.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    pub(super) name: String,
    pub(super) hard: Amounts,
    scopes: Vec<Scope>,
}

impl Limits {
    /// Parses a ResourceQuota.
    pub(super) fn of(quota: &Value) -> Self {
        Self {
            name: object::name(quota).to_owned(),
            hard: Amounts::of(object::at(quota, "spec.hard")),
            scopes: Scope::all(quota),
        }
    }

    /// The limited resource names that objects of a bucket use.
    pub(super) fn names_in<'a>(&'a self, bucket: &'a str) -> impl Iterator<Item = &'a str> {
        self.hard
            .names()
            .filter(move |name| bucket_of(name).as_deref() == Some(bucket))
    }

    /// Whether all scopes match an object.
    pub(super) fn covers(&self, facts: &Facts) -> bool {
        self.scopes.iter().all(|scope| scope.holds(facts))
    }

    /// The usage of the quota by an object; empty when the scopes do not match.
    pub(super) fn share(&self, charge: &Charge) -> Amounts {
        match self.covers(&charge.facts) {
            true => charge.amounts.only(|name, _| self.hard.get(name).is_some()),
            false => Amounts::default(),
        }
    }
}
