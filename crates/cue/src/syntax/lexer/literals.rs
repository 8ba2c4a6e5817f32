//! Scans numbers, strings and attributes; their values are decoded later.

use super::Lexer;
use crate::syntax::literal::Quote;
use crate::syntax::token::{Token, TokenKind};

impl Lexer<'_> {
    pub(super) fn number(&mut self) -> TokenKind {
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

    pub(super) fn string(&mut self) -> TokenKind {
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
    pub(super) fn string_rest(&mut self, start: usize, quote: Quote) -> TokenKind {
        loop {
            let special = |byte: &u8| matches!(byte, b'\\' | b'\n') || *byte == quote.mark;
            let plain = self.rest_bytes().iter().position(special);
            self.offset = plain.map_or(self.text.len(), |length| self.offset + length);
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
    pub(super) fn attribute(&mut self) -> TokenKind {
        self.offset += 1;
        self.skip_identifier_parts();
        self.inserts_comma = false;
        self.skip_whitespace();
        if !self.take("(") {
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
                        token.start(),
                        token.end(),
                        format!("attribute missing '{}'", close.name()),
                    );
                    return TokenKind::Illegal;
                }
                TokenKind::Interpolation => {
                    self.problem(
                        token.start(),
                        token.end(),
                        "interpolation not allowed in attribute",
                    );
                    self.interrupted.pop();
                    return TokenKind::Illegal;
                }
                TokenKind::LeftParenthesis => open.push(TokenKind::RightParenthesis),
                TokenKind::LeftBracket => open.push(TokenKind::RightBracket),
                TokenKind::LeftBrace => open.push(TokenKind::RightBrace),
                kind @ (TokenKind::RightParenthesis | TokenKind::RightBracket | TokenKind::RightBrace) => {
                    self.problem(
                        token.start(),
                        token.end(),
                        format!("unexpected '{}'", kind.name()),
                    );
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
