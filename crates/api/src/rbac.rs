//! RBAC manifests: the manager's ClusterRole, and ClusterRoles for users of our kinds.

/// The ClusterRole of `cambium manager`, and its binding to a ServiceAccount.
pub const MANAGER: &str = include_str!("../rbac/manager.yaml");

/// ClusterRoles that are aggregated into Kubernetes' own `view`, `edit` and `admin`.
pub const PEOPLE: &str = include_str!("../rbac/people.yaml");

/// The namespace of shared definitions, and a Role there that lets every user read them.
pub const SHARED: &str = include_str!("../rbac/shared.yaml");

/// The documents of such a text.
pub fn documents(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n---\n")
}
