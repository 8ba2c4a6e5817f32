//! Users: authenticated ones, ServiceAccounts, and the anonymous one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The group with unrestricted access.
pub const MASTERS: &str = "system:masters";

/// The group of all authenticated users.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of unauthenticated users.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of the unauthenticated user.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The prefix of ServiceAccount user names.
const ACCOUNT: &str = "system:serviceaccount:";

/// The user of a request: the `user.Info` of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// A unique id, when there is one.
    pub uid: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// Extra attributes, such as the pod that a token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user in `system:masters`.
    pub fn master(name: &str) -> Self {
        Self::authenticated(name, &[MASTERS])
    }

    /// The anonymous user.
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// An authenticated user with these groups.
    pub fn authenticated(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().copied().chain([AUTHENTICATED]);
        Self {
            name: name.to_owned(),
            groups: groups.map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// The user of a ServiceAccount.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let mut groups = account_groups(namespace);
        groups.push(AUTHENTICATED.to_owned());
        Self {
            name: account_user(namespace, name),
            groups,
            ..Self::default()
        }
    }

    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }

    /// The user as `UserInfo`, for AdmissionReviews and TokenReviews.
    pub(crate) fn to_json(&self) -> Value {
        let mut info = json!({"username": self.name});
        if !self.uid.is_empty() {
            info["uid"] = json!(self.uid);
        }
        if !self.groups.is_empty() {
            info["groups"] = json!(self.groups);
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}

/// The user name of a ServiceAccount.
pub(crate) fn account_user(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT}{namespace}:{name}")
}

/// The groups of every ServiceAccount of a namespace.
pub(crate) fn account_groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// The namespace and the name of the ServiceAccount behind a user, if there is one.
pub(crate) fn account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    let valid = cambium_schema::names::dns1123_label(namespace).is_empty()
        && cambium_schema::names::dns1123_subdomain(name).is_empty();
    valid.then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_is_recognised_by_the_name_of_its_user() {
        assert_eq!(
            account_of("system:serviceaccount:shop:web"),
            Some(("shop", "web"))
        );
        for other in [
            "ada",
            "system:serviceaccount:shop",
            "system:serviceaccount:a:b:c",
            "system:serviceaccount::x",
        ] {
            assert_eq!(account_of(other), None, "{other}");
        }
        assert_eq!(
            User::service_account("shop", "web").groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:shop",
                "system:authenticated"
            ]
        );
    }
}
