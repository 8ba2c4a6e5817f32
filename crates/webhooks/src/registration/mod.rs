//! Registers the webhooks with the API server: CRDs with a conversion webhook, a `ValidatingWebhookConfiguration` and a
//! `MutatingWebhookConfiguration`.
//!
//! What we want is laid over what is there, field by field, and written only if that changes something ([`plan`]). What others wrote beside
//! our fields stays. An object that was changed since it was read is not written: it is read again.

mod client_config;
mod configuration;
mod crd;
mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use cambium_api::crds::Committed;
use k8s_openapi::api::admissionregistration::v1::{MatchCondition, RuleWithOperations};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use crate::admission::Unanswered;
use crate::certificates::Fingerprint;

pub use client_config::{Reach, ReachError};
pub use plan::{Write, plan};

/// All that should be registered.
#[derive(Clone)]
pub struct Registration {
    /// How the API server reaches us.
    pub reach: Reach,
    /// The name of the `ValidatingWebhookConfiguration` and of the `MutatingWebhookConfiguration`.
    pub configuration: String,
    /// The CRDs to install. Those with several versions name us as their converter.
    pub crds: Vec<Arc<Committed>>,
    /// The webhooks of the `ValidatingWebhookConfiguration`.
    pub validating: Vec<Webhook>,
    /// The webhooks of the `MutatingWebhookConfiguration`.
    pub mutating: Vec<Webhook>,
    /// How long the API server waits for an answer.
    pub timeout_seconds: i32,
    /// Only for objects in these namespaces; in all of them, if there is none.
    pub namespace_selector: Option<LabelSelector>,
}

/// The kind of a webhook configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// `ValidatingWebhookConfiguration`.
    Validators,
    /// `MutatingWebhookConfiguration`.
    Mutators,
}

impl Asks {
    fn kind(self) -> &'static str {
        match self {
            Self::Validators => "ValidatingWebhookConfiguration",
            Self::Mutators => "MutatingWebhookConfiguration",
        }
    }

    fn collection(self) -> &'static str {
        match self {
            Self::Validators => "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            Self::Mutators => "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        }
    }

    /// The path prefix of its webhooks.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Validators => "/admit/",
            Self::Mutators => "/mutate/",
        }
    }
}

/// One webhook of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// The first part of its name, a DNS label.
    pub name: String,
    /// The last part of its URL.
    pub path: String,
    /// Its rules. Nothing: as they are registered, if they are.
    pub rules: Option<Vec<RuleWithOperations>>,
    /// Its match conditions.
    pub conditions: Vec<MatchCondition>,
    /// Its failure policy.
    pub unanswered: Unanswered,
}

impl Webhook {
    /// One that is called like its path.
    pub fn new(path: &str, rules: Option<Vec<RuleWithOperations>>) -> Self {
        Self {
            name: path.to_owned(),
            path: path.to_owned(),
            rules,
            conditions: Vec::new(),
            unanswered: Unanswered::Refuse,
        }
    }

    /// The same, asked only if these hold.
    pub fn under(self, conditions: Vec<MatchCondition>) -> Self {
        Self { conditions, ..self }
    }

    /// The same, with deletions taken out into a webhook of their own, which lets them go on while nobody answers.
    pub fn letting_go(self) -> [Self; 2] {
        let part = |wanted: fn(&str) -> bool| {
            let rules = self.rules.as_ref()?.iter().filter_map(|rule| {
                let mut rule = rule.clone();
                if let Some(operations) = &mut rule.operations {
                    operations.retain(|operation| wanted(operation));
                }
                let asks = rule.operations.as_ref().is_some_and(|all| !all.is_empty());
                asks.then_some(rule)
            });
            Some(rules.collect())
        };
        let deletions = Self {
            name: format!("{}-deletion", self.name),
            path: self.path.clone(),
            rules: part(|operation| operation == "DELETE"),
            conditions: self.conditions.clone(),
            unanswered: Unanswered::Allow,
        };
        let rest = Self {
            rules: part(|operation| operation != "DELETE"),
            ..self
        };
        [rest, deletions]
    }
}

/// An object that we keep.
#[derive(Clone)]
pub enum Target {
    /// A CRD.
    Crd(Arc<Committed>),
    /// A webhook configuration.
    Configuration(Asks, String),
}

impl Target {
    /// Where it is.
    pub fn collection(&self) -> &'static str {
        match self {
            Self::Crd(_) => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            Self::Configuration(asks, _) => asks.collection(),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Crd(crd) => crd.name(),
            Self::Configuration(_, name) => name,
        }
    }
}

impl Registration {
    /// The objects to keep.
    pub fn targets(&self) -> Vec<Target> {
        let crds = self.crds.iter().cloned().map(Target::Crd);
        // Those who change objects first: what they write is there before anybody is refused for its absence.
        let configurations = [Asks::Mutators, Asks::Validators]
            .map(|asks| Target::Configuration(asks, self.configuration.clone()));
        crds.chain(configurations).collect()
    }

    /// The certificates that the API server trusts for this target. `None` if it has no reason to call us.
    pub fn carried(&self, target: &Target, observed: Option<&Value>) -> Option<BTreeSet<Fingerprint>> {
        match target {
            Target::Crd(crd) if !crd.needs_conversion() => None,
            Target::Crd(_) => Some(crd::carried(observed)),
            Target::Configuration(asks, _) if self.webhooks(*asks).is_empty() => None,
            Target::Configuration(asks, _) => Some(configuration::carried(self, *asks, observed)),
        }
    }

    fn webhooks(&self, asks: Asks) -> &[Webhook] {
        match asks {
            Asks::Validators => &self.validating,
            Asks::Mutators => &self.mutating,
        }
    }
}

/// Whether the API server serves the kind.
pub fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array();
    let mut established = conditions.into_iter().flatten();
    established.any(|one| one["type"] == "Established" && one["status"] == "True")
        && crd["metadata"]["deletionTimestamp"].is_null()
}
