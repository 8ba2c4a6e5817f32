//! The carrier at v1beta1: the versions of an object that was written at v2beta1, besides the one in `spec`.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde_json::{Map, Value, json};

use crate::canonical::digest;

/// Up to this many bytes it stays JSON that a person can read.
const PLAIN: usize = 4096;

/// No carrier unpacks to more: whoever may write annotations may write ours.
const UNPACKED_LIMIT: u64 = 16 << 20;

const PACKED: &str = "deflate:";

/// The versions that `spec` at v1beta1 leaves out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Carrier {
    /// The digest of the spec that it was made for.
    pub(super) digest: String,
    /// The index of `spec` among the versions; none if the object has no version.
    pub(super) at: Option<usize>,
    /// The other versions, in their order.
    pub(super) versions: Vec<Value>,
    /// Fields beside `versions`.
    pub(super) spec: Map<String, Value>,
    /// The value of our annotation at v2beta1, where a user wrote one.
    pub(super) annotation: Option<String>,
}

impl Carrier {
    /// As an annotation.
    pub(super) fn write(self) -> String {
        let mut fields = Map::new();
        fields.insert("from".to_owned(), json!("v2beta1"));
        fields.insert("digest".to_owned(), Value::String(self.digest));
        if let Some(at) = self.at {
            fields.insert("at".to_owned(), json!(at));
        }
        if !self.versions.is_empty() {
            fields.insert("versions".to_owned(), Value::Array(self.versions));
        }
        if !self.spec.is_empty() {
            fields.insert("spec".to_owned(), Value::Object(self.spec));
        }
        if let Some(annotation) = self.annotation {
            fields.insert("annotation".to_owned(), Value::String(annotation));
        }
        let plain = Value::Object(fields).to_string();
        if plain.len() <= PLAIN {
            plain
        } else {
            pack(&plain).unwrap_or(plain)
        }
    }

    /// From an annotation, if it is one of ours.
    pub(super) fn read(text: &str) -> Option<Self> {
        let unpacked;
        let plain = match text.strip_prefix(PACKED) {
            Some(packed) => {
                unpacked = unpack(packed)?;
                unpacked.as_str()
            }
            None => text,
        };
        let Value::Object(mut fields) = serde_json::from_str(plain).ok()? else {
            return None;
        };
        if fields.get("from") != Some(&json!("v2beta1")) {
            return None;
        }
        let at = match fields.get("at") {
            None => None,
            Some(at) => Some(usize::try_from(at.as_u64()?).ok()?),
        };
        let versions = match fields.remove("versions") {
            None => Vec::new(),
            Some(Value::Array(versions)) if at.is_some() => versions,
            Some(_) => return None,
        };
        let spec = match fields.remove("spec") {
            None => Map::new(),
            Some(Value::Object(spec)) if at.is_none() || !spec.contains_key("versions") => spec,
            Some(_) => return None,
        };
        let annotation = match fields.remove("annotation") {
            None => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => return None,
        };
        let digest = fields.get("digest")?.as_str()?.to_owned();
        Some(Self {
            digest,
            at,
            versions,
            spec,
            annotation,
        })
    }

    /// Whether the spec is the one that it was made for.
    pub(super) fn belongs_to(&self, spec: &Map<String, Value>) -> bool {
        self.digest == digest(spec)
    }
}

fn pack(plain: &str) -> Option<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain.as_bytes()).ok()?;
    let packed = STANDARD.encode(encoder.finish().ok()?);
    (packed.len() < plain.len()).then(|| format!("{PACKED}{packed}"))
}

fn unpack(packed: &str) -> Option<String> {
    let bytes = STANDARD.decode(packed).ok()?;
    let mut plain = String::new();
    let mut decoder = DeflateDecoder::new(bytes.as_slice()).take(UNPACKED_LIMIT + 1);
    decoder.read_to_string(&mut plain).ok()?;
    (plain.len() as u64 <= UNPACKED_LIMIT).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carrier(template: &str) -> Carrier {
        Carrier {
            digest: "00".into(),
            at: Some(1),
            versions: vec![json!({"version": "1", "template": template})],
            spec: Map::new(),
            annotation: Some("x".into()),
        }
    }

    #[test]
    fn small_ones_can_be_read_and_large_ones_are_packed() {
        let small = carrier("a").write();
        assert!(small.starts_with('{'), "{small}");
        assert_eq!(Carrier::read(&small), Some(carrier("a")));
        let text = "parameter: image: string\n".repeat(10_000);
        let large = carrier(&text).write();
        assert!(
            large.starts_with(PACKED) && large.len() < text.len() / 50,
            "{}",
            large.len()
        );
        assert_eq!(Carrier::read(&large), Some(carrier(&text)));
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        let unfit = [
            "",
            "{}",
            "[]",
            "null",
            "deflate:",
            "deflate:!",
            "deflate:AAAA",
            r#"{"from":"v1beta1","digest":""}"#,
            r#"{"from":"v2beta1"}"#,
            r#"{"from":"v2beta1","digest":"","at":-1}"#,
            r#"{"from":"v2beta1","digest":"","at":"0"}"#,
            r#"{"from":"v2beta1","digest":"","versions":[]}"#,
            r#"{"from":"v2beta1","digest":"","at":0,"versions":{}}"#,
            r#"{"from":"v2beta1","digest":"","at":0,"spec":{"versions":[]}}"#,
            r#"{"from":"v2beta1","digest":"","at":0,"annotation":1}"#,
        ];
        for text in unfit {
            assert_eq!(Carrier::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_bomb_does_not_go_off() {
        let bomb = pack(&" ".repeat(20 << 20)).unwrap();
        assert!(bomb.len() < 64 << 10);
        assert_eq!(Carrier::read(&bomb), None);
    }
}
