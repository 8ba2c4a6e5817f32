//! Quoted strings.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

/// A string as `%q` prints it: in double quotes, with escapes for unprintable characters.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if prints(character) => out.push(character),
            _ => escape(&mut out, character),
        }
    }
    out.push('"');
    out
}

/// Whether a character is printable: letters, marks, numbers, punctuation, symbols and the space.
pub fn prints(character: char) -> bool {
    static VISIBLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());
    match character {
        ' '..='~' => true,
        _ if character.is_ascii() => false,
        _ => VISIBLE
            .as_ref()
            .is_some_and(|visible| visible.is_match(character.encode_utf8(&mut [0; 4]))),
    }
}

fn escape(out: &mut String, character: char) {
    let code = u32::from(character);
    // Writing to a string cannot fail.
    let _ = match code {
        0..0x80 => write!(out, "\\x{code:02x}"),
        0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_print_is_escaped() {
        let text = "a\"\\\n\r\t\u{7}\u{8}\u{b}\u{c}\u{0}\u{7f}\u{85}\u{200b}\u{e0001}é😀 ";
        let expected = r#""a\"\\\n\r\t\a\b\v\f\x00\x7f\u0085\u200b\U000e0001é😀 ""#;
        assert_eq!(quote(text), expected);
    }
}
