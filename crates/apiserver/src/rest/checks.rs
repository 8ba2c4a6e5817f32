//! Validation, allocation and privilege escalation checks before an object is stored.

use cambium_builtin::{OnWrite, Resource};
use cambium_schema::FieldError;
use serde_json::Value;

use super::Call;
use crate::auth::escalation;
use crate::blocking::{self, Effort};
use crate::registry::Origin;
use crate::status::{Result, Status};
use crate::validation::{metadata, policies, policy_params, webhooks};
use crate::{allocate, crd, object};

/// Validates the object; errors that ratcheting tolerates become warnings.
pub(super) fn validate(call: &Call, new: &Value, old: Option<&Value>) -> Result<()> {
    let resource = &call.resource;
    let mut errors = match old {
        None => metadata::validate_new(new, resource.namespaced, resource.strategy().names),
        Some(old) => metadata::validate_update(new, old),
    };
    errors.extend(match (call.path.subresource.as_str(), old, &resource.origin) {
        ("resize", Some(old), _) => cambium_builtin::validate_resize(new, old),
        (_, _, Origin::Builtin(row)) => validate_builtin(call, row, new, old),
        (_, _, Origin::Custom(definition, index)) => {
            let judgement = definition.versions[*index].validate(new, old);
            for forgiven in judgement.warnings {
                call.warnings.add(forgiven.to_string());
            }
            judgement.errors
        }
    });
    match errors.as_slice() {
        [] => Ok(()),
        errors => {
            let name = object::name(new);
            Err(Status::invalid(&resource.group, &resource.kind, name, errors))
        }
    }
}

fn validate_builtin(call: &Call, row: &Resource, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    // Expressions and patterns are compiled, which may take long.
    if row.strategy.on_write == OnWrite::DefineResources {
        let mut errors = cambium_builtin::validate(row, new, old);
        errors.extend(blocking::evaluate(Effort::Much, &[], || crd::validate(new, old)));
        return errors;
    }
    let mut errors = metadata::validate_builtin_finalizers(new);
    errors.extend(cambium_builtin::validate(row, new, old));
    if row.strategy.on_write == OnWrite::CompileExpressions {
        errors.extend(blocking::evaluate(Effort::Much, &[], || {
            let mut errors = webhooks::conditions(new);
            errors.extend(policies::expressions(new));
            errors
        }));
        if errors.is_empty() {
            errors.extend(policy_params::check(&call.server, &call.user, new, old));
        }
    }
    errors
}

/// Allocates Service addresses and ports, and records stored versions of CRDs. The reservation is held until the object
/// is stored.
pub(super) fn allocate(
    call: &Call,
    new: &mut Value,
    old: Option<&Value>,
) -> Result<Option<allocate::Reservation>> {
    let purpose = match call.options.dry_run {
        true => allocate::Purpose::DryRun,
        false => allocate::Purpose::Store,
    };
    match call.resource.strategy().on_write {
        OnWrite::AllocateAddresses => allocate::service(&call.server, new, old, purpose),
        OnWrite::DefineResources => {
            crd::record_stored_versions(new, old);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Denies a role or binding that grants more than its writer holds.
pub(super) fn check_grants(call: &Call, new: &Value, old: Option<&Value>) -> Result<()> {
    if call.resource.strategy().on_write != OnWrite::CheckGrants {
        return Ok(());
    }
    let written = escalation::Written {
        resource: &call.resource.plural,
        name: &call.path.name,
        namespace: call.namespace(),
        new,
        old,
    };
    escalation::check(&call.server, &call.user, &written)
}
