//! `CertificateApproval` and `CertificateSigning`: approving and signing a CertificateSigningRequest need RBAC verbs on its signer.

use cambium_builtin::AdmissionPlugin;
use serde_json::Value;

use super::{Attributes, Operation};
use crate::auth::{Action, Decision, ResourceAction};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

const GROUP: &str = "certificates.k8s.io";
const PLURAL: &str = "certificatesigningrequests";

/// Refuses an approval or a signature by a user without the verb `approve` or `sign` on the signer.
pub(super) fn check(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>) -> Result<()> {
    let is_request = attributes.concerns(AdmissionPlugin::CertificateApproval);
    let (Some(new), Some(old)) = (object, attributes.old) else {
        return Ok(());
    };
    if !is_request || attributes.operation != Operation::Update {
        return Ok(());
    }
    let verb = match attributes.subresource {
        "approval" => "approve",
        "status" if is_signed(new, old) => "sign",
        _ => return Ok(()),
    };
    let signer = object::at(old, "spec.signerName").and_then(Value::as_str);
    let signer = signer.unwrap_or_default();
    let domain = signer.split('/').next().unwrap_or_default();
    let allowed = [signer, &format!("{domain}/*")].into_iter().any(|name| {
        let signers = ResourceAction {
            group: GROUP,
            resource: "signers",
            name,
            ..ResourceAction::default()
        };
        let decision = server
            .authorizer
            .authorize(attributes.user, &Action::on(verb, signers));
        matches!(decision, Decision::Allow(_))
    });
    match allowed {
        true => Ok(()),
        false => {
            let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
            Err(Status::forbidden(GROUP, PLURAL, attributes.name, &why))
        }
    }
}

/// Whether a status update signs: it changes the certificate or the number of `Failed` conditions.
fn is_signed(new: &Value, old: &Value) -> bool {
    let certificate = |request: &Value| object::at(request, "status.certificate").cloned();
    let failures = |request: &Value| {
        let conditions = object::at(request, "status.conditions").and_then(Value::as_array);
        let conditions = conditions.into_iter().flatten();
        conditions
            .filter(|condition| condition["type"] == "Failed")
            .count()
    };
    certificate(new) != certificate(old) || failures(new) != failures(old)
}
