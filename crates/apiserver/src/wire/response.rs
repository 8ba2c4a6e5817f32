//! Putting answers on the wire.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

use super::{Body, Encoding};
use crate::status::Status;

/// A response of this server.
pub(crate) type Response = http::Response<Body>;

/// Bytes that are ready to be sent.
pub(crate) fn bytes_response(code: StatusCode, media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A tree, encoded as the client wants it.
pub(crate) fn value_response(code: StatusCode, encoding: Encoding, value: &Value) -> Response {
    let bytes = encode(encoding, value);
    bytes_response(code, encoding.media_type(), Body::full(bytes))
}

/// Encodes a tree.
pub(crate) fn encode(encoding: Encoding, value: &Value) -> Bytes {
    match encoding {
        Encoding::Json => serde_json::to_vec(value)
            .expect("a JSON tree always encodes into memory")
            .into(),
        Encoding::Yaml => serde_saphyr::to_string(value)
            .unwrap_or_default()
            .into_bytes()
            .into(),
    }
}

/// A failure.
pub(crate) fn status_response(status: &Status) -> Response {
    let mut response = value_response(status.code, Encoding::Json, &status.to_json());
    let wait = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    if wait > 0 {
        response.headers_mut().insert(RETRY_AFTER, wait.into());
    }
    response
}

/// Plain text: health checks.
pub(crate) fn text_response(code: StatusCode, text: impl Into<String>) -> Response {
    let mut response = bytes_response(code, "text/plain; charset=utf-8", Body::full(text.into()));
    response
        .headers_mut()
        .insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// Frames of JSON that keep coming.
pub(crate) fn stream_response(stream: impl futures::Stream<Item = Bytes> + Send + 'static) -> Response {
    bytes_response(StatusCode::OK, Encoding::Json.media_type(), Body::stream(stream))
}
