//! From Go's grammar to Rust's.

use super::RegexpError;
use super::class::{self, Item};

/// Go refuses larger repetition counts.
const MOST_REPEATS: u32 = 1000;

pub(super) fn translate(pattern: &str) -> Result<String, RegexpError> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 16),
        depth: 0,
        can_repeat: false,
        repeated: None,
        around: Vec::new(),
        most: 1,
        last: 1,
    };
    while let Some(character) = translator.rest.chars().next() {
        translator.step(character)?;
    }
    if translator.depth > 0 {
        return Err(wrong("missing closing )", pattern));
    }
    Ok(translator.out)
}

pub(super) fn wrong(problem: &'static str, pattern: &str) -> RegexpError {
    RegexpError::Syntax {
        problem,
        pattern: pattern.to_owned(),
    }
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    depth: usize,
    /// Whether something stands before this place that an operator can repeat.
    can_repeat: bool,
    /// The repetition that ends right before this place.
    repeated: Option<&'a str>,
    /// For each open group, the most that anything before it on its level repeats.
    around: Vec<u32>,
    /// The most that anything on this level repeats, counting the repetitions in it.
    most: u32,
    /// How often what ends right before this place repeats what is in it.
    last: u32,
}

impl<'a> Translator<'a> {
    fn step(&mut self, character: char) -> Result<(), RegexpError> {
        match character {
            '*' | '+' | '?' => return self.operator(1),
            '{' => {
                if let Some((length, times)) = repetition(self.rest)? {
                    let repeats = self.last.saturating_mul(times.max(1));
                    if self.can_repeat && self.repeated.is_none() && repeats > MOST_REPEATS {
                        return Err(wrong("invalid repeat count", &self.rest[..length]));
                    }
                    self.operator(length)?;
                    self.last = repeats;
                    self.most = self.most.max(repeats);
                    return Ok(());
                }
                self.literal('{');
                self.take(1);
            }
            '(' => return self.group(),
            ')' => {
                self.depth = self
                    .depth
                    .checked_sub(1)
                    .ok_or_else(|| wrong("unexpected )", self.rest))?;
                self.copy(1);
                let inside = self.most;
                self.most = self.around.pop().unwrap_or(1).max(inside);
                self.something();
                self.last = inside;
                return Ok(());
            }
            '|' => {
                self.copy(1);
                self.can_repeat = false;
                self.repeated = None;
                return Ok(());
            }
            '[' => {
                let (length, class) = class::read(self.rest)?;
                self.out.push_str(&class);
                self.take(length);
            }
            '\\' => return self.escape(),
            '.' | '^' | '$' => self.copy(1),
            _ => {
                self.literal(character);
                self.take(character.len_utf8());
            }
        }
        self.something();
        Ok(())
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn copy(&mut self, length: usize) {
        let taken = self.take(length);
        self.out.push_str(taken);
    }

    fn literal(&mut self, character: char) {
        self.out
            .push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }

    fn something(&mut self) {
        self.can_repeat = true;
        self.repeated = None;
        self.last = 1;
    }

    /// `*`, `+`, `?` or `{n,m}`, and the `?` that makes it reluctant.
    fn operator(&mut self, length: usize) -> Result<(), RegexpError> {
        let lazy = usize::from(self.rest[length..].starts_with('?'));
        let operator = &self.rest[..length + lazy];
        if !self.can_repeat {
            return Err(wrong(
                "missing argument to repetition operator",
                &self.rest[..length],
            ));
        }
        if let Some(before) = self.repeated {
            let both = format!("{before}{operator}");
            return Err(wrong("invalid nested repetition operator", &both));
        }
        self.copy(length + lazy);
        self.repeated = Some(operator);
        Ok(())
    }

    fn group(&mut self) -> Result<(), RegexpError> {
        let name = self
            .rest
            .strip_prefix("(?P<")
            .or_else(|| self.rest.strip_prefix("(?<"));
        if let Some(name) = name {
            let end = name
                .find('>')
                .ok_or_else(|| wrong("invalid named capture", self.rest))?;
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if end == 0 || !name[..end].bytes().all(word) {
                return Err(wrong(
                    "invalid named capture",
                    &self.rest[..self.rest.len() - name.len() + end + 1],
                ));
            }
            self.take(self.rest.len() - name.len() + end + 1);
            self.open("(");
            return Ok(());
        }
        if self.rest.starts_with("(?") {
            return self.flags();
        }
        self.take(1);
        self.open("(");
        Ok(())
    }

    fn open(&mut self, group: &str) {
        self.out.push_str(group);
        self.depth += 1;
        self.around.push(std::mem::replace(&mut self.most, 1));
        self.can_repeat = false;
        self.repeated = None;
    }

    /// `(?i)`, `(?i:`, `(?-s:`, `(?:`.
    fn flags(&mut self) -> Result<(), RegexpError> {
        let start = self.rest;
        let mut seen = false;
        let mut negated = false;
        for (position, character) in start.char_indices().skip(2) {
            let so_far = &start[..position + character.len_utf8()];
            match character {
                'i' | 'm' | 's' | 'U' => seen = true,
                '-' if !negated => {
                    negated = true;
                    seen = false;
                }
                ')' | ':' if !negated || seen => {
                    self.take(so_far.len());
                    if character == ':' {
                        self.open(so_far);
                    } else if so_far != "(?)" {
                        self.out.push_str(so_far);
                        self.can_repeat = false;
                        self.repeated = None;
                    }
                    return Ok(());
                }
                _ => return Err(wrong("invalid or unsupported Perl syntax", so_far)),
            }
        }
        Err(wrong("missing closing )", start))
    }

    fn escape(&mut self) -> Result<(), RegexpError> {
        if let Some(quoted) = self.rest.strip_prefix("\\Q") {
            let (quoted, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            for character in quoted.chars() {
                self.literal(character);
                self.something();
            }
            self.rest = after;
            return Ok(());
        }
        let (length, item) = class::escape(self.rest)?;
        self.take(length);
        match item {
            Item::Character(character) => self.literal(character),
            Item::Class(class) => self.out.push_str(&format!("[{class}]")),
            Item::Assertion(assertion) => self.out.push_str(assertion),
        }
        self.something();
        Ok(())
    }
}

/// The length of a repetition count at the start of the text, and the count; nothing if its brace is an ordinary character.
fn repetition(text: &str) -> Result<Option<(usize, u32)>, RegexpError> {
    let Some(end) = text.find('}') else {
        return Ok(None);
    };
    let inside = &text[1..end];
    let (least, most) = match inside.split_once(',') {
        Some((least, "")) => (least, None),
        Some((least, most)) => (least, Some(most)),
        None => (inside, Some(inside)),
    };
    let well_formed = |number: &str| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && (number.len() == 1 || !number.starts_with('0'))
    };
    if !well_formed(least) || most.is_some_and(|most| !well_formed(most)) {
        return Ok(None);
    }
    let count = |number: &str| number.parse().unwrap_or(u32::MAX);
    let (least, most) = (count(least), most.map(count));
    if least > MOST_REPEATS || most.is_some_and(|most| most > MOST_REPEATS || most < least) {
        return Err(wrong("invalid repeat count", &text[..=end]));
    }
    Ok(Some((end + 1, most.unwrap_or(least))))
}
