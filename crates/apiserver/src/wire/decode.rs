//! Reads and decodes request bodies, with limits on size and time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

use super::json;
use crate::status::{Result, Status};

/// The largest request body.
pub(crate) const BODY_LIMIT: usize = 3 << 20;

/// Default read timeout of a body: upstream's request timeout.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The media type of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Yaml,
    Protobuf,
}

impl Media {
    /// Parses a `Content-Type`; without one it is JSON.
    pub(crate) fn of(content_type: Option<&str>) -> Result<Self> {
        let media = content_type
            .filter(|text| !text.is_empty())
            .unwrap_or("application/json")
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        match media.to_ascii_lowercase().as_str() {
            "application/json" => Ok(Self::Json),
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
    /// Duplicate fields, for field validation.
    pub(crate) duplicates: Vec<String>,
}

/// Reads a whole body, up to the limit.
pub(crate) async fn read_body<B>(body: B, timeout: Duration) -> Result<Bytes>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display,
{
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    let deadline = tokio::time::Instant::now() + timeout;
    while let Some(frame) = tokio::time::timeout_at(deadline, body.frame())
        .await
        .map_err(|_| Status::timeout("the request body did not arrive in time"))?
    {
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

/// Decodes a body; the error is that of upstream's decoder.
pub(crate) fn decode(media: Media, bytes: &[u8]) -> Result<Decoded, String> {
    match media {
        Media::Json => {
            decode_json(bytes).map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
        }
        Media::Yaml => decode_yaml(bytes),
        Media::Protobuf => {
            let value = cambium_builtin::protobuf::decode(bytes).map_err(|error| error.to_string())?;
            let duplicates = vec![];
            Ok(Decoded { value, duplicates })
        }
    }
}

/// Decodes JSON. Invalid UTF-8 is replaced, as Go does.
pub(crate) fn decode_json(bytes: &[u8]) -> Result<Decoded, String> {
    let text = String::from_utf8_lossy(bytes);
    let (value, duplicates) = json::parse(&text).map_err(|error| json_problem(&error))?;
    Ok(Decoded { value, duplicates })
}

/// The syntax error of a JSON document without its position, which upstream does not print.
fn json_problem(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Decodes the first YAML document. Of a duplicate key, the last value counts.
pub(crate) fn decode_yaml(bytes: &[u8]) -> Result<Decoded, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut duplicates = vec![];
    let value = match first_document(&text, DuplicateKeyPolicy::Error) {
        Err(error) if error.contains("duplicate mapping key") => {
            duplicates.extend(duplicate_key(&error));
            first_document(&text, DuplicateKeyPolicy::LastWins)?
        }
        other => other?,
    };
    Ok(Decoded { value, duplicates })
}

fn first_document(text: &str, policy: DuplicateKeyPolicy) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        duplicate_keys: policy,
        // As upstream's reader has it: `0644` is 420.
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    // Further documents are ignored, with their errors.
    let mut reader = text.as_bytes();
    let first = serde_saphyr::read_with_options::<_, Value>(&mut reader, options).next();
    first
        .unwrap_or(Ok(Value::Null))
        .map_err(|error| format!("yaml: {error}"))
}

/// Upstream's strict decoding error for the first duplicate key of a YAML (or JSON) document.
pub(crate) fn repeated_key(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let error = first_document(&text, DuplicateKeyPolicy::Error).err()?;
    let key = duplicate_key(&error)?;
    let (_, place) = error.split_once("line ")?;
    let line = place.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(format!(
        "error converting YAML to JSON: yaml: unmarshal errors:\n  line {line}: key {key:?} already set in map"
    ))
}

/// `metadata` from `line 5 column 1: duplicate mapping key: metadata, …`.
fn duplicate_key(error: &str) -> Option<String> {
    let (_, key) = error.split_once("duplicate mapping key: ")?;
    Some(key.split(',').next().unwrap_or(key).trim().to_owned())
}

/// The beginning of a body for error messages: as text if it looks like JSON, else hexadecimal.
pub(crate) fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (shown, more) = match bytes.len() > SHOWN {
        true => (&bytes[..SHOWN], " ..."),
        false => (bytes, ""),
    };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_named_with_its_line() {
        let said = |text: &str| repeated_key(text.as_bytes());
        let expected =
            "error converting YAML to JSON: yaml: unmarshal errors:\n  line 4: key \"b\" already set in map";
        assert_eq!(said("\na:\n  b: 1\n  b: 2\n").as_deref(), Some(expected));
        assert_eq!(
            said("{\n\"a\": 1,\n\"b\": 2,\n\"b\": 3}").as_deref(),
            Some(expected)
        );
        assert_eq!(said("a: 1\nb: 2\n"), None);
    }
}
