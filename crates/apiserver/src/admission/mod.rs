//! The admission chain: built-in plugins, policies and webhooks that mutate or deny a write.
//!
//! Mutating plugins run first, validating plugins after validation. A new plugin is one more step in [`mutate`] or
//! [`validate`]; which kinds it acts on is a column of `builtin`'s resource table ([`AdmissionPlugin`]).

mod authorizer;
mod certificates;
mod limits;
mod matching;
mod namespaces;
mod policies;
mod priorities;
mod runtime_classes;
mod service_accounts;
mod storage_classes;
mod tolerations;
mod webhooks;

use cambium_builtin::AdmissionPlugin;
use serde_json::Value;

use crate::auth::User;
use crate::registry::Served;
use crate::rest::Warnings;
use crate::server::Server;
use crate::status::Result;

pub(crate) use policies::Policies;
pub(crate) use priorities::DefaultPriority;
pub(crate) use webhooks::Hooks;

/// The operation of a request, as admission rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// The name in AdmissionReviews and rules.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The admission attributes of a request.
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
    /// The stored object; `None` on create.
    pub(crate) old: Option<&'a Value>,
    /// Collects the warnings of webhooks for the response.
    pub(crate) warnings: &'a Warnings,
}

impl Attributes<'_> {
    /// Whether a built-in plugin acts on the objects of this resource.
    fn concerns(&self, plugin: AdmissionPlugin) -> bool {
        self.resource.strategy().admission.contains(&plugin)
    }
}

/// Whether any mutating webhook or policy exists.
pub(crate) fn may_change(server: &Server) -> bool {
    webhooks::any_mutating(server) || policies::any_mutating(server)
}

/// Runs the mutating plugins over the object (`None` on delete); any of them may deny it.
pub(crate) async fn mutate(
    server: &Server,
    attributes: &Attributes<'_>,
    mut object: Option<Value>,
) -> Result<Option<Value>> {
    namespaces::check(server, attributes)?;
    service_accounts::mutate(server, attributes, &mut object).await?;
    if let Some(object) = &mut object {
        limits::fill_in(server, attributes, object);
        priorities::fill_in(server, attributes, object)?;
        tolerations::fill_in(attributes, object);
        storage_classes::fill_in(server, attributes, object);
    }
    // Built-in plugins first, then policies, then webhooks, as upstream: policies and webhooks see the defaults.
    let (object, applied) = policies::mutate(server, attributes, object).await?;
    let (object, called) = webhooks::mutate(server, attributes, object).await?;
    // Then once more, for those who asked to see what others did after them.
    let object = policies::mutate_again(server, attributes, applied, object).await?;
    webhooks::mutate_again(server, attributes, called, object).await
}

/// Runs the validating plugins; any of them may deny the object.
pub(crate) async fn validate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<()> {
    service_accounts::check(server, attributes, object)?;
    limits::check(server, attributes, object)?;
    priorities::check(server, attributes, object)?;
    certificates::check(server, attributes, object)?;
    runtime_classes::check(server, attributes, object)?;
    // Policies are cheap and in-process; webhooks are called only for requests that all others allow.
    policies::validate(server, attributes, object).await?;
    webhooks::validate(server, attributes, object).await
}
