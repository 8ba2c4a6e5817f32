//! The value of a string or bytes literal.

use super::lexer::describe;
use std::borrow::Cow;

/// The quotes of a string: `"`, `'`, three of them, with any number of `#` around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote {
    /// The number of `#` before and after, and after each `\`.
    pub(super) hashes: usize,
    /// `"` or `'`.
    pub(super) mark: u8,
    /// Whether it is three marks.
    pub(super) multiline: bool,
}

/// A part of a string between its quotes and interpolations, as written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'text> {
    pub(super) text: &'text str,
    /// Whether it follows the opening quote.
    pub(super) first: bool,
    /// Whether the closing quote follows.
    pub(super) last: bool,
}

/// An invalid piece, with the error and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidLiteral {
    pub(super) offset: usize,
    pub(super) message: String,
}

impl Quote {
    /// The quote that the text starts with.
    pub(super) fn at(text: &str) -> Self {
        let hashes = text.bytes().take_while(|byte| *byte == b'#').count();
        let bytes = &text.as_bytes()[hashes..];
        let mark = bytes.first().copied().unwrap_or(b'"');
        let multiline = bytes.starts_with(&[mark; 3]);
        Self {
            hashes,
            mark,
            multiline,
        }
    }

    /// Bytes of the opening quote, without the newline after three marks.
    pub(super) fn opening_length(self) -> usize {
        self.hashes + if self.multiline { 3 } else { 1 }
    }

    /// Bytes of the closing quote.
    pub(super) fn closing_length(self) -> usize {
        self.opening_length()
    }

    /// Whether the text starts with the closing quote.
    pub(super) fn closes(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let marks = self.closing_length() - self.hashes;
        bytes.len() >= self.closing_length()
            && bytes[..marks].iter().all(|byte| *byte == self.mark)
            && bytes[marks..marks + self.hashes].iter().all(|byte| *byte == b'#')
    }

    /// Bytes of the escape that the text starts with: `\` and the hashes.
    pub(super) fn escape_length(self, text: &str) -> Option<usize> {
        let hashes = text.strip_prefix('\\')?.as_bytes();
        let found = hashes.len() >= self.hashes && hashes[..self.hashes].iter().all(|byte| *byte == b'#');
        found.then_some(1 + self.hashes)
    }

    /// The white space before the closing quote, which every line of a multi-line string starts with.
    pub(super) fn indentation(self, last_piece: &str) -> &str {
        if !self.multiline {
            return "";
        }
        let line = last_piece.rfind('\n').map_or(0, |at| at + 1);
        let text = &last_piece[line..];
        &text[text.trim_end().len()..]
    }

    /// The value of a piece: escapes replaced, indentation taken away.
    pub(super) fn unquote<'text>(
        self,
        piece: Piece<'text>,
        indentation: &str,
    ) -> Result<Cow<'text, [u8]>, InvalidLiteral> {
        let bytes = piece.text.as_bytes();
        if !self.multiline && !bytes.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r')) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut reader = Reader {
            quote: self,
            text: piece.text,
            offset: 0,
            value: Vec::new(),
        };
        let mut ends_with_newline = false;
        if self.multiline && piece.first {
            reader.skip_indentation(indentation)?;
        }
        while let Some(byte) = reader.text.as_bytes().get(reader.offset).copied() {
            match byte {
                b'\n' | b'\r' if !self.multiline => {
                    return Err(reader.invalid("string literal not terminated"));
                }
                b'\r' => reader.offset += 1,
                b'\n' => {
                    reader.offset += 1;
                    reader.value.push(b'\n');
                    reader.skip_indentation(indentation)?;
                    ends_with_newline = true;
                }
                _ => {
                    reader.character()?;
                    ends_with_newline = false;
                }
            }
        }
        if piece.last && ends_with_newline {
            reader.value.pop();
        }
        Ok(Cow::Owned(reader.value))
    }
}

struct Reader<'text> {
    quote: Quote,
    text: &'text str,
    offset: usize,
    value: Vec<u8>,
}

impl Reader<'_> {
    fn invalid(&self, message: impl Into<String>) -> InvalidLiteral {
        InvalidLiteral {
            offset: self.offset,
            message: message.into(),
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.offset..]
    }

    fn skip_indentation(&mut self, indentation: &str) -> Result<(), InvalidLiteral> {
        if self.rest().starts_with(indentation) {
            self.offset += indentation.len();
            return Ok(());
        }
        if self.rest().starts_with('\n') || self.rest().starts_with("\r\n") {
            return Ok(());
        }
        Err(self.invalid("invalid string: a line must start with the white space before the closing quote"))
    }

    fn character(&mut self) -> Result<(), InvalidLiteral> {
        if let Some(length) = self.quote.escape_length(self.rest()) {
            return self.escape(length);
        }
        let length = self.rest().chars().next().map_or(1, char::len_utf8);
        self.value
            .extend_from_slice(&self.text.as_bytes()[self.offset..self.offset + length]);
        self.offset += length;
        Ok(())
    }

    fn escape(&mut self, length: usize) -> Result<(), InvalidLiteral> {
        let start = self.offset;
        self.offset += length;
        let bytes_literal = self.quote.mark == b'\'';
        let Some(letter) = self.rest().chars().next() else {
            return Err(self.invalid("escape sequence not terminated"));
        };
        let simple = match letter {
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 0x0b,
            '/' => b'/',
            '\\' => b'\\',
            '"' | '\'' if letter == char::from(self.quote.mark) => self.quote.mark,
            'u' | 'U' => return self.unicode(start, letter),
            'x' if bytes_literal => {
                self.offset += 1;
                let code = self.digits(2, 16)?;
                self.value
                    .push(u8::try_from(code).expect("two hexadecimal digits are a byte"));
                return Ok(());
            }
            '0'..='7' if bytes_literal => {
                let code = self.digits(3, 8)?;
                let Ok(byte) = u8::try_from(code) else {
                    self.offset = start;
                    return Err(self.invalid("escape sequence is not a byte"));
                };
                self.value.push(byte);
                return Ok(());
            }
            'x' | '0'..='7' => {
                return Err(
                    self.invalid("invalid string: escapes of bytes are for bytes literals, in single quotes")
                );
            }
            _ => return Err(self.invalid("unknown escape sequence")),
        };
        self.offset += 1;
        self.value.push(simple);
        Ok(())
    }

    /// `\uXXXX` or `\UXXXXXXXX`; two surrogates make one character, as in JSON.
    fn unicode(&mut self, start: usize, letter: char) -> Result<(), InvalidLiteral> {
        let mut code = self.code(letter)?;
        if (0xd800..0xdc00).contains(&code) {
            let low = match self.quote.escape_length(self.rest()) {
                Some(length) => match self.rest()[length..].chars().next() {
                    Some(letter @ ('u' | 'U')) => {
                        self.offset += length;
                        self.code(letter)?
                    }
                    _ => 0,
                },
                None => 0,
            };
            if !(0xdc00..0xe000).contains(&low) {
                self.offset = start;
                return Err(self.invalid("unmatched surrogate pair"));
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        let Some(character) = char::from_u32(code) else {
            self.offset = start;
            let surrogate = (0xdc00..0xe000).contains(&code);
            return Err(self.invalid(match surrogate {
                true => "unmatched surrogate pair",
                false => "escape sequence is invalid Unicode code point",
            }));
        };
        self.value
            .extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn code(&mut self, letter: char) -> Result<u32, InvalidLiteral> {
        self.offset += 1;
        self.digits(if letter == 'u' { 4 } else { 8 }, 16)
    }

    fn digits(&mut self, count: usize, base: u32) -> Result<u32, InvalidLiteral> {
        let mut code = 0u32;
        for _ in 0..count {
            let Some(character) = self.rest().chars().next() else {
                return Err(self.invalid("escape sequence not terminated"));
            };
            let Some(digit) = character.to_digit(base) else {
                let message = format!("illegal character {} in escape sequence", describe(character));
                return Err(self.invalid(message));
            };
            code = code.wrapping_mul(base).wrapping_add(digit);
            self.offset += 1;
        }
        Ok(code)
    }
}
