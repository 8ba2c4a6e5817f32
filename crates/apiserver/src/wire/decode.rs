//! Reading request bodies: bounded, and in whichever format the client says it is.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde_json::Value;

use super::json;
use crate::status::{Result, Status};

/// The largest request body.
const BODY_LIMIT: usize = 3 << 20;

/// What a body is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Yaml,
    Protobuf,
}

impl Media {
    /// Reads a `Content-Type`; none at all is JSON.
    pub(crate) fn of(content_type: Option<&str>) -> Result<Self> {
        let media = content_type
            .unwrap_or("application/json")
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        match media {
            "application/json" | "" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            _ => Err(Status::unsupported_media_type(&[
                "application/json",
                "application/yaml",
                "application/vnd.kubernetes.protobuf",
            ])),
        }
    }
}

/// A decoded body.
#[derive(Debug, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// Fields that were given twice, for field validation.
    pub(crate) duplicates: Vec<String>,
}

/// Reads a whole body, up to the limit.
pub(crate) async fn read_body<B>(body: B) -> Result<Bytes>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display,
{
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Status::bad_request(format!("unable to read the request body: {error}")))?;
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() > BODY_LIMIT {
                return Err(Status::too_large(format!(
                    "Request entity too large: limit is {BODY_LIMIT}"
                )));
            }
            if whole.is_empty() && body.is_end_stream() {
                return Ok(data);
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole.freeze())
}

/// Decodes a body into a tree.
pub(crate) fn decode(media: Media, bytes: &[u8]) -> Result<Decoded> {
    let refuse = |error: String| {
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {{}}): {error}"
        ))
    };
    match media {
        Media::Json => {
            let (value, duplicates) = json::parse(bytes).map_err(|error| refuse(error.to_string()))?;
            Ok(Decoded { value, duplicates })
        }
        Media::Yaml => {
            let text = std::str::from_utf8(bytes).map_err(|error| refuse(error.to_string()))?;
            let value = serde_saphyr::from_str(text)
                .map_err(|error| Status::bad_request(format!("error converting YAML to JSON: {error}")))?;
            Ok(Decoded {
                value,
                duplicates: vec![],
            })
        }
        Media::Protobuf => {
            let value =
                cambium_builtin::protobuf::decode(bytes).map_err(|error| refuse(error.to_string()))?;
            Ok(Decoded {
                value,
                duplicates: vec![],
            })
        }
    }
}
