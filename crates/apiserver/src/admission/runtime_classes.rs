//! `RuntimeClass`: the RuntimeClass that a pod names must exist.

use cambium_builtin::AdmissionPlugin;
use serde_json::Value;

use super::{Attributes, Operation};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

/// Denies a new pod whose RuntimeClass does not exist.
pub(super) fn check(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>) -> Result<()> {
    let is_pod = attributes.concerns(AdmissionPlugin::RuntimeClass) && attributes.subresource.is_empty();
    if !is_pod || attributes.operation != Operation::Create {
        return Ok(());
    }
    let wanted = object.and_then(|pod| object::at(pod, "spec.runtimeClassName"));
    let Some(wanted) = wanted.and_then(Value::as_str) else {
        return Ok(());
    };
    match server
        .store
        .bucket(&"node.k8s.io/runtimeclasses".into())
        .get(wanted)
    {
        Some(_) => Ok(()),
        None => {
            let why = format!("pod rejected: RuntimeClass {wanted:?} not found");
            Err(Status::forbidden("", "pods", attributes.name, &why))
        }
    }
}
