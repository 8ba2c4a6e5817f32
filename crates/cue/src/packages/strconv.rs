//! Package `strconv`: numbers and strings from and to text.

mod float;
mod integer;
mod quote;

pub use float::{format_float, parse_float};
pub use integer::{atoi, format_int, parse_int, parse_uint};
pub use quote::{
    is_graphic, is_print, quote, quote_rune, quote_rune_to_ascii, quote_rune_to_graphic, quote_to_ascii,
    quote_to_graphic,
};

use super::CallError;

/// Bits of an integer of the machine: the constant `IntSize`.
pub const INT_SIZE: i64 = 64;

/// `1`, `t`, `true` and their like.
pub fn parse_bool(text: &str) -> Result<bool, CallError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(syntax("ParseBool", text)),
    }
}

/// `true` or `false`.
pub fn format_bool(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// The text that a string or bytes literal of CUE stands for.
pub fn unquote(text: &str) -> Result<String, CallError> {
    match crate::syntax::unquote(text) {
        Some(value) => Ok(String::from_utf8_lossy(&value).into_owned()),
        None if is_unterminated(text) => Err(CallError::new("invalid string: unmatched quote")),
        None => Err(CallError::new("invalid syntax")),
    }
}

fn is_unterminated(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    let opening = &text[..text.len() - rest.len()];
    match rest.chars().next() {
        Some(mark @ ('"' | '\'')) => !text.ends_with(&format!("{mark}{opening}")) || rest.len() == 1,
        _ => false,
    }
}

fn syntax(function: &str, text: &str) -> CallError {
    failed(function, text, "invalid syntax")
}

fn range(function: &str, text: &str) -> CallError {
    failed(function, text, "value out of range")
}

fn failed(function: &str, text: &str, reason: &str) -> CallError {
    CallError::Failed(format!("strconv.{function}: parsing {}: {reason}", quote(text)))
}

/// Whether the underscores of a literal stand between digits, or between a base prefix and a digit.
fn underscores_separate(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut previous = '^';
    let mut rest = text;
    let mut hexadecimal = false;
    if let [b'0', base @ (b'b' | b'o' | b'x' | b'B' | b'O' | b'X'), ..] = text.as_bytes() {
        previous = '0'; // the prefix counts as a digit
        hexadecimal = base.eq_ignore_ascii_case(&b'x');
        rest = &text[2..];
    }
    for character in rest.chars() {
        let digit = character.is_ascii_digit() || hexadecimal && character.is_ascii_hexdigit();
        match (digit, character, previous) {
            (true, ..) => previous = '0',
            (false, '_', '0') => previous = '_',
            (false, '_', _) | (false, _, '_') => return false,
            _ => previous = '!',
        }
    }
    previous != '_'
}

#[cfg(test)]
mod tests;
