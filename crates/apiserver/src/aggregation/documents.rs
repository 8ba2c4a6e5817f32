//! OpenAPI documents of aggregated API servers, fetched when a backend becomes available and cached by ETag.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderValue;
use serde_json::Value;

use super::proxy::{self, ProbeRequest};
use super::{Aggregation, Place, Remote};
use crate::auth::User;
use crate::openapi::Part;
use crate::server::Server;
use crate::webhook::ServiceReference;

/// The user that requests the documents.
const AGGREGATOR: &str = "system:aggregator";
/// Size limit of a document; that of all of Kubernetes is half as large.
const LARGEST: usize = 4 << 20;

/// The cached documents of all backends.
#[derive(Default)]
pub(super) struct DocumentCache(BTreeMap<Place, Documents>);

impl DocumentCache {
    /// The documents of the backend that the APIService names now, not of one that it named before.
    fn of(&self, remote: &Remote) -> Option<&Documents> {
        let known = self.0.get(&remote.place())?;
        (known.service == remote.service).then_some(known)
    }

    /// Drops the documents of a group version.
    pub(super) fn forget(&mut self, place: &Place) {
        self.0.remove(place);
    }
}

/// The documents of one backend.
#[derive(Clone)]
struct Documents {
    /// The Service that they were fetched from.
    service: ServiceReference,
    /// Path and hash of the OpenAPI v3 document.
    address: Tagged<String>,
    /// The backend's part of the OpenAPI v2 document.
    part: Tagged<Arc<Part>>,
}

/// A value with its ETag.
#[derive(Clone)]
struct Tagged<T> {
    value: Option<T>,
    tag: Option<HeaderValue>,
}

/// The outcome of a request for a document.
enum Answer {
    Document {
        bytes: Bytes,
        tag: Option<HeaderValue>,
    },
    /// The backend has no such document.
    Missing,
    /// Not modified, or not reachable.
    NoNews,
}

/// Fetches and caches a backend's OpenAPI; keeps the previous documents if that fails.
pub(crate) async fn learn_documents(server: &Server, remote: &Remote) {
    let known = server.aggregation.documents().of(remote).cloned();
    let (address, part) = match known {
        Some(known) => (known.address, known.part),
        None => (Tagged::nothing(), Tagged::nothing()),
    };
    let (address, part) = tokio::join!(
        learn_address(server, remote, address),
        learn_part(server, remote, part)
    );
    let documents = Documents {
        service: remote.service.clone(),
        address,
        part,
    };
    server.aggregation.documents().0.insert(remote.place(), documents);
}

async fn learn_address(server: &Server, remote: &Remote, known: Tagged<String>) -> Tagged<String> {
    match ask(server, remote, "/openapi/v3", &known.tag).await {
        Answer::Document { bytes, tag } => match serde_json::from_slice(&bytes) {
            Ok(index) => Tagged {
                value: address(remote, &index),
                tag,
            },
            Err(_) => known,
        },
        Answer::Missing => Tagged::nothing(),
        Answer::NoNews => known,
    }
}

/// The path of a group version's document in the backend's v3 index; only the expected path is accepted.
fn address(remote: &Remote, index: &Value) -> Option<String> {
    let address = index["paths"][remote.document_name()]["serverRelativeURL"].as_str()?;
    let query = address.strip_prefix(&format!("/openapi/v3/{}", remote.document_name()))?;
    (query.is_empty() || query.starts_with('?')).then(|| address.to_owned())
}

async fn learn_part(server: &Server, remote: &Remote, known: Tagged<Arc<Part>>) -> Tagged<Arc<Part>> {
    match ask(server, remote, "/openapi/v2", &known.tag).await {
        Answer::Document { bytes, tag } => match read_part(remote, bytes).await {
            Some(part) if known.value.as_deref() == Some(&part) => Tagged { tag, ..known },
            Some(part) => Tagged {
                value: Some(Arc::new(part)),
                tag,
            },
            None => known,
        },
        Answer::Missing => Tagged::nothing(),
        Answer::NoNews => known,
    }
}

/// Parses a document on a blocking thread: it may be large.
async fn read_part(remote: &Remote, bytes: Bytes) -> Option<Part> {
    let (group, version) = remote.place();
    let read = move || Part::read(&bytes, &group, &version);
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

async fn ask(server: &Server, remote: &Remote, path: &str, known: &Option<HeaderValue>) -> Answer {
    let question = ProbeRequest {
        path,
        user: User {
            name: AGGREGATOR.to_owned(),
            ..User::default()
        },
        known: known.clone(),
        limit: LARGEST,
    };
    match proxy::probe(server, remote, question).await {
        Ok(told) if told.status == StatusCode::OK => Answer::Document {
            bytes: told.bytes,
            tag: told.tag,
        },
        Ok(told) if told.status == StatusCode::NOT_FOUND => Answer::Missing,
        _ => Answer::NoNews,
    }
}

impl<T> Tagged<T> {
    fn nothing() -> Self {
        Self {
            value: None,
            tag: None,
        }
    }
}

impl Aggregation {
    /// Names and paths of the backends' v3 documents.
    pub(crate) fn addresses(&self) -> Vec<(String, String)> {
        let (remotes, documents) = (self.remotes(), self.documents());
        let of = |remote: &Arc<Remote>| {
            let address = documents.of(remote)?.address.value.clone()?;
            Some((remote.document_name(), address))
        };
        remotes.iter().filter_map(of).collect()
    }

    /// The backends' parts of the v2 document, by group priority.
    pub(crate) fn parts(&self) -> Vec<Arc<Part>> {
        let (remotes, documents) = (self.remotes(), self.documents());
        let importance = |group: &str| {
            let versions = remotes.iter().filter(|remote| remote.group == group);
            versions.map(|remote| remote.priority.group).max()
        };
        let mut parts: Vec<_> = remotes
            .iter()
            .filter_map(|remote| {
                let part = documents.of(remote)?.part.value.clone()?;
                Some(((Reverse(importance(&remote.group)), remote.name()), part))
            })
            .collect();
        parts.sort_by(|(one, _), (other, _)| one.cmp(other));
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// The backend that answers a path below a group version, or that of its OpenAPI document.
    pub(crate) fn answering(&self, path: &str) -> Option<Arc<Remote>> {
        let remotes = self.remotes();
        let Some(document) = path.strip_prefix("/openapi/v3") else {
            return remotes.find(path).cloned();
        };
        let remote = remotes.find(document)?;
        let documents = self.documents();
        let has_one = documents
            .of(remote)
            .is_some_and(|known| known.address.value.is_some());
        (has_one && document == remote.root()).then(|| remote.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_believed_where_it_leads_to_the_document() {
        let api_service =
            json!({"spec": {"group": "g", "version": "v1", "service": {"name": "a", "namespace": "b"}}});
        let remote = Remote::read(&api_service).unwrap();
        for (given, believed) in [
            ("/openapi/v3/apis/g/v1?hash=A1", true),
            ("/openapi/v3/apis/g/v1", true),
            ("/openapi/v3/apis/g/v12", false),
            ("https://elsewhere/openapi/v3/apis/g/v1", false),
        ] {
            let index = json!({"paths": {"apis/g/v1": {"serverRelativeURL": given}}});
            assert_eq!(address(&remote, &index).is_some(), believed, "{given}");
        }
        assert_eq!(address(&remote, &json!("nonsense")), None);
    }
}
