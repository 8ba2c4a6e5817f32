//! Go's quoted strings and characters.

use cambium_go_text::prints;

/// `strconv.Quote`.
pub(crate) use cambium_go_text::quote as quoted;

/// `strconv.QuoteToASCII`.
pub(super) fn quoted_ascii(text: &str) -> String {
    quote(text, '"', |character| character.is_ascii() && prints(character))
}

pub(super) fn quoted_character(character: char) -> String {
    quote(character.encode_utf8(&mut [0; 4]), '\'', prints)
}

pub(super) fn quoted_character_ascii(character: char) -> String {
    quote(character.encode_utf8(&mut [0; 4]), '\'', |character| {
        character.is_ascii() && prints(character)
    })
}

/// Whether the text can stand between backquotes: no control characters but tabs.
pub(super) fn can_be_raw(text: &str) -> bool {
    !text.chars().any(|character| {
        character == '`' || character == '\u{feff}' || (character.is_ascii_control() && character != '\t')
    })
}

fn quote(text: &str, delimiter: char, printable: impl Fn(char) -> bool) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(delimiter);
    for character in text.chars() {
        match character {
            '\\' => quoted.push_str("\\\\"),
            _ if character == delimiter => quoted.extend(['\\', character]),
            _ if printable(character) => quoted.push(character),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\0'..=' ' | '\u{7f}' => quoted.push_str(&format!("\\x{:02x}", u32::from(character))),
            '\u{80}'..='\u{ffff}' => quoted.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => quoted.push_str(&format!("\\U{:08x}", u32::from(character))),
        }
    }
    quoted.push(delimiter);
    quoted
}
