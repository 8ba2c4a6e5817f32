//! Tokens.

use crate::source::Span;

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// The kind of a [`Token`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An invalid token; the lexer has reported it.
    Illegal,
    End,
    Comment,
    Attribute,
    Identifier,
    Integer,
    Float,
    String,
    /// A string, or the rest of one, up to and with `\(`.
    Interpolation,
    Bottom,

    Plus,
    Minus,
    Star,
    Slash,
    Ampersand,
    Bar,
    AndAnd,
    OrOr,
    Assign,
    Equal,
    Less,
    Greater,
    Not,
    Arrow,
    NotEqual,
    LessEqual,
    GreaterEqual,
    Match,
    NotMatch,

    LeftParenthesis,
    LeftBracket,
    LeftBrace,
    RightParenthesis,
    RightBracket,
    RightBrace,
    Comma,
    /// A comma that the end of a line stands for.
    Newline,
    Period,
    Ellipsis,
    Semicolon,
    Colon,
    Question,

    If,
    For,
    In,
    Let,
    Func,
    True,
    False,
    Null,
}

impl Token {
    pub(super) fn new(kind: TokenKind, start: usize, end: usize) -> Self {
        Self {
            kind,
            span: Span::new(start, end),
        }
    }

    pub(super) fn start(self) -> usize {
        self.span.start as usize
    }

    pub(super) fn end(self) -> usize {
        self.span.end as usize
    }

    /// A comma, written or implied by the end of a line.
    pub(super) fn is_comma(self) -> bool {
        matches!(self.kind, TokenKind::Comma | TokenKind::Newline)
    }
}

impl TokenKind {
    pub(super) fn of_word(word: &str) -> Self {
        match word {
            "if" => Self::If,
            "for" => Self::For,
            "in" => Self::In,
            "let" => Self::Let,
            "func" => Self::Func,
            "true" => Self::True,
            "false" => Self::False,
            "null" => Self::Null,
            _ => Self::Identifier,
        }
    }

    pub(super) fn is_keyword(self) -> bool {
        use TokenKind::{False, For, Func, If, In, Let, Null, True};
        matches!(self, If | For | In | Let | Func | True | False | Null)
    }

    /// Whether its text tells more than its kind.
    pub(super) fn is_literal(self) -> bool {
        use TokenKind::{Bottom, Float, Identifier, Integer, Interpolation, String};
        matches!(
            self,
            Identifier | Integer | Float | String | Interpolation | Bottom
        )
    }

    /// Whether the end of a line after this word ends the declaration.
    pub(super) fn ends_declaration(self) -> bool {
        use TokenKind::{
            Attribute, Ellipsis, Question, RightBrace, RightBracket, RightParenthesis, Semicolon,
        };
        let closes = matches!(
            self,
            Attribute | Ellipsis | Question | RightBrace | RightBracket | RightParenthesis | Semicolon
        );
        closes || self.is_keyword() || self.is_literal() && self != Self::Interpolation
    }

    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Illegal => "ILLEGAL",
            Self::End => "EOF",
            Self::Comment => "COMMENT",
            Self::Attribute => "ATTRIBUTE",
            Self::Identifier => "IDENT",
            Self::Integer => "INT",
            Self::Float => "FLOAT",
            Self::String => "STRING",
            Self::Interpolation => "INTERPOLATION",
            Self::Bottom => "_|_",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Star => "*",
            Self::Slash => "/",
            Self::Ampersand => "&",
            Self::Bar => "|",
            Self::AndAnd => "&&",
            Self::OrOr => "||",
            Self::Assign => "=",
            Self::Equal => "==",
            Self::Less => "<",
            Self::Greater => ">",
            Self::Not => "!",
            Self::Arrow => "<-",
            Self::NotEqual => "!=",
            Self::LessEqual => "<=",
            Self::GreaterEqual => ">=",
            Self::Match => "=~",
            Self::NotMatch => "!~",
            Self::LeftParenthesis => "(",
            Self::LeftBracket => "[",
            Self::LeftBrace => "{",
            Self::RightParenthesis => ")",
            Self::RightBracket => "]",
            Self::RightBrace => "}",
            Self::Comma | Self::Newline => ",",
            Self::Period => ".",
            Self::Ellipsis => "...",
            Self::Semicolon => ";",
            Self::Colon => ":",
            Self::Question => "?",
            Self::If => "if",
            Self::For => "for",
            Self::In => "in",
            Self::Let => "let",
            Self::Func => "func",
            Self::True => "true",
            Self::False => "false",
            Self::Null => "null",
        }
    }
}
