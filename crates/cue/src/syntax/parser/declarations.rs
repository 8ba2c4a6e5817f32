//! Parses declarations of structs.

use super::comments::{add_comments, comments_of};
use super::{Parsed, Parser};
use crate::syntax::ast::{
    Clause, Comprehension, Declaration, Ellipsis, Embedding, Expr, ExprKind, Field, LetClause, StructLiteral,
};
use crate::syntax::token::TokenKind;

impl<'source> Parser<'source> {
    /// Declarations up to the closing brace or the end of the file.
    pub(super) fn declarations(&mut self, declarations: &mut Vec<Declaration<'source>>) {
        let mut height = 0;
        while !matches!(self.kind(), TokenKind::RightBrace | TokenKind::End) {
            let open = self.open.len();
            let around = std::mem::take(&mut self.inside);
            match self.declaration() {
                Ok(declaration) => declarations.push(declaration),
                Err(_) => self.recover(open),
            }
            self.inside = around;
            height = height.max(self.height);
        }
        self.comments_before_closing(declarations.last_mut().and_then(comments_of));
        self.height = height;
    }

    fn declaration(&mut self) -> Parsed<Declaration<'source>> {
        let mut comments = self.comments_above();
        let mut declaration = match self.kind() {
            TokenKind::Attribute => Declaration::Attribute(self.attribute()),
            TokenKind::Ellipsis => {
                let span = self.token.span;
                self.advance();
                Declaration::Ellipsis(Ellipsis { value: None, span })
            }
            TokenKind::For | TokenKind::If if self.at_clause() => {
                Declaration::Comprehension(Box::new(self.nested(Self::comprehension)?))
            }
            TokenKind::Let if self.lexer.peek().kind == TokenKind::Identifier => {
                Declaration::Let(Box::new(self.let_declaration()?))
            }
            _ => self.field_or_embedding()?,
        };
        self.keep_inside();
        add_comments(&mut comments, std::mem::take(&mut self.inside));
        if self.kind() != TokenKind::End {
            self.separator("struct literal", TokenKind::RightBrace)?;
        }
        add_comments(&mut comments, self.comments_beside());
        if let Some(own) = comments_of(&mut declaration) {
            add_comments(own, comments);
        }
        Ok(declaration)
    }

    /// Whether `for` or `if` starts a comprehension and is not a label.
    pub(super) fn at_clause(&mut self) -> bool {
        use TokenKind::{Assign, Colon, Comma, End, Newline, Not, Question};
        match self.lexer.peek().kind {
            Colon | Assign | Question | Comma | Newline | End => false,
            Not if self.kind() == TokenKind::For => false,
            Not => !self.source.text[self.lexer.peek().end()..]
                .trim_start()
                .starts_with(':'),
            _ => true,
        }
    }

    /// Clauses and the struct that they yield.
    pub(super) fn comprehension(&mut self) -> Parsed<Comprehension<'source>> {
        let start = self.token.start();
        let mut clauses = Vec::with_capacity(1);
        let mut height = 0;
        loop {
            match self.kind() {
                TokenKind::For => {
                    self.advance();
                    let first = self.identifier()?;
                    let second = match self.take(TokenKind::Comma) {
                        true => Some(self.identifier()?),
                        false => None,
                    };
                    self.expect(TokenKind::In)?;
                    let source = self.expression()?;
                    let (key, value) = match second {
                        Some(value) => (Some(first), value),
                        None => (None, first),
                    };
                    clauses.push(Clause::For { key, value, source });
                }
                TokenKind::If => {
                    self.advance();
                    clauses.push(Clause::If(self.expression()?));
                }
                TokenKind::Let => {
                    self.advance();
                    let name = self.identifier()?;
                    self.expect(TokenKind::Assign)?;
                    let value = self.expression()?;
                    clauses.push(Clause::Let { name, value });
                }
                _ => break,
            }
            height = height.max(self.height);
            if self.token.is_comma() {
                self.advance();
            }
        }
        let body = self.structure()?;
        self.grow(height.max(self.height), start)?;
        Ok(Comprehension {
            clauses,
            body,
            comments: Vec::new(),
            span: self.span_from(start),
        })
    }

    fn let_declaration(&mut self) -> Parsed<LetClause<'source>> {
        let start = self.token.start();
        self.advance();
        let name = self.identifier()?;
        self.expect(TokenKind::Assign)?;
        let value = self.expression()?;
        Ok(LetClause {
            name,
            value,
            comments: Vec::new(),
            span: self.span_from(start),
        })
    }

    fn field_or_embedding(&mut self) -> Parsed<Declaration<'source>> {
        let start = self.token.start();
        let aliased = self.aliased_expression()?;
        if let ExprKind::Identifier(name) = &aliased.value.kind
            && name.starts_with("__")
        {
            self.report(aliased.value.span, "identifiers starting with '__' are reserved");
        }
        match self.kind() {
            TokenKind::Colon | TokenKind::Question | TokenKind::Not => {
                let field = self.field(aliased, start)?;
                Ok(Declaration::Field(Box::new(field)))
            }
            _ if aliased.alias.is_some() => self.fail(
                aliased.value.span,
                r#"use of deprecated old-style alias; use "let X = expr" instead"#,
            ),
            kind => {
                let ends = self.token.is_comma() || matches!(kind, TokenKind::RightBrace | TokenKind::End);
                if !ends && aliased.could_be_label() {
                    return self.expected("label or ':'");
                }
                Ok(Declaration::Embedding(Embedding {
                    value: aliased.value,
                    comments: Vec::new(),
                }))
            }
        }
    }

    /// `a: b: 1` after `a:`, as a struct without braces around the field that starts here.
    pub(super) fn brief_struct(&mut self, field: Field<'source>) -> Expr<'source> {
        let span = field.span;
        let declarations = vec![Declaration::Field(Box::new(field))];
        Expr {
            kind: ExprKind::Struct(Box::new(StructLiteral {
                declarations,
                brief: true,
                span,
            })),
            span,
        }
    }

    /// `{…}`.
    pub(super) fn structure(&mut self) -> Parsed<StructLiteral<'source>> {
        let start = self.token.start();
        self.keep_inside();
        self.expect(TokenKind::LeftBrace)?;
        let mut declarations = Vec::new();
        self.declarations(&mut declarations);
        self.expect_closing(TokenKind::RightBrace, "struct literal")?;
        self.grow(self.height, start)?;
        Ok(StructLiteral {
            declarations,
            brief: false,
            span: self.span_from(start),
        })
    }
}
