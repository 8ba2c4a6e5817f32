//! Authorization: attributes of a request, and the `Authorizer` trait.

use super::rbac::Rule;
use super::user::{MASTERS, User};
use crate::request::ResourcePath;
use crate::status::Status;

/// The authorization attributes of a request.
#[derive(Debug, Clone)]
pub struct Action<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or a custom verb.
    pub verb: &'a str,
    /// The resource, or `None` for a non-resource path such as `/metrics`.
    pub resource: Option<ResourceAction<'a>>,
    /// The path.
    pub path: &'a str,
}

/// An action on a resource.
#[derive(Debug, Clone, Default)]
pub struct ResourceAction<'a> {
    /// API group.
    pub group: &'a str,
    /// Resource.
    pub resource: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Name, or empty.
    pub name: &'a str,
}

impl<'a> ResourceAction<'a> {
    /// The attributes of a resource request.
    pub(crate) fn of(path: &'a ResourcePath) -> Self {
        Self {
            group: &path.group,
            resource: &path.resource,
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: &path.name,
        }
    }
}

impl<'a> Action<'a> {
    /// A verb on a resource.
    pub(crate) fn on(verb: &'a str, resource: ResourceAction<'a>) -> Self {
        Self {
            verb,
            resource: Some(resource),
            path: "",
        }
    }

    /// The namespace it is in; empty for the cluster and for paths.
    pub(crate) fn namespace(&self) -> &'a str {
        self.resource.as_ref().map_or("", |resource| resource.namespace)
    }
}

/// The decision of an authorizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Allowed, with the reason; may be empty.
    Allow(String),
    /// Not allowed by this authorizer, with errors met while evaluating.
    NoOpinion(String),
}

/// The rules that apply to a user in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Held {
    /// The rules, in the order of the bindings that they come from.
    pub rules: Vec<Rule>,
    /// Errors, such as bindings to missing roles.
    pub problems: Vec<String>,
}

/// Authorizes requests.
pub trait Authorizer: Send + Sync {
    /// Whether the user may perform the action.
    fn authorize(&self, user: &User, action: &Action<'_>) -> Decision;

    /// The rules of a user in a namespace, for SelfSubjectRulesReviews; `None` if the authorizer cannot list them.
    fn rules_for(&self, _user: &User, _namespace: &str) -> Option<Held> {
        None
    }
}

/// Allows everything to `system:masters`, health checks and version to everybody, and nothing else.
#[derive(Debug, Default)]
pub struct MastersOnly;

impl Authorizer for MastersOnly {
    fn authorize(&self, user: &User, action: &Action<'_>) -> Decision {
        let allowed = user.is_in(MASTERS) || action.resource.is_none() && is_public(action);
        match allowed {
            true => Decision::Allow(String::new()),
            false => Decision::NoOpinion(String::new()),
        }
    }
}

fn is_public(action: &Action<'_>) -> bool {
    let path = action.path.trim_end_matches('/');
    let health = ["/healthz", "/livez", "/readyz"];
    let is_health = |root: &&str| {
        path.strip_prefix(*root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    action.verb == "get" && (path == "/version" || health.iter().any(is_health))
}

/// Fails with `Forbidden` unless the user is authorized.
pub(crate) fn require(authorizer: &dyn Authorizer, user: &User, action: &Action<'_>) -> Result<(), Status> {
    match authorizer.authorize(user, action) {
        Decision::Allow(_) => Ok(()),
        Decision::NoOpinion(why) => Err(refusal(user, action, &why)),
    }
}

/// The `Forbidden` status with upstream's message.
pub(super) fn refusal(user: &User, action: &Action<'_>, why: &str) -> Status {
    let text = match &action.resource {
        None => format!(
            "User {:?} cannot {} path {:?}",
            user.name, action.verb, action.path
        ),
        Some(resource) => {
            let mut what = resource.resource.to_owned();
            if !resource.subresource.is_empty() {
                what = format!("{what}/{}", resource.subresource);
            }
            let place = match resource.namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {namespace:?}"),
            };
            let (verb, group) = (action.verb, resource.group);
            format!(
                "User {:?} cannot {verb} resource {what:?} in API group {group:?} {place}",
                user.name
            )
        }
    };
    // Nothing that a browser could take for markup.
    let mut text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    if !why.is_empty() {
        text = format!("{text}: {why}");
    }
    match &action.resource {
        Some(resource) => Status::forbidden(resource.group, resource.resource, resource.name, &text),
        None => Status::forbidden("", "", "", &text),
    }
}
