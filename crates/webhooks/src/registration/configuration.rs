//! Lays the wanted webhooks over an existing `ValidatingWebhookConfiguration` or `MutatingWebhookConfiguration`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::crd::ids;
use super::plan::{named, put_over};
use super::{Asks, Registration, Webhook};
use crate::admission::Unanswered;
use crate::certificates::Fingerprint;
use crate::names;

/// The configuration that is created: with the webhooks whose rules are known.
pub(super) fn created(registration: &Registration, asks: Asks, bundle: &str) -> Value {
    let mut wanted = wanted(registration, asks, bundle);
    if let Some(webhooks) = wanted["webhooks"].as_array_mut() {
        webhooks.retain(has_rules);
    }
    wanted
}

/// The wanted configuration.
pub(super) fn wanted(registration: &Registration, asks: Asks, bundle: &str) -> Value {
    let webhooks: Vec<Value> = registration
        .webhooks(asks)
        .iter()
        .map(|webhook| wanted_webhook(registration, asks, webhook, bundle))
        .collect();
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": asks.kind(),
        "metadata": {"name": registration.configuration, "labels": {names::MANAGED_BY: names::CAMBIUM}},
        "webhooks": webhooks})
}

fn wanted_webhook(registration: &Registration, asks: Asks, webhook: &Webhook, bundle: &str) -> Value {
    let path = format!("{}{}", asks.path(), webhook.path);
    let failure_policy = match webhook.unanswered {
        Unanswered::Refuse => "Fail",
        Unanswered::Allow => "Ignore",
    };
    let mut wanted = json!({"name": format!("{}{}", webhook.name, names::WEBHOOK_SUFFIX),
        "clientConfig": registration.reach.client_config(&path, bundle),
        "failurePolicy": failure_policy, "sideEffects": "None", "matchPolicy": "Equivalent",
        "timeoutSeconds": registration.timeout_seconds, "admissionReviewVersions": ["v1", "v1beta1"]});
    if let Some(rules) = &webhook.rules {
        let rules = rules.iter().cloned().map(|mut rule| {
            // What the API server would fill in is said, so that it compares as equal.
            rule.scope.get_or_insert_with(|| "*".to_owned());
            rule
        });
        wanted["rules"] = json!(rules.collect::<Vec<_>>());
    }
    if !webhook.conditions.is_empty() {
        wanted["matchConditions"] = json!(webhook.conditions);
    }
    if asks == Asks::Mutators {
        wanted["reinvocationPolicy"] = json!("Never");
    }
    if let Some(selector) = &registration.namespace_selector {
        wanted["namespaceSelector"] = json!(selector);
    }
    wanted
}

/// The wanted configuration laid over the existing one: own webhooks as wanted, without those that are gone; webhooks that others added are
/// unchanged.
pub(super) fn overlay(wanted: &Value, observed: &Value) -> Value {
    let mut result = observed.clone();
    put_over(&wanted["metadata"]["labels"], &mut result["metadata"]["labels"]);
    let is_ours = |name: &Value| {
        name.as_str()
            .is_some_and(|name| name.ends_with(names::WEBHOOK_SUFFIX))
    };
    let mut webhooks = Vec::new();
    for mut webhook in observed["webhooks"].as_array().cloned().unwrap_or_default() {
        match named(&wanted["webhooks"], &webhook["name"]) {
            Some(ours) => put_over(ours, &mut webhook),
            None if is_ours(&webhook["name"]) => continue,
            None => {}
        }
        webhooks.push(webhook);
    }
    let ours = wanted["webhooks"].as_array().into_iter().flatten();
    webhooks.extend(
        ours.filter(|one| has_rules(one) && named(&observed["webhooks"], &one["name"]).is_none())
            .cloned(),
    );
    if !webhooks.is_empty() || !observed["webhooks"].is_null() {
        result["webhooks"] = Value::Array(webhooks);
    }
    result
}

/// Whether the rules of a webhook are known.
fn has_rules(webhook: &Value) -> bool {
    !webhook["rules"].is_null()
}

/// The certificates that the API server trusts for every one of our webhooks.
pub(super) fn carried(
    registration: &Registration,
    asks: Asks,
    observed: Option<&Value>,
) -> BTreeSet<Fingerprint> {
    let bundles = registration.webhooks(asks).iter().filter_map(|webhook| {
        let name = json!(format!("{}{}", webhook.name, names::WEBHOOK_SUFFIX));
        let there = observed.and_then(|observed| named(&observed["webhooks"], &name));
        match there {
            Some(there) => Some(ids(&there["clientConfig"]["caBundle"])),
            // One that is not to be there yet is missed by nobody.
            None => webhook.rules.is_some().then(BTreeSet::new),
        }
    });
    bundles.reduce(|all, one| &all & &one).unwrap_or_default()
}
