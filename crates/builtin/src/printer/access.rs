//! RoleBindings and ClusterRoleBindings.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{list, name, text};

/// RoleBindings and ClusterRoleBindings.
pub(crate) fn role_binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let role = &object["roleRef"];
    let of_kind = |kind: &'static str| {
        list(&object["subjects"])
            .iter()
            .filter(move |subject| subject["kind"] == kind)
    };
    let names = |kind| {
        of_kind(kind)
            .map(|subject| text(&subject["name"]))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let accounts = of_kind("ServiceAccount")
        .map(|subject| format!("{}/{}", text(&subject["namespace"]), text(&subject["name"])))
        .collect::<Vec<_>>();
    vec![
        name(object),
        json!(format!("{}/{}", text(&role["kind"]), text(&role["name"]))),
        age(object, now),
        json!(names("User")),
        json!(names("Group")),
        json!(accounts.join(", ")),
    ]
}
