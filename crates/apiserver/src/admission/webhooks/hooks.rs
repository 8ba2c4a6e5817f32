//! A cache of webhook configurations, parsed.

use std::sync::Arc;
use std::time::Duration;

use cambium_cel::conditions::Conditions;
use cambium_cel::policies::{Compiler, Params};
use serde_json::Value;

use crate::admission::matching::{Criteria, texts};
use crate::object::{items, text};
use crate::store::{Derived, Store};

/// One webhook of one configuration.
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) client_config: Value,
    pub(super) criteria: Criteria,
    pub(super) conditions: Option<Conditions>,
    pub(super) fails_closed: bool,
    pub(super) has_side_effects: bool,
    pub(super) timeout: Duration,
    pub(super) reinvokes: bool,
    pub(super) review_versions: Vec<String>,
}

/// All webhooks of the cluster.
pub(crate) struct Hooks {
    mutating: Derived<Vec<Hook>, 1>,
    validating: Derived<Vec<Hook>, 1>,
}

impl Hooks {
    pub(crate) fn new(store: &Store) -> Self {
        let derived = |plural: &str| {
            let bucket = format!("admissionregistration.k8s.io/{plural}");
            Derived::new(store, [&bucket], |[configurations]| {
                let values = configurations.iter().map(|entry| entry.value());
                values.flat_map(|value| parse(&value)).collect()
            })
        };
        Self {
            mutating: derived("mutatingwebhookconfigurations"),
            validating: derived("validatingwebhookconfigurations"),
        }
    }

    pub(super) fn mutating(&self) -> Arc<Vec<Hook>> {
        self.mutating.get()
    }

    pub(super) fn validating(&self) -> Arc<Vec<Hook>> {
        self.validating.get()
    }
}

fn parse(configuration: &Value) -> Vec<Hook> {
    let hooks = configuration.get("webhooks").and_then(Value::as_array);
    hooks.into_iter().flatten().map(hook).collect()
}

fn hook(hook: &Value) -> Hook {
    let said = |field: &str| text(hook, field);
    Hook {
        name: said("name").to_owned(),
        client_config: hook.get("clientConfig").cloned().unwrap_or_default(),
        criteria: Criteria::of_webhook(hook),
        conditions: conditions(items(hook, "matchConditions")),
        fails_closed: said("failurePolicy") != "Ignore",
        has_side_effects: !matches!(said("sideEffects"), "None" | "NoneOnDryRun"),
        timeout: Duration::from_secs(
            hook.get("timeoutSeconds")
                .and_then(Value::as_u64)
                .unwrap_or(10)
                .clamp(1, 30),
        ),
        reinvokes: said("reinvocationPolicy") == "IfNeeded",
        review_versions: texts(hook, "admissionReviewVersions"),
    }
}

fn conditions(list: &[Value]) -> Option<Conditions> {
    let pairs = list
        .iter()
        .map(|condition| (text(condition, "name"), text(condition, "expression")));
    (!list.is_empty()).then(|| Conditions::compile(&Compiler::alone(Params::Absent), pairs))
}
