//! Claims: plans and statuses.
//!
//! ```text
//!            spec, labels, annotations, selectors, policy; a pin
//!   claim ────────────────────────────────────────────────────────► composite resource
//!         ◄────────────────────────────────────────────────────────
//!            status, compositionRef; the revision that is followed; connection details
//! ```
//!
//! The claim says which composite resource is its own before that is made, so that there is never a second one.

mod manifest;
mod plan;
mod status;

pub use manifest::{Manifest, generated_name, leftover, manifest};
pub(crate) use plan::ATTEMPTS;
pub use plan::{Bind, Deletion, Observed, Plan, plan};
pub use status::{Synced, deleting_status, failed_status, paused_status, synced_status};

use crate::Layout;
use crate::definition::Definition;
use cambium_api::crossplane::UpdatePolicy;
use serde_json::Value;

/// The field manager under which a claim applies its composite resource, as Crossplane has it.
pub const FIELD_MANAGER: &str = "apiextensions.crossplane.io/claim";

/// The policy that the composite resource will have: the enforced one, that of the claim, or the one that it has.
///
/// Crossplane goes by what the composite resource had before, so that a claim that is pinned in one edit loses its pin.
fn policy(definition: &Definition, claim: &Value, composite: Option<&Value>) -> UpdatePolicy {
    let said = |object: &Value| Layout::Legacy.update_policy(object);
    definition
        .enforced_policy()
        .or_else(|| said(claim))
        .or_else(|| composite.and_then(said))
        .unwrap_or_else(|| definition.default_policy())
}

/// Whether the claim of a composite resource is this one.
pub(crate) fn is_claim_of(claim: &Value, composite: &Value) -> bool {
    let group = |version: &str| version.split_once('/').map_or("", |(group, _)| group).to_owned();
    Layout::Legacy.claim_ref(composite).is_some_and(|reference| {
        claim["metadata"]["name"] == reference.name
            && claim["metadata"]["namespace"] == reference.namespace
            && claim["kind"] == reference.kind
            && claim["apiVersion"]
                .as_str()
                .is_some_and(|version| group(version) == group(reference.api_version))
    })
}
