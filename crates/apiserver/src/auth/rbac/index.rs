//! Bindings by whom they are for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::Rule;
use super::sketch::Sketch;
use crate::auth::user::account_user;
use crate::auth::{Action, User};
use crate::object;

/// A Role or ClusterRole: what it allows.
pub(super) struct Role {
    pub(super) rules: Vec<Rule>,
    sketch: Sketch,
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

/// Whom a binding is for.
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

/// Reads the rules of a role.
pub(super) fn rules(object: &Value) -> Vec<Rule> {
    let rules = object.get("rules").and_then(Value::as_array);
    rules.into_iter().flatten().map(Rule::from_json).collect()
}

impl Role {
    /// Reads a role.
    pub(super) fn from_json(object: &Value) -> Self {
        let rules = rules(object);
        Self {
            sketch: Sketch::of_rules(&rules),
            rules,
        }
    }

    /// Whether a rule of it allows an action, of which this is the sketch.
    pub(super) fn allows(&self, action: &Action<'_>, sketch: Sketch) -> bool {
        self.sketch.may_allow(sketch) && self.rules.iter().any(|rule| rule.allows(action))
    }
}

impl Binding {
    /// Reads a binding.
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

/// Who may do what, arranged by who.
#[derive(Default)]
pub(super) struct Index {
    cluster: Scope,
    namespaces: HashMap<String, Scope>,
}

/// The bindings of one namespace, or of the cluster.
#[derive(Default)]
struct Scope {
    grants: Vec<Grant>,
    users: HashMap<String, Vec<Place>>,
    groups: HashMap<String, Vec<Place>>,
}

/// Which grant of a scope, by which of its subjects.
type Place = (usize, usize);

/// A binding together with what it gives.
struct Grant {
    binding: Arc<Binding>,
    /// `None` when the role is not there.
    role: Option<Arc<Role>>,
}

/// What one binding gives to one user.
pub(super) struct Given<'i> {
    grant: &'i Grant,
    subject: &'i Subject,
}

impl Index {
    /// Arranges bindings; roles are found by `name`, or `namespace/name`.
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

    /// What a user is given: by the cluster's bindings, then by those of a namespace.
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

    /// The grants of a user, each once, in order, by the first subject that is the user's.
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
    /// The role; the error says that it is not there.
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

    /// Where the rules come from, for people.
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
