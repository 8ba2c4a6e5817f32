//! Styles of YAML strings.

use crate::packages::yaml::resolve::{Kind, resolve};
use regex::Regex;
use std::sync::LazyLock;

/// The ways to write a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// Strings that YAML 1.1 readers interpret as other types.
static LEGACY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        "^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|t|T|f|F|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|\\.Nan)$",
        // Dates, times and numbers to the base of 60.
        "|^[-+0-9:. \\t]+(?:[-:]|[tT])[-+0-9:. \\t]+[zZ]?$",
        "|^0x[a-fA-F0-9]+$",
    ))
    .expect("the pattern is valid")
});

/// The style of a string that is a value.
pub(super) fn value_style(text: &str) -> Style {
    let analysis = Analysis::of(text);
    match preferred(text) {
        Style::Plain if analysis.plain => Style::Plain,
        Style::Plain if analysis.single_quoted => Style::SingleQuoted,
        Style::Literal if analysis.literal => Style::Literal,
        _ => Style::DoubleQuoted,
    }
}

/// The style of a string before a colon.
pub(super) fn key_style(text: &str) -> Style {
    match value_style(text) {
        Style::Literal => Style::DoubleQuoted,
        style => style,
    }
}

/// Whether a string has more than one line.
pub(super) fn has_line_break(text: &str) -> bool {
    text.contains(is_break)
}

pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The escape of a character in double quotes, when it needs one.
pub(super) fn escape(character: char) -> Option<String> {
    if is_printable(character) && !is_break(character) && character != '"' && character != '\\' {
        return None;
    }
    let code = u32::from(character);
    Some(match character {
        '\0' => r"\0".to_owned(),
        '\u{7}' => r"\a".to_owned(),
        '\u{8}' => r"\b".to_owned(),
        '\t' => r"\t".to_owned(),
        '\n' => r"\n".to_owned(),
        '\u{b}' => r"\v".to_owned(),
        '\u{c}' => r"\f".to_owned(),
        '\r' => r"\r".to_owned(),
        '\u{1b}' => r"\e".to_owned(),
        '"' => "\\\"".to_owned(),
        '\\' => r"\\".to_owned(),
        '\u{85}' => r"\N".to_owned(),
        '\u{2028}' => r"\L".to_owned(),
        '\u{2029}' => r"\P".to_owned(),
        _ if code <= 0xff => format!(r"\x{code:02X}"),
        _ if code <= 0xffff => format!(r"\u{code:04X}"),
        _ => format!(r"\U{code:08X}"),
    })
}

fn preferred(text: &str) -> Style {
    if text.contains('\n') {
        return Style::Literal;
    }
    if LEGACY.is_match(text) || resolve(text) != Kind::String {
        return Style::DoubleQuoted;
    }
    Style::Plain
}

fn is_printable(character: char) -> bool {
    match character {
        '\n' | ' '..='~' => true,
        '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        '\u{a0}'..='\u{ffff}' => true,
        _ => false,
    }
}

/// Which styles can write a string.
struct Analysis {
    plain: bool,
    single_quoted: bool,
    literal: bool,
}

impl Analysis {
    fn of(text: &str) -> Self {
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut breaks, mut special, mut tabs) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        let mut previous = None;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let before_blank = characters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            let after_blank =
                previous.is_none_or(|previous| matches!(previous, ' ' | '\t') || is_break(previous));
            indicators |= match character {
                '#' if previous.is_some() => after_blank,
                ':' => before_blank,
                '-' | '?' => previous.is_none() && before_blank,
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                | '`' => previous.is_none(),
                _ => false,
            };
            tabs |= character == '\t';
            special |= character != '\t' && !is_printable(character);
            breaks |= is_break(character);
            break_space |= character == ' ' && previous.is_some_and(is_break);
            space_break |= is_break(character) && previous == Some(' ');
            previous = Some(character);
        }
        let edge = |character: Option<char>| character.is_some_and(|c| c == ' ' || is_break(c));
        let edges = edge(text.chars().next()) || edge(text.chars().next_back());
        let single_quoted = !(break_space || space_break || tabs || special);
        Self {
            plain: single_quoted && !edges && !breaks && !indicators,
            single_quoted,
            literal: !(text.is_empty() || text.ends_with(' ') || space_break || special),
        }
    }
}
