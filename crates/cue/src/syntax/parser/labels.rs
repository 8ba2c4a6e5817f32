//! Parses fields: labels, aliases, constraints and values.

use super::{Parsed, Parser};
use crate::syntax::ast::{Constraint, Element, Expr, ExprKind, Field, Identifier, Label};
use crate::syntax::token::TokenKind;

/// An expression that may turn out to be a label, with the alias before it.
pub(super) struct Aliased<'source> {
    pub(super) alias: Option<Identifier<'source>>,
    pub(super) value: Expr<'source>,
}

impl Aliased<'_> {
    pub(super) fn could_be_label(&self) -> bool {
        use ExprKind as Kind;
        matches!(
            self.value.kind,
            Kind::Identifier(_) | Kind::Top | Kind::String(_) | Kind::Bytes(_) | Kind::Interpolation(_)
        ) || matches!(
            self.value.kind,
            Kind::Parenthesized(_) | Kind::List(_) | Kind::Bool(_) | Kind::Null
        )
    }
}

impl<'source> Parser<'source> {
    /// `expression` or `alias=expression`.
    pub(super) fn aliased_expression(&mut self) -> Parsed<Aliased<'source>> {
        self.pattern_alias = None;
        let value = self.expression()?;
        if self.kind() != TokenKind::Assign {
            return Ok(Aliased { alias: None, value });
        }
        let ExprKind::Identifier(name) = value.kind else {
            return self.fail(value.span, "expected identifier for alias");
        };
        let alias = Identifier {
            name,
            span: value.span,
        };
        self.advance();
        self.pattern_alias = None;
        Ok(Aliased {
            alias: Some(alias),
            value: self.expression()?,
        })
    }

    /// The rest of a field whose label was read as an expression: `?` or `!`, the colon, the value, attributes.
    pub(super) fn field(&mut self, label: Aliased<'source>, start: usize) -> Parsed<Field<'source>> {
        let (alias, label) = (label.alias, self.label(label.value)?);
        let constraint = match self.kind() {
            TokenKind::Question => Constraint::Optional,
            TokenKind::Not => Constraint::Required,
            _ => Constraint::None,
        };
        if constraint != Constraint::None {
            self.advance();
        }
        if self.kind() != TokenKind::Colon {
            return self.expected("label or ':'");
        }
        self.advance();
        let value = self.value()?;
        self.grow(self.height, start)?;
        let span = self.span_from(start);
        let mut attributes = Vec::new();
        while self.kind() == TokenKind::Attribute {
            attributes.push(self.attribute());
        }
        let (value_alias, value) = (value.alias, value.value);
        Ok(Field {
            alias,
            label,
            constraint,
            value_alias,
            value,
            attributes,
            comments: Vec::new(),
            span,
        })
    }

    /// A field's value: an expression, perhaps with an alias, or another label with its value.
    fn value(&mut self) -> Parsed<Aliased<'source>> {
        self.keep_inside();
        let start = self.token.start();
        let aliased = self.aliased_expression()?;
        let labelled = matches!(
            self.kind(),
            TokenKind::Colon | TokenKind::Question | TokenKind::Not
        );
        if labelled && aliased.could_be_label() {
            let field = self.nested(|parser| parser.field(aliased, start))?;
            return Ok(Aliased {
                alias: None,
                value: self.brief_struct(field),
            });
        }
        Ok(aliased)
    }

    fn label(&mut self, value: Expr<'source>) -> Parsed<Label<'source>> {
        let span = value.span;
        match value.kind {
            ExprKind::Identifier(name) => Ok(Label::Identifier(Identifier { name, span })),
            ExprKind::String(text) => Ok(Label::String(text, span)),
            ExprKind::Bytes(bytes) => match String::from_utf8(bytes.into()) {
                Ok(text) => Ok(Label::String(text.into(), span)),
                Err(_) => self.fail(span, "invalid string in label"),
            },
            ExprKind::Bool(true) => Ok(Label::String("true".into(), span)),
            ExprKind::Bool(false) => Ok(Label::String("false".into(), span)),
            ExprKind::Null => Ok(Label::String("null".into(), span)),
            ExprKind::Interpolation(_) => Ok(Label::Interpolated(value)),
            ExprKind::Parenthesized(inner) => Ok(Label::Dynamic(*inner)),
            ExprKind::Top => self.fail(span, "cannot use _ as label"),
            ExprKind::List(mut list) => {
                match (list.elements.pop(), list.elements.is_empty(), list.ellipsis) {
                    (Some(Element::Value(element)), true, None) => {
                        Ok(Label::Pattern(self.pattern_alias.take(), element.value))
                    }
                    _ => self.fail(span, "square bracket must have exactly one element"),
                }
            }
            _ => self.fail(
                span,
                "this expression cannot be a label; put it in parentheses or quotes",
            ),
        }
    }
}
