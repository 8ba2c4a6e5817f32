//! ResourceQuota admission: limits the usage of a namespace.
//!
//! ```text
//!  write ─► admission ─► charge ─────────────► store ─► (reservation ends)
//!                          │ one lock per namespace        │
//!                          ▼                               ▼
//!                     used = what the store holds + what is on its way in
//! ```
//!
//! The usage of an object is a pure function (`charge`), and so is the check whether a change fits (`check`). The
//! ledger follows the log of the store for namespaces with quotas, so a write never sees outdated usage, and counts
//! reservations of writes in flight, so two concurrent writes cannot both take the last of a quota. `status.used` is
//! written afterwards by the quota controller and not read here; upstream admits by status and can lag behind.

mod charge;
mod check;
mod ledger;
mod limits;
mod scope;

use serde_json::Value;

use crate::admission::{Attributes, Operation};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

pub(crate) use charge::bucket_of;
pub(crate) use ledger::{Ledger, Reservation};

/// The bucket of ResourceQuotas.
pub(crate) const QUOTAS: &str = "/resourcequotas";

/// Charges a write to the quotas of its namespace; denies it if it does not fit. The reservation counts until dropped.
pub(crate) fn charge(
    server: &Server,
    attributes: &Attributes<'_>,
    new: &Value,
) -> Result<Option<Reservation>> {
    let resource = attributes.resource;
    if !resource.namespaced || !server.quotas.any(server, attributes.namespace) {
        return Ok(None);
    }
    if !charge::is_charged(
        &resource.bucket,
        attributes.operation,
        attributes.subresource,
        new,
        attributes.old,
    ) {
        return Ok(None);
    }
    let change = ledger::Change {
        bucket: resource.bucket.clone(),
        key: object::key(attributes.namespace, object::name(new)).into(),
        new,
        old: attributes.old,
        enforced: attributes.subresource != "status",
    };
    let refuse = |why: String| {
        let name = match attributes.operation {
            Operation::Create => object::name(new),
            _ => attributes.name,
        };
        Status::forbidden(&resource.group, &resource.plural, name, &why)
    };
    let reservation = server
        .quotas
        .charge(server, attributes.namespace, &change)
        .map_err(refuse)?;
    Ok(reservation.filter(|_| !attributes.dry_run))
}
