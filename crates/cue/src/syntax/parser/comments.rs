//! Attaches comments to declarations.
//!
//! A declaration takes the comments above it and the one at the end of its line. What is left inside it (before a
//! closing bracket, between a label and its value) goes to the nearest declaration before or around it.

use super::Parser;
use crate::syntax::ast::{Comment, CommentPosition, Declaration, Element, Expr, ExprKind, Field, Label};
use crate::syntax::token::{Token, TokenKind};

impl<'source> Parser<'source> {
    /// Moves to the next token that is not a comment; the comments before it become [`Parser::pending`].
    pub(super) fn advance_over_comments(&mut self) {
        let previous = self.token;
        self.scan();
        if self.kind() == TokenKind::Comment {
            self.collect_comments(previous);
        }
    }

    /// Takes the comments that the current token starts; `previous` is the token before them.
    fn collect_comments(&mut self, previous: Token) {
        let first = self.pending.len();
        // Nothing stands before a comment that starts the file.
        let mut beside = previous.end() > 0 && self.newlines_since(previous) == 0;
        let mut previous = previous;
        while self.kind() == TokenKind::Comment {
            let gap = self.newlines_since(previous);
            let (text, span) = (self.text(self.token), self.token.span);
            let group = self.pending[first..].last_mut();
            match group.filter(|group| gap == 1 && group.position != CommentPosition::Line) {
                Some(group) => {
                    group.span = group.span.to(span);
                    group.text = &self.source.text[group.span.start as usize..self.token.end()];
                }
                None => {
                    let position = if beside {
                        CommentPosition::Line
                    } else {
                        CommentPosition::Detached
                    };
                    self.pending.push(Comment { text, position, span });
                }
            }
            beside = false;
            previous = self.token;
            self.scan();
        }
        let documents = self.newlines_since(previous) == 1 && self.kind() != TokenKind::End;
        if let Some(group) = self.pending[first..].last_mut()
            && group.position == CommentPosition::Detached
            && documents
        {
            group.position = CommentPosition::Doc;
        }
    }

    fn newlines_since(&self, token: Token) -> usize {
        self.source.text[token.end()..self.token.start()]
            .matches('\n')
            .count()
    }

    /// The comments above the declaration that starts here.
    pub(super) fn comments_above(&mut self) -> Vec<Comment<'source>> {
        let mut comments = std::mem::take(&mut self.pending);
        for comment in comments
            .iter_mut()
            .filter(|comment| comment.position == CommentPosition::Line)
        {
            comment.position = CommentPosition::Detached; // after an opening bracket
        }
        comments
    }

    /// Keeps the comments before the current token for the declaration being read.
    pub(super) fn keep_inside(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let comments = std::mem::take(&mut self.pending);
        self.inside.extend(comments.into_iter().map(|comment| Comment {
            position: match comment.position {
                CommentPosition::Line => CommentPosition::Line,
                _ => CommentPosition::Detached,
            },
            ..comment
        }));
    }

    /// The comment behind the comma that was just taken, when it is on the same line.
    pub(super) fn comments_beside(&mut self) -> Vec<Comment<'source>> {
        let count = self
            .pending
            .iter()
            .take_while(|comment| comment.position == CommentPosition::Line)
            .count();
        self.pending.drain(..count).collect()
    }

    /// Attaches the comments before a closing bracket to the last declaration before it.
    pub(super) fn comments_before_closing(&mut self, last: Option<&mut Vec<Comment<'source>>>) {
        let start = self.inside.len();
        self.keep_inside();
        if let Some(comments) = last {
            comments.extend(self.inside.drain(start..));
        }
    }
}

/// Most often there are none yet, and then none are copied.
pub(super) fn add_comments<'text>(to: &mut Vec<Comment<'text>>, mut more: Vec<Comment<'text>>) {
    if to.is_empty() {
        *to = more;
    } else {
        to.append(&mut more);
    }
}

/// The comments of a declaration. Those of `a: b: c: 1` belong to the innermost field.
pub(super) fn comments_of<'tree, 'text>(
    declaration: &'tree mut Declaration<'text>,
) -> Option<&'tree mut Vec<Comment<'text>>> {
    match declaration {
        Declaration::Field(field) => Some(&mut innermost(field).comments),
        Declaration::Let(clause) => Some(&mut clause.comments),
        Declaration::Embedding(embedding) => Some(&mut embedding.comments),
        Declaration::Comprehension(comprehension) => Some(&mut comprehension.comments),
        Declaration::Ellipsis(_) | Declaration::Attribute(_) => None,
    }
}

/// The comments of an element.
pub(super) fn comments_of_element<'tree, 'text>(
    element: &'tree mut Element<'text>,
) -> &'tree mut Vec<Comment<'text>> {
    match element {
        Element::Value(embedding) => &mut embedding.comments,
        Element::Comprehension(comprehension) => &mut comprehension.comments,
    }
}

/// Follows `a: b: c: 1` to `c`, as long as the labels are names.
fn innermost<'tree, 'text>(mut field: &'tree mut Field<'text>) -> &'tree mut Field<'text> {
    let mut depth = 0;
    let mut value = &field.value;
    while let Some(inner) = brief_field(value).filter(|inner| is_name(&inner.label)) {
        depth += 1;
        value = &inner.value;
    }
    for _ in 0..depth {
        field = brief_field_mut(&mut field.value).expect("counted above");
    }
    field
}

fn brief_field<'tree, 'text>(value: &'tree Expr<'text>) -> Option<&'tree Field<'text>> {
    match &value.kind {
        ExprKind::Struct(literal) if literal.brief => match literal.declarations.as_slice() {
            [Declaration::Field(field)] => Some(field),
            _ => None,
        },
        _ => None,
    }
}

fn brief_field_mut<'tree, 'text>(value: &'tree mut Expr<'text>) -> Option<&'tree mut Field<'text>> {
    match &mut value.kind {
        ExprKind::Struct(literal) => match literal.declarations.as_mut_slice() {
            [Declaration::Field(field)] => Some(field),
            _ => None,
        },
        _ => None,
    }
}

fn is_name(label: &Label<'_>) -> bool {
    matches!(label, Label::Identifier(_) | Label::String(..))
}
