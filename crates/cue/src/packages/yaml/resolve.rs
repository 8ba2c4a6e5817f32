//! Resolves the type of plain scalars.

use crate::packages::strconv;
use regex::Regex;
use std::sync::LazyLock;

/// The type of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Int,
    Float,
    String,
}

static FLOAT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$").expect("the pattern is valid")
});

/// The type of an unquoted scalar without a tag. Times are strings, as in CUE.
pub(super) fn resolve(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => return Kind::Bool,
        _ if is_not_finite(text) => return Kind::Float,
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') if strconv::parse_float(text, 64).is_ok() => Kind::Float,
        Some(b'0'..=b'9' | b'+' | b'-') => number(&text.replace('_', "")),
        _ => Kind::String,
    }
}

/// Infinities and what is not a number.
pub(super) fn is_not_finite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

fn number(text: &str) -> Kind {
    if strconv::parse_int(text, 0, 64).is_ok() || strconv::parse_uint(text, 0, 64).is_ok() {
        return Kind::Int;
    }
    match FLOAT.is_match(text) && strconv::parse_float(text, 64).is_ok() {
        true => Kind::Float,
        false => Kind::String,
    }
}
