//! Admission by somebody else: Mutating and Validating webhook configurations.
//!
//! ```text
//! hooks    the configurations, parsed once per change of them
//! matching does this webhook want this request, and in which version?
//! review   what is asked and what the answer means
//! ```

mod hooks;
mod matching;
mod review;

use serde_json::Value;

use super::{Attributes, Operation};
use crate::registry::{Origin, Served};
use crate::server::Server;
use crate::status::Result;
use crate::{convert, object};

use hooks::Hook;
pub(crate) use hooks::Hooks;
use matching::Invocation;
use review::Verdict;

/// Whether there is any mutating webhook.
pub(super) fn any_mutating(server: &Server) -> bool {
    !server.hooks.mutating(server).is_empty()
}

/// Lets every mutating webhook change the object.
pub(super) async fn mutate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<Value>,
) -> Result<Option<Value>> {
    let hooks = server.hooks.mutating(server);
    if hooks.is_empty() || is_exempt(attributes.resource) {
        return Ok(object);
    }
    let mut object = object;
    let mut called: Vec<(usize, Option<Value>)> = Vec::new();
    for (index, hook) in hooks.iter().enumerate() {
        if let Some(changed) = call_mutating(server, attributes, hook, &object).await? {
            called.push((index, changed.clone()));
            object = changed;
        }
    }
    // Whoever asked for it sees once more what others changed after it.
    for (index, after) in called {
        let hook = &hooks[index];
        if hook.reinvokes
            && object != after
            && let Some(changed) = call_mutating(server, attributes, hook, &object).await?
        {
            object = changed;
        }
    }
    Ok(object)
}

/// Calls one mutating webhook, if it wants to be called; the object as it is afterwards.
async fn call_mutating(
    server: &Server,
    attributes: &Attributes<'_>,
    hook: &Hook,
    object: &Option<Value>,
) -> Result<Option<Option<Value>>> {
    let Some(invocation) = matching::wants(server, attributes, hook, object.as_ref())? else {
        return Ok(None);
    };
    let seen = in_version(server, attributes.resource, object.as_ref(), &invocation).await?;
    let old = in_version(server, attributes.resource, attributes.old, &invocation).await?;
    let verdict = review::ask(server, attributes, hook, &invocation, seen.as_ref(), old.as_ref()).await?;
    let Verdict::Allowed { patch: Some(patch) } = verdict else {
        return Ok(Some(object.clone()));
    };
    let Some(seen) = seen.filter(|_| attributes.operation != Operation::Delete) else {
        return Ok(Some(object.clone()));
    };
    let changed = review::patched(hook, seen, &patch)?;
    let mut changed = match invocation.converted {
        false => changed,
        true => {
            convert::between(
                server,
                attributes.resource,
                changed,
                &attributes.resource.api_version,
            )
            .await?
        }
    };
    attributes.resource.default(&mut changed);
    Ok(Some(Some(changed)))
}

/// Lets every validating webhook refuse the object.
pub(super) async fn validate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<()> {
    let hooks = server.hooks.validating(server);
    if hooks.is_empty() || is_exempt(attributes.resource) {
        return Ok(());
    }
    let mut asked = Vec::new();
    for hook in hooks.iter() {
        let Some(invocation) = matching::wants(server, attributes, hook, object)? else {
            continue;
        };
        asked.push(async move {
            let seen = in_version(server, attributes.resource, object, &invocation).await?;
            let old = in_version(server, attributes.resource, attributes.old, &invocation).await?;
            review::ask(server, attributes, hook, &invocation, seen.as_ref(), old.as_ref()).await
        });
    }
    // All at once; the first refusal in order is the answer, whoever was fastest.
    for verdict in futures::future::join_all(asked).await {
        verdict?;
    }
    Ok(())
}

/// The configurations themselves are out of webhooks' reach, or nobody could mend a broken one.
fn is_exempt(resource: &Served) -> bool {
    &*resource.group == "admissionregistration.k8s.io"
        || matches!(&resource.origin, Origin::Builtin(row) if row.group == "authorization.k8s.io" || row.group == "authentication.k8s.io")
}

async fn in_version(
    server: &Server,
    resource: &Served,
    object: Option<&Value>,
    invocation: &Invocation,
) -> Result<Option<Value>> {
    match (object, invocation.converted) {
        (None, _) => Ok(None),
        (Some(object), false) => Ok(Some(object.clone())),
        (Some(object), true) => {
            let version = object::api_version(&invocation.group, &invocation.version);
            convert::between(server, resource, object.clone(), &version)
                .await
                .map(Some)
        }
    }
}
