//! The status of a CompositeResourceDefinition, from the states of its CRDs.

use cambium_api::crossplane::{
    CompositeResourceDefinition, CompositeResourceDefinitionStatus, ControllerTypes,
};
use cambium_api::names::{condition, reason};
use cambium_objects::Conditions;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::parsed::Definition;
use crate::admission::Refused;

/// The state of the CRD of a composite resource or a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrdState {
    /// The API server does not serve it yet, or there is none yet. It may be written.
    Waiting,
    /// The API server does not serve it, because something else has one of its names: what it says about that. It may be written.
    NamesTaken(String),
    /// It is served. It may be written.
    Established,
    /// A CRD of that name is there, and the definition does not control it. It must not be written or deleted.
    Foreign {
        /// Who controls it, as `kind/name`, if anybody does.
        controller: Option<String>,
    },
    /// The API server did not take it, for this reason.
    Refused(String),
}

/// The state of a CRD, as seen from the definition with this UID.
pub fn crd_state(uid: &str, crd: Option<&CustomResourceDefinition>) -> CrdState {
    let Some(crd) = crd else {
        return CrdState::Waiting;
    };
    let mut owners = crd.metadata.owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true));
    if controller.is_none_or(|owner| owner.uid != uid) {
        let controller = controller.map(|owner| format!("{}/{}", owner.kind, owner.name));
        return CrdState::Foreign { controller };
    }
    let condition = |type_: &str, status: &str| {
        let all = crd.status.iter().flat_map(|status| status.conditions.iter());
        let mut all = all.flatten();
        all.find(|one| one.type_ == type_ && one.status == status)
    };
    if condition("Established", "True").is_some() {
        return CrdState::Established;
    }
    match condition("NamesAccepted", "False") {
        Some(refused) => CrdState::NamesTaken(refused.message.clone().unwrap_or_default()),
        None => CrdState::Waiting,
    }
}

/// What the status is made from.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The definition as it is stored, with the status that it has.
    pub source: &'a CompositeResourceDefinition,
    /// What it means, or what is wrong with it.
    pub meaning: Result<&'a Definition, &'a [Refused]>,
    /// The CRD of the composite resource.
    pub composite: &'a CrdState,
    /// The CRD of the claim. It counts where claims are offered.
    pub claim: &'a CrdState,
    /// What time it is.
    pub now: Timestamp,
}

/// The status: `Established` for composite resources, `Offered` for claims, and the kinds that are worked on.
///
/// Reasons are Crossplane's where it has one. It says nothing while it waits or fails; here both conditions are false then, and say why.
pub fn status(observed: &Observed<'_>) -> CompositeResourceDefinitionStatus {
    let before = observed.source.status.clone().unwrap_or_default();
    let generation = observed.source.metadata.generation;
    let mut conditions = Conditions::after(&before.conditions, generation, observed.now);
    let mut set = |type_: &str, side: Side| {
        let (holds, reason, message) = judged(observed, side);
        conditions.set(type_, holds, reason, message);
    };
    set(condition::ESTABLISHED, Side::Composite);
    let offers = observed.source.spec.claim_names.is_some();
    if offers {
        set(condition::OFFERED, Side::Claim);
    }
    let mut conditions = conditions.done();
    conditions.retain(|one| offers || one.type_ != condition::OFFERED);
    let controllers = controllers(observed, before.controllers.clone().unwrap_or_default());
    CompositeResourceDefinitionStatus {
        conditions,
        controllers: (controllers != ControllerTypes::default()).then_some(controllers),
        other: before.other.clone(),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Composite,
    Claim,
}

fn judged(observed: &Observed<'_>, side: Side) -> (bool, &'static str, String) {
    let (watching, terminating, state, what) = match side {
        Side::Composite => (
            reason::WATCHING_COMPOSITE,
            reason::TERMINATING_COMPOSITE,
            observed.composite,
            "composite resource",
        ),
        Side::Claim => (
            reason::WATCHING_CLAIM,
            reason::TERMINATING_CLAIM,
            observed.claim,
            "composite resource claim",
        ),
    };
    if observed.source.metadata.deletion_timestamp.is_some() {
        let message = format!("Waiting for defined {what}s to be deleted");
        return (false, terminating, message);
    }
    let definition = match observed.meaning {
        Ok(definition) => definition,
        Err(refused) => {
            let texts: Vec<String> = refused.iter().map(ToString::to_string).collect();
            return (false, reason::INVALID_DEFINITION, texts.join("; "));
        }
    };
    let name = match side {
        Side::Composite => definition.name().to_owned(),
        Side::Claim => definition.claim_crd_name().unwrap_or_default(),
    };
    match state {
        CrdState::Established => (true, watching, String::new()),
        CrdState::Waiting => {
            let message = format!("Waiting for {what} CustomResourceDefinition to be established");
            (false, reason::WAITING_FOR_CRD, message)
        }
        CrdState::NamesTaken(why) => {
            let message = format!(
                "The names of CustomResourceDefinition {name} are not accepted: {why}; delete the CustomResourceDefinition that has them, or define the {what} under another name"
            );
            (false, reason::WAITING_FOR_CRD, message)
        }
        CrdState::Foreign { controller } => {
            let whose = controller.as_ref().map_or_else(
                || "is not controlled by this definition".to_owned(),
                |controller| format!("is controlled by {controller}"),
            );
            let message = format!(
                "CustomResourceDefinition {name} {whose}, and is unchanged: delete it, or define the {what} under another name"
            );
            (false, reason::CRD_NOT_CONTROLLED, message)
        }
        CrdState::Refused(why) => {
            let message = format!("CustomResourceDefinition {name} was refused: {why}");
            (false, reason::INVALID_DEFINITION, message)
        }
    }
}

/// The kinds that are worked on: those whose CRDs are served, and what was worked on before where that is not known.
fn controllers(observed: &Observed<'_>, before: ControllerTypes) -> ControllerTypes {
    let Ok(definition) = observed.meaning else {
        return before;
    };
    let mut after = before;
    if *observed.composite == CrdState::Established {
        after.composite_resource_type = Some(definition.composite_type());
    }
    if *observed.claim == CrdState::Established {
        after.composite_resource_claim_type = definition.claim_type();
    }
    if definition.claim_names().is_none() {
        after.composite_resource_claim_type = None;
    }
    after
}
