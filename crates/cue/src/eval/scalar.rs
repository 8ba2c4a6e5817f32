//! Concrete scalars.

use crate::eval::kind::Kind;
use crate::number::Number;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A concrete value that is neither struct nor list.
#[derive(Debug, Clone)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl Scalar {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::NULL,
            Self::Bool(_) => Kind::BOOL,
            Self::Number(number) if number.is_integer() => Kind::INT,
            Self::Number(_) => Kind::FLOAT,
            Self::String(_) => Kind::STRING,
            Self::Bytes(_) => Kind::BYTES,
        }
    }

    /// The evaluation steps of processing it.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(number) => number.weight(),
            Self::String(text) => text.len() as u64 / 256,
            Self::Bytes(bytes) => bytes.len() as u64 / 256,
        }
    }

    /// The same value of the same kind: what unification asks.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.compare(other) == Some(Ordering::Equal)
    }

    /// The order of two values, where they have one. `1` and `1.0` are equal here.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Null, Self::Null) => Some(Ordering::Equal),
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            (Self::Number(left), Self::Number(right)) => Some(left.compare(right)),
            (Self::String(left), Self::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
            (Self::Bytes(left), Self::Bytes(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }
}

/// Maximum length of a text in a message.
const SHOWN: usize = 512;

/// As messages show it: long texts are cut.
impl fmt::Display for Scalar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::String(text) => {
                let shown = &text[..text.floor_char_boundary(SHOWN)];
                let more = if shown.len() < text.len() { "…" } else { "" };
                let shown = crate::data::Data::String(format!("{shown}{more}"));
                write!(out, "{}", shown.to_json())
            }
            Self::Bytes(bytes) => {
                out.write_str("'")?;
                for chunk in bytes[..bytes.len().min(SHOWN)].utf8_chunks() {
                    write!(out, "{}", chunk.valid().escape_debug())?;
                    for byte in chunk.invalid() {
                        write!(out, "\\x{byte:02x}")?;
                    }
                }
                out.write_str("'")
            }
        }
    }
}
