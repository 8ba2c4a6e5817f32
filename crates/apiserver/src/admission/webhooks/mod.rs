//! Mutating and validating admission webhooks.
//!
//! ```text
//! hooks             the configurations, parsed once per change
//! match_conditions  matches a request against a webhook's rules and match conditions
//! review            sends the AdmissionReview and reads the response
//! ```

mod hooks;
mod match_conditions;
mod review;

use std::sync::Arc;

use cambium_builtin::DynamicAdmission;
use serde_json::Value;

use super::{Attributes, Operation};
use crate::registry::Served;
use crate::server::Server;
use crate::status::Result;

use hooks::Hook;
pub(crate) use hooks::Hooks;
use review::Verdict;
pub(super) use review::request;

/// Whether any mutating webhook exists.
pub(super) fn any_mutating(server: &Server) -> bool {
    !server.hooks.mutating().is_empty()
}

/// The webhooks that were called, with the object as it was after each.
#[derive(Default)]
pub(super) struct Called {
    hooks: Arc<Vec<Hook>>,
    after: Vec<(usize, Option<Value>)>,
}

/// Calls every matching mutating webhook, one after the other.
pub(super) async fn mutate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<Value>,
) -> Result<(Option<Value>, Called)> {
    let hooks = server.hooks.mutating();
    if hooks.is_empty() || is_exempt(attributes.resource) {
        return Ok((object, Called::default()));
    }
    let mut object = object;
    let mut after: Vec<(usize, Option<Value>)> = Vec::new();
    for (index, hook) in hooks.iter().enumerate() {
        if let Some(changed) = call_mutating(server, attributes, hook, &object).await? {
            after.push((index, changed.clone()));
            object = changed;
        }
    }
    Ok((object, Called { hooks, after }))
}

/// Reinvokes webhooks with `reinvocationPolicy: IfNeeded` whose object was changed after them.
pub(super) async fn mutate_again(
    server: &Server,
    attributes: &Attributes<'_>,
    called: Called,
    mut object: Option<Value>,
) -> Result<Option<Value>> {
    for (index, after) in called.after {
        let hook = &called.hooks[index];
        if hook.reinvokes
            && object != after
            && let Some(changed) = call_mutating(server, attributes, hook, &object).await?
        {
            object = changed;
        }
    }
    Ok(object)
}

/// Calls one mutating webhook if it matches; returns the object after its patch.
async fn call_mutating(
    server: &Server,
    attributes: &Attributes<'_>,
    hook: &Hook,
    object: &Option<Value>,
) -> Result<Option<Option<Value>>> {
    let Some(invocation) = match_conditions::match_request(server, attributes, hook, object.as_ref())? else {
        return Ok(None);
    };
    let resource = attributes.resource;
    let seen = invocation.see(server, resource, object.as_ref()).await?;
    let old = invocation.see(server, resource, attributes.old).await?;
    let verdict = review::call(server, attributes, hook, &invocation, seen.as_ref(), old.as_ref()).await?;
    let Verdict::Allowed { patch: Some(patch) } = verdict else {
        return Ok(Some(object.clone()));
    };
    let Some(seen) = seen.filter(|_| attributes.operation != Operation::Delete) else {
        return Ok(Some(object.clone()));
    };
    let changed = review::patched(hook, seen, &patch)?;
    // A webhook sees the object at the version that its rules match, and its patch applies to that version.
    let mut changed = invocation.take_back(server, resource, changed).await?;
    resource.default(&mut changed);
    Ok(Some(Some(changed)))
}

/// Calls every matching validating webhook, all in parallel.
pub(super) async fn validate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<()> {
    let hooks = server.hooks.validating();
    if hooks.is_empty() || is_exempt(attributes.resource) {
        return Ok(());
    }
    let mut asked = Vec::new();
    for hook in hooks.iter() {
        let Some(invocation) = match_conditions::match_request(server, attributes, hook, object)? else {
            continue;
        };
        asked.push(async move {
            let seen = invocation.see(server, attributes.resource, object).await?;
            let old = invocation
                .see(server, attributes.resource, attributes.old)
                .await?;
            review::call(server, attributes, hook, &invocation, seen.as_ref(), old.as_ref()).await
        });
    }
    // All in parallel; the first denial in configuration order is the response, so that it is deterministic.
    for verdict in futures::future::join_all(asked).await {
        verdict?;
    }
    Ok(())
}

/// Webhooks are not called for what configures admission, or nobody could repair a broken configuration.
fn is_exempt(resource: &Served) -> bool {
    resource.strategy().dynamic_admission != DynamicAdmission::PoliciesAndWebhooks
}
