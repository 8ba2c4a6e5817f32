//! Text to tokens.

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
    /// What was wrong since the parser last asked.
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
    pub(super) fn scan(&mut self) -> Token {
        if let Some(newline) = self.skip_whitespace() {
            return newline;
        }
        let start = self.offset;
        if self.rest().starts_with("//") {
            if std::mem::take(&mut self.inserts_comma) {
                return Token {
                    kind: TokenKind::Newline,
                    start,
                    end: start,
                };
            }
            let length = self.rest().find('\n').unwrap_or(self.rest().len());
            self.offset += length;
            return Token {
                kind: TokenKind::Comment,
                start,
                end: self.offset,
            };
        }
        if self.rest().is_empty() && std::mem::take(&mut self.inserts_comma) {
            return Token {
                kind: TokenKind::Newline,
                start,
                end: start,
            };
        }
        let kind = self.word();
        if kind != TokenKind::Illegal {
            self.inserts_comma = kind.ends_declaration();
        }
        Token {
            kind,
            start,
            end: self.offset,
        }
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
        Token {
            kind,
            start,
            end: self.offset,
        }
    }

    fn rest(&self) -> &'text str {
        &self.text[self.offset..]
    }

    fn next_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn take(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.offset += prefix.len();
        }
        found
    }

    fn problem(&mut self, start: usize, end: usize, message: impl Into<String>) {
        self.problems.push((Span::new(start, end), message.into()));
    }

    /// Skips to the next word; gives the comma that the end of a line stands for.
    fn skip_whitespace(&mut self) -> Option<Token> {
        let start = self.offset;
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
        debug_assert!(at >= start);
        Some(Token {
            kind: TokenKind::Newline,
            start: at,
            end: at,
        })
    }

    fn word(&mut self) -> TokenKind {
        let start = self.offset;
        let Some(first) = self.rest().chars().next() else {
            return TokenKind::End;
        };
        match first {
            '0'..='9' => return self.number(),
            '.' if self.rest().as_bytes().get(1).is_some_and(u8::is_ascii_digit) => return self.number(),
            '"' | '\'' => return self.string(),
            '#' if self.rest().trim_start_matches('#').starts_with(['"', '\'']) => return self.string(),
            '#' | '$' | '_' => return self.identifier(),
            '@' => return self.attribute(),
            _ if is_letter(first) => return self.identifier(),
            _ => {}
        }
        for (text, kind) in OPERATORS {
            if self.take(text) {
                return kind;
            }
        }
        self.offset += first.len_utf8();
        let message = match first {
            '\u{feff}' => "illegal byte order mark".to_owned(),
            _ => format!("illegal character {}", describe(first)),
        };
        self.problem(start, self.offset, message);
        TokenKind::Illegal
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
            self.problem(start, self.offset, format!("illegal character {}", describe('#')));
            return TokenKind::Illegal;
        }
        let definition = self.take("#");
        if !(definition && self.rest().starts_with(is_digit)) {
            self.offset += self
                .rest()
                .find(|c| !is_identifier_part(c))
                .unwrap_or(self.rest().len());
        }
        TokenKind::of_word(&self.text[start..self.offset])
    }

    fn number(&mut self) -> TokenKind {
        let start = self.offset;
        for (prefixes, base, name) in [
            (&["0x", "0X"][..], 16, "hexadecimal"),
            (&["0b"], 2, "binary"),
            (&["0o"], 8, "octal"),
        ] {
            if prefixes.iter().any(|prefix| self.take(prefix)) {
                self.digits(base);
                if self.offset - start <= 2 {
                    self.problem(start, self.offset, format!("illegal {name} number"));
                }
                return TokenKind::Integer;
            }
        }
        let mut kind = TokenKind::Integer;
        self.digits(10);
        let leading_zero = self.offset - start > 1 && self.text[start..].starts_with('0');
        if self.next_byte() == Some(b'.') && !self.rest().starts_with("..") {
            kind = TokenKind::Float;
            self.offset += 1;
            self.digits(10);
        }
        match self.next_byte() {
            Some(b'K' | b'M' | b'G' | b'T' | b'P') if !(leading_zero && kind == TokenKind::Integer) => {
                self.offset += 1;
                self.take("i");
                return TokenKind::Integer;
            }
            Some(b'e' | b'E') => {
                kind = TokenKind::Float;
                self.offset += 1;
                if matches!(self.next_byte(), Some(b'+' | b'-')) {
                    self.offset += 1;
                }
                let exponent = self.offset;
                self.digits(10);
                if self.offset == exponent {
                    self.problem(start, self.offset, "illegal exponent in number");
                }
            }
            _ => {}
        }
        if leading_zero && kind == TokenKind::Integer {
            self.problem(start, self.offset, "illegal integer number");
        }
        kind
    }

    fn digits(&mut self, base: u32) {
        let mut last = 0;
        while let Some(byte) = self
            .next_byte()
            .filter(|byte| *byte == b'_' || char::from(*byte).is_digit(base))
        {
            if last == b'_' && byte == b'_' {
                self.problem(self.offset, self.offset + 1, "illegal '_' in number");
            }
            last = byte;
            self.offset += 1;
        }
        if last == b'_' {
            self.problem(self.offset - 1, self.offset, "illegal '_' in number");
        }
    }

    fn string(&mut self) -> TokenKind {
        let start = self.offset;
        let quote = Quote::at(self.rest());
        self.offset += quote.opening_length();
        if !quote.multiline {
            return self.string_rest(start, quote);
        }
        if self.take("\n") || self.take("\r\n") {
            return self.string_rest(start, quote);
        }
        let message = format!(
            "expected newline after multiline quote {}",
            &self.text[start..self.offset]
        );
        self.problem(start, self.offset, message);
        // What follows is most likely the text that was meant.
        let interrupted = self.interrupted.len();
        self.string_rest(start, quote);
        self.interrupted.truncate(interrupted);
        TokenKind::Illegal
    }

    /// Reads up to the closing quote or the next interpolation.
    fn string_rest(&mut self, start: usize, quote: Quote) -> TokenKind {
        loop {
            if quote.closes(self.rest()) {
                self.offset += quote.closing_length();
                return TokenKind::String;
            }
            if let Some(after) = quote.escape_length(self.rest()) {
                self.offset += after;
                if self.take("(") {
                    self.interrupted.push(quote);
                    return TokenKind::Interpolation;
                }
                // An escaped quote does not close; what may be escaped is checked with the value.
                if matches!(self.next_byte(), Some(byte) if byte == b'\\' || byte == quote.mark) {
                    self.offset += 1;
                }
                continue;
            }
            match self.rest().chars().next() {
                Some('\n') if !quote.multiline => break,
                Some(character) => self.offset += character.len_utf8(),
                None => break,
            }
        }
        self.problem(start, self.offset, "string literal not terminated");
        TokenKind::Illegal
    }

    /// `@name(…)`: any tokens, as long as brackets match.
    fn attribute(&mut self) -> TokenKind {
        self.offset += 1;
        self.offset += self
            .rest()
            .find(|c| !is_identifier_part(c))
            .unwrap_or(self.rest().len());
        self.inserts_comma = false;
        if self.scan().kind != TokenKind::LeftParenthesis {
            self.problem(self.offset, self.offset, "invalid attribute: expected '('");
            return TokenKind::Illegal;
        }
        let mut open = vec![TokenKind::RightParenthesis];
        while let Some(close) = open.last().copied() {
            let token = self.scan_in_attribute();
            match token.kind {
                kind if kind == close => {
                    open.pop();
                }
                TokenKind::End => {
                    self.problem(
                        token.start,
                        token.end,
                        format!("attribute missing '{}'", close.name()),
                    );
                    return TokenKind::Illegal;
                }
                TokenKind::Interpolation => {
                    self.problem(token.start, token.end, "interpolation not allowed in attribute");
                    self.interrupted.pop();
                    return TokenKind::Illegal;
                }
                TokenKind::LeftParenthesis => open.push(TokenKind::RightParenthesis),
                TokenKind::LeftBracket => open.push(TokenKind::RightBracket),
                TokenKind::LeftBrace => open.push(TokenKind::RightBrace),
                kind @ (TokenKind::RightParenthesis | TokenKind::RightBracket | TokenKind::RightBrace) => {
                    self.problem(token.start, token.end, format!("unexpected '{}'", kind.name()));
                    return TokenKind::Illegal;
                }
                _ => {}
            }
        }
        TokenKind::Attribute
    }

    /// An attribute in an attribute is text: were it read as one, attributes could nest without bound.
    fn scan_in_attribute(&mut self) -> Token {
        self.inserts_comma = false;
        self.skip_whitespace();
        while self.take("@") {
            self.skip_whitespace();
        }
        self.scan()
    }
}

/// Longest first where one starts with another.
const OPERATORS: [(&str, TokenKind); 31] = [
    ("...", TokenKind::Ellipsis),
    ("&&", TokenKind::AndAnd),
    ("||", TokenKind::OrOr),
    ("==", TokenKind::Equal),
    ("=~", TokenKind::Match),
    ("!=", TokenKind::NotEqual),
    ("!~", TokenKind::NotMatch),
    ("<=", TokenKind::LessEqual),
    ("<-", TokenKind::Arrow),
    (">=", TokenKind::GreaterEqual),
    (":", TokenKind::Colon),
    (",", TokenKind::Comma),
    ("{", TokenKind::LeftBrace),
    ("}", TokenKind::RightBrace),
    ("[", TokenKind::LeftBracket),
    ("]", TokenKind::RightBracket),
    ("(", TokenKind::LeftParenthesis),
    (")", TokenKind::RightParenthesis),
    (".", TokenKind::Period),
    ("?", TokenKind::Question),
    ("!", TokenKind::Not),
    ("=", TokenKind::Assign),
    ("&", TokenKind::Ampersand),
    ("|", TokenKind::Bar),
    ("<", TokenKind::Less),
    (">", TokenKind::Greater),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("/", TokenKind::Slash),
    (";", TokenKind::Semicolon),
];

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
