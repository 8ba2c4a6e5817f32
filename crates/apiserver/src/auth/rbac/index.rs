//! An index of bindings by subject.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::Rule;
use super::bloom::BloomFilter;
use crate::auth::user::account_user;
use crate::auth::{Action, User};
use crate::object;

/// The rules of a Role or ClusterRole.
pub(super) struct Role {
    pub(super) rules: Vec<Rule>,
    filter: BloomFilter,
}

/// A RoleBinding or ClusterRoleBinding.
pub(super) struct Binding {
    /// Empty for a ClusterRoleBinding.
    namespace: String,
    name: String,
    role_kind: String,
    role_name: String,
    subjects: Vec<Subject>,
}

/// A subject of a binding.
struct Subject {
    whom: Whom,
    /// As reasons name it: `User "ada"`.
    described: String,
}

enum Whom {
    User(String),
    Group(String),
    Nobody,
}

/// Parses the rules of a role.
pub(super) fn rules(object: &Value) -> Vec<Rule> {
    let rules = object.get("rules").and_then(Value::as_array);
    rules.into_iter().flatten().map(Rule::from_json).collect()
}

impl Role {
    /// Parses a role.
    pub(super) fn from_json(object: &Value) -> Self {
        let rules = rules(object);
        Self {
            filter: BloomFilter::of_rules(&rules),
            rules,
        }
    }

    /// Whether a rule of it allows an action with this filter.
    pub(super) fn allows(&self, action: &Action<'_>, filter: BloomFilter) -> bool {
        self.filter.may_allow(filter) && self.rules.iter().any(|rule| rule.allows(action))
    }
}

impl Binding {
    /// Parses a binding.
    pub(super) fn from_json(binding: &Value) -> Self {
        let namespace = object::namespace(binding).to_owned();
        let text = |path: &str| {
            let value = object::at(binding, path).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let subjects = binding.get("subjects").and_then(Value::as_array);
        let subjects = subjects.into_iter().flatten();
        Self {
            name: object::name(binding).to_owned(),
            role_kind: text("roleRef.kind"),
            role_name: text("roleRef.name"),
            subjects: subjects.map(|one| subject(one, &namespace)).collect(),
            namespace,
        }
    }
}

fn subject(subject: &Value, binding_namespace: &str) -> Subject {
    let text = |field: &str| subject.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let namespace = match text("namespace") {
        "" => binding_namespace,
        namespace => namespace,
    };
    let whom = match kind {
        "User" => Whom::User(name.to_owned()),
        "Group" => Whom::Group(name.to_owned()),
        "ServiceAccount" if !namespace.is_empty() => Whom::User(account_user(namespace, name)),
        _ => Whom::Nobody,
    };
    let described = match kind {
        "ServiceAccount" => format!("{kind} {:?}", format!("{name}/{namespace}")),
        _ => format!("{kind} {name:?}"),
    };
    Subject { whom, described }
}

/// Grants by subject.
#[derive(Default)]
pub(super) struct Index {
    cluster: Scope,
    namespaces: HashMap<String, Scope>,
}

/// The grants of one namespace, or of the cluster.
#[derive(Default)]
struct Scope {
    grants: Vec<Grant>,
    users: HashMap<String, Vec<Place>>,
    groups: HashMap<String, Vec<Place>>,
}

/// The index of a grant in a scope, and of one of its subjects.
type Place = (usize, usize);

/// A binding with its role.
struct Grant {
    binding: Arc<Binding>,
    /// `None` when the role does not exist.
    role: Option<Arc<Role>>,
}

/// A grant to one user.
pub(super) struct Given<'i> {
    grant: &'i Grant,
    subject: &'i Subject,
}

impl Index {
    /// Builds the index; roles are keyed by `name` or `namespace/name`.
    pub(super) fn build<'a>(
        bindings: impl Iterator<Item = &'a Arc<Binding>>,
        roles: &BTreeMap<Arc<str>, (u64, Arc<Role>)>,
        cluster_roles: &BTreeMap<Arc<str>, (u64, Arc<Role>)>,
    ) -> Self {
        let mut index = Self::default();
        for binding in bindings {
            let role = match binding.role_kind.as_str() {
                "ClusterRole" => cluster_roles.get(binding.role_name.as_str()),
                "Role" => roles.get(object::key(&binding.namespace, &binding.role_name).as_str()),
                _ => None,
            };
            let scope = match binding.namespace.as_str() {
                "" => &mut index.cluster,
                namespace => index.namespaces.entry(namespace.to_owned()).or_default(),
            };
            scope.add(binding, role.map(|(_, role)| role.clone()));
        }
        index
    }

    /// The grants to a user: of ClusterRoleBindings, then of the namespace's RoleBindings.
    pub(super) fn given<'i>(&'i self, user: &User, namespace: &str) -> impl Iterator<Item = Given<'i>> {
        let local = self.namespaces.get(namespace);
        let cluster = self.cluster.places(user);
        let local = local.map(|scope| scope.places(user).into_iter().map(|place| scope.given(place)));
        let cluster = cluster.into_iter().map(|place| self.cluster.given(place));
        cluster.chain(local.into_iter().flatten())
    }
}

impl Scope {
    fn add(&mut self, binding: &Arc<Binding>, role: Option<Arc<Role>>) {
        let grant = self.grants.len();
        for (place, subject) in binding.subjects.iter().enumerate() {
            let list = match &subject.whom {
                Whom::User(name) => self.users.entry(name.clone()).or_default(),
                Whom::Group(name) => self.groups.entry(name.clone()).or_default(),
                Whom::Nobody => continue,
            };
            list.push((grant, place));
        }
        self.grants.push(Grant {
            binding: binding.clone(),
            role,
        });
    }

    /// The grants to a user, in order and without duplicates, with the first matching subject.
    fn places(&self, user: &User) -> Vec<Place> {
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group));
        let lists = self.users.get(&user.name).into_iter().chain(groups);
        let mut places: Vec<Place> = lists.flatten().copied().collect();
        places.sort_unstable();
        places.dedup_by_key(|(grant, _)| *grant);
        places
    }

    fn given(&self, (grant, subject): Place) -> Given<'_> {
        let grant = &self.grants[grant];
        Given {
            grant,
            subject: &grant.binding.subjects[subject],
        }
    }
}

impl<'i> Given<'i> {
    /// The role, or the error that it does not exist.
    pub(super) fn role(&self) -> Result<&'i Role, String> {
        let binding = &self.grant.binding;
        self.grant.role.as_deref().ok_or_else(|| {
            let kind = binding.role_kind.to_lowercase();
            format!(
                "{kind}.rbac.authorization.k8s.io {:?} not found",
                binding.role_name
            )
        })
    }

    /// The binding and role, as the reason of a decision names them.
    pub(super) fn source(&self) -> String {
        let binding = &self.grant.binding;
        let (kind, name) = match binding.namespace.as_str() {
            "" => ("ClusterRoleBinding", binding.name.clone()),
            namespace => ("RoleBinding", format!("{}/{namespace}", binding.name)),
        };
        let (role_kind, role_name, whom) = (&binding.role_kind, &binding.role_name, &self.subject.described);
        format!("{kind} {name:?} of {role_kind} {role_name:?} to {whom}")
    }
}
