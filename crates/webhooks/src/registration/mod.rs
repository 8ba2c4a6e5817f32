//! Telling the API server where we are: CRDs that name us as their converter, and a `ValidatingWebhookConfiguration`.
//!
//! What we want is laid over what is there, field by field, and written only if that changes something ([`plan`]). What others wrote beside
//! our fields stays. An object that was changed since it was read is not written: it is read again.

mod configuration;
mod crd;
mod plan;
mod reach;

use std::collections::BTreeSet;
use std::sync::Arc;

use cambium_api::crds::needs_conversion;
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use crate::certificates::Fingerprint;

pub use plan::{Write, plan};
pub use reach::{Reach, ReachError};

/// All that should be registered.
#[derive(Clone)]
pub struct Registration {
    /// How the API server reaches us.
    pub reach: Reach,
    /// The name of the `ValidatingWebhookConfiguration`.
    pub configuration: String,
    /// The CRDs to install. Those with several versions name us as their converter.
    pub crds: Vec<Arc<CustomResourceDefinition>>,
    /// The webhooks of the configuration.
    pub webhooks: Vec<Webhook>,
    /// How long the API server waits for a validator.
    pub timeout_seconds: i32,
    /// Only for objects in these namespaces; in all of them, if there is none.
    pub namespace_selector: Option<LabelSelector>,
}

/// One webhook of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// The last part of its URL.
    pub path: String,
    /// What it is asked about. Nothing: as it is registered, if it is.
    pub rules: Option<Vec<RuleWithOperations>>,
}

/// An object that we keep.
#[derive(Clone)]
pub enum Target {
    /// A CRD.
    Crd(Arc<CustomResourceDefinition>),
    /// The webhook configuration.
    Configuration(String),
}

impl Target {
    /// Where it is.
    pub fn collection(&self) -> &'static str {
        match self {
            Self::Crd(_) => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            Self::Configuration(_) => "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Crd(crd) => crd.metadata.name.as_deref().unwrap_or_default(),
            Self::Configuration(name) => name,
        }
    }
}

impl Registration {
    /// The objects to keep.
    pub fn targets(&self) -> Vec<Target> {
        let crds = self.crds.iter().cloned().map(Target::Crd);
        let configuration = Target::Configuration(self.configuration.clone());
        crds.chain([configuration]).collect()
    }

    /// The certificates that the API server trusts for this target. `None` if it has no reason to call us.
    pub fn carried(&self, target: &Target, observed: Option<&Value>) -> Option<BTreeSet<Fingerprint>> {
        match target {
            Target::Crd(crd) if !needs_conversion(crd) => None,
            Target::Crd(_) => Some(crd::carried(observed)),
            Target::Configuration(_) if self.webhooks.is_empty() => None,
            Target::Configuration(_) => Some(configuration::carried(self, observed)),
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
