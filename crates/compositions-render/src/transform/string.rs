//! Texts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha1::{Digest as _, Sha1};
use sha2::{Sha256, Sha512};

use super::{NotJson, Passed, TransformError};
use crate::gofmt;
use crate::regexp::Regex;

/// A string transform.
#[derive(Debug, Clone)]
pub enum StringTransform {
    /// A Go format with one argument.
    Format(String),
    /// Another form of the same text.
    Convert(StringConversion),
    /// Without this at its start.
    TrimPrefix(String),
    /// Without this at its end.
    TrimSuffix(String),
    /// The part of the text that a group of an expression matches.
    Regexp {
        /// The expression.
        regexp: Regex,
        /// The expression as it was written.
        pattern: String,
        /// The group; 0 is the whole match.
        group: usize,
    },
    /// The elements of an array, with this between them.
    Join(String),
    /// The elements of an array, each with this after it, and then one byte less: what the patch-and-transform function does.
    JoinAndCut(String),
    /// With every occurrence of one text replaced by another.
    Replace {
        /// What is looked for.
        search: String,
        /// What takes its place.
        replace: String,
    },
}

/// What a text is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the API and say it")]
pub enum StringConversion {
    ToUpper,
    ToLower,
    ToJson,
    ToBase64,
    FromBase64,
    ToSha1,
    ToSha256,
    ToSha512,
    ToAdler32,
}

impl StringTransform {
    pub(super) fn apply(&self, input: &Passed) -> Result<String, TransformError> {
        Ok(match self {
            Self::Format(format) => gofmt::sprintf(format, &[gofmt::Argument::from(input)])?,
            Self::Convert(conversion) => conversion.apply(input)?,
            Self::TrimPrefix(prefix) => {
                let text = gofmt::plain(input);
                text.strip_prefix(prefix.as_str()).unwrap_or(&text).to_owned()
            }
            Self::TrimSuffix(suffix) => {
                let text = gofmt::plain(input);
                text.strip_suffix(suffix.as_str()).unwrap_or(&text).to_owned()
            }
            Self::Regexp {
                regexp,
                pattern,
                group,
            } => {
                let text = gofmt::plain(input);
                let groups = regexp.captures(&text).filter(|groups| *group < groups.len());
                let groups = groups.ok_or_else(|| TransformError::NoMatch {
                    pattern: gofmt::quoted(pattern),
                    group: *group,
                })?;
                // A group that took no part in the match is empty.
                groups.get(*group).map_or("", |group| group.as_str()).to_owned()
            }
            Self::Join(separator) => {
                let texts = texts(input)?;
                fits(joined(&texts, separator))?;
                texts.join(separator)
            }
            Self::JoinAndCut(separator) => {
                let texts = texts(input)?;
                fits(joined(&texts, separator))?;
                let mut text: String = texts.iter().flat_map(|text| [text, separator.as_str()]).collect();
                if !separator.is_empty() {
                    cut_one_byte(&mut text);
                }
                text
            }
            Self::Replace { search, replace } => {
                let text = gofmt::plain(input);
                let times = text.matches(search.as_str()).count();
                fits(text.len().saturating_add(replace.len().saturating_mul(times)))?;
                text.replace(search, replace)
            }
        })
    }
}

/// Texts that are longer do not fit into an object, wherever they go.
const LONGEST: usize = 4 << 20;

fn fits(length: usize) -> Result<(), TransformError> {
    (length <= LONGEST)
        .then_some(())
        .ok_or(TransformError::Grown { limit: LONGEST })
}

fn joined(texts: &[String], separator: &str) -> usize {
    let texts = texts
        .iter()
        .map(|text| text.len().saturating_add(separator.len()));
    texts.fold(0, usize::saturating_add)
}

fn texts(input: &Passed) -> Result<Vec<String>, TransformError> {
    let Passed::Json(Value::Array(elements)) = input else {
        return Err(TransformError::JoinInput);
    };
    Ok(elements.iter().map(gofmt::plain).collect())
}

/// A character that is cut in the middle leaves one mark for each byte that remains of it.
fn cut_one_byte(text: &mut String) {
    if let Some(last) = text.pop() {
        text.extend(std::iter::repeat_n(
            char::REPLACEMENT_CHARACTER,
            last.len_utf8() - 1,
        ));
    }
}

impl StringConversion {
    fn apply(self, input: &Passed) -> Result<String, TransformError> {
        let text = match self {
            Self::ToUpper => gofmt::plain(input).chars().map(upper).collect(),
            Self::ToLower => gofmt::plain(input).chars().map(lower).collect(),
            Self::ToJson => cambium_go_text::json(json(input).map_err(TransformError::Marshal)?),
            Self::ToBase64 => STANDARD.encode(gofmt::plain(input)),
            Self::FromBase64 => from_base64(&gofmt::plain(input))?,
            Self::ToSha1 => hexadecimal(&Sha1::digest(hashed(input).map_err(TransformError::Hash)?)),
            Self::ToSha256 => hexadecimal(&Sha256::digest(hashed(input).map_err(TransformError::Hash)?)),
            Self::ToSha512 => hexadecimal(&Sha512::digest(hashed(input).map_err(TransformError::Hash)?)),
            Self::ToAdler32 => {
                adler32(hashed(input).map_err(TransformError::Checksum)?.as_bytes()).to_string()
            }
        };
        // What grows a little with each transform grows without end in a chain of them.
        fits(text.len())?;
        Ok(text)
    }
}

/// A text is hashed as it is, everything else as JSON.
fn hashed(input: &Passed) -> Result<String, NotJson> {
    Ok(match json(input)? {
        Value::String(text) => text.clone(),
        other => cambium_go_text::json(other),
    })
}

fn json(input: &Passed) -> Result<&Value, NotJson> {
    match input {
        Passed::Json(value) => Ok(value),
        Passed::NotFinite(float) => Err(NotJson::new(*float)),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

/// One character for one character, as Go has it: `ß` stays as it is.
fn upper(character: char) -> char {
    let simple = match u32::from(character) {
        // With an iota below: the capital is one character, but its usual spelling is two.
        code @ (0x1f80..=0x1faf) if code & 8 == 0 => code + 8,
        code @ (0x1fb3 | 0x1fc3 | 0x1ff3) => code + 9,
        code => code,
    };
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(mapped), None) => mapped,
        _ => char::from_u32(simple).unwrap_or(character),
    }
}

fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

/// The text in base64, line breaks ignored, with the position of the first byte that is wrong.
fn from_base64(text: &str) -> Result<String, TransformError> {
    let kept: Vec<(usize, u8)> = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let bytes: Vec<u8> = kept.iter().map(|(_, byte)| *byte).collect();
    // Go does not mind bits that are left over at the end.
    let lenient = base64::engine::GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        base64::engine::GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    match lenient.decode(&bytes) {
        Ok(decoded) => Ok(text_of(&decoded)),
        Err(_) => {
            let position = first_illegal(&bytes);
            let position = kept.get(position).map_or(text.len(), |(position, _)| *position);
            Err(TransformError::Base64 { position })
        }
    }
}

/// Where Go's decoder stops.
fn first_illegal(bytes: &[u8]) -> usize {
    let data = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .count();
    let group = data / 4 * 4;
    match (bytes.get(data), data % 4) {
        // The text ends inside a group.
        (None, 0) => data,
        (None, _) => group,
        (Some(b'='), 2) if bytes.get(data + 1) == Some(&b'=') => data + 2,
        (Some(b'='), 2) if data + 1 == bytes.len() => bytes.len(),
        (Some(b'='), 3) => data + 1,
        (Some(_), _) => data,
    }
}

/// Bytes as JSON would carry them: each one that is no text becomes a mark.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}
