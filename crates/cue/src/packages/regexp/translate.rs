//! Translates RE2 syntax to that of the `regex` crate.
//!
//! They differ in what is literal (`{`, `[` in a class), what is ASCII (`\d`, `\w`, `\s`, `\b`), what is refused
//! (`a**`, `(?x)`), and in escapes (`\Q…\E`, octal). The pattern is read once, checked as RE2 does, and written anew.

use super::classes;

/// A pattern for the `regex` crate.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// The names of its groups; the first stands for the whole match.
    pub(super) names: Vec<Option<String>>,
}

/// A pattern error with Go's message, and the offending part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {reason}: `{part}`")]
pub(super) struct InvalidPattern {
    pub(super) reason: &'static str,
    pub(super) part: String,
}

pub(super) fn invalid(reason: &'static str, part: &str) -> InvalidPattern {
    InvalidPattern {
        reason,
        part: part.to_owned(),
    }
}

/// Groups in groups.
const MAXIMUM_DEPTH: usize = 1_000;

/// Maximum product of nested repetition counts.
const MAXIMUM_REPEAT: u32 = 1_000;

pub(super) fn translate(pattern: &str) -> Result<Translated, InvalidPattern> {
    let mut translator = Translator {
        whole: pattern,
        rest: pattern,
        output: Translated {
            pattern: String::new(),
            names: vec![None],
        },
        groups: Vec::new(),
        last: Last::Nothing,
        largest: 1,
        repeat: None,
    };
    while !translator.rest.is_empty() {
        translator.step()?;
    }
    match translator.groups.is_empty() {
        true => Ok(translator.output),
        false => Err(invalid("missing closing )", pattern)),
    }
}

struct Translator<'pattern> {
    whole: &'pattern str,
    rest: &'pattern str,
    output: Translated,
    /// For each open group, the largest repetition before it on the same level.
    groups: Vec<u32>,
    /// The operand of a repetition at this position.
    last: Last,
    /// The largest repetition so far on this level.
    largest: u32,
    /// The repetition just before, if there is one.
    repeat: Option<&'pattern str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    /// Something that repeats its content so often.
    Item(u32),
}

impl<'pattern> Translator<'pattern> {
    fn step(&mut self) -> Result<(), InvalidPattern> {
        let start = self.rest;
        let first = start.chars().next().unwrap_or_default();
        let mut repeat = None;
        match first {
            '(' if start.starts_with("(?") => self.flags()?,
            '(' => {
                self.output.names.push(None);
                self.open("(")?;
                self.skip(1);
            }
            ')' => self.close()?,
            '|' => {
                self.output.pattern.push('|');
                self.last = Last::Nothing;
                self.skip(1);
            }
            '^' | '$' | '.' => {
                self.item(&first.to_string());
                self.skip(1);
            }
            '[' => {
                let (class, rest) = classes::bracketed(start)?;
                self.item(&class);
                self.rest = rest;
            }
            '*' | '+' | '?' => {
                self.repetition(1, None)?;
                repeat = Some(start);
            }
            '{' => match counted(start) {
                None => {
                    self.literal('{');
                    self.skip(1);
                }
                Some((length, minimum, maximum)) => {
                    let allowed = |count: u32| count <= MAXIMUM_REPEAT;
                    let ordered = maximum.is_none_or(|maximum| minimum <= maximum);
                    if !(allowed(minimum) && maximum.is_none_or(allowed) && ordered) {
                        return Err(invalid("invalid repeat count", &start[..length]));
                    }
                    self.repetition(length, Some(maximum.unwrap_or(minimum)))?;
                    repeat = Some(start);
                }
            },
            '\\' => self.escape()?,
            _ => {
                self.literal(first);
                self.skip(first.len_utf8());
            }
        }
        self.repeat = repeat;
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn item(&mut self, pattern: &str) {
        self.output.pattern.push_str(pattern);
        self.last = Last::Item(1);
    }

    fn literal(&mut self, character: char) {
        self.item(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }

    fn open(&mut self, pattern: &str) -> Result<(), InvalidPattern> {
        if self.groups.len() >= MAXIMUM_DEPTH {
            return Err(invalid("expression nests too deeply", self.whole));
        }
        self.output.pattern.push_str(pattern);
        self.groups.push(self.largest);
        self.largest = 1;
        self.last = Last::Nothing;
        Ok(())
    }

    fn close(&mut self) -> Result<(), InvalidPattern> {
        let Some(outer) = self.groups.pop() else {
            return Err(invalid("unexpected )", self.whole));
        };
        self.output.pattern.push(')');
        self.last = Last::Item(self.largest);
        self.largest = self.largest.max(outer);
        self.skip(1);
        Ok(())
    }

    /// A repetition of `length` bytes, and how often it repeats when it is counted.
    fn repetition(&mut self, length: usize, times: Option<u32>) -> Result<(), InvalidPattern> {
        let start = self.rest;
        let length = length + usize::from(start[length..].starts_with('?'));
        let after = &start[length..];
        if let Some(before) = self.repeat {
            return Err(invalid(
                "invalid nested repetition operator",
                &before[..before.len() - after.len()],
            ));
        }
        let Last::Item(inner) = self.last else {
            return Err(invalid(
                "missing argument to repetition operator",
                &start[..length],
            ));
        };
        let product = match times {
            Some(0) => 1,
            Some(times) => inner.saturating_mul(times),
            None => inner,
        };
        if product > MAXIMUM_REPEAT {
            return Err(invalid("invalid repeat count", &start[..length]));
        }
        self.output.pattern.push_str(&start[..length]);
        self.last = Last::Item(product);
        self.largest = self.largest.max(product);
        self.rest = after;
        Ok(())
    }

    /// `(?i)`, `(?i-s:`, `(?P<name>` and `(?<name>`.
    fn flags(&mut self) -> Result<(), InvalidPattern> {
        let start = self.rest;
        let named = start.strip_prefix("(?P<").filter(|rest| !rest.is_empty());
        if let Some(rest) = named.or_else(|| start.strip_prefix("(?<").filter(|rest| !rest.is_empty())) {
            let Some((name, after)) = rest.split_once('>') else {
                return Err(invalid("invalid named capture", start));
            };
            if name.is_empty()
                || !name
                    .bytes()
                    .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
            {
                return Err(invalid(
                    "invalid named capture",
                    &start[..start.len() - after.len()],
                ));
            }
            self.output.names.push(Some(name.to_owned()));
            self.open("(")?;
            self.rest = after;
            return Ok(());
        }
        let (mut negated, mut flagged) = (false, false);
        for (at, character) in start.char_indices().skip("(?".len()) {
            let end = at + character.len_utf8();
            match character {
                'i' | 'm' | 's' | 'U' => flagged = true,
                '-' if !negated => (negated, flagged) = (true, false),
                ':' | ')' if !negated || flagged => {
                    self.rest = &start[end..];
                    return match character {
                        ':' => self.open(&start[..end]),
                        _ => {
                            // Flags repeat nothing, and without any there is nothing to say.
                            if at > "(?".len() {
                                self.output.pattern.push_str(&start[..end]);
                            }
                            Ok(())
                        }
                    };
                }
                _ => return Err(invalid("invalid or unsupported Perl syntax", &start[..end])),
            }
        }
        Err(invalid("invalid or unsupported Perl syntax", start))
    }

    fn escape(&mut self) -> Result<(), InvalidPattern> {
        let start = self.rest;
        let simple = match start.as_bytes().get(1) {
            Some(b'A') => r"\A",
            Some(b'z') => r"\z",
            Some(b'b') => r"(?-u:\b)",
            Some(b'B') => r"(?-u:\B)",
            Some(b'C') => return Err(invalid("invalid escape sequence", &start[..2])),
            Some(b'Q') => {
                let (literal, after) = start[2..].split_once(r"\E").unwrap_or((&start[2..], ""));
                literal.chars().for_each(|character| self.literal(character));
                self.rest = after;
                return Ok(());
            }
            _ => {
                if let Some((class, rest)) = classes::escaped(start)? {
                    self.item(&class);
                    self.rest = rest;
                    return Ok(());
                }
                let (code, rest) = classes::escaped_character(start)?;
                match char::from_u32(code) {
                    Some(character) => self.literal(character),
                    None => self.item(classes::NOTHING),
                }
                self.rest = rest;
                return Ok(());
            }
        };
        self.item(simple);
        self.skip(2);
        Ok(())
    }
}

/// `{2}`, `{2,}` or `{2,3}`: its length, minimum and maximum. Numbers that are too large become larger than allowed.
fn counted(text: &str) -> Option<(usize, u32, Option<u32>)> {
    let inside = text.strip_prefix('{')?;
    let (inside, _) = inside.split_once('}')?;
    let (minimum, maximum) = match inside.split_once(',') {
        Some((minimum, "")) => (number(minimum)?, None),
        Some((minimum, maximum)) => (number(minimum)?, Some(number(maximum)?)),
        None => (number(inside)?, Some(number(inside)?)),
    };
    Some((inside.len() + 2, minimum, maximum))
}

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().unwrap_or(u32::MAX))
}
