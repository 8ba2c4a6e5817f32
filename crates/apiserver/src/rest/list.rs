//! The verb `list`: selectors, pagination, and `resourceVersionMatch`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::get::{known_version, not_ahead_of};
use super::{Call, present};
use crate::registry::Served;
use crate::request::Options;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::{Result, Status};
use crate::store::{Entry, Interest};
use crate::wire::Response;

/// Validity of a continue token.
const TOKEN_SECONDS: i64 = 300;

/// The selectors of a request.
pub(super) struct Selection {
    /// The key prefix: a namespace, or empty.
    pub(super) prefix: String,
    labels: LabelSelector,
    fields: FieldSelector,
    resource: Arc<Served>,
}

impl Selection {
    pub(super) fn of(call: &Call) -> Result<Self> {
        let resource = &call.resource;
        let prefix = match call.namespace() {
            "" => String::new(),
            namespace => format!("{namespace}/"),
        };
        let labels = LabelSelector::parse(&call.options.label_selector)?;
        let mut fields = call.options.field_selector.clone();
        if !call.path.name.is_empty() {
            // A watch of one object by name.
            fields = [format!("metadata.name={}", call.path.name), fields].join(",");
        }
        let fields = FieldSelector::parse(&fields, |path| resource.unselectable(path))?;
        Ok(Self {
            prefix,
            labels,
            fields,
            resource: resource.clone(),
        })
    }

    pub(super) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The events that may concern selected objects.
    pub(super) fn interest(&self) -> Interest {
        let one = self
            .fields
            .name()
            .filter(|_| !self.prefix.is_empty() || !self.resource.namespaced);
        match (one, self.labels.required(), &*self.prefix) {
            (Some(name), ..) => Interest::Key(format!("{}{name}", self.prefix).into()),
            (None, Some((key, value)), _) => Interest::Label(key.into(), value.into()),
            (None, None, "") => Interest::Everything,
            (None, None, namespace) => Interest::Namespace(namespace.trim_end_matches('/').into()),
        }
    }

    pub(super) fn matches(&self, entry: &Entry) -> bool {
        entry.key.starts_with(&self.prefix)
            && self.labels.matches(|key| entry.label(key))
            && (self.fields.is_empty() || self.fields.matches(&self.resource, entry))
    }
}

/// A continue token: upstream's fields, and the time of issue.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    /// The revision of the list; negative for an inconsistent continuation.
    rv: i64,
    start: String,
    at: i64,
}

/// Responds with a list.
pub(super) async fn list(call: &Call) -> Result<Response> {
    let page = page(call)?;
    present::list(call, page.entries, page.metadata).await
}

/// One page of a list.
pub(super) struct Page {
    pub(super) entries: Vec<Arc<Entry>>,
    /// The ListMeta: resource version, continue token, remaining item count.
    pub(super) metadata: Map<String, Value>,
}

/// The objects that a request selects, up to its limit.
pub(super) fn page(call: &Call) -> Result<Page> {
    let selection = Selection::of(call)?;
    let options = &call.options;
    check_options(call)?;

    if !matches!(options.resource_version.as_str(), "" | "0")
        && options.resource_version.parse::<u64>().is_err()
    {
        let why = Status::invalid_version(&options.resource_version);
        return Err(Status::bad_request(format!("invalid resource version: {why}")));
    }

    // Read the revision before the bucket: everything up to it is in the bucket by then.
    let current = call.server.store.revision();
    let bucket = call.server.store.bucket(&call.resource.bucket);
    let (entries, revision) = if !options.continue_token.is_empty() {
        let token = decode(&options.continue_token)?;
        let consistent = u64::try_from(token.rv).ok();
        let age = call.server.sources.now().as_second().saturating_sub(token.at);
        // etcd compacts after five minutes, so upstream's tokens expire by then; clients must see that here, too, even if the
        // log still has the revision.
        let fresh = age <= TOKEN_SECONDS;
        match consistent {
            Some(revision) => match bucket.list_at(revision, &selection.prefix, &token.start) {
                Ok(entries) if fresh => (entries, revision),
                _ => return Err(expired(call, &token.start)),
            },
            None => {
                let entries = bucket.list_at(u64::MAX, &selection.prefix, &token.start);
                (entries.map_err(|_| expired(call, &token.start))?, current)
            }
        }
    } else if wants_exactly(options) {
        let revision = known_version(call, &options.resource_version)?;
        let entries = bucket
            .list_at(revision, &selection.prefix, "")
            .map_err(|too_old| {
                let oldest = too_old.oldest;
                Status::expired(format!(
                    "The resourceVersion for the provided list is too old: {revision} ({oldest})"
                ))
            })?;
        (entries, revision)
    } else {
        // There is no watch cache that could lag behind: `resourceVersion=0` (any version) and an unset one (the most
        // recent) both read the latest state. A newer version than ours is an error, so that a client never goes back in time.
        not_ahead_of(call)?;
        let (entries, newest) = bucket.list(&selection.prefix);
        (entries, current.max(newest))
    };
    Ok(cut(call, &selection, entries, revision))
}

/// Whether the list must be exactly at a revision: `resourceVersionMatch: Exact`, or the legacy `limit` with a
/// resource version.
fn wants_exactly(options: &Options) -> bool {
    let is_given = !matches!(options.resource_version.as_str(), "" | "0");
    match options.resource_version_match.as_str() {
        "" => options.limit > 0 && is_given,
        how => how == "Exact",
    }
}

/// Cuts the list at `limit` and adds a continue token.
fn cut(call: &Call, selection: &Selection, entries: Vec<Arc<Entry>>, revision: u64) -> Page {
    let limit = call.options.limit;
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), json!(revision.to_string()));
    if limit == 0 && selection.is_everything() {
        return Page { entries, metadata };
    }
    let total = entries.len();
    let mut shown = Vec::new();
    let mut last = None;
    let mut seen = 0;
    for entry in entries {
        if limit > 0 && shown.len() == limit {
            break;
        }
        seen += 1;
        last = Some(entry.key.clone());
        if selection.matches(&entry) {
            shown.push(entry);
        }
    }
    if let Some(last) = last.filter(|_| seen < total) {
        let token = encode(call, i64::try_from(revision).unwrap_or(i64::MAX), &last);
        metadata.insert("continue".to_owned(), json!(token));
        // With a selector, the number of remaining matches is unknown, and upstream leaves the field unset.
        if selection.is_everything() {
            metadata.insert("remainingItemCount".to_owned(), json!(total - seen));
        }
    }
    Page {
        entries: shown,
        metadata,
    }
}

/// Refuses the combinations of options that upstream refuses.
fn check_options(call: &Call) -> Result<()> {
    let options = &call.options;
    let forbidden = "resourceVersionMatch: Forbidden: resourceVersionMatch";
    let paging = !options.continue_token.is_empty();
    let problem = match (
        options.resource_version_match.as_str(),
        options.resource_version.as_str(),
    ) {
        _ if options.send_initial_events.is_some() => {
            Some("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list".to_owned())
        }
        ("", _) => None,
        _ if paging => Some(format!("{forbidden} is forbidden when continue is provided")),
        (_, "") => Some(format!(
            "{forbidden} is forbidden unless resourceVersion is provided"
        )),
        ("Exact", "0") => Some(format!(
            "{forbidden} \"exact\" is forbidden for resourceVersion \"0\""
        )),
        ("Exact" | "NotOlderThan", _) => None,
        (other, _) => Some(format!(
            "resourceVersionMatch: Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\", \"\""
        )),
    };
    if let Some(problem) = problem {
        return Err(Status::invalid_options(&problem));
    }
    match paging && !matches!(options.resource_version.as_str(), "" | "0") {
        true => Err(Status::bad_request(
            "specifying resource version is not allowed when using continue",
        )),
        false => Ok(()),
    }
}

fn encode(call: &Call, revision: i64, last: &str) -> String {
    let at = call.server.sources.now().as_second();
    let token = Token {
        v: "meta.k8s.io/v1".to_owned(),
        rv: revision,
        start: last.to_owned(),
        at,
    };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).expect("a token always encodes"))
}

fn decode(text: &str) -> Result<Token> {
    let refuse = |why: String| {
        Status::bad_request(format!(
            "invalid continue token: continue key is not valid: {why}"
        ))
    };
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| match error {
        base64::DecodeError::InvalidByte(at, _) => refuse(format!("illegal base64 data at input byte {at}")),
        other => refuse(other.to_string()),
    })?;
    let token: Token = serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
    match token.v == "meta.k8s.io/v1" {
        true => Ok(token),
        false => Err(refuse(format!(
            "server does not recognize this encoded version {}",
            token.v
        ))),
    }
}

/// 410 for an expired continue token, with a new token for an inconsistent continuation.
fn expired(call: &Call, start: &str) -> Status {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Some(encode(call, -1, start));
    status
}
