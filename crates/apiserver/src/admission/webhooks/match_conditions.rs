//! Matches a request against a webhook's rules, selectors and `matchConditions`.

use cambium_cel::conditions::Matched;
use cambium_cel::policies::{Inputs, Variables};
use serde_json::Value;

use super::hooks::Hook;
use super::review;
use crate::admission::Attributes;
use crate::admission::authorizer::UserAuthorizer;
use crate::admission::matching::Invocation;
use crate::blocking::{self, Effort};
use crate::server::Server;
use crate::status::{Result, Status};

/// The version at which a webhook receives a request; `None` when it does not match.
pub(super) fn match_request(
    server: &Server,
    attributes: &Attributes<'_>,
    hook: &Hook,
    object: Option<&Value>,
) -> Result<Option<Invocation>> {
    let Some(invocation) = hook.criteria.find(server, attributes, object) else {
        return Ok(None);
    };
    let Some(conditions) = &hook.conditions else {
        return Ok(Some(invocation));
    };
    let request = review::request(attributes, &invocation, "", None, None);
    let asker = UserAuthorizer::of(server, attributes.user);
    let inputs = Inputs {
        object,
        old_object: attributes.old,
        request: Some(&request),
        authorizer: Some(&asker),
        ..Inputs::default()
    };
    let matched = blocking::evaluate(Effort::BySize, &[object, attributes.old], || {
        conditions.matches(&Variables::default(), &inputs)
    });
    match matched {
        Matched::Yes => Ok(Some(invocation)),
        Matched::No(_) => Ok(None),
        Matched::Unknown(_) if !hook.fails_closed => Ok(None),
        Matched::Unknown(why) => {
            let resource = attributes.resource;
            Err(Status::forbidden(
                &resource.group,
                &resource.plural,
                attributes.name,
                &why,
            ))
        }
    }
}
