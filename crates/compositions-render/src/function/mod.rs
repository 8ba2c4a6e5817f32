//! Built-in composition functions, and the messages of the function protocol as JSON.
//!
//! A function gets what is observed and what the functions before it desire, and gives back what it desires. These three do so without a
//! process, a socket or a clock, and are asked with the same messages as any other. The JSON form of the messages is that of Crossplane's
//! protocol buffers: whoever speaks gRPC converts, field by field.

mod auto_ready;
mod health;
mod literal;
mod message;
mod patch_and_transform;

use serde_json::Value;

pub use auto_ready::auto_ready;
pub use literal::literal_response;
pub use message::{
    Condition, ConditionStatus, CredentialData, Credentials, MatchLabels, Ready, Request, RequestMeta,
    Requirements, Resource, ResourceSelector, Resources, Response, ResponseMeta, RunResult, Severity, State,
    Target,
};
pub use patch_and_transform::{PatchAndTransform, patch_and_transform};

/// The context key under which functions keep the environment.
pub const ENVIRONMENT_KEY: &str = "apiextensions.crossplane.io/environment";

/// A function that is built in.
pub type Function = fn(&Request) -> Response;

/// The built-in function that an input is for, by its `apiVersion` and `kind`.
#[must_use]
pub fn for_input(input: &Value) -> Option<Function> {
    match kind_of(input) {
        ("pt.fn.crossplane.io/v1beta1", "Resources") => Some(patch_and_transform),
        ("dummy.fn.crossplane.io/v1beta1", "Response") => Some(literal_response),
        ("autoready.fn.crossplane.io/v1beta1", _) => Some(auto_ready),
        _ => None,
    }
}

pub(crate) fn is_patch_and_transform_input(input: &Value) -> bool {
    kind_of(input) == ("pt.fn.crossplane.io/v1beta1", "Resources")
}

fn kind_of(input: &Value) -> (&str, &str) {
    let field = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    (field("apiVersion"), field("kind"))
}
