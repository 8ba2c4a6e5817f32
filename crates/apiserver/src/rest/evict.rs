//! The subresource `pods/eviction`: deletes a pod if its disruption budget allows it.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::Call;
use super::delete::{self, DeleteOptions};
use crate::disruption::{self, BUDGETS, Verdict};
use crate::loopback::Refused;
use crate::object;
use crate::request::Options;
use crate::selector::LabelSelector;
use crate::status::{Result, Status};
use crate::store::Entry;
use crate::wire::{Response, value_response};

/// Attempts on conflict with writes to the pod or its budget.
const ATTEMPTS: usize = 20;

/// Evicts a pod, unless its disruption budget allows no disruption.
pub(super) async fn evict(call: &Call) -> Result<Response> {
    let eviction = call.decode()?.value;
    if object::name(&eviction) != call.path.name {
        return Err(Status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let raw = eviction
        .get("deleteOptions")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut options = DeleteOptions::parse(&Options::default(), raw)?;
    options.dry_run |= call.options.dry_run;
    let mut attempts = ATTEMPTS;
    loop {
        attempts -= 1;
        match attempt(call, &options).await {
            Err(status) if is_moved(&status) && options.resource_version.is_none() && attempts > 0 => {}
            Err(status) => return Err(status),
            Ok(()) => {
                let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
                return Ok(value_response(
                    StatusCode::CREATED,
                    call.representation.encoding,
                    &done,
                ));
            }
        }
    }
}

/// Whether the error is a conflict.
fn is_moved(status: &Status) -> bool {
    status.reason == "Conflict"
}

/// One attempt; a conflict means that the budget was not charged.
async fn attempt(call: &Call, options: &DeleteOptions) -> Result<()> {
    let entry = current(call)?;
    let pod = entry.value();
    options.check(call, entry.name(), &pod)?;
    if disruption::may_ignore_budgets(&pod) {
        return remove(call, options, Some(&entry)).await;
    }
    let budgets = budgets_of(call, &entry);
    match budgets.as_slice() {
        [] => remove(call, options, None).await,
        [budget] if disruption::verdict(budget, &pod) == Verdict::Free => {
            match remove(call, options, Some(&entry)).await {
                // It may have become ready, and then it is not free.
                Err(status) if is_moved(&status) && options.resource_version.is_none() => {
                    Err(disruption::too_many(object::name(budget)))
                }
                outcome => outcome,
            }
        }
        [budget] => {
            charge(call, budget, options).await?;
            remove(call, options, None).await
        }
        _ => Err(Status::unexplained(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        )),
    }
}

fn current(call: &Call) -> Result<Arc<Entry>> {
    let pods = call.server.store.bucket(&call.resource.bucket);
    pods.get(&call.key()).ok_or_else(|| call.not_found())
}

fn budgets_of(call: &Call, pod: &Entry) -> Vec<Value> {
    let bucket = call.server.store.bucket(&BUDGETS.into());
    let entries = bucket.list(&format!("{}/", call.namespace())).0;
    let selects = |budget: &Value| {
        let selector = object::at(budget, "spec.selector").and_then(LabelSelector::from_json);
        selector.is_some_and(|selector| selector.matches(|label| pod.label(label)))
    };
    entries
        .iter()
        .map(|entry| entry.value())
        .filter(selects)
        .collect()
}

/// Decrements `disruptionsAllowed` of the budget, with its resource version as a precondition.
async fn charge(call: &Call, budget: &Value, options: &DeleteOptions) -> Result<()> {
    let status = disruption::charged(budget, &call.path.name, call.server.sources.now())?;
    if options.dry_run {
        return Ok(());
    }
    let mut next = budget.clone();
    next["status"] = status;
    let path = format!(
        "/apis/policy/v1/namespaces/{}/poddisruptionbudgets/{}/status",
        call.namespace(),
        object::name(budget)
    );
    let client = call.server.loopback("eviction");
    client.update(&path, &next).await.map(drop).map_err(to_status)
}

/// Sets the condition `DisruptionTarget` on the pod and deletes it, at the given resource version if there is one.
async fn remove(call: &Call, options: &DeleteOptions, moment: Option<&Arc<Entry>>) -> Result<()> {
    let mut attempts = ATTEMPTS;
    loop {
        attempts -= 1;
        let entry = match moment {
            Some(entry) => entry.clone(),
            None => current(call)?,
        };
        let pod = entry.value();
        options.check(call, entry.name(), &pod)?;
        let mut revision = entry.revision.to_string();
        if !options.dry_run && !object::is_deleting(&pod) {
            match add_disruption_target(call, pod).await {
                Ok(written) => revision = written,
                Err(status) if is_moved(&status) && moment.is_none() && attempts > 0 => continue,
                Err(status) => return Err(status),
            }
        }
        let mut options = options.clone();
        if options.resource_version.is_some() || moment.is_some() {
            options.resource_version = Some(revision);
        }
        return delete::delete_one(call, &call.path.name, &options)
            .await
            .map(drop);
    }
}

/// Sets the condition `DisruptionTarget` in the pod's status; returns the new resource version.
async fn add_disruption_target(call: &Call, mut pod: Value) -> Result<String> {
    mark(&mut pod, &object::timestamp(call.server.sources.now()));
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}/status",
        call.namespace(),
        call.path.name
    );
    let client = call.server.loopback("eviction");
    let written = client.update(&path, &pod).await.map_err(to_status)?;
    Ok(object::meta_text(&written, "resourceVersion").to_owned())
}

fn mark(pod: &mut Value, now: &str) {
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": now});
    let mut conditions = object::at(pod, "status.conditions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    conditions.retain(|one| one["type"] != "DisruptionTarget");
    conditions.push(condition);
    object::set_at(pod, "status.conditions", json!(conditions));
}

fn to_status(refused: Refused) -> Status {
    match refused.reason() {
        "Conflict" => Status::conflict("", "pods", "", refused.message()),
        _ => Status::unexplained(refused.message()),
    }
}
