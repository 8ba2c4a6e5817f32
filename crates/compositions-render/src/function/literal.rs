//! The function that answers whatever its input says.

use serde::Deserialize as _;

use super::message::{Request, Response};

/// Merges the response that stands in the input into what is desired already: messages field by field, lists at their end, maps entry by entry.
#[must_use]
pub fn literal_response(request: &Request) -> Response {
    let response = Response::to(request);
    let written = request.input.as_ref().and_then(|input| input.get("response"));
    let Some(written) = written.filter(|written| !written.is_null()) else {
        return response;
    };
    match Response::deserialize(written) {
        Ok(overlay) => merge(response, overlay),
        Err(error) => response.fatal(format!(
            "cannot unmarshal RunFunctionResponse from the function's input: {error}"
        )),
    }
}

fn merge(mut response: Response, overlay: Response) -> Response {
    if !overlay.meta.tag.is_empty() {
        response.meta.tag = overlay.meta.tag;
    }
    response.meta.ttl = overlay.meta.ttl.or(response.meta.ttl);
    let (composite, desired) = (overlay.desired.composite, &mut response.desired);
    desired.composite.resource.extend(composite.resource);
    desired
        .composite
        .connection_details
        .extend(composite.connection_details);
    if !composite.ready.is_unspecified() {
        desired.composite.ready = composite.ready;
    }
    desired.resources.extend(overlay.desired.resources);
    response.results.extend(overlay.results);
    if let Some(context) = overlay.context {
        response.context.get_or_insert_default().extend(context);
    }
    response
        .requirements
        .extra_resources
        .extend(overlay.requirements.extra_resources);
    response
        .requirements
        .required_resources
        .extend(overlay.requirements.required_resources);
    response.conditions.extend(overlay.conditions);
    response
}
