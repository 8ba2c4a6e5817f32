//! Quoted text, as a program of Go would have it.

use regex::Regex;
use std::sync::LazyLock;

/// In double quotes; what cannot be printed is escaped.
pub fn quote(text: &str) -> String {
    quoted(text.chars(), '"', is_printable)
}

/// In double quotes; what is not printable ASCII is escaped.
pub fn quote_to_ascii(text: &str) -> String {
    quoted(text.chars(), '"', |character| {
        character.is_ascii() && is_printable(character)
    })
}

/// In double quotes; what is not graphic is escaped. Spaces of other scripts are graphic.
pub fn quote_to_graphic(text: &str) -> String {
    quoted(text.chars(), '"', is_graphical)
}

/// A code point in single quotes; what cannot be printed is escaped.
pub fn quote_rune(rune: i64) -> String {
    quoted([character(rune)].into_iter(), '\'', is_printable)
}

/// A code point in single quotes; what is not printable ASCII is escaped.
pub fn quote_rune_to_ascii(rune: i64) -> String {
    quoted([character(rune)].into_iter(), '\'', |character| {
        character.is_ascii() && is_printable(character)
    })
}

/// A code point in single quotes; what is not graphic is escaped.
pub fn quote_rune_to_graphic(rune: i64) -> String {
    quoted([character(rune)].into_iter(), '\'', is_graphical)
}

/// Whether a code point can be printed: a letter, mark, number, punctuation, symbol, or the space of ASCII.
pub fn is_print(rune: i64) -> bool {
    valid(rune).is_some_and(is_printable)
}

/// Whether a code point is graphic: printable, or a space.
pub fn is_graphic(rune: i64) -> bool {
    valid(rune).is_some_and(is_graphical)
}

static PRINTABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").expect("the pattern is valid"));
static SPACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{Zs}$").expect("the pattern is valid"));

fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        '\0'..='\u{7f}' => false,
        _ => PRINTABLE.is_match(character.encode_utf8(&mut [0; 4])),
    }
}

fn is_graphical(character: char) -> bool {
    is_printable(character) || SPACE.is_match(character.encode_utf8(&mut [0; 4]))
}

fn valid(rune: i64) -> Option<char> {
    u32::try_from(rune).ok().and_then(char::from_u32)
}

fn character(rune: i64) -> char {
    valid(rune).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn quoted(characters: impl Iterator<Item = char>, mark: char, plain: fn(char) -> bool) -> String {
    let mut text = String::from(mark);
    for character in characters {
        match character {
            '\\' => text.push_str(r"\\"),
            _ if character == mark => text.extend(['\\', mark]),
            _ if plain(character) => text.push(character),
            '\u{7}' => text.push_str(r"\a"),
            '\u{8}' => text.push_str(r"\b"),
            '\u{c}' => text.push_str(r"\f"),
            '\n' => text.push_str(r"\n"),
            '\r' => text.push_str(r"\r"),
            '\t' => text.push_str(r"\t"),
            '\u{b}' => text.push_str(r"\v"),
            '\0'..='\u{7f}' => text.push_str(&format!(r"\x{:02x}", u32::from(character))),
            '\u{80}'..='\u{ffff}' => text.push_str(&format!(r"\u{:04x}", u32::from(character))),
            _ => text.push_str(&format!(r"\U{:08x}", u32::from(character))),
        }
    }
    text.push(mark);
    text
}
