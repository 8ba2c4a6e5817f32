//! Runs validating admission policies.

use cambium_cel::policies::Inputs;
use http::StatusCode;
use serde_json::Value;

use super::index::{Binding, Bound, Policy};
use super::selection::{self, Misconfigured, Selected};
use super::validation::{Denial, DenialCause, Rules};
use crate::admission::Attributes;
use crate::admission::authorizer::UserAuthorizer;
use crate::blocking::{self, Effort};
use crate::object;
use crate::server::Server;
use crate::status::{Cause, Result, Status};

/// Evaluates every matching validating policy; any of them may deny the request.
pub(in crate::admission) async fn validate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<()> {
    let bound = server.policies.validating(server);
    if bound.is_empty() || super::is_exempt(attributes.resource) {
        return Ok(());
    }
    let denied = denials(server, attributes, object, &bound).await?;
    // As upstream, only the first denial is reported.
    match denied.into_iter().next() {
        Some((policy, binding, denial)) => {
            let by = match binding {
                Some(binding) => format!("'{}' with binding '{}'", policy.name, binding.name),
                None => format!("'{}'", policy.name),
            };
            let message = format!(
                "ValidatingAdmissionPolicy {by} denied request: {}",
                denial.message
            );
            Err(refusal(attributes, object, message, &denial.reason))
        }
        None => Ok(()),
    }
}

type Denied<'p> = (&'p Policy<Rules>, Option<&'p Binding>, Denial);

async fn denials<'p>(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    bound: &'p [Bound<Rules>],
) -> Result<Vec<Denied<'p>>> {
    let mut denied = Vec::new();
    for selected in selection::select(server, attributes, object, bound).await {
        match selected {
            Ok(selected) => judge(server, attributes, object, &selected, &mut denied).await?,
            Err(Misconfigured {
                policy,
                binding,
                message,
            }) if policy.fails_closed => denied.push((policy, binding, error(message))),
            Err(_) => {}
        }
    }
    Ok(denied)
}

async fn judge<'p>(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    selected: &Selected<'p, Rules>,
    denied: &mut Vec<Denied<'p>>,
) -> Result<()> {
    let Selected {
        policy,
        binding,
        invocation,
        params,
    } = selected;
    let (new, old) = (
        invocation.see(server, attributes.resource, object).await?,
        invocation
            .see(server, attributes.resource, attributes.old)
            .await?,
    );
    let request = selection::request(attributes, invocation);
    let namespace = selection::namespace(server, attributes);
    let asker = UserAuthorizer::of(server, attributes.user);
    for params in params {
        let inputs = Inputs {
            object: new.as_ref(),
            old_object: old.as_ref(),
            request: Some(&request),
            namespace: namespace.as_ref(),
            params: params.as_ref(),
            authorizer: Some(&asker),
        };
        let denials = match selection::meets(policy, &inputs) {
            Ok(true) => {
                let objects = [inputs.object, inputs.old_object, inputs.params];
                blocking::evaluate(Effort::BySize, &objects, || {
                    policy
                        .rules
                        .judge(&policy.variables, &inputs, policy.fails_closed)
                })
            }
            // A policy whose `matchConditions` are false does not apply; one whose conditions fail to evaluate denies, if it
            // fails closed.
            Ok(false) => continue,
            Err(why) => vec![error(why)],
        };
        for denial in denials {
            let does = |action: &str| binding.actions.iter().any(|one| one == action);
            if denial.cause == DenialCause::Annotation || does("Deny") {
                denied.push((*policy, Some(*binding), denial));
            } else if does("Warn") {
                attributes.warnings.add(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                    policy.name, binding.name, denial.message
                ));
            }
        }
    }
    Ok(())
}

fn error(message: String) -> Denial {
    Denial {
        message,
        reason: String::new(),
        cause: DenialCause::Validation,
    }
}

/// The `Status` for a request that a policy denies.
fn refusal(attributes: &Attributes<'_>, object: Option<&Value>, message: String, reason: &str) -> Status {
    let reason = if reason.is_empty() { "Invalid" } else { reason };
    let mut status = forbidden(attributes, object, &message);
    status.code = match reason {
        "Forbidden" => StatusCode::FORBIDDEN,
        "Unauthorized" => StatusCode::UNAUTHORIZED,
        "RequestEntityTooLarge" => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    status.reason = reason.to_owned().into();
    status.with_causes(vec![because(message)])
}

/// A `Forbidden` status about the request's object; the name may be empty on create.
pub(super) fn forbidden(attributes: &Attributes<'_>, object: Option<&Value>, why: &str) -> Status {
    let prefix = object.map_or("", |object| object::meta_text(object, "generateName"));
    let name = match (attributes.name, prefix) {
        ("", "") => "Unknown!",
        ("", prefix) => prefix,
        (name, _) => name,
    };
    Status::forbidden(&attributes.resource.group, &attributes.resource.plural, name, why)
}

pub(super) fn because(message: String) -> Cause {
    Cause {
        reason: String::new(),
        message,
        field: String::new(),
    }
}
