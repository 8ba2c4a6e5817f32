//! Selects the policies that match a request, with their bindings and parameters.

use cambium_cel::conditions::Matched;
use cambium_cel::policies::Inputs;
use serde_json::Value;

use super::index::{Binding, Bound, Policy};
use crate::admission::matching::{Criteria, Invocation};
use crate::admission::{Attributes, webhooks};
use crate::blocking::{self, Effort};
use crate::object;
use crate::server::Server;

/// A policy that matches a request.
pub(super) struct Selected<'p, R> {
    pub(super) policy: &'p Policy<R>,
    pub(super) binding: &'p Binding,
    pub(super) invocation: Invocation,
    /// The parameters that it is evaluated with in turn; a single `None` if it has no `paramKind`.
    pub(super) params: Vec<Option<Value>>,
}

/// A policy or binding that is misconfigured.
pub(super) struct Misconfigured<'p, R> {
    pub(super) policy: &'p Policy<R>,
    /// `None` if the policy itself is wrong.
    pub(super) binding: Option<&'p Binding>,
    pub(super) message: String,
}

/// Selects the matching policies; misconfigurations are reported in the order in which they are found.
pub(super) async fn select<'p, R>(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    bound: &'p [Bound<R>],
) -> Vec<Result<Selected<'p, R>, Misconfigured<'p, R>>> {
    let mut all = Vec::new();
    for Bound { policy, bindings } in bound {
        let Some(invocation) = policy.criteria.find(server, attributes, object) else {
            continue;
        };
        let resource = match policy
            .param_kind
            .as_ref()
            .map(|kind| kind.find(server))
            .transpose()
        {
            Ok(resource) => resource,
            Err(why) => {
                all.push(Err(Misconfigured {
                    policy,
                    binding: None,
                    message: format!("failed to configure policy: {why}"),
                }));
                continue;
            }
        };
        for binding in bindings {
            let concerns = |criteria: &Criteria| criteria.find(server, attributes, object).is_some();
            if !binding.criteria.as_ref().is_none_or(concerns) {
                continue;
            }
            let params = match (&resource, &binding.params) {
                (Some(resource), Some(params)) => params
                    .collect(server, resource, attributes.namespace)
                    .await
                    .map(|found| found.into_iter().map(Some).collect()),
                _ => Ok(vec![None]),
            };
            all.push(match params {
                Ok(params) => Ok(Selected {
                    policy,
                    binding,
                    invocation: invocation.clone(),
                    params,
                }),
                Err(why) => Err(Misconfigured {
                    policy,
                    binding: Some(binding),
                    message: format!("failed to configure binding: {why}"),
                }),
            });
        }
    }
    all
}

/// The `request` variable of expressions.
pub(super) fn request(attributes: &Attributes<'_>, invocation: &Invocation) -> Value {
    webhooks::request(attributes, invocation, "", None, None)
}

/// The `namespaceObject` variable of expressions.
pub(super) fn namespace(server: &Server, attributes: &Attributes<'_>) -> Option<Value> {
    let namespaced = attributes.resource.namespaced && !attributes.namespace.is_empty();
    let bucket = server.store.bucket(&server.namespaces);
    let entry = namespaced.then(|| bucket.get(attributes.namespace)).flatten()?;
    let mut namespace = entry.value();
    let metadata = object::metadata_mut(&mut namespace);
    for hidden in ["managedFields", "ownerReferences", "selfLink"] {
        metadata.remove(hidden);
    }
    Some(namespace)
}

/// Whether the policy's `matchConditions` hold; an error is subject to its `failurePolicy`.
pub(super) fn meets<R>(policy: &Policy<R>, inputs: &Inputs<'_>) -> Result<bool, String> {
    let Some(conditions) = &policy.conditions else {
        return Ok(true);
    };
    let objects = [inputs.object, inputs.old_object, inputs.params];
    let matched = blocking::evaluate(Effort::BySize, &objects, || {
        conditions.matches(&policy.variables, inputs)
    });
    match matched {
        Matched::Yes => Ok(true),
        Matched::No(_) => Ok(false),
        Matched::Unknown(_) if !policy.fails_closed => Ok(false),
        Matched::Unknown(why) => Err(why),
    }
}
