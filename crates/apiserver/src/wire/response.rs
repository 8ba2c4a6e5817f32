//! Builds HTTP responses.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

use super::{Body, Encoding};
use crate::status::{Result, Status};

/// An HTTP response.
pub(crate) type Response = http::Response<Body>;

/// A response of encoded bytes.
pub(crate) fn bytes_response(code: StatusCode, media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A response of a JSON tree in the negotiated encoding.
pub(crate) fn value_response(code: StatusCode, encoding: Encoding, value: &Value) -> Response {
    match encode(encoding, value) {
        Ok(bytes) => bytes_response(code, encoding.media_type(), Body::full(bytes)),
        Err(status) => status_response(Encoding::Json, &status),
    }
}

/// Encodes a tree. Only objects of built-in kinds have a protobuf form.
pub(crate) fn encode(encoding: Encoding, value: &Value) -> Result<Bytes> {
    let bytes = match encoding {
        Encoding::Json => serde_json::to_vec(value).expect("a JSON tree always encodes into memory"),
        Encoding::Yaml => serde_saphyr::to_string(value).unwrap_or_default().into_bytes(),
        Encoding::Protobuf => {
            let text = |field: &str| value[field].as_str().unwrap_or_default();
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let schema = cambium_builtin::kind_schema(group, version, kind).ok_or_else(|| {
                Status::no_protobuf(format!(
                    "object {api_version}, Kind={kind} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
                ))
            })?;
            cambium_builtin::protobuf::encode(value, schema)
                .map_err(|error| Status::internal(format!("encoding {kind} to protobuf: {error}")))?
        }
    };
    Ok(bytes.into())
}

/// A response of a `Status` in the negotiated encoding.
pub(crate) fn status_response(encoding: Encoding, status: &Status) -> Response {
    let mut response = value_response(status.code, encoding, &status.to_json());
    let wait = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    if wait > 0 {
        response.headers_mut().insert(RETRY_AFTER, wait.into());
    }
    response
}

/// A plain text response.
pub(crate) fn text_response(code: StatusCode, text: impl Into<String>) -> Response {
    let mut response = bytes_response(code, "text/plain; charset=utf-8", Body::full(text.into()));
    response
        .headers_mut()
        .insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// A streaming response of JSON or protobuf frames.
pub(crate) fn stream_response(
    encoding: Encoding,
    stream: impl futures::Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let media_type = match encoding {
        Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Encoding::Json | Encoding::Yaml => Encoding::Json.media_type(),
    };
    bytes_response(StatusCode::OK, media_type, Body::stream(stream))
}
