//! Validation of RBAC kinds.

use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The scope of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// One namespace.
    Namespace,
    /// The cluster.
    Cluster,
}

pub(super) fn role(new: &At, reach: Reach, errors: &mut Errors) {
    for policy in new.field("rules").items() {
        let verbs = policy.field("verbs");
        if verbs.is_empty() {
            rule::required_because(&verbs, "verbs must contain at least one value", errors);
        }
        let (urls, groups, resources) = (
            policy.field("nonResourceURLs"),
            policy.field("apiGroups"),
            policy.field("resources"),
        );
        if !urls.is_empty() {
            if reach == Reach::Namespace {
                rule::invalid(
                    &urls,
                    "namespaced rules cannot apply to non-resource URLs",
                    errors,
                );
            }
            let names = policy.field("resourceNames");
            if !groups.is_empty() || !resources.is_empty() || !names.is_empty() {
                rule::invalid(
                    &urls,
                    "rules cannot apply to both regular resources and non-resource URLs",
                    errors,
                );
            }
            continue;
        }
        if groups.is_empty() {
            rule::required_because(
                &groups,
                "resource rules must supply at least one api group",
                errors,
            );
        }
        if resources.is_empty() {
            rule::required_because(
                &resources,
                "resource rules must supply at least one resource",
                errors,
            );
        }
    }
    for selected in new.field("aggregationRule").field("clusterRoleSelectors").items() {
        super::selector::check(&selected, errors);
    }
}

pub(super) fn binding(new: &At, old: Option<&At>, reach: Reach, errors: &mut Errors) {
    let role = new.field("roleRef");
    if let Some(old) = old
        && role.value != old.field("roleRef").value
    {
        let part = |name: &str| super::selector::json_text(&Value::from(role.field(name).text()));
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            part("apiGroup"),
            part("kind"),
            part("name")
        );
        rule::invalid_shown(&role, shown, "cannot change roleRef", errors);
    }
    rule::one_of(&role.field("apiGroup"), &[GROUP], errors);
    match reach {
        Reach::Namespace => rule::one_of(&role.field("kind"), &["Role", "ClusterRole"], errors),
        Reach::Cluster => rule::one_of(&role.field("kind"), &["ClusterRole"], errors),
    }
    let name = role.field("name");
    if rule::required(&name, errors) {
        rule::complain(&name, cambium_schema::names::path_segment(name.text()), errors);
    }
    for subject in new.field("subjects").items() {
        self::subject(&subject, reach, errors);
    }
}

fn subject(at: &At, reach: Reach, errors: &mut Errors) {
    let name = at.field("name");
    rule::required(&name, errors);
    let kind = at.field("kind");
    match kind.text() {
        "ServiceAccount" => {
            rule::subdomain_if_set(&name, errors);
            if !at.field("apiGroup").is_empty() {
                rule::one_of(&at.field("apiGroup"), &[""], errors);
            }
            if reach == Reach::Cluster {
                rule::required(&at.field("namespace"), errors);
            }
        }
        "User" | "Group" => rule::one_of(&at.field("apiGroup"), &[GROUP], errors),
        _ => rule::one_of(&kind, &["ServiceAccount", "User", "Group"], errors),
    }
}
