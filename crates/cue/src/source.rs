//! Places in a source text.

use crate::diagnostic::{Diagnostic, Diagnostics};
use std::sync::Arc;

/// A range of bytes in a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range from `start` to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: clamp(start),
            end: clamp(end),
        }
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A named text that spans point into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What to call it in messages: a file name, or `parameter`.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

/// A place for a person: both counted from one, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Source {
    /// A text and its name.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// Bytes that should be text; the place of the first one that is not.
    pub fn from_bytes(name: impl Into<Arc<str>>, bytes: &[u8]) -> Result<Self, Diagnostics> {
        let name = name.into();
        std::str::from_utf8(bytes)
            .map(|text| Self::new(Arc::clone(&name), text))
            .map_err(|error| {
                // The text up to there and a sign for what follows give the place its line and column.
                let source = Self::new(name, String::from_utf8_lossy(bytes));
                let at = error.valid_up_to();
                let span = Span::new(at, at + char::REPLACEMENT_CHARACTER.len_utf8());
                Diagnostics(vec![Diagnostic::syntax(&source, span, "the text is not UTF-8")])
            })
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.text.floor_char_boundary(offset as usize);
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        let clamp = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position {
            line: clamp(line),
            column: clamp(column),
        }
    }
}
