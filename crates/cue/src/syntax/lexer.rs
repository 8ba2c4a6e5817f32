//! The lexer.

mod literals;

use super::literal::Quote;
use super::token::{Token, TokenKind};
use crate::source::Span;
use regex::Regex;
use std::sync::LazyLock;

/// Reads one token after the other, and puts a comma at the end of a line where a declaration can end.
pub(super) struct Lexer<'text> {
    text: &'text str,
    offset: usize,
    /// Whether the end of this line is a comma.
    inserts_comma: bool,
    /// The strings that are interrupted by the interpolation being read, innermost last.
    interrupted: Vec<Quote>,
    /// Problems since the parser last took them.
    pub(super) problems: Vec<(Span, String)>,
}

impl<'text> Lexer<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        let offset = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Self {
            text,
            offset,
            inserts_comma: false,
            interrupted: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The next token.
    #[inline]
    pub(super) fn scan(&mut self) -> Token {
        match self.next() {
            // It stands for the end of a line, and there is more white space behind.
            (TokenKind::Newline, at) => Token::new(TokenKind::Newline, at, at),
            (kind, start) => Token::new(kind, start, self.offset),
        }
    }

    /// The next token's kind and start.
    fn next(&mut self) -> (TokenKind, usize) {
        if let Some(newline) = self.skip_whitespace() {
            return (TokenKind::Newline, newline);
        }
        let start = self.offset;
        let comment = self.rest_bytes().starts_with(b"//");
        if (comment || start == self.text.len()) && std::mem::take(&mut self.inserts_comma) {
            return (TokenKind::Newline, start);
        }
        if comment {
            self.offset += self.rest().find('\n').unwrap_or(self.rest().len());
            return (TokenKind::Comment, start);
        }
        let kind = self.word();
        if kind != TokenKind::Illegal {
            self.inserts_comma = kind.ends_declaration();
        }
        (kind, start)
    }

    /// The token that [`Self::scan`] would give, without taking it.
    pub(super) fn peek(&mut self) -> Token {
        let (offset, inserts_comma) = (self.offset, self.inserts_comma);
        let (interrupted, problems) = (self.interrupted.len(), self.problems.len());
        let token = self.scan();
        (self.offset, self.inserts_comma) = (offset, inserts_comma);
        self.interrupted.truncate(interrupted);
        self.problems.truncate(problems);
        token
    }

    /// Goes on with the string that an interpolation interrupted, just after its `)`.
    pub(super) fn resume_string(&mut self) -> Token {
        let start = self.offset;
        let kind = match self.interrupted.pop() {
            Some(quote) => self.string_rest(start, quote),
            None => TokenKind::Illegal,
        };
        self.inserts_comma = kind.ends_declaration();
        Token::new(kind, start, self.offset)
    }

    /// Leaves the rest of the text unread.
    pub(super) fn stop(&mut self) {
        self.offset = self.text.len();
        self.inserts_comma = false;
        self.problems.clear();
    }

    fn rest(&self) -> &'text str {
        &self.text[self.offset..]
    }

    fn rest_bytes(&self) -> &'text [u8] {
        &self.text.as_bytes()[self.offset..]
    }

    fn next_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn take(&mut self, prefix: &str) -> bool {
        let found = self.rest_bytes().starts_with(prefix.as_bytes());
        if found {
            self.offset += prefix.len();
        }
        found
    }

    fn problem(&mut self, start: usize, end: usize, message: impl Into<String>) {
        self.problems.push((Span::new(start, end), message.into()));
    }

    /// Skips to the next word; gives the place of the comma that the end of a line stands for.
    fn skip_whitespace(&mut self) -> Option<usize> {
        let mut newline = None;
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.next_byte() {
            if byte == b'\n' && newline.is_none() {
                newline = Some(self.offset);
            }
            self.offset += 1;
        }
        let at = newline.filter(|_| self.inserts_comma)?;
        // Text written for JSON may have its commas and colons at the start of a line.
        if matches!(self.next_byte(), Some(b',' | b':')) {
            return None;
        }
        self.inserts_comma = false;
        Some(at)
    }

    fn word(&mut self) -> TokenKind {
        let start = self.offset;
        let Some(byte) = self.next_byte() else {
            return TokenKind::End;
        };
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'$' => {
                self.skip_identifier_parts();
                return TokenKind::of_word(&self.text[start..self.offset]);
            }
            b'0'..=b'9' => return self.number(),
            b'.' if self.rest_bytes().get(1).is_some_and(u8::is_ascii_digit) => return self.number(),
            b'"' | b'\'' => return self.string(),
            b'#' if self.rest().trim_start_matches('#').starts_with(['"', '\'']) => return self.string(),
            b'#' | b'_' => return self.identifier(),
            b'@' => return self.attribute(),
            _ => {}
        }
        if let Some((kind, length)) = self.operator() {
            self.offset += length;
            return kind;
        }
        let first = self.rest().chars().next().unwrap_or_default();
        if is_letter(first) {
            return self.identifier();
        }
        if self.take("..") {
            self.problem(start, self.offset, "illegal token '..'; expected '.'");
            return TokenKind::Illegal;
        }
        self.offset += first.len_utf8();
        let message = match first {
            '\u{feff}' => "illegal byte order mark".to_owned(),
            _ => format!("illegal character {}", describe(first)),
        };
        self.problem(start, self.offset, message);
        TokenKind::Illegal
    }

    /// The operator or bracket that comes next, and how long it is.
    fn operator(&self) -> Option<(TokenKind, usize)> {
        let rest = self.rest_bytes();
        let second = rest.get(1).copied().unwrap_or(0);
        let kind = match (*rest.first()?, second) {
            (b'.', b'.') if rest.get(2) == Some(&b'.') => return Some((TokenKind::Ellipsis, 3)),
            (b'.', b'.') => return None,
            (b'&', b'&') => return Some((TokenKind::AndAnd, 2)),
            (b'|', b'|') => return Some((TokenKind::OrOr, 2)),
            (b'=', b'=') => return Some((TokenKind::Equal, 2)),
            (b'=', b'~') => return Some((TokenKind::Match, 2)),
            (b'!', b'=') => return Some((TokenKind::NotEqual, 2)),
            (b'!', b'~') => return Some((TokenKind::NotMatch, 2)),
            (b'<', b'=') => return Some((TokenKind::LessEqual, 2)),
            (b'<', b'-') => return Some((TokenKind::Arrow, 2)),
            (b'>', b'=') => return Some((TokenKind::GreaterEqual, 2)),
            (b':', _) => TokenKind::Colon,
            (b',', _) => TokenKind::Comma,
            (b'{', _) => TokenKind::LeftBrace,
            (b'}', _) => TokenKind::RightBrace,
            (b'[', _) => TokenKind::LeftBracket,
            (b']', _) => TokenKind::RightBracket,
            (b'(', _) => TokenKind::LeftParenthesis,
            (b')', _) => TokenKind::RightParenthesis,
            (b'.', _) => TokenKind::Period,
            (b'?', _) => TokenKind::Question,
            (b'!', _) => TokenKind::Not,
            (b'=', _) => TokenKind::Assign,
            (b'&', _) => TokenKind::Ampersand,
            (b'|', _) => TokenKind::Bar,
            (b'<', _) => TokenKind::Less,
            (b'>', _) => TokenKind::Greater,
            (b'+', _) => TokenKind::Plus,
            (b'-', _) => TokenKind::Minus,
            (b'*', _) => TokenKind::Star,
            (b'/', _) => TokenKind::Slash,
            (b';', _) => TokenKind::Semicolon,
            _ => return None,
        };
        Some((kind, 1))
    }

    /// Skips letters, digits, `_` and `$`.
    fn skip_identifier_parts(&mut self) {
        let rest = self.rest_bytes();
        let ascii = rest.iter().take_while(|byte| ASCII_PART[usize::from(**byte)]);
        self.offset += ascii.count();
        if self.next_byte().is_some_and(|byte| !byte.is_ascii()) {
            let rest = self.rest();
            self.offset += rest.find(|c| !is_identifier_part(c)).unwrap_or(rest.len());
        }
    }

    fn identifier(&mut self) -> TokenKind {
        let start = self.offset;
        if self.take("_|") {
            if self.take("_") {
                return TokenKind::Bottom;
            }
            self.problem(start, self.offset, "illegal token '_|'; expected '_'");
            return TokenKind::Illegal;
        }
        while self.take("_") {}
        if self.take("##") {
            while self.take("#") {}
            self.problem(start, self.offset, format!("illegal character {}", describe('#')));
            return TokenKind::Illegal;
        }
        let definition = self.take("#");
        if !(definition && self.rest().starts_with(is_digit)) {
            self.skip_identifier_parts();
        }
        TokenKind::of_word(&self.text[start..self.offset])
    }
}

/// Which bytes are ASCII characters that an identifier may go on with.
static ASCII_PART: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte.is_ascii() {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
        byte += 1;
    }
    table
};

static LETTER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{L}").expect("the pattern is valid"));
static DIGIT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{Nd}").expect("the pattern is valid"));

fn is_letter(character: char) -> bool {
    character.is_ascii_alphabetic()
        || !character.is_ascii() && LETTER.is_match(character.encode_utf8(&mut [0; 4]))
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit() || !character.is_ascii() && DIGIT.is_match(character.encode_utf8(&mut [0; 4]))
}

fn is_identifier_part(character: char) -> bool {
    matches!(character, '_' | '$') || is_letter(character) || is_digit(character)
}

/// `U+0041 'A'`, without the quoted part for what cannot be seen.
pub(super) fn describe(character: char) -> String {
    let code = format!("U+{:04X}", u32::from(character));
    if character.is_control() {
        code
    } else {
        format!("{code} '{character}'")
    }
}
