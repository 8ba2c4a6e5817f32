//! What clients can know of kinds: OpenAPI v3, one document per group and version, and v2, one for all. Made when first asked for.
//!
//! ```text
//! schemas     kinds as definitions, in either dialect
//! operations  what can be asked of a resource, by path and method
//! v3          paths, as v3 has them
//! v2          paths, as v2 has them; what v2 cannot say is left out
//! gnostic     a v2 document in protobuf
//! ```

mod gnostic;
mod operations;
mod schemas;
mod v2;
mod v3;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::StatusCode;
use http::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::registry::{Registry, Served};
use crate::server::Server;
use crate::status::{Result, Status};
use crate::wire::{Body, Encoding, Response, alternatives, bytes_response, text_response, value_response};

/// The media type of a v2 document in protobuf, as it is answered; clients also ask for it with an `@`.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Documents that were made, each good for one state of its resources.
#[derive(Default)]
pub(crate) struct Cache {
    /// By group and version.
    v3: Mutex<HashMap<String, Document>>,
    v2: Mutex<Option<Whole>>,
}

#[derive(Clone)]
struct Document {
    /// What the document was made from; kept, so that the comparison by address holds.
    of: Vec<Arc<Served>>,
    hash: String,
    bytes: Bytes,
}

/// The v2 document in both forms.
#[derive(Clone)]
struct Whole {
    json: Document,
    protobuf: Document,
}

/// Serves the documents, and the index of those of v3.
pub(crate) fn serve(server: &Server, path: &str, query: &str, headers: &HeaderMap) -> Result<Response> {
    if path == "/openapi/v2" {
        return serve_v2(server, headers);
    }
    let registry = server.announced();
    let name = path.trim_start_matches("/openapi/v3").trim_matches('/');
    if name.is_empty() {
        let mut paths = BTreeMap::new();
        for (name, group, version) in documents(&registry) {
            let hash = document(server, &registry, &name, &group, &version).hash;
            let url = format!("/openapi/v3/{name}?hash={hash}");
            paths.insert(name, json!({"serverRelativeURL": url}));
        }
        return Ok(value_response(
            StatusCode::OK,
            Encoding::Json,
            &json!({"paths": paths}),
        ));
    }
    let Some((_, group, version)) = documents(&registry).into_iter().find(|(one, ..)| one == name) else {
        return Ok(text_response(StatusCode::NOT_FOUND, "404 page not found\n"));
    };
    let document = document(server, &registry, name, &group, &version);
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("hash="));
    let is_newest = asked
        .filter(|hash| !hash.is_empty())
        .map(|hash| hash == document.hash);
    let mut response = match is_newest {
        // Somebody has read an older index.
        Some(false) => moved(&format!("{path}?hash={}", document.hash), &document)?,
        _ => answer(headers, "application/json", document)?,
    };
    let fields = response.headers_mut();
    fields.insert(VARY, HeaderValue::from_static("Accept"));
    if is_newest == Some(true) {
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    Ok(response)
}

/// Where the document of this moment is.
fn moved(url: &str, document: &Document) -> Result<Response> {
    let mut response = bytes_response(StatusCode::MOVED_PERMANENTLY, "application/json", Body::empty());
    let location = HeaderValue::from_str(url).map_err(Status::internal)?;
    response.headers_mut().insert(LOCATION, location);
    response.headers_mut().insert(ETAG, document.tag()?);
    Ok(response)
}

fn serve_v2(server: &Server, headers: &HeaderMap) -> Result<Response> {
    let accept = headers
        .get(http::header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    let accept = accept.filter(|accept| !accept.trim().is_empty()).unwrap_or("*/*");
    let media = alternatives(accept).into_iter().find_map(|one| match one.media {
        "application/json" | "application/*" | "*/*" => Some("application/json"),
        V2_PROTOBUF | "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" => Some(V2_PROTOBUF),
        _ => None,
    });
    let media = media.ok_or_else(|| Status::not_acceptable(&["application/json", V2_PROTOBUF]))?;
    let whole = whole(server);
    let document = if media == V2_PROTOBUF {
        whole.protobuf
    } else {
        whole.json
    };
    let mut response = answer(headers, media, document)?;
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// A document, or only that the client has it already.
fn answer(headers: &HeaderMap, media: &'static str, document: Document) -> Result<Response> {
    let tag = document.tag()?;
    let known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|given| given.to_str().ok())
        .any(|given| names(given, &document.hash));
    let mut response = match known {
        true => bytes_response(StatusCode::NOT_MODIFIED, media, Body::empty()),
        false => bytes_response(StatusCode::OK, media, Body::full(document.bytes)),
    };
    response.headers_mut().insert(ETAG, tag);
    Ok(response)
}

/// Whether an `If-None-Match` names the document: one tag or several, weak or not, or any.
fn names(given: &str, hash: &str) -> bool {
    given.split(',').map(str::trim).any(|one| {
        let tag = one.strip_prefix("W/").unwrap_or(one);
        one == "*" || tag.trim_matches('"') == hash
    })
}

/// `(name, group, version)` of every v3 document.
fn documents(registry: &Registry) -> Vec<(String, Arc<str>, Arc<str>)> {
    let mut list: Vec<_> = registry
        .all()
        .map(|served| {
            let root = if served.group.is_empty() { "api" } else { "apis" };
            (
                format!("{root}/{}", served.api_version),
                served.group.clone(),
                served.version.clone(),
            )
        })
        .collect();
    list.sort();
    list.dedup();
    list
}

fn document(server: &Server, registry: &Registry, name: &str, group: &str, version: &str) -> Document {
    let resources: Vec<&Arc<Served>> = registry.of_version(group, version).collect();
    let mut cache = server.openapi.v3.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(document) = cache.get(name).filter(|document| document.is_of(&resources)) {
        return document.clone();
    }
    let bytes = json_bytes(&v3::build(&resources));
    let document = Document::new(&resources, bytes);
    cache.insert(name.to_owned(), document.clone());
    document
}

fn whole(server: &Server) -> Whole {
    let registry = server.announced();
    let resources: Vec<&Arc<Served>> = registry.all().collect();
    let mut cache = server.openapi.v2.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(whole) = cache.as_ref().filter(|whole| whole.json.is_of(&resources)) {
        return whole.clone();
    }
    let swagger = v2::build(&resources);
    let whole = Whole {
        json: Document::new(&resources, json_bytes(&swagger)),
        protobuf: Document::new(&resources, gnostic::document(&swagger)),
    };
    *cache = Some(whole.clone());
    whole
}

fn json_bytes(tree: &Value) -> Vec<u8> {
    serde_json::to_vec(tree).expect("a JSON tree always encodes into memory")
}

impl Document {
    fn new(of: &[&Arc<Served>], bytes: Vec<u8>) -> Self {
        let hash = Sha256::digest(&bytes);
        Self {
            of: of.iter().copied().cloned().collect(),
            hash: hash.iter().map(|byte| format!("{byte:02X}")).collect(),
            bytes: bytes.into(),
        }
    }

    fn tag(&self) -> Result<HeaderValue> {
        HeaderValue::from_str(&format!("\"{}\"", self.hash)).map_err(Status::internal)
    }

    fn is_of(&self, now: &[&Arc<Served>]) -> bool {
        self.of.len() == now.len()
            && self
                .of
                .iter()
                .zip(now)
                .all(|(known, now)| Arc::ptr_eq(known, now))
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
