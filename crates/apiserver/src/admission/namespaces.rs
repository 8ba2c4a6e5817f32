//! `NamespaceLifecycle`: objects are only created in namespaces that exist and are not terminating.

use cambium_builtin::AdmissionPlugin;

use super::{Attributes, Operation};
use crate::server::Server;
use crate::status::{Cause, Result, Status};

/// Namespaces that cannot be deleted.
const PERMANENT: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Denies creation in a missing or terminating namespace, and deletion of a permanent namespace.
pub(super) fn check(server: &Server, attributes: &Attributes<'_>) -> Result<()> {
    let resource = attributes.resource;
    if attributes.concerns(AdmissionPlugin::NamespaceLifecycle) {
        let permanent = attributes.operation == Operation::Delete && PERMANENT.contains(&attributes.name);
        return match permanent {
            true => Err(Status::forbidden(
                "",
                "namespaces",
                attributes.name,
                "this namespace may not be deleted",
            )),
            false => Ok(()),
        };
    }
    if attributes.operation != Operation::Create || !resource.namespaced || !resource.is_stored() {
        return Ok(());
    }
    let Some(namespace) = server.store.bucket(&server.namespaces).get(attributes.namespace) else {
        return Err(Status::not_found("", "namespaces", attributes.namespace));
    };
    if !attributes.subresource.is_empty() || !namespace.deleting {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {} because it is being terminated",
        attributes.namespace
    );
    let cause = Cause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {} is being terminated", attributes.namespace),
        field: "metadata.namespace".to_owned(),
    };
    let mut status = Status::forbidden(&resource.group, &resource.plural, attributes.name, &why);
    status.details.get_or_insert_default().causes = vec![cause];
    Err(status)
}
