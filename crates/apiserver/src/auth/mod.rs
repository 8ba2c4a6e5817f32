//! Who is asking, and whether they may.

use std::collections::HashMap;
use std::sync::Arc;

use crate::request::ResourcePath;
use crate::status::{Result, Status};

/// Somebody who was recognised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// A unique id, when there is one.
    pub uid: String,
    /// The groups they are in.
    pub groups: Vec<String>,
}

/// The group that may do everything.
pub const MASTERS: &str = "system:masters";

const AUTHENTICATED: &str = "system:authenticated";

impl User {
    /// Somebody in `system:masters`.
    pub fn master(name: &str) -> Self {
        Self::authenticated(name, &[MASTERS])
    }

    /// Nobody in particular.
    pub fn anonymous() -> Self {
        let groups = vec!["system:unauthenticated".to_owned()];
        Self {
            name: "system:anonymous".to_owned(),
            uid: String::new(),
            groups,
        }
    }

    /// Somebody with these groups, recognised.
    pub fn authenticated(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
        groups.push(AUTHENTICATED.to_owned());
        Self {
            name: name.to_owned(),
            uid: String::new(),
            groups,
        }
    }

    /// Whether they are in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }
}

/// Bearer tokens and whom they stand for.
#[derive(Clone, Default)]
pub struct Tokens(HashMap<String, Arc<User>>);

impl Tokens {
    /// Adds a token.
    pub fn insert(&mut self, token: impl Into<String>, user: User) {
        self.0.insert(token.into(), Arc::new(user));
    }

    /// Whom an `Authorization` header stands for.
    pub(crate) fn authenticate(&self, header: &str) -> Result<Arc<User>> {
        let token = header
            .strip_prefix("Bearer ")
            .map(str::trim)
            .filter(|token| !token.is_empty());
        token
            .and_then(|token| self.0.get(token))
            .cloned()
            .ok_or_else(Status::unauthorized)
    }
}

/// What somebody wants to do.
#[derive(Debug)]
pub struct Action<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: &'a str,
    /// The resource, or `None` when it is about a path such as `/metrics`.
    pub resource: Option<ResourceAction<'a>>,
    /// The path.
    pub path: &'a str,
}

/// An action on a resource.
#[derive(Debug)]
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
    /// The action that a request on a resource amounts to.
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

/// Decides who may do what.
pub trait Authorizer: Send + Sync {
    /// Whether the user may; the error says why not, as far as there is more to say.
    fn authorize(&self, user: &User, action: &Action<'_>) -> Result<(), String>;
}

/// Everything for `system:masters`; health and version for everybody; nothing else.
#[derive(Debug, Default)]
pub struct MastersOnly;

impl Authorizer for MastersOnly {
    fn authorize(&self, user: &User, action: &Action<'_>) -> Result<(), String> {
        let allowed = user.is_in(MASTERS) || action.resource.is_none() && is_public(action);
        if allowed { Ok(()) } else { Err(String::new()) }
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

/// The refusal, in upstream's words.
pub(crate) fn refusal(user: &User, action: &Action<'_>, why: &str) -> Status {
    let mut text = match &action.resource {
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
    if !why.is_empty() {
        text = format!("{text}: {why}");
    }
    match &action.resource {
        Some(resource) => Status::forbidden(resource.group, resource.resource, resource.name, &text),
        None => Status::forbidden("", "", "", &text),
    }
}
