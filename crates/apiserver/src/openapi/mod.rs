//! OpenAPI: v3, one document per group version, and v2, one document for all. Built on first request.
//!
//! ```text
//! schemas     definitions of kinds, for v2 or v3
//! operations  operations of a resource, by path and method
//! v3          v3 documents
//! v2          the v2 document; schemas reduced to what v2 can express
//! part        a backend's part of the v2 document
//! shape       validation of a backend's document
//! merge       merging parts into the v2 document
//! negotiation media types and content negotiation
//! gnostic     the protobuf encoding
//! ```

mod gnostic;
mod merge;
mod negotiation;
mod operations;
mod part;
mod schemas;
mod shape;
mod v2;
mod v3;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use http::StatusCode;
use http::header::{CACHE_CONTROL, ETAG, EXPIRES, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use jiff::ToSpan as _;
use negotiation::Form;
pub(crate) use part::Part;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::registry::Served;
use crate::server::Server;
use crate::status::{Result, Status};
use crate::wire::{Body, Encoding, Response, bytes_response, text_response, value_response};

/// Cached documents, each valid for one state of its resources.
#[derive(Default)]
pub(crate) struct Cache {
    /// By group version.
    v3: Mutex<HashMap<String, Arc<Document>>>,
    v2: Mutex<Option<Arc<Document>>>,
}

struct Document {
    /// The resources that the document was built from; kept alive so that comparison by address is sound.
    of: Vec<Arc<Served>>,
    /// The parts of backends in it.
    parts: Vec<Arc<Part>>,
    /// The ETag of the document in all encodings.
    hash: String,
    json: Bytes,
    /// Encoded on first request.
    protobuf: OnceLock<Bytes>,
}

/// The resources of each group version, by the name of its document.
type Groups = BTreeMap<String, Vec<Arc<Served>>>;

/// Serves the documents and the v3 index.
pub(crate) fn serve(server: &Server, path: &str, query: &str, headers: &HeaderMap) -> Result<Response> {
    if path == "/openapi/v2" {
        return serve_v2(server, headers);
    }
    let groups = groups(server);
    let name = path.trim_start_matches("/openapi/v3").trim_matches('/');
    if name.is_empty() {
        return Ok(index(server, &groups));
    }
    let Some(resources) = groups.get(name) else {
        return Ok(text_response(StatusCode::NOT_FOUND, "404 page not found\n"));
    };
    let Some(form) = negotiation::choose(headers, &negotiation::V3) else {
        return Ok(not_acceptable());
    };
    let document = document(server, name, resources);
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("hash="));
    let is_newest = asked
        .filter(|hash| !hash.is_empty())
        .map(|hash| hash == document.hash);
    let mut response = match is_newest {
        // The client has an older index.
        Some(false) => moved(&format!("{path}?hash={}", document.hash), &document, form)?,
        _ => answer(headers, &document, form)?,
    };
    if is_newest == Some(true) {
        let fields = response.headers_mut();
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        fields.insert(EXPIRES, in_a_year(server)?);
    }
    Ok(response)
}

/// The v3 index.
fn index(server: &Server, groups: &Groups) -> Response {
    // Documents of groups that are gone go, too.
    let mut cache = server.openapi.v3.lock().unwrap_or_else(PoisonError::into_inner);
    cache.retain(|name, _| groups.contains_key(name));
    drop(cache);
    let own = groups.iter().map(|(name, resources)| {
        let hash = &document(server, name, resources).hash;
        (name.clone(), format!("/openapi/v3/{name}?hash={hash}"))
    });
    let addresses = own.chain(server.aggregation.addresses());
    let paths: BTreeMap<String, Value> = addresses
        .map(|(name, address)| (name, json!({"serverRelativeURL": address})))
        .collect();
    value_response(StatusCode::OK, Encoding::Json, &json!({"paths": paths}))
}

fn in_a_year(server: &Server) -> Result<HeaderValue> {
    let now = server.sources.now().to_zoned(jiff::tz::TimeZone::UTC);
    let then = now.checked_add(1.year()).unwrap_or(now);
    let text = then.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    HeaderValue::from_str(&text).map_err(Status::internal)
}

/// A redirect to the current document, for a URL with an outdated hash.
fn moved(url: &str, document: &Document, form: Form) -> Result<Response> {
    let mut response = bytes_response(StatusCode::MOVED_PERMANENTLY, form.media, Body::empty());
    let location = HeaderValue::from_str(url).map_err(Status::internal)?;
    let headers = response.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(ETAG, document.tag()?);
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

fn not_acceptable() -> Response {
    let mut response = text_response(StatusCode::NOT_ACCEPTABLE, "");
    let varies = HeaderValue::from_static("Accept");
    response.headers_mut().insert(VARY, varies);
    response
}

fn serve_v2(server: &Server, headers: &HeaderMap) -> Result<Response> {
    match negotiation::choose(headers, &negotiation::V2) {
        Some(form) => answer(headers, &whole(server), form),
        None => Ok(not_acceptable()),
    }
}

/// A document, or 304 Not Modified.
fn answer(headers: &HeaderMap, document: &Document, form: Form) -> Result<Response> {
    let known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|given| given.to_str().ok())
        .any(|given| names(given, &document.hash));
    let mut response = match known {
        true => bytes_response(StatusCode::NOT_MODIFIED, form.media, Body::empty()),
        false => bytes_response(StatusCode::OK, form.media, Body::full(document.bytes(form)?)),
    };
    let headers = response.headers_mut();
    headers.insert(ETAG, document.tag()?);
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// Whether an `If-None-Match` header matches the document's ETag.
fn names(given: &str, hash: &str) -> bool {
    given.split(',').map(str::trim).any(|one| {
        let tag = one.strip_prefix("W/").unwrap_or(one);
        one == "*" || tag.trim_matches('"') == hash
    })
}

/// The local resources of each v3 document.
fn groups(server: &Server) -> Groups {
    let mut groups = Groups::new();
    for served in server.announced().all() {
        let root = if served.group.is_empty() { "api" } else { "apis" };
        let name = format!("{root}/{}", served.api_version);
        groups.entry(name).or_default().push(served.clone());
    }
    groups
}

fn document(server: &Server, name: &str, resources: &[Arc<Served>]) -> Arc<Document> {
    let resources: Vec<&Arc<Served>> = resources.iter().collect();
    let cache = || server.openapi.v3.lock().unwrap_or_else(PoisonError::into_inner);
    let known = cache().get(name).cloned();
    if let Some(document) = known.filter(|document| document.is_of(&resources, &[])) {
        return document;
    }
    // Built without holding the lock: concurrent requests may build it twice.
    let document = Arc::new(Document::new(&resources, vec![], &v3::build(&resources)));
    cache().insert(name.to_owned(), document.clone());
    document
}

fn whole(server: &Server) -> Arc<Document> {
    let registry = server.announced();
    let resources: Vec<&Arc<Served>> = registry.all().collect();
    let parts = server.aggregation.parts();
    let cache = || server.openapi.v2.lock().unwrap_or_else(PoisonError::into_inner);
    let known = cache().clone();
    if let Some(document) = known.filter(|document| document.is_of(&resources, &parts)) {
        return document;
    }
    let mut tree = v2::build(&resources);
    for part in parts.iter().filter_map(|part| part.tree()) {
        merge::add(&mut tree, &part);
    }
    let document = Arc::new(Document::new(&resources, parts, &tree));
    *cache() = Some(document.clone());
    document
}

impl Document {
    fn new(of: &[&Arc<Served>], parts: Vec<Arc<Part>>, tree: &Value) -> Self {
        let json = serde_json::to_vec(tree).expect("a JSON tree always encodes into memory");
        let hash = Sha256::digest(&json);
        Self {
            of: of.iter().copied().cloned().collect(),
            parts,
            hash: hash.iter().map(|byte| format!("{byte:02X}")).collect(),
            json: json.into(),
            protobuf: OnceLock::new(),
        }
    }

    fn bytes(&self, form: Form) -> Result<Bytes> {
        let Some(encode) = form.encode else {
            return Ok(self.json.clone());
        };
        if let Some(made) = self.protobuf.get() {
            return Ok(made.clone());
        }
        let tree = serde_json::from_slice(&self.json).map_err(Status::internal)?;
        Ok(self.protobuf.get_or_init(|| encode(&tree).into()).clone())
    }

    fn tag(&self) -> Result<HeaderValue> {
        HeaderValue::from_str(&format!("\"{}\"", self.hash)).map_err(Status::internal)
    }

    fn is_of(&self, resources: &[&Arc<Served>], parts: &[Arc<Part>]) -> bool {
        let same_parts = self.parts.iter().zip(parts);
        let same_resources = self.of.iter().zip(resources);
        self.of.len() == resources.len()
            && self.parts.len() == parts.len()
            && same_resources
                .into_iter()
                .all(|(known, now)| Arc::ptr_eq(known, now))
            && same_parts.into_iter().all(|(known, now)| Arc::ptr_eq(known, now))
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn what_the_client_has_is_recognised() {
        for known in ["\"A1\"", "W/\"A1\"", "*", "\"B2\", \"A1\"", "\"B2\",W/\"A1\""] {
            assert!(names(known, "A1"), "{known}");
        }
        for other in ["\"B2\"", "", "\"A12\""] {
            assert!(!names(other, "A1"), "{other}");
        }
    }
}
