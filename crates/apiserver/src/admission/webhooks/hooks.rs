//! Webhook configurations, parsed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cambium_expression::conditions::Conditions;
use cambium_expression::policies::{Compiler, Params};
use serde_json::Value;

use crate::admission::matching::{Criteria, texts};
use crate::object::{items, text};
use crate::server::Server;

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

/// The webhooks of a server, parsed again only when their configurations change.
#[derive(Default)]
pub(crate) struct Hooks {
    mutating: Cached,
    validating: Cached,
}

/// Webhooks, and the revision of the configurations they were parsed from.
#[derive(Default)]
struct Cached(Mutex<(u64, Arc<Vec<Hook>>)>);

impl Hooks {
    pub(super) fn mutating(&self, server: &Server) -> Arc<Vec<Hook>> {
        self.mutating.get(
            server,
            "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        )
    }

    pub(super) fn validating(&self, server: &Server) -> Arc<Vec<Hook>> {
        self.validating.get(
            server,
            "admissionregistration.k8s.io/validatingwebhookconfigurations",
        )
    }
}

impl Cached {
    fn get(&self, server: &Server, bucket: &str) -> Arc<Vec<Hook>> {
        let bucket = server.store.bucket(&bucket.into());
        let newest = bucket.newest();
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.0 != newest {
            let hooks = bucket
                .list("")
                .0
                .iter()
                .flat_map(|entry| parse(&entry.value()))
                .collect();
            *cached = (newest, Arc::new(hooks));
        }
        cached.1.clone()
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
