//! Allocation of cluster IPs and node ports for Services.
//!
//! ```text
//! spec        the fields of a Service that decide over addresses and ports
//! carry_over  values kept or dropped by an update
//! families    IP families
//! allocator   free and reserved addresses and ports
//! ```

mod allocator;
mod carry_over;
mod families;
mod spec;

use cambium_schema::FieldError;
use serde_json::Value;

use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

pub(crate) use allocator::{Addresses, Reservation};
use spec::Spec;

/// The purpose of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The Service will be stored.
    Store,
    /// A dry run: requested values are not checked against those in use, and nothing is reserved.
    DryRun,
}

/// Allocates the addresses and ports that a Service's type needs, or keeps those that it had. The reservation must be
/// held until the Service is stored or the write has failed.
pub(crate) fn service(
    server: &Server,
    new: &mut Value,
    old: Option<&Value>,
    purpose: Purpose,
) -> Result<Option<Reservation>> {
    let (name, seed) = (
        object::name(new).to_owned(),
        object::meta_text(new, "uid").to_owned(),
    );
    let invalid = |error: FieldError| Status::invalid("", "Service", &name, &[error]);
    let old = old.and_then(|old| old.get("spec")?.as_object()).map(Spec::of);
    let Some(new) = new.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(None);
    };
    if let Some(old) = old {
        carry_over::leave_behind(new, old);
        carry_over::keep(new, old);
    }
    carry_over::agree_on_address(new, old);
    families::settle(new, old).map_err(invalid)?;
    let wanted = Spec::of(new);
    if !wanted.has_address() || old.is_some_and(|old| wanted.is_settled_since(old)) {
        return Ok(None);
    }
    let reservation = server.addresses.take(&server.store, new, old, &seed, purpose);
    reservation.map(Some).map_err(|refusal| match refusal {
        allocator::Refusal::Invalid(error) => invalid(*error),
        allocator::Refusal::Internal(why) => Status::internal(why),
    })
}
