//! Parses lists.

use super::comments::{add_comments, comments_of_element};
use super::{Parsed, Parser};
use crate::syntax::ast::{Element, Ellipsis, Embedding, Identifier, ListLiteral};
use crate::syntax::token::TokenKind;

impl<'source> Parser<'source> {
    /// `[…]`.
    pub(super) fn list(&mut self) -> Parsed<ListLiteral<'source>> {
        let start = self.token.start();
        self.keep_inside();
        self.advance();
        let mut list = ListLiteral {
            elements: Vec::new(),
            ellipsis: None,
        };
        let mut alias = None;
        let mut height = 0;
        while !matches!(self.kind(), TokenKind::RightBracket | TokenKind::Ellipsis) {
            let around = std::mem::take(&mut self.inside);
            let more = self.element(&mut list, &mut alias)?;
            self.inside = around;
            height = height.max(self.height);
            if !more {
                break;
            }
        }
        if self.kind() == TokenKind::Ellipsis {
            let dots = self.token.start();
            self.advance();
            let value = match self.kind() {
                TokenKind::RightBracket | TokenKind::Comma | TokenKind::Newline => None,
                _ => Some(self.expression()?),
            };
            height = height.max(if value.is_some() { self.height } else { 0 });
            list.ellipsis = Some(Ellipsis {
                value,
                span: self.span_from(dots),
            });
            self.separator("list literal", TokenKind::RightBracket)?;
        }
        self.comments_before_closing(list.elements.last_mut().map(comments_of_element));
        self.expect_closing(TokenKind::RightBracket, "list literal")?;
        self.grow(height, start)?;
        self.pattern_alias = self.list_alias(&list, alias)?;
        Ok(list)
    }

    /// One element with its comma. `false` when the list has to close after it.
    fn element(
        &mut self,
        list: &mut ListLiteral<'source>,
        alias: &mut Option<Identifier<'source>>,
    ) -> Parsed<bool> {
        let mut comments = self.comments_above();
        let more = if matches!(self.kind(), TokenKind::For | TokenKind::If) && self.at_clause() {
            let comprehension = self.nested(Self::comprehension)?;
            list.elements
                .push(Element::Comprehension(Box::new(comprehension)));
            self.separator("list literal", TokenKind::RightBracket)?
        } else {
            let aliased = self.aliased_expression()?;
            *alias = alias.take().or(aliased.alias);
            list.elements.push(Element::Value(Embedding {
                value: aliased.value,
                comments: Vec::new(),
            }));
            self.keep_inside();
            self.element_comma()?
        };
        add_comments(&mut comments, std::mem::take(&mut self.inside));
        add_comments(&mut comments, self.comments_beside());
        if let Some(element) = list.elements.last_mut() {
            add_comments(comments_of_element(element), comments);
        }
        Ok(more)
    }

    /// The comma after an element has to be written, except after the last.
    fn element_comma(&mut self) -> Parsed<bool> {
        let newline = self.kind() == TokenKind::Newline;
        let place = self.token.span;
        let more = self.separator("list literal", TokenKind::RightBracket)?;
        if newline && self.kind() != TokenKind::RightBracket {
            return self.fail(place, "missing ',' before newline in list literal");
        }
        Ok(more)
    }

    /// An alias in a list is only good for a label.
    fn list_alias(
        &mut self,
        list: &ListLiteral<'source>,
        alias: Option<Identifier<'source>>,
    ) -> Parsed<Option<Identifier<'source>>> {
        let labels = matches!(
            self.kind(),
            TokenKind::Colon | TokenKind::Question | TokenKind::Not
        );
        match alias {
            Some(alias) if !labels || list.elements.len() != 1 => {
                self.fail(alias.span, "alias values not allowed in this position")
            }
            alias => Ok(alias),
        }
    }
}
