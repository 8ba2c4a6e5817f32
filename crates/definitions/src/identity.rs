//! The identity that an Application's objects are applied as: a ServiceAccount, its author, or the manager.
//!
//! ```text
//!  a write ──► record: who is the author now? ──► annotations on the Application      (mutating admission)
//!  an Application ──► identity: a ServiceAccount, the author, or nobody ──► requests   (the controller)
//! ```

use crate::Refused;
use cambium_api::names::{annotation, reason};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The separator between groups in the annotation, as in KubeVela.
const SEPARATOR: &str = ",";

/// The identity that writes the objects of an Application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Identity {
    /// A ServiceAccount of the Application's namespace.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The author of the Application.
    Author {
        /// The user's name.
        username: String,
        /// The user's groups.
        groups: Vec<String>,
    },
    /// The manager itself.
    Manager,
}

impl Identity {
    /// The headers of a request that is made as this identity. A ServiceAccount's groups are the API server's to add, as for a Pod.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers: Vec<_> = self
            .username()
            .map(|name| ("impersonate-user", name))
            .into_iter()
            .collect();
        if let Self::Author { groups, .. } = self {
            headers.extend(groups.iter().map(|group| ("impersonate-group", group.clone())));
        }
        headers
    }

    /// The name that the API server knows it by; the manager has none but its own.
    pub fn username(&self) -> Option<String> {
        match self {
            Self::ServiceAccount { namespace, name } => {
                Some(format!("system:serviceaccount:{namespace}:{name}"))
            }
            Self::Author { username, .. } => Some(username.clone()),
            Self::Manager => None,
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServiceAccount { namespace, name } => write!(f, "ServiceAccount {namespace}/{name}"),
            Self::Author { username, .. } => write!(f, "user {username:?}"),
            Self::Manager => f.write_str("the manager"),
        }
    }
}

/// How the identity of an Application is determined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identities {
    /// Whether recorded authors are believed.
    pub authors: Authors,
    /// The identity of an Application that names none.
    pub otherwise: Otherwise,
}

/// Whether the author in an Application's annotations can be believed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Authors {
    /// The mutating webhook records them, and refuses any other value.
    Recorded,
    /// Admission is off: any user may have written them.
    #[default]
    Unknown,
}

/// The identity of an Application that names no ServiceAccount and has no recorded author.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// None: nothing is applied.
    #[default]
    Nobody,
    /// The ServiceAccount of this name in the Application's namespace.
    ServiceAccount(String),
    /// The manager, with its own rights.
    Manager,
}

/// The identity that an Application's objects are applied as, or a refusal if there is none.
///
/// `rendered` is what the objects are rendered from. It differs from the live Application while that is frozen at a revision; then the
/// author of that revision counts, and not whoever has edited the Application since.
pub fn identity(live: &Value, rendered: &Value, rules: &Identities) -> Result<Identity, Refused> {
    let namespace = live["metadata"]["namespace"].as_str().unwrap_or_default();
    let account = |name: &str| Identity::ServiceAccount {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let named = [live, rendered]
        .into_iter()
        .find_map(|object| text(object, annotation::SERVICE_ACCOUNT));
    if let Some(name) = named {
        return match is_account_name(name) {
            true => Ok(account(name)),
            false => Err(refuse(
                reason::INVALID_ANNOTATIONS,
                format!(
                    "{} is {name:?}; it must be the name of a ServiceAccount",
                    annotation::SERVICE_ACCOUNT
                ),
            )),
        };
    }
    if let (Authors::Recorded, Some(author)) = (rules.authors, author(rendered)) {
        return author;
    }
    match &rules.otherwise {
        Otherwise::ServiceAccount(name) => Ok(account(name)),
        Otherwise::Manager => Ok(Identity::Manager),
        Otherwise::Nobody => Err(refuse(reason::NO_IDENTITY, no_identity(rules.authors))),
    }
}

fn author(application: &Value) -> Option<Result<Identity, Refused>> {
    let username = text(application, annotation::USERNAME)?;
    let groups = text(application, annotation::GROUP).unwrap_or_default();
    let groups: Vec<String> = groups
        .split(SEPARATOR)
        .filter(|group| !group.trim().is_empty())
        .map(str::to_owned)
        .collect();
    let sendable = |value: &str| !value.chars().any(char::is_control);
    if !sendable(username) || !groups.iter().all(|group| sendable(group)) {
        let message = format!(
            "{} or {} holds characters that no request can carry",
            annotation::USERNAME,
            annotation::GROUP
        );
        return Some(Err(refuse(reason::INVALID_ANNOTATIONS, message)));
    }
    Some(Ok(Identity::Author {
        username: username.to_owned(),
        groups,
    }))
}

fn no_identity(authors: Authors) -> String {
    let record = match authors {
        Authors::Recorded => format!(
            "become its author by changing its spec, or by setting {} to your own user name",
            annotation::USERNAME
        ),
        Authors::Unknown => {
            "run the manager with its webhooks, which record who writes an Application".to_owned()
        }
    };
    format!(
        "No identity to apply its objects with; running objects are unchanged. Name a ServiceAccount of this namespace in the annotation {}, \
         or {record}, or run the manager with --default-service-account or --application-identity=manager",
        annotation::SERVICE_ACCOUNT
    )
}

/// The annotations that the mutating webhook writes on an Application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The author's name; `None` if no author is recorded.
    pub username: Option<String>,
    /// The author's groups.
    pub group: Option<String>,
    /// Warnings for the user who writes the Application.
    pub warnings: Vec<String>,
}

/// The user who writes an Application.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The user's name.
    pub username: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
}

/// The author of an Application after a write: the user who creates it, changes its spec or its ServiceAccount, or sets the annotation to their own
/// name; otherwise the previous author.
pub fn record(old: Option<&Value>, new: &Value, writer: Writer<'_>) -> Record {
    let said = text(new, annotation::USERNAME);
    let account = |object: &Value| text(object, annotation::SERVICE_ACCOUNT).map(str::to_owned);
    let authored = match old {
        None => true,
        Some(old) => {
            let taken_over = said == Some(writer.username) && text(old, annotation::USERNAME) != said;
            old["spec"] != new["spec"] || account(old) != account(new) || taken_over
        }
    };
    let mut record = match (authored, old) {
        (false, Some(old)) => Record {
            username: text(old, annotation::USERNAME).map(str::to_owned),
            group: text(old, annotation::GROUP).map(str::to_owned),
            warnings: Vec::new(),
        },
        _ => Record {
            username: Some(writer.username.to_owned()),
            group: Some(joined(writer.groups)),
            warnings: Vec::new(),
        },
    };
    let written = [
        (annotation::USERNAME, record.username.as_deref()),
        (annotation::GROUP, record.group.as_deref()),
    ];
    let forged = written.into_iter().filter_map(|(name, recorded)| {
        let said = text(new, name);
        let was = old.and_then(|old| text(old, name));
        let recorded_as = recorded.unwrap_or("nobody");
        (said.is_some() && said != recorded && said != was)
            .then(|| format!("metadata.annotations[{name}] is set by admission and stays {recorded_as:?}"))
    });
    let forged: Vec<String> = forged.collect();
    record.warnings.extend(forged);
    if authored {
        let left_out: Vec<&String> = writer.groups.iter().filter(|group| !is_listable(group)).collect();
        if !left_out.is_empty() {
            record.warnings.push(format!(
                "objects are applied without the rights of the groups {left_out:?}: their names hold a comma"
            ));
        }
    }
    record
}

/// The object with its author written on it, and nothing else changed.
pub fn with_author(application: &Value, record: &Record) -> Value {
    let mut written = application.clone();
    for (name, value) in [
        (annotation::USERNAME, &record.username),
        (annotation::GROUP, &record.group),
    ] {
        match value {
            Some(value) => written["metadata"]["annotations"][name] = value.as_str().into(),
            None => {
                if let Some(Value::Object(annotations)) = written.pointer_mut("/metadata/annotations") {
                    annotations.remove(name);
                }
            }
        }
    }
    written
}

/// An Application as templates see it, and as its objects are labelled: without what says whose rights are used.
pub fn without_identity(application: &Value) -> Value {
    let mut rest = application.clone();
    if let Some(Value::Object(annotations)) = rest.pointer_mut("/metadata/annotations") {
        for name in [
            annotation::USERNAME,
            annotation::GROUP,
            annotation::SERVICE_ACCOUNT,
        ] {
            annotations.remove(name);
        }
    }
    rest
}

/// Why the API server did not let an identity write an object, as a condition says it.
pub fn forbidden(object: &impl fmt::Display, identity: &Identity, said: &str) -> Refused {
    refuse(
        reason::FORBIDDEN,
        format!("{object}: {identity} is not allowed to write it: {said}"),
    )
}

/// All groups in one line. A group with a comma would come back as two others.
fn joined(groups: &[String]) -> String {
    let listed: Vec<&str> = groups
        .iter()
        .map(String::as_str)
        .filter(|group| is_listable(group))
        .collect();
    listed.join(SEPARATOR)
}

fn is_listable(group: &str) -> bool {
    !group.contains(SEPARATOR)
}

/// Whether a name is a DNS subdomain, as names of ServiceAccounts are. A colon in it would name another user.
fn is_account_name(name: &str) -> bool {
    let letter = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|label| {
            label.starts_with(letter)
                && label.ends_with(letter)
                && label.chars().all(|one| letter(one) || one == '-')
        })
}

fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"]
        .get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

fn refuse(reason: &'static str, message: String) -> Refused {
    Refused { reason, message }
}

#[cfg(test)]
mod tests;
