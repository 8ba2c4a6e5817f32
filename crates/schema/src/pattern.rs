//! Regular expressions in Go's dialect, on Rust's engine.
//!
//! The two are close relatives (RE2), so a pattern is translated where they differ: `\d`, `\w`, `\s`
//! and `\b` are about ASCII, `[` needs no escape inside a class, a `{` that is no repetition is
//! itself, `\Q…\E` and octal escapes exist.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// A lazily compiled pattern. Says nothing the pattern's text does not say, so all are equal.
#[derive(Debug, Clone, Default)]
pub struct Matcher(OnceLock<Option<Regex>>);

impl PartialEq for Matcher {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Matcher {
    /// A pattern not compiled yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Whether `text` contains a match of `pattern`; nothing matches a pattern that does not compile.
    pub fn is_match(&self, pattern: &str, text: &str) -> bool {
        self.0
            .get_or_init(|| compile(pattern).ok())
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}

/// Memory that one compiled pattern may take.
const SIZE_LIMIT: usize = 32 << 20;

/// Compiles a pattern of Go's dialect; the error is worded as Go words it, as far as the cause is known.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| explain(pattern, &error))
}

fn explain(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let has = |part: &str| text.contains(part);
    let cause = if has("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if has("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if has("look-around") {
        let start = ["(?=", "(?!", "(?<"]
            .into_iter()
            .find(|start| pattern.contains(start))
            .unwrap_or("(?");
        format!("invalid or unsupported Perl syntax: `{start}`")
    } else if has("repetition operator missing expression") {
        let operator = pattern
            .chars()
            .find(|character| "*+?".contains(*character))
            .unwrap_or('*');
        format!("missing argument to repetition operator: `{operator}`")
    } else if has("invalid character class range") || has("invalid range") {
        format!("invalid character class range: `{pattern}`")
    } else {
        let reason = text
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        format!("{reason}: `{pattern}`")
    };
    format!("error parsing regexp: {cause}")
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' => translate_escape(&mut rest, &mut out)?,
            '[' => translate_class(pattern, &mut rest, &mut out)?,
            '{' => match repetition(&rest) {
                Some(highest) if highest > 1000 => {
                    let count: String = rest.clone().take_while(|character| *character != '}').collect();
                    return Err(format!(
                        "error parsing regexp: invalid repeat count: `{{{count}}}`"
                    ));
                }
                Some(_) => out.push('{'),
                None => out.push_str("\\{"),
            },
            _ => out.push(character),
        }
    }
    Ok(out)
}

/// The highest count, if what follows `{` is `n}`, `n,}` or `n,m}`.
fn repetition(rest: &Peekable<Chars<'_>>) -> Option<u64> {
    let text: String = rest.clone().take(32).collect();
    let (inside, _) = text.split_once('}')?;
    let number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse().unwrap_or(u64::MAX))
    };
    match inside.split_once(',') {
        None if !inside.is_empty() => number(inside),
        Some((low, "")) if !low.is_empty() => number(low),
        Some((low, high)) if !low.is_empty() => Some(number(low)?.max(number(high)?)),
        _ => None,
    }
}

fn translate_escape(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    let Some(character) = rest.next() else {
        return Err("error parsing regexp: trailing backslash at end of expression: ``".to_owned());
    };
    match character {
        'Q' => quoted(rest, out),
        'b' => out.push_str("(?-u:\\b)"),
        '<' | '>' => out.push(character),
        '0'..='7' => match octal(character, rest) {
            Some(literal) => push_literal(out, literal),
            None => {
                return Err(format!(
                    "error parsing regexp: invalid escape sequence: `\\{character}`"
                ));
            }
        },
        'Z' | 'G' | 'h' | 'H' | 'R' | 'K' | '8' | '9' => {
            return Err(format!(
                "error parsing regexp: invalid escape sequence: `\\{character}`"
            ));
        }
        _ => match ascii_class(character) {
            Some(class) => out.push_str(class),
            None => out.extend(['\\', character]),
        },
    }
    Ok(())
}

fn quoted(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    while let Some(character) = rest.next() {
        if character == '\\' && rest.peek() == Some(&'E') {
            rest.next();
            return;
        }
        push_literal(out, character);
    }
}

/// `\0…` is octal; `\1` to `\7` are only when more digits follow (alone they are back-references).
fn octal(first: char, rest: &mut Peekable<Chars<'_>>) -> Option<char> {
    let mut value = first.to_digit(8)?;
    let mut digits = 1;
    while digits < 3
        && let Some(digit) = rest.peek().and_then(|character| character.to_digit(8))
    {
        rest.next();
        value = value * 8 + digit;
        digits += 1;
    }
    (first == '0' || digits > 1)
        .then(|| char::from_u32(value))
        .flatten()
}

fn ascii_class(name: char) -> Option<&'static str> {
    Some(match name {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => "[\\t\\n\\f\\r ]",
        'S' => "[^\\t\\n\\f\\r ]",
        _ => return None,
    })
}

fn push_literal(out: &mut String, character: char) {
    if character.is_ascii_punctuation() && !matches!(character, '<' | '>') {
        out.push('\\');
    }
    out.push(character);
}

fn translate_class(pattern: &str, rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    out.push('[');
    if rest.peek() == Some(&'^') {
        rest.next();
        out.push('^');
    }
    let mut first = true;
    loop {
        let Some(character) = rest.next() else {
            return Err(format!(
                "error parsing regexp: missing closing ]: `{}`",
                class_start(pattern)
            ));
        };
        match character {
            ']' if !first => break,
            '[' if rest.peek() == Some(&':') => posix_class(rest, out),
            '-' if range_operator(rest, first) => out.push('-'),
            '\\' => class_escape(rest, out)?,
            _ => push_literal(out, character),
        }
        first = false;
    }
    out.push(']');
    Ok(())
}

fn class_start(pattern: &str) -> &str {
    pattern.rfind('[').map_or(pattern, |index| &pattern[index..])
}

/// A `-` between two ends of a range, as opposed to one at either end of the class.
fn range_operator(rest: &mut Peekable<Chars<'_>>, first: bool) -> bool {
    !first && rest.peek().is_some_and(|next| *next != ']')
}

fn posix_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let ahead: String = rest.clone().collect();
    match ahead.find(":]") {
        Some(end) => {
            out.push('[');
            out.push_str(&ahead[..end + 2]);
            for _ in ahead[..end + 2].chars() {
                rest.next();
            }
        }
        None => out.push_str("\\["),
    }
}

fn class_escape(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    match rest.peek() {
        Some('b' | 'B' | 'A' | 'z') => {
            let character = rest.next().unwrap_or_default();
            Err(format!(
                "error parsing regexp: invalid escape sequence: `\\{character}`"
            ))
        }
        _ => translate_escape(rest, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            ("^[a-z]+$", "abc", true),
            (r"^\d+$", "٣", false),
            (r"^\w$", "é", false),
            (r"^[\w.-]+$", "a-b.c", true),
            (r"^[[]$", "[", true),
            (r"^[a&&b]+$", "&a", true),
            (r"^[+--]$", ",", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^{x}$", "{x}", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\101$", "A", true),
            (r"^[[:alpha:]_]+$", "a_b", true),
            (r"^(foo|bar)$", "bar", true),
            (r"^[^\s]+$", "a b", false),
            (r"^[]a]+$", "]a", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^\<$", "<", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(
                compile(pattern).map(|regex| regex.is_match(text)),
                Ok(expected),
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn bad_patterns_are_explained_as_in_go() {
        let cases = [
            ("(a", "error parsing regexp: missing closing ): `(a`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
            ("[a", "error parsing regexp: missing closing ]: `[a`"),
            (
                "(?!a)",
                "error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
            ),
            (r"(a)\1", "error parsing regexp: invalid escape sequence: `\\1`"),
            (
                "*a",
                "error parsing regexp: missing argument to repetition operator: `*`",
            ),
            ("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(compile(pattern).err().as_deref(), Some(expected));
        }
    }
}
