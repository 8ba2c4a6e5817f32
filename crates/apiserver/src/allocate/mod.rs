//! What a cluster hands out to Services: addresses and node ports.
//!
//! ```text
//! spec      what of a Service decides over addresses and ports
//! kept      what an update leaves behind with the old type, and what it need not say again
//! families  which kinds of addresses a Service has
//! ledger    who has what, and what is on its way into the store
//! ```

mod families;
mod kept;
mod ledger;
mod spec;

use cambium_schema::FieldError;
use serde_json::Value;

use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

pub(crate) use ledger::{Addresses, Reservation};
use spec::Spec;

/// What an allocation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The Service is going to be stored.
    Store,
    /// Somebody only wants to see: nothing is refused because it is taken.
    DryRun,
}

/// Gives a Service the addresses and ports that its type calls for, or those that it had. What it answers with is to be held
/// until the Service is in the store, or is not going to be.
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
        kept::leave_behind(new, old);
        kept::keep(new, old);
    }
    kept::agree_on_address(new, old);
    families::settle(new, old).map_err(invalid)?;
    let wanted = Spec::of(new);
    if !wanted.has_address() || old.is_some_and(|old| wanted.is_settled_since(old)) {
        return Ok(None);
    }
    let reservation = server.addresses.take(&server.store, new, old, &seed, purpose);
    reservation.map(Some).map_err(|refusal| match refusal {
        ledger::Refusal::Invalid(error) => invalid(*error),
        ledger::Refusal::Internal(why) => Status::internal(why),
    })
}
