//! gzip for large responses, as upstream: from 128 KiB, fastest level.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;

use super::body::Content;
use super::{Body, Response};

const THRESHOLD: u64 = 128 << 10;

/// Compresses a response if it is large and the client accepts gzip.
pub(crate) fn compress(request: &HeaderMap, response: Response) -> Response {
    let takes = |value: &HeaderValue| {
        let names = value.to_str().unwrap_or_default().split(',');
        names
            .map(|name| name.split(';').next().unwrap_or_default().trim())
            .any(|name| name == "gzip")
    };
    let large = response
        .body()
        .size_hint()
        .exact()
        .is_some_and(|size| size >= THRESHOLD);
    if !large || !request.get_all(ACCEPT_ENCODING).iter().any(takes) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let body = match body.into_content() {
        Content::Full(bytes) => Body::stream(futures::stream::iter(Gzip::new(bytes.into_iter()))),
        Content::Chunks(chunks) => Body::stream(futures::stream::iter(Gzip::new(chunks))),
        other => Body::from_content(other),
    };
    head.headers
        .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers
        .append(VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(head, body)
}

/// A streaming gzip encoder.
struct Gzip<I> {
    pieces: I,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I: Iterator<Item = Bytes>> Gzip<I> {
    fn new(pieces: I) -> Self {
        Self {
            pieces,
            encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())),
        }
    }
}

impl<I: Iterator<Item = Bytes>> Iterator for Gzip<I> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        loop {
            let encoder = self.encoder.as_mut()?;
            let Some(piece) = self.pieces.next() else {
                return self.encoder.take()?.finish().ok().map(Bytes::from);
            };
            // Writing into memory does not fail.
            encoder.write_all(&piece).ok()?;
            let ready = std::mem::take(encoder.get_mut());
            if !ready.is_empty() {
                return Some(ready.into());
            }
        }
    }
}
