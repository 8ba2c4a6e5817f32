//! Parses expressions.

use super::literals::text_of;
use super::{Parsed, Parser};
use crate::syntax::ast::{
    Binary, BinaryOperator, Call, Expr, ExprKind, Identifier, Index, Selector, Slice, UnaryOperator,
};
use crate::syntax::literal::Quote;
use crate::syntax::token::TokenKind;
use std::borrow::Cow;

impl<'source> Parser<'source> {
    pub(super) fn expression(&mut self) -> Parsed<Expr<'source>> {
        self.nested(|parser| parser.binary(1))
    }

    /// Operators that bind at least as strongly as `minimum`.
    fn binary(&mut self, minimum: u8) -> Parsed<Expr<'source>> {
        let mut left = self.unary()?;
        loop {
            let Some((operator, precedence)) = self.binary_operator().filter(|(_, found)| *found >= minimum)
            else {
                return Ok(left);
            };
            let height = self.height;
            let (name, name_span) = (self.text(self.token), self.token.span);
            self.advance();
            let right = self.binary(precedence + 1)?;
            self.grow(height.max(self.height), left.span.start as usize)?;
            let span = left.span.to(right.span);
            let kind = match operator {
                Operator::Symbol(operator) => ExprKind::Binary(Box::new(Binary {
                    operator,
                    left,
                    right,
                })),
                Operator::Function => ExprKind::Call(Box::new(Call {
                    function: Expr {
                        kind: ExprKind::Identifier(name),
                        span: name_span,
                    },
                    arguments: vec![left, right],
                })),
            };
            left = Expr { kind, span };
        }
    }

    fn binary_operator(&self) -> Option<(Operator, u8)> {
        use BinaryOperator as B;
        let (operator, precedence) = match self.kind() {
            TokenKind::Bar => (B::Or, 1),
            TokenKind::Ampersand => (B::And, 2),
            TokenKind::OrOr => (B::LogicalOr, 3),
            TokenKind::AndAnd => (B::LogicalAnd, 4),
            TokenKind::Equal => (B::Equal, 5),
            TokenKind::NotEqual => (B::NotEqual, 5),
            TokenKind::Less => (B::Less, 5),
            TokenKind::LessEqual => (B::LessEqual, 5),
            TokenKind::Greater => (B::Greater, 5),
            TokenKind::GreaterEqual => (B::GreaterEqual, 5),
            TokenKind::Match => (B::Match, 5),
            TokenKind::NotMatch => (B::NotMatch, 5),
            TokenKind::Plus => (B::Add, 6),
            TokenKind::Minus => (B::Subtract, 6),
            TokenKind::Star => (B::Multiply, 7),
            TokenKind::Slash => (B::Divide, 7),
            TokenKind::Identifier if matches!(self.text(self.token), "div" | "mod" | "quo" | "rem") => {
                return Some((Operator::Function, 7));
            }
            _ => return None,
        };
        Some((Operator::Symbol(operator), precedence))
    }

    fn unary(&mut self) -> Parsed<Expr<'source>> {
        let operator = match self.kind() {
            TokenKind::Plus => UnaryOperator::Plus,
            TokenKind::Minus => UnaryOperator::Minus,
            TokenKind::Not => UnaryOperator::Not,
            TokenKind::Star => UnaryOperator::Default,
            TokenKind::Less => UnaryOperator::Less,
            TokenKind::LessEqual => UnaryOperator::LessEqual,
            TokenKind::Greater => UnaryOperator::Greater,
            TokenKind::GreaterEqual => UnaryOperator::GreaterEqual,
            TokenKind::NotEqual => UnaryOperator::NotEqual,
            TokenKind::Match => UnaryOperator::Match,
            TokenKind::NotMatch => UnaryOperator::NotMatch,
            _ => return self.primary(),
        };
        let start = self.token.start();
        self.advance();
        let operand = self.nested(Self::unary)?;
        self.grow(self.height, start)?;
        let kind = ExprKind::Unary {
            operator,
            operand: Box::new(operand),
        };
        Ok(Expr {
            kind,
            span: self.span_from(start),
        })
    }

    /// An operand with its selectors, indices and calls.
    fn primary(&mut self) -> Parsed<Expr<'source>> {
        let start = self.token.start();
        let mut base = self.operand()?;
        loop {
            let height = self.height;
            let kind = match self.kind() {
                TokenKind::Period => self.selector(base)?,
                TokenKind::LeftBracket => self.index(base)?,
                TokenKind::LeftParenthesis => self.call(base)?,
                _ => return Ok(base),
            };
            self.grow(height.max(self.height), start)?;
            base = Expr {
                kind,
                span: self.span_from(start),
            };
        }
    }

    fn operand(&mut self) -> Parsed<Expr<'source>> {
        let start = self.token.start();
        self.height = 1;
        let kind = match self.kind() {
            TokenKind::LeftBrace => ExprKind::Struct(Box::new(self.structure()?)),
            TokenKind::LeftBracket => ExprKind::List(Box::new(self.list()?)),
            TokenKind::LeftParenthesis => {
                self.advance();
                let inner = self.expression()?;
                self.expect(TokenKind::RightParenthesis)?;
                self.grow(self.height, start)?;
                ExprKind::Parenthesized(Box::new(inner))
            }
            TokenKind::Integer | TokenKind::Float => self.number()?,
            TokenKind::String => self.string()?,
            TokenKind::Interpolation => self.interpolation()?,
            kind @ (TokenKind::Bottom | TokenKind::Null | TokenKind::True | TokenKind::False) => {
                self.advance();
                match kind {
                    TokenKind::Bottom => ExprKind::Bottom,
                    TokenKind::Null => ExprKind::Null,
                    kind => ExprKind::Bool(kind == TokenKind::True),
                }
            }
            kind if kind == TokenKind::Identifier || kind.is_keyword() => match self.word().name {
                "_" => ExprKind::Top,
                name => ExprKind::Identifier(name),
            },
            _ => return self.expected("operand"),
        };
        Ok(Expr {
            kind,
            span: self.span_from(start),
        })
    }

    fn selector(&mut self, base: Expr<'source>) -> Parsed<ExprKind<'source>> {
        self.advance();
        let text = self.text(self.token);
        let (name, quoted, name_span) = match self.kind() {
            TokenKind::String if text.starts_with('"') && !text.starts_with("\"\"") => {
                debug_assert!(!Quote::at(text).multiline);
                let (value, name_span) = self.string_value()?;
                let name = text_of(value).expect("only bytes literals have escapes for bytes");
                (name, true, name_span)
            }
            kind if kind == TokenKind::Identifier || kind.is_keyword() => {
                let Identifier { name, span } = self.word();
                (Cow::Borrowed(name), false, span)
            }
            _ => return self.expected("selector"),
        };
        Ok(ExprKind::Selector(Box::new(Selector {
            base,
            name,
            quoted,
            name_span,
        })))
    }

    fn index(&mut self, base: Expr<'source>) -> Parsed<ExprKind<'source>> {
        self.advance();
        let (low, low_height) = self.bound(TokenKind::Colon)?;
        let (kind, height) = match low {
            Some(index) if self.kind() != TokenKind::Colon => {
                (ExprKind::Index(Box::new(Index { base, index })), low_height)
            }
            low => {
                self.expect(TokenKind::Colon)?;
                let (high, high_height) = self.bound(TokenKind::RightBracket)?;
                let slice = Slice { base, low, high };
                (ExprKind::Slice(Box::new(slice)), low_height.max(high_height))
            }
        };
        self.expect(TokenKind::RightBracket)?;
        self.height = height;
        Ok(kind)
    }

    /// The optional expression in brackets before `end`, and its height.
    fn bound(&mut self, end: TokenKind) -> Parsed<(Option<Expr<'source>>, usize)> {
        if self.kind() == end {
            return Ok((None, 0));
        }
        let value = self.expression()?;
        Ok((Some(value), self.height))
    }

    fn call(&mut self, function: Expr<'source>) -> Parsed<ExprKind<'source>> {
        self.advance();
        let mut arguments = Vec::new();
        let mut height = 0;
        while self.kind() != TokenKind::RightParenthesis {
            arguments.push(self.expression()?);
            height = height.max(self.height);
            if !self.separator("argument list", TokenKind::RightParenthesis)? {
                break;
            }
        }
        self.expect_closing(TokenKind::RightParenthesis, "argument list")?;
        self.height = height;
        Ok(ExprKind::Call(Box::new(Call { function, arguments })))
    }
}

enum Operator {
    Symbol(BinaryOperator),
    /// `div`, `mod`, `quo` or `rem`, which are functions too.
    Function,
}
