//! JSON scanner with syntax checks.

use crate::packages::{CallError, MAXIMUM_DEPTH, strconv};

/// A bracket, comma, colon, string, number or word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The tokens of a text that is one value.
pub(super) fn scan(text: &[u8]) -> Result<Vec<Token>, CallError> {
    let tokens = scan_value(text, 0)?;
    let end = tokens.last().map_or(0, |token| token.end);
    match text[end..].iter().position(|byte| !is_space(*byte)) {
        Some(at) => Err(invalid(text[end + at], "after top-level value")),
        None => Ok(tokens),
    }
}

/// The tokens of the value that starts somewhere in a text.
pub(super) fn scan_value(text: &[u8], start: usize) -> Result<Vec<Token>, CallError> {
    let mut scanner = Scanner {
        text,
        at: start,
        tokens: Vec::new(),
        open: Vec::new(),
    };
    scanner.value()?;
    Ok(scanner.tokens)
}

struct Scanner<'text> {
    text: &'text [u8],
    at: usize,
    tokens: Vec<Token>,
    /// The brackets that are open.
    open: Vec<u8>,
}

impl Scanner<'_> {
    fn value(&mut self) -> Result<(), CallError> {
        loop {
            // A value starts here; after it, brackets may close.
            match self.byte()? {
                open @ (b'{' | b'[') => {
                    if self.open.len() >= MAXIMUM_DEPTH {
                        return Err(CallError::new("exceeded max depth"));
                    }
                    self.open.push(open);
                    self.take(1);
                    match (open, self.byte()?) {
                        (b'{', b'}') | (b'[', b']') => {}
                        (b'{', _) => {
                            self.key()?;
                            continue;
                        }
                        _ => continue,
                    }
                }
                _ => self.scalar()?,
            }
            if !self.after_value()? {
                return Ok(());
            }
        }
    }

    /// Closes brackets and takes the comma before the next value. `false` when there is none.
    fn after_value(&mut self) -> Result<bool, CallError> {
        while let Some(open) = self.open.last().copied() {
            match (open, self.byte()?) {
                (b'{', b'}') | (b'[', b']') => {
                    self.open.pop();
                    self.take(1);
                }
                (b'{', b',') => {
                    self.take(1);
                    self.key()?;
                    return Ok(true);
                }
                (b'[', b',') => {
                    self.take(1);
                    return Ok(true);
                }
                (b'{', byte) => return Err(invalid(byte, "after object key:value pair")),
                (_, byte) => return Err(invalid(byte, "after array element")),
            }
        }
        Ok(false)
    }

    fn key(&mut self) -> Result<(), CallError> {
        match self.byte()? {
            b'"' => self.string()?,
            byte => return Err(invalid(byte, "looking for beginning of object key string")),
        }
        match self.byte()? {
            b':' => {
                self.take(1);
                Ok(())
            }
            byte => Err(invalid(byte, "after object key")),
        }
    }

    fn scalar(&mut self) -> Result<(), CallError> {
        match self.byte()? {
            b'"' => self.string(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            b'-' | b'0'..=b'9' => self.number(),
            byte => Err(invalid(byte, "looking for beginning of value")),
        }
    }

    /// The next byte that is not white space.
    fn byte(&mut self) -> Result<u8, CallError> {
        while self.text.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
        self.peek(self.at)
    }

    fn peek(&self, at: usize) -> Result<u8, CallError> {
        self.text
            .get(at)
            .copied()
            .ok_or_else(|| CallError::new("unexpected end of JSON input"))
    }

    /// Inside a word, a number or an escape, the end of the text counts as a space: that is what is wrong with it.
    fn peek_inside(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(b' ')
    }

    fn take(&mut self, length: usize) {
        self.tokens.push(Token {
            start: self.at,
            end: self.at + length,
        });
        self.at += length;
    }

    fn word(&mut self, word: &str) -> Result<(), CallError> {
        for (index, expected) in word.bytes().enumerate() {
            let found = self.peek_inside(self.at + index);
            if found != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(invalid(found, &context));
            }
        }
        self.take(word.len());
        Ok(())
    }

    fn number(&mut self) -> Result<(), CallError> {
        let mut end = self.at + usize::from(self.peek(self.at)? == b'-');
        end = match self.peek_inside(end) {
            b'0' => end + 1,
            _ => self.digits(end, "in numeric literal")?,
        };
        if self.text.get(end) == Some(&b'.') {
            end = self.digits(end + 1, "after decimal point in numeric literal")?;
        }
        if matches!(self.text.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.text.get(end + 1), Some(b'+' | b'-')));
            end = self.digits(end + 1 + sign, "in exponent of numeric literal")?;
        }
        self.take(end - self.at);
        Ok(())
    }

    fn digits(&self, start: usize, context: &str) -> Result<usize, CallError> {
        let first = self.peek_inside(start);
        if !first.is_ascii_digit() {
            return Err(invalid(first, context));
        }
        Ok(start
            + self.text[start..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count())
    }

    fn string(&mut self) -> Result<(), CallError> {
        let mut at = self.at + 1;
        loop {
            match self.peek(at)? {
                b'"' => break,
                b'\\' => match self.peek_inside(at + 1) {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => at += 2,
                    b'u' => {
                        for digit in at + 2..at + 6 {
                            let byte = self.peek_inside(digit);
                            if !byte.is_ascii_hexdigit() {
                                return Err(invalid(byte, "in \\u hexadecimal character escape"));
                            }
                        }
                        at += 6;
                    }
                    byte => return Err(invalid(byte, "in string escape code")),
                },
                byte if byte < 0x20 => return Err(invalid(byte, "in string literal")),
                _ => at += 1,
            }
        }
        self.take(at + 1 - self.at);
        Ok(())
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn invalid(byte: u8, context: &str) -> CallError {
    let shown = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => strconv::quote_rune(i64::from(byte)),
    };
    CallError::Failed(format!("invalid character {shown} {context}"))
}
