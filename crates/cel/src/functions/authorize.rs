//! The authorizer: `authorizer.group('apps').resource('deployments').check('create').allowed()`.

use std::fmt;
use std::sync::Arc;

use cambium_schema::names;

use super::Implementation;
use crate::error::{Result, failed, no_such_overload};
use crate::value::{Text, Value};

/// Answers authorizer checks.
pub trait Authorize: fmt::Debug + Send + Sync {
    /// Answers a check.
    fn ask(&self, subject: Subject<'_>, question: &Question<'_>) -> Answer;
}

/// The subject of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'q> {
    /// The user of the request.
    Caller,
    /// A service account.
    ServiceAccount {
        /// Its namespace.
        namespace: &'q str,
        /// Its name.
        name: &'q str,
    },
}

/// The attributes of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question<'q> {
    /// A non-resource path.
    Path {
        /// The verb.
        verb: &'q str,
        /// The path.
        path: &'q str,
    },
    /// A resource.
    Resource {
        /// The verb.
        verb: &'q str,
        /// API group.
        group: &'q str,
        /// Resource.
        resource: &'q str,
        /// Subresource, or empty.
        subresource: &'q str,
        /// Namespace, or empty.
        namespace: &'q str,
        /// Name, or empty.
        name: &'q str,
    },
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Whether it is allowed.
    pub allowed: bool,
    /// The reason; may be empty.
    pub reason: String,
}

/// The decision, as a CEL value.
#[derive(Debug)]
pub(crate) struct Decision(Answer);

/// A check under construction.
#[derive(Debug, Clone)]
pub(crate) struct Check<'a> {
    authorizer: &'a dyn Authorize,
    account: Option<(Text<'a>, Text<'a>)>,
    about: About<'a>,
}

#[derive(Debug, Clone)]
enum About<'a> {
    Anything,
    Path(Text<'a>),
    Group(Text<'a>),
    Resource(Resource<'a>),
}

#[derive(Debug, Clone)]
struct Resource<'a> {
    group: Text<'a>,
    resource: Text<'a>,
    subresource: Text<'a>,
    namespace: Text<'a>,
    name: Text<'a>,
}

const NONE: Text<'static> = Text::Borrowed("");

impl<'a> Check<'a> {
    /// The authorizer itself.
    pub(crate) fn start(authorizer: &'a dyn Authorize) -> Self {
        Self {
            authorizer,
            account: None,
            about: About::Anything,
        }
    }

    /// `authorizer.requestResource`: group, resource, subresource, namespace, name.
    pub(crate) fn of_request(authorizer: &'a dyn Authorize, request: [&'a str; 5]) -> Self {
        let [group, resource, subresource, namespace, name] = request.map(Text::Borrowed);
        Self {
            authorizer,
            account: None,
            about: About::Resource(Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
            }),
        }
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self.about {
            About::Anything => "kubernetes.authorization.Authorizer",
            About::Path(_) => "kubernetes.authorization.PathCheck",
            About::Group(_) => "kubernetes.authorization.GroupCheck",
            About::Resource(_) => "kubernetes.authorization.ResourceCheck",
        }
    }

    fn about(&self, about: About<'a>) -> Result<Value<'a>> {
        Ok(Value::Check(Arc::new(Self {
            about,
            ..self.clone()
        })))
    }

    fn ask(&self, verb: &str) -> Result<Value<'a>> {
        let question = match &self.about {
            About::Path(path) => Question::Path { verb, path },
            About::Resource(resource) => Question::Resource {
                verb,
                group: &resource.group,
                resource: &resource.resource,
                subresource: &resource.subresource,
                namespace: &resource.namespace,
                name: &resource.name,
            },
            About::Anything | About::Group(_) => return no_such_overload(),
        };
        let subject = match &self.account {
            Some((namespace, name)) => Subject::ServiceAccount { namespace, name },
            None => Subject::Caller,
        };
        let answer = self.authorizer.ask(subject, &question);
        Ok(Value::Decision(Arc::new(Decision(answer))))
    }
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "path" => |arguments| match start(arguments)? {
            (_, path) if path.trim().is_empty() => failed("path must not be empty"),
            (check, path) => check.about(About::Path(path)),
        },
        "group" => |arguments| {
            let (check, group) = start(arguments)?;
            check.about(About::Group(group))
        },
        "serviceAccount" => service_account,
        "resource" => |arguments| match arguments {
            [Value::Check(check), Value::String(resource)] => match &check.about {
                About::Group(_) if resource.trim().is_empty() => failed("resource must not be empty"),
                About::Group(group) => check.about(About::Resource(Resource {
                    group: group.clone(),
                    resource: resource.clone(),
                    subresource: NONE,
                    namespace: NONE,
                    name: NONE,
                })),
                _ => no_such_overload(),
            },
            _ => no_such_overload(),
        },
        "subresource" => |arguments| refine(arguments, |resource, text| resource.subresource = text),
        "namespace" => |arguments| refine(arguments, |resource, text| resource.namespace = text),
        "name" => |arguments| refine(arguments, |resource, text| resource.name = text),
        // The authorizer ignores selectors; a check without them is the stricter one.
        "fieldSelector" | "labelSelector" => |arguments| refine(arguments, |_, _| {}),
        "check" => |arguments| match arguments {
            [Value::Check(check), Value::String(verb)] => check.ask(verb),
            _ => no_such_overload(),
        },
        "allowed" => |arguments| Ok(Value::Bool(decision(arguments)?.allowed)),
        "reason" => |arguments| Ok(Value::text(decision(arguments)?.reason.as_str())),
        "errored" => |arguments| decision(arguments).map(|_| Value::Bool(false)),
        "error" => |arguments| decision(arguments).map(|_| Value::text("")),
        _ => return None,
    };
    Some(found)
}

fn start<'v, 'a>(arguments: &'v [Value<'a>]) -> Result<(&'v Check<'a>, Text<'a>)> {
    match arguments {
        [Value::Check(check), Value::String(text)] if matches!(check.about, About::Anything) => {
            Ok((check, text.clone()))
        }
        _ => no_such_overload(),
    }
}

fn service_account<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::Check(check), Value::String(namespace), Value::String(name)] = arguments else {
        return no_such_overload();
    };
    if !names::dns1123_subdomain(name).is_empty() {
        return failed("Invalid service account name");
    }
    if !names::dns1123_label(namespace).is_empty() {
        return failed("Invalid service account namespace");
    }
    Ok(Value::Check(Arc::new(Check {
        account: Some((namespace.clone(), name.clone())),
        ..Check::start(check.authorizer)
    })))
}

fn refine<'a>(arguments: &[Value<'a>], change: fn(&mut Resource<'a>, Text<'a>)) -> Result<Value<'a>> {
    match arguments {
        [Value::Check(check), Value::String(text)] => match &check.about {
            About::Resource(resource) => {
                let mut resource = resource.clone();
                change(&mut resource, text.clone());
                check.about(About::Resource(resource))
            }
            _ => no_such_overload(),
        },
        _ => no_such_overload(),
    }
}

fn decision<'v>(arguments: &'v [Value<'_>]) -> Result<&'v Answer> {
    match arguments {
        [Value::Decision(decision)] => Ok(&decision.0),
        _ => no_such_overload(),
    }
}
