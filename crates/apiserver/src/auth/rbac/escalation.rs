//! Privilege escalation prevention: a user may only grant rules that they hold, unless they have `escalate` or `bind`.

use serde_json::Value;

use super::{GROUP, Rule, cover, index};
use crate::auth::{Action, Decision, MASTERS, ResourceAction, User};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

/// A role or binding that is being written.
pub(crate) struct Written<'a> {
    /// `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`.
    pub(crate) resource: &'a str,
    /// The name in the request's path; empty when it is created by POST.
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) new: &'a Value,
    pub(crate) old: Option<&'a Value>,
}

/// Denies a role with more rules than its writer holds, and a binding to such a role.
pub(crate) fn check(server: &Server, user: &User, written: &Written<'_>) -> Result<()> {
    if user.is_in(MASTERS)
        || written
            .old
            .is_some_and(|old| same_but_for_metadata(written.new, old))
    {
        return Ok(());
    }
    match written.resource {
        "roles" | "clusterroles" => role(server, user, written),
        "rolebindings" | "clusterrolebindings" => binding(server, user, written),
        _ => Ok(()),
    }
}

fn role(server: &Server, user: &User, written: &Written<'_>) -> Result<()> {
    let resource = ResourceAction {
        group: GROUP,
        resource: written.resource,
        subresource: "",
        namespace: written.namespace,
        name: written.name,
    };
    if allowed(server, user, &Action::on("escalate", resource)) {
        return Ok(());
    }
    confirm(server, user, written, &index::rules(written.new))?;
    let aggregates = |role: &Value| {
        let selectors = object::at(role, "aggregationRule.clusterRoleSelectors");
        selectors
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    // It can gather anything.
    let gathers = aggregates(written.new) || written.old.is_some_and(aggregates);
    if gathers && confirm(server, user, written, &everything()).is_err() {
        let why = "must have cluster-admin privileges to use the aggregationRule";
        return Err(forbidden(written, why));
    }
    Ok(())
}

fn binding(server: &Server, user: &User, written: &Written<'_>) -> Result<()> {
    let text = |path: &str| {
        let value = object::at(written.new, path).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    let (kind, name) = (text("roleRef.kind"), text("roleRef.name"));
    let resource = match kind {
        "ClusterRole" => "clusterroles",
        "Role" => "roles",
        _ => {
            return Err(Status::unexplained(format!(
                "unsupported role reference kind: {kind:?}"
            )));
        }
    };
    let bound = ResourceAction {
        group: text("roleRef.apiGroup"),
        resource,
        subresource: "",
        namespace: written.namespace,
        name,
    };
    if allowed(server, user, &Action::on("bind", bound)) {
        return Ok(());
    }
    let namespace = if kind == "Role" { written.namespace } else { "" };
    let bucket = server.store.bucket(&format!("{GROUP}/{resource}").into());
    match bucket.get(&object::key(namespace, name)) {
        Some(entry) => confirm(server, user, written, &index::rules(&entry.value())),
        // Upstream names the resource of the request here, too.
        None => Err(Status::not_found(GROUP, written.resource, name)),
    }
}

fn allowed(server: &Server, user: &User, action: &Action<'_>) -> bool {
    matches!(server.authorizer.authorize(user, action), Decision::Allow(_))
}

/// Denies the write when the user lacks any part of the rules.
fn confirm(server: &Server, user: &User, written: &Written<'_>, rules: &[Rule]) -> Result<()> {
    let held = server.rbac.held(user, written.namespace);
    let missing = cover::missing(&held.rules, rules);
    if missing.is_empty() {
        return Ok(());
    }
    let (name, groups) = (&user.name, cover::quoted(&user.groups));
    let lines = cover::described(missing).join("\n");
    let mut why = format!(
        "user {name:?} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{lines}"
    );
    if !held.problems.is_empty() {
        let renamed = held.problems.iter().map(|problem| {
            let rest = problem.split_once('.').map_or("", |(_, rest)| rest);
            format!("{}.{rest}", written.resource)
        });
        let problems = super::together(&renamed.collect::<Vec<_>>());
        why = format!("{why}; resolution errors: [{problems}]");
    }
    Err(forbidden(written, &why))
}

fn forbidden(written: &Written<'_>, why: &str) -> Status {
    Status::forbidden(GROUP, written.resource, object::name(written.new), why)
}

fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    let resources = Rule {
        verbs: all(),
        groups: all(),
        resources: all(),
        ..Rule::default()
    };
    let paths = Rule {
        verbs: all(),
        urls: all(),
        ..Rule::default()
    };
    [resources, paths]
}

/// Whether only owner references and finalizers differ: the garbage collector must be able to change those.
fn same_but_for_metadata(new: &Value, old: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        let metadata = object::metadata_mut(&mut object);
        for field in [
            "ownerReferences",
            "finalizers",
            "managedFields",
            "resourceVersion",
        ] {
            metadata.remove(field);
        }
        object
    };
    bare(new) == bare(old)
}
