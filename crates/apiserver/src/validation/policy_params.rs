//! A user may only reference policy parameters that they can read, as messages could reveal them.

use cambium_schema::{FieldError, FieldPath};
use serde_json::Value;

use crate::auth::{Action, Decision, MASTERS, ResourceAction, User};
use crate::object::text;
use crate::server::Server;

/// Denies references to parameters that the user may not read.
pub(crate) fn check(server: &Server, user: &User, new: &Value, old: Option<&Value>) -> Option<FieldError> {
    let is_changed = |field: &str| old.is_none_or(|old| old["spec"].get(field) != new["spec"].get(field));
    if user.is_in(MASTERS) {
        return None;
    }
    match text(new, "kind") {
        "MutatingAdmissionPolicy" | "ValidatingAdmissionPolicy" if is_changed("paramKind") => {
            of_policy(server, user, &new["spec"])
        }
        kind @ ("MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding")
            if is_changed("paramRef") || is_changed("policyName") =>
        {
            of_binding(server, user, kind, &new["spec"])
        }
        _ => None,
    }
}

fn of_policy(server: &Server, user: &User, spec: &Value) -> Option<FieldError> {
    let kind = spec.get("paramKind")?;
    let anything = Anything::of(server, Some(kind));
    let asked = ResourceAction {
        namespace: "*",
        name: "*",
        ..anything.action()
    };
    if may(server, user, "get", asked) {
        return None;
    }
    let why = format!(
        "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={}, apiVersion={})",
        shown(user),
        text(kind, "kind"),
        text(kind, "apiVersion")
    );
    Some(FieldError::forbidden(FieldPath::new("spec.paramKind"), why))
}

fn of_binding(server: &Server, user: &User, kind: &str, spec: &Value) -> Option<FieldError> {
    let reference = spec.get("paramRef")?;
    let (name, namespace) = (text(reference, "name"), text(reference, "namespace"));
    let policies = match kind {
        "MutatingAdmissionPolicyBinding" => "admissionregistration.k8s.io/mutatingadmissionpolicies",
        _ => "admissionregistration.k8s.io/validatingadmissionpolicies",
    };
    let policy = text(spec, "policyName");
    let found = server.store.bucket(&policies.into()).get(policy);
    let found = found.map(|entry| entry.value());
    let params = found.as_ref().and_then(|policy| policy["spec"].get("paramKind"));
    let anything = Anything::of(server, params);
    let verb = if name.is_empty() { "list" } else { "get" };
    let asked = ResourceAction {
        namespace,
        name,
        ..anything.action()
    };
    if may(server, user, verb, asked) {
        return None;
    }
    let (user, resolved) = (shown(user), anything.resource != "*");
    let why = match (&found, params) {
        (None, _) => format!(
            "unable to get policy {policy} to determine minimum required permissions and user {user} does not have \"{verb}\" \
             permission for all groups, versions and resources"
        ),
        (Some(_), Some(kind)) if !resolved => format!(
            "unable to resolve paramKind &{{{} {}}} to determine minimum required permissions and user {user} does not have \
             \"{verb}\" permission for all groups, versions and resources",
            text(kind, "apiVersion"),
            text(kind, "kind")
        ),
        _ => format!("user {user} does not have \"{verb}\" permission on the object referenced by paramRef"),
    };
    Some(FieldError::forbidden(FieldPath::new("spec.paramRef"), why))
}

/// The resource of a kind; wildcards where the kind is unknown.
struct Anything {
    group: String,
    resource: String,
}

impl Anything {
    fn of(server: &Server, kind: Option<&Value>) -> Self {
        let Some(kind) = kind else {
            return Self {
                group: "*".to_owned(),
                resource: "*".to_owned(),
            };
        };
        let version = text(kind, "apiVersion");
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let registry = server.registry();
        let found = registry.find_kind(group, version, text(kind, "kind"));
        Self {
            group: group.to_owned(),
            resource: found.map_or_else(|| "*".to_owned(), |resource| resource.plural.to_string()),
        }
    }

    fn action(&self) -> ResourceAction<'_> {
        ResourceAction {
            group: &self.group,
            resource: &self.resource,
            subresource: "",
            namespace: "",
            name: "",
        }
    }
}

fn may(server: &Server, user: &User, verb: &str, resource: ResourceAction<'_>) -> bool {
    let action = Action {
        verb,
        resource: Some(resource),
        path: "",
    };
    matches!(server.authorizer.authorize(user, &action), Decision::Allow(_))
}

/// The user as Go prints it, for the error message.
fn shown(user: &User) -> String {
    format!(
        "&{{{} {} [{}] map[]}}",
        user.name,
        user.uid,
        user.groups.join(" ")
    )
}
