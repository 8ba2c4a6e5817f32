//! Translates a pattern of Go's dialect for Rust's engine, token by token.

/// Translates a pattern, or returns Go's error.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut translation = Translation {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
    };
    translation.pattern()?;
    Ok(translation.out)
}

struct Translation<'p> {
    rest: &'p str,
    out: String,
}

impl<'p> Translation<'p> {
    fn next(&mut self) -> Option<char> {
        let first = self.rest.chars().next()?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn take(&mut self, length: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn copy(&mut self, length: usize) {
        let text = self.take(length);
        self.out.push_str(text);
    }

    fn pattern(&mut self) -> Result<(), String> {
        // The repetition that just ended, as written; another one may not follow.
        let mut repetition: Option<&'p str> = None;
        while !self.rest.is_empty() {
            let start = self.rest;
            if let Some(length) = repetition_length(start) {
                let operator = self.take(length);
                if let Some(previous) = repetition {
                    return Err(format!(
                        "invalid nested repetition operator: `{previous}{operator}`"
                    ));
                }
                check_counts(operator)?;
                self.out.push_str(operator);
                if self.rest.starts_with('?') {
                    self.copy(1);
                }
                repetition = Some(&start[..start.len() - self.rest.len()]);
                continue;
            }
            repetition = None;
            match self.next() {
                Some('\\') => self.escape()?,
                Some('[') => self.class(start)?,
                Some('(') => self.group(start)?,
                Some('{') => self.out.push_str("\\{"),
                Some(other) => self.out.push(other),
                None => {}
            }
        }
        Ok(())
    }

    /// Captures are not used, so named groups (whose names may repeat in Go) become plain ones.
    fn group(&mut self, start: &str) -> Result<(), String> {
        self.out.push('(');
        let Some(inside) = self.rest.strip_prefix('?') else {
            return Ok(());
        };
        let named = inside.strip_prefix("P<").or_else(|| inside.strip_prefix('<'));
        if let Some(named) = named {
            let name = named.split_once('>').map(|(name, _)| name);
            let is_word = |name: &str| {
                name.chars()
                    .all(|character| character.is_ascii_alphanumeric() || character == '_')
            };
            let Some(name) = name.filter(|name| !name.is_empty() && is_word(name)) else {
                let end = start.find('>').map_or(start.len(), |end| end + 1);
                return Err(format!("invalid named capture: `{}`", &start[..end]));
            };
            let after = &named[name.len() + 1..];
            self.rest = after;
            return Ok(());
        }
        let flags = inside
            .find(|flag| !"imsU-".contains(flag))
            .unwrap_or(inside.len());
        match inside[flags..].chars().next() {
            Some(')' | ':') => {
                self.copy(flags + 2);
                Ok(())
            }
            Some(other) => Err(format!(
                "invalid or unsupported Perl syntax: `(?{}{other}`",
                &inside[..flags]
            )),
            None => Err(format!("missing closing ): `{start}`")),
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(character) = self.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        match character {
            'Q' => self.quoted(),
            'b' => self.out.push_str("(?-u:\\b)"),
            'A' | 'B' | 'z' => self.out.extend(['\\', character]),
            _ => {
                self.class_atom(character)?;
            }
        }
        Ok(())
    }

    fn quoted(&mut self) {
        let (literal, after) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
        literal.chars().for_each(|character| self.literal(character));
        self.rest = after;
    }

    /// An escape, inside a class or not: a class, or one character, which is returned.
    fn class_atom(&mut self, character: char) -> Result<Option<char>, String> {
        let invalid = || format!("invalid escape sequence: `\\{character}`");
        match character {
            'p' | 'P' => {
                self.out.extend(['\\', character]);
                let length = match self.rest.starts_with('{') {
                    true => self.rest.find('}').map(|end| end + 1),
                    false => self.rest.chars().next().map(char::len_utf8),
                };
                self.copy(length.ok_or_else(invalid)?);
                return Ok(None);
            }
            'x' => {
                let length = match self.rest.starts_with('{') {
                    true => self.rest.find('}').map(|end| end + 1),
                    false => Some(2).filter(|length| self.rest.is_char_boundary(*length)),
                };
                let digits = self.take(length.ok_or_else(invalid)?).trim_matches(['{', '}']);
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                return self.character(code.ok_or_else(invalid)?);
            }
            '0'..='7' => {
                let octal = |byte: u8| matches!(byte, b'0'..=b'7');
                let length = self.rest.bytes().take(2).take_while(|byte| octal(*byte)).count();
                if character != '0' && length == 0 {
                    return Err(invalid());
                }
                let digits = format!("{character}{}", self.take(length));
                let code = u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32);
                return self.character(code.ok_or_else(invalid)?);
            }
            _ => {}
        }
        if let Some(class) = ascii_class(character) {
            self.out.push_str(class);
            return Ok(None);
        }
        self.character(match character {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            _ if character.is_ascii() && !character.is_ascii_alphanumeric() => character,
            _ => return Err(invalid()),
        })
    }

    fn character(&mut self, character: char) -> Result<Option<char>, String> {
        self.literal(character);
        Ok(Some(character))
    }

    fn literal(&mut self, character: char) {
        if character.is_ascii_punctuation() && !matches!(character, '<' | '>') {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    /// A bracket class: characters, ranges and classes, up to a `]` that is not first.
    fn class(&mut self, start: &str) -> Result<(), String> {
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        let mut first = true;
        loop {
            let item = self.rest;
            if item.starts_with(']') && !first {
                self.copy(1);
                return Ok(());
            }
            first = false;
            if let Some(length) = posix_class_length(item)? {
                self.copy(length);
                continue;
            }
            let Some(low) = self.class_item(start)? else {
                continue;
            };
            let is_range =
                self.rest.starts_with('-') && !self.rest[1..].starts_with(']') && self.rest.len() > 1;
            if !is_range {
                continue;
            }
            self.copy(1);
            let high = self.class_item(start)?;
            if high.is_none_or(|high| high < low) {
                let written = &item[..item.len() - self.rest.len()];
                return Err(format!("invalid character class range: `{written}`"));
            }
        }
    }

    fn class_item(&mut self, start: &str) -> Result<Option<char>, String> {
        match self.next() {
            Some('\\') => match self.next() {
                Some(character) => self.class_atom(character),
                None => Err("trailing backslash at end of expression: ``".to_owned()),
            },
            Some(character) => self.character(character),
            None => Err(format!("missing closing ]: `{start}`")),
        }
    }
}

/// The length of a repetition operator, if the text starts with one. Other braces are literal.
fn repetition_length(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'*' | b'+' | b'?' => Some(1),
        b'{' => {
            let end = text.find('}')?;
            let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let (low, high) = text[1..end].split_once(',').unwrap_or((&text[1..end], ""));
            (number(low) && (high.is_empty() || number(high))).then_some(end + 1)
        }
        _ => None,
    }
}

fn check_counts(operator: &str) -> Result<(), String> {
    let Some(inside) = operator
        .strip_prefix('{')
        .and_then(|operator| operator.strip_suffix('}'))
    else {
        return Ok(());
    };
    let count = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
    let (low, high) = match inside.split_once(',') {
        None => (count(inside), count(inside)),
        Some((low, "")) => (count(low), count(low)),
        Some((low, high)) => (count(low), count(high)),
    };
    match low <= high && high <= 1000 {
        true => Ok(()),
        false => Err(format!("invalid repeat count: `{operator}`")),
    }
}

/// Go's Perl classes, which are ASCII only.
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

/// The length of `[:alpha:]` and its like, if the text starts with one.
fn posix_class_length(text: &str) -> Result<Option<usize>, String> {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "word", "xdigit",
    ];
    let Some((name, _)) = text.strip_prefix("[:").and_then(|text| text.split_once(":]")) else {
        return Ok(None);
    };
    match NAMES.contains(&name.trim_start_matches('^')) {
        true => Ok(Some(name.len() + 4)),
        false => Err(format!("invalid character class range: `[:{name}:]`")),
    }
}
