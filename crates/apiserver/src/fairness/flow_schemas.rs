//! Parses FlowSchemas and PriorityLevelConfigurations, and classifies requests.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use http::HeaderValue;
use serde_json::Value;

use crate::auth::{Action, ResourceAction, User};
use crate::object;

/// All flow schemas whose priority level exists, by matching precedence.
pub(super) struct Rules {
    flows: Vec<Flow>,
    levels: Arc<Vec<Arc<Level>>>,
}

/// A parsed flow schema.
pub(super) struct Flow {
    name: String,
    pub(super) uid: HeaderValue,
    pub(super) level: Arc<Level>,
    precedence: i64,
    distinguisher: Distinguisher,
    rules: Vec<Rule>,
}

/// A priority level.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) name: String,
    pub(super) uid: HeaderValue,
    /// `None` for an exempt level.
    pub(super) limits: Option<Limits>,
}

/// The concurrency limits of a priority level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Nominal concurrency limit: its share of all seats.
    pub(super) nominal: usize,
    /// How many of these seats other levels may borrow.
    pub(super) lendable: usize,
    /// How many seats it may borrow.
    pub(super) borrowing: usize,
    /// `None` for `limitResponse: Reject`.
    pub(super) queuing: Option<Queuing>,
}

/// The queuing configuration of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queuing {
    /// The number of queues.
    pub(super) queues: usize,
    /// The hand size: how many of them one flow may use.
    pub(super) hand: usize,
    /// The maximum length of a queue.
    pub(super) length: usize,
}

/// The flow distinguisher method.
#[derive(Clone, Copy)]
enum Distinguisher {
    None,
    User,
    Namespace,
}

struct Rule {
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

enum Subject {
    User(String),
    Group(String),
    /// Namespace and name.
    ServiceAccount(String, String),
}

struct ResourceRule {
    verbs: Texts,
    groups: Texts,
    resources: Texts,
    namespaces: Texts,
    cluster_scope: bool,
}

struct PathRule {
    verbs: Texts,
    paths: Vec<String>,
}

/// A list of strings, where `*` matches any.
struct Texts(Vec<String>);

impl Rules {
    /// Parses the objects; flow schemas without a priority level are skipped.
    pub(super) fn read(schemas: &[Value], levels: &[Value], seats: usize) -> Self {
        let all: i64 = levels.iter().map(shares).sum();
        let levels: Vec<Arc<Level>> = levels
            .iter()
            .map(|level| Arc::new(read_level(level, all, seats)))
            .collect();
        let named: HashMap<&str, &Arc<Level>> =
            levels.iter().map(|level| (level.name.as_str(), level)).collect();
        let mut flows: Vec<Flow> = schemas
            .iter()
            .filter_map(|schema| {
                let level = named.get(text(schema, "spec.priorityLevelConfiguration.name"))?;
                Some(read_flow(schema, Arc::clone(level)))
            })
            .collect();
        flows.sort_by(|one, other| (one.precedence, &one.name).cmp(&(other.precedence, &other.name)));
        Self {
            flows,
            levels: Arc::new(levels),
        }
    }

    /// The first flow schema that matches the request.
    pub(super) fn classify(&self, user: &User, action: &Action<'_>) -> Option<&Flow> {
        let takes = |rule: &Rule| {
            rule.subjects.iter().any(|subject| subject.is(user))
                && match &action.resource {
                    Some(resource) => rule
                        .resources
                        .iter()
                        .any(|rule| rule.takes(action.verb, resource)),
                    None => rule.paths.iter().any(|rule| rule.takes(action)),
                }
        };
        self.flows.iter().find(|flow| flow.rules.iter().any(takes))
    }

    pub(super) fn levels(&self) -> &Arc<Vec<Arc<Level>>> {
        &self.levels
    }
}

impl Flow {
    /// The hash of a request's flow (schema and distinguisher), for shuffle sharding.
    pub(super) fn hash(&self, user: &User, action: &Action<'_>) -> u64 {
        let distinguisher = match self.distinguisher {
            Distinguisher::None => "",
            Distinguisher::User => &user.name,
            Distinguisher::Namespace => action.resource.as_ref().map_or("", |resource| resource.namespace),
        };
        let mut hasher = DefaultHasher::new();
        (&self.name, distinguisher).hash(&mut hasher);
        hasher.finish()
    }
}

impl Subject {
    fn is(&self, user: &User) -> bool {
        match self {
            Self::User(name) => name == "*" || *name == user.name,
            Self::Group(name) => name == "*" || user.is_in(name),
            Self::ServiceAccount(namespace, name) => {
                let account = user.name.strip_prefix("system:serviceaccount:");
                let account = account.and_then(|account| account.split_once(':'));
                account.is_some_and(|(place, one)| place == namespace && (name == "*" || name == one))
            }
        }
    }
}

impl ResourceRule {
    fn takes(&self, verb: &str, action: &ResourceAction<'_>) -> bool {
        self.verbs.have(verb)
            && self.resources.have_resource(action)
            && self.groups.have(action.group)
            && match action.namespace {
                "" => self.cluster_scope,
                namespace => self.namespaces.have(namespace),
            }
    }
}

impl PathRule {
    fn takes(&self, action: &Action<'_>) -> bool {
        let below = |rule: &str| {
            let prefix = rule.strip_suffix('*').unwrap_or(rule);
            let rest = action.path.strip_prefix(prefix);
            rest.is_some_and(|rest| prefix.ends_with('/') || rest.starts_with('/'))
        };
        self.verbs.have(action.verb)
            && self
                .paths
                .iter()
                .any(|rule| rule == "*" || rule == action.path || below(rule))
    }
}

impl Texts {
    fn have(&self, text: &str) -> bool {
        self.0.iter().any(|one| one == text || one == "*")
    }

    fn have_resource(&self, action: &ResourceAction<'_>) -> bool {
        match action.subresource {
            "" => self.have(action.resource),
            subresource => self
                .0
                .iter()
                .any(|one| one == "*" || one.split_once('/') == Some((action.resource, subresource))),
        }
    }
}

fn read_level(level: &Value, all_shares: i64, seats: usize) -> Level {
    let limits = (text(level, "spec.type") != "Exempt").then(|| {
        // Rounded up, so that the smallest share is a seat.
        let share = |part: i64, of: usize, whole: i64| {
            let part = usize::try_from(part.max(0)).unwrap_or_default();
            let whole = usize::try_from(whole.max(1)).unwrap_or(1);
            of.saturating_mul(part).div_ceil(whole)
        };
        let nominal = share(shares(level), seats, all_shares);
        let percent = |field: &str| {
            number(level, &format!("spec.limited.{field}")).map(|part| share(part, nominal, 100))
        };
        let queuing = (text(level, "spec.limited.limitResponse.type") == "Queue").then(|| {
            let count = |field: &str, usual: i64| {
                let count = number(level, &format!("spec.limited.limitResponse.queuing.{field}"));
                usize::try_from(count.unwrap_or(usual)).unwrap_or_default()
            };
            Queuing {
                queues: count("queues", 64).max(1),
                hand: count("handSize", 8).max(1),
                length: count("queueLengthLimit", 50),
            }
        });
        Limits {
            nominal,
            lendable: percent("lendablePercent").unwrap_or_default().min(nominal),
            borrowing: percent("borrowingLimitPercent").unwrap_or(seats),
            queuing,
        }
    });
    Level {
        name: object::name(level).to_owned(),
        uid: uid(level),
        limits,
    }
}

fn shares(level: &Value) -> i64 {
    let (field, usual) = match text(level, "spec.type") {
        "Exempt" => ("spec.exempt.nominalConcurrencyShares", 0),
        _ => ("spec.limited.nominalConcurrencyShares", 30),
    };
    number(level, field).unwrap_or(usual).max(0)
}

fn read_flow(schema: &Value, level: Arc<Level>) -> Flow {
    Flow {
        name: object::name(schema).to_owned(),
        uid: uid(schema),
        level,
        precedence: number(schema, "spec.matchingPrecedence").unwrap_or(1000),
        distinguisher: match text(schema, "spec.distinguisherMethod.type") {
            "ByUser" => Distinguisher::User,
            "ByNamespace" => Distinguisher::Namespace,
            _ => Distinguisher::None,
        },
        rules: list(schema, "spec.rules").map(read_rule).collect(),
    }
}

fn read_rule(rule: &Value) -> Rule {
    Rule {
        subjects: list(rule, "subjects").filter_map(read_subject).collect(),
        resources: list(rule, "resourceRules")
            .map(|rule| ResourceRule {
                verbs: texts(rule, "verbs"),
                groups: texts(rule, "apiGroups"),
                resources: texts(rule, "resources"),
                namespaces: texts(rule, "namespaces"),
                cluster_scope: rule
                    .get("clusterScope")
                    .and_then(Value::as_bool)
                    .unwrap_or_default(),
            })
            .collect(),
        paths: list(rule, "nonResourceRules")
            .map(|rule| PathRule {
                verbs: texts(rule, "verbs"),
                paths: texts(rule, "nonResourceURLs").0,
            })
            .collect(),
    }
}

fn read_subject(subject: &Value) -> Option<Subject> {
    let owned = |path: &str| text(subject, path).to_owned();
    match text(subject, "kind") {
        "User" => Some(Subject::User(owned("user.name"))),
        "Group" => Some(Subject::Group(owned("group.name"))),
        "ServiceAccount" => Some(Subject::ServiceAccount(
            owned("serviceAccount.namespace"),
            owned("serviceAccount.name"),
        )),
        _ => None,
    }
}

fn uid(object: &Value) -> HeaderValue {
    HeaderValue::from_str(object::meta_text(object, "uid")).unwrap_or(HeaderValue::from_static(""))
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object::at(object, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn number(object: &Value, path: &str) -> Option<i64> {
    object::at(object, path).and_then(Value::as_i64)
}

fn list<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> {
    object::at(object, path)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn texts(object: &Value, field: &str) -> Texts {
    Texts(
        list(object, field)
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    )
}

#[cfg(test)]
mod tests;
