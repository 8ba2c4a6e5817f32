//! Defaults of RBAC kinds.

use serde_json::{Map, Value};

use super::fields::{object, set, text};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "RoleBinding" | "ClusterRoleBinding" => {
            if let Some(role) = object(fields, "roleRef") {
                set(role, "apiGroup", GROUP);
            }
        }
        "Subject" if matches!(text(fields, "kind"), "User" | "Group") => set(fields, "apiGroup", GROUP),
        _ => {}
    }
}
