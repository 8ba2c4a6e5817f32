//! Parses literals: numbers, strings, interpolations.

use super::{Abandoned, Parsed, Parser};
use crate::number::Number;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, Interpolation, InterpolationPart};
use crate::syntax::literal::{Piece, Quote};
use crate::syntax::token::TokenKind;
use std::borrow::Cow;
use std::str::Utf8Error;

impl<'source> Parser<'source> {
    pub(super) fn number(&mut self) -> Parsed<ExprKind<'source>> {
        let (token, text) = (self.token, self.text(self.token));
        match Number::from_literal(text) {
            Ok(number) => {
                self.advance();
                Ok(ExprKind::Number(number))
            }
            Err(error) => self.fail(token.span, error.to_string()),
        }
    }

    pub(super) fn string(&mut self) -> Parsed<ExprKind<'source>> {
        let quote = Quote::at(self.text(self.token));
        let (value, _) = self.string_value()?;
        Ok(literal(quote, value))
    }

    /// The value of the string token and its place.
    pub(super) fn string_value(&mut self) -> Parsed<(Cow<'source, [u8]>, Span)> {
        let token = self.token;
        let quote = Quote::at(self.text(token));
        let start = self.content_start(token.start(), quote);
        let end = token.end() - quote.closing_length();
        let indentation = quote.indentation(&self.source.text[start..end]);
        let piece = Piece {
            text: &self.source.text[start..end],
            first: true,
            last: true,
        };
        let value = self.piece(quote, indentation, piece, start)?;
        self.advance();
        Ok((value, token.span))
    }

    /// A string with `\(…)` in it.
    pub(super) fn interpolation(&mut self) -> Parsed<ExprKind<'source>> {
        let beginning = self.token.start();
        let quote = Quote::at(self.text(self.token));
        let interruption = quote.hashes + r"\(".len();
        let mut pieces = vec![(
            self.content_start(beginning, quote),
            self.token.end() - interruption,
        )];
        let mut expressions = Vec::new();
        let mut height = 0;
        loop {
            // The token ends with an opening parenthesis.
            self.open.push(TokenKind::RightParenthesis);
            self.previous_end = self.token.end();
            self.advance_over_comments();
            expressions.push(self.expression()?);
            height = height.max(self.height);
            if self.kind() != TokenKind::RightParenthesis {
                return self.fail(self.token.span, "expected ')' for string interpolation");
            }
            self.open.pop();
            let resumed = self.lexer.resume_string();
            self.use_token(resumed);
            match self.kind() {
                TokenKind::Interpolation => {
                    pieces.push((self.token.start(), self.token.end() - interruption))
                }
                TokenKind::String => {
                    pieces.push((self.token.start(), self.token.end() - quote.closing_length()));
                    break;
                }
                _ => return Err(Abandoned),
            }
        }
        let parts = self.parts(quote, &pieces, expressions)?;
        self.advance();
        self.grow(height, beginning)?;
        Ok(ExprKind::Interpolation(Box::new(Interpolation {
            bytes: quote.mark == b'\'',
            parts,
        })))
    }

    fn parts(
        &mut self,
        quote: Quote,
        pieces: &[(usize, usize)],
        expressions: Vec<Expr<'source>>,
    ) -> Parsed<Vec<InterpolationPart<'source>>> {
        let (start, end) = pieces.last().copied().unwrap_or_default();
        let indentation = quote.indentation(&self.source.text[start..end]);
        let mut parts = Vec::new();
        let mut expressions = expressions.into_iter();
        for (index, place) in pieces.iter().enumerate() {
            let (start, end) = *place;
            let (first, last) = (index == 0, index + 1 == pieces.len());
            let piece = Piece {
                text: &self.source.text[start..end],
                first,
                last,
            };
            let text = self.piece(quote, indentation, piece, start)?;
            if !text.is_empty() {
                parts.push(InterpolationPart::Text(text));
            }
            parts.extend(expressions.next().map(InterpolationPart::Expr));
        }
        Ok(parts)
    }

    fn content_start(&self, start: usize, quote: Quote) -> usize {
        let start = start + quote.opening_length();
        let text = &self.source.text[start..];
        match quote.multiline {
            true => start + if text.starts_with("\r\n") { 2 } else { 1 },
            false => start,
        }
    }

    /// The value of a piece that starts at an offset of the text.
    fn piece(
        &mut self,
        quote: Quote,
        indentation: &str,
        piece: Piece<'source>,
        start: usize,
    ) -> Parsed<Cow<'source, [u8]>> {
        quote.unquote(piece, indentation).map_err(|invalid| {
            let at = start + invalid.offset;
            self.report(Span::new(at, at + 1), invalid.message);
            Abandoned
        })
    }
}

fn literal(quote: Quote, value: Cow<'_, [u8]>) -> ExprKind<'_> {
    match quote.mark {
        b'\'' => ExprKind::Bytes(value.into()),
        _ => ExprKind::String(text_of(value).expect("only bytes literals have escapes for bytes")),
    }
}

/// The value of a literal as text.
pub(super) fn text_of(value: Cow<'_, [u8]>) -> Result<Cow<'_, str>, Utf8Error> {
    match value {
        Cow::Borrowed(value) => std::str::from_utf8(value).map(Cow::Borrowed),
        Cow::Owned(value) => match String::from_utf8(value) {
            Ok(text) => Ok(Cow::Owned(text)),
            Err(error) => Err(error.utf8_error()),
        },
    }
}
