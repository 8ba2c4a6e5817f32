//! ResourceQuotas: how much of everything a namespace may hold, and holds.
//!
//! ```text
//!  write ─► admission ─► charge ─────────────► store ─► (reservation ends)
//!                          │ one lock per namespace        │
//!                          ▼                               ▼
//!                     used = what the store holds + what is on its way in
//! ```
//!
//! What an object uses is a pure function of it (`charge`), and so is whether a quota has room for a change
//! (`check`). The ledger sums up: for a namespace that has quotas it follows the log of the store, so a write
//! never sees an old sum; what other writers are about to store counts already, so two at once cannot both take the
//! last place. The status of a quota is written afterwards, by a controller, and is not asked here.

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

/// Where quotas are kept.
pub(crate) const QUOTAS: &str = "/resourcequotas";

/// Takes what a change adds to its namespace out of the quotas, until the reservation is dropped; refuses what does
/// not fit.
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
