//! The admission chain: who may change or refuse an object on its way in.
//!
//! First every mutating step, then (after validation) every validating one. A further plugin is one
//! more step in [`mutate`] or [`validate`].

mod certificates;
mod namespaces;
mod runtime_classes;
mod service_accounts;
mod webhooks;

use serde_json::Value;

use crate::auth::User;
use crate::registry::Served;
use crate::rest::Warnings;
use crate::server::Server;
use crate::status::Result;

pub(crate) use webhooks::Hooks;

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// The name in reviews and rules.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A change on its way in, as admission sees it.
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    pub(crate) resource: &'a Served,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) user: &'a User,
    pub(crate) dry_run: bool,
    /// The `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions` of the request.
    pub(crate) options: &'a Value,
    /// The object before; `None` on create.
    pub(crate) old: Option<&'a Value>,
    /// Collects what webhooks want the client to read.
    pub(crate) warnings: &'a Warnings,
}

/// Whether any mutating step might change an object at all.
pub(crate) fn may_change(server: &Server) -> bool {
    webhooks::any_mutating(server)
}

/// Lets every mutating step change the object (`None` on delete), or refuse it.
pub(crate) async fn mutate(
    server: &Server,
    attributes: &Attributes<'_>,
    mut object: Option<Value>,
) -> Result<Option<Value>> {
    namespaces::check(server, attributes)?;
    service_accounts::mutate(server, attributes, &mut object).await?;
    webhooks::mutate(server, attributes, object).await
}

/// Lets every validating step refuse the object.
pub(crate) async fn validate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<()> {
    service_accounts::check(server, attributes, object)?;
    certificates::check(server, attributes, object)?;
    runtime_classes::check(server, attributes, object)?;
    webhooks::validate(server, attributes, object).await
}
