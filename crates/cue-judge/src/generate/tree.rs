//! A program as a tree of text pieces.

use std::fmt;

/// A piece of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Its sort.
    pub sort: Sort,
    /// Its text and the pieces in it, in order.
    pub parts: Vec<Part>,
}

/// The sort of a piece: pieces of the same sort are interchangeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The whole text.
    File,
    /// A declaration with what ends it: it can be left out.
    Declaration,
    /// An element of a list with its comma: it can be left out.
    Element,
    /// A clause of a comprehension: it can be left out where others remain.
    Clause,
    /// A value.
    Expression,
}

/// Text, or a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text as it is.
    Text(String),
    /// A piece.
    Tree(Tree),
}

impl Tree {
    pub(super) fn new(sort: Sort) -> Self {
        Self {
            sort,
            parts: Vec::new(),
        }
    }

    /// A value without pieces.
    pub fn leaf(text: &str) -> Self {
        Self::new(Sort::Expression).text(text)
    }

    pub(super) fn field(label: &str, value: Self) -> Self {
        Self::new(Sort::Declaration)
            .text(&format!("{label}: "))
            .tree(value)
            .text("\n")
    }

    pub(super) fn binary(left: Self, operator: &str, right: Self) -> Self {
        Self::new(Sort::Expression)
            .text("(")
            .tree(left)
            .text(&format!(" {operator} "))
            .tree(right)
            .text(")")
    }

    pub(super) fn text(mut self, text: &str) -> Self {
        self.parts.push(Part::Text(text.to_owned()));
        self
    }

    pub(super) fn tree(mut self, tree: Self) -> Self {
        self.parts.push(Part::Tree(tree));
        self
    }

    pub(super) fn push(&mut self, tree: Self) {
        self.parts.push(Part::Tree(tree));
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.write_str(text)?,
                Part::Tree(tree) => tree.fmt(out)?,
            }
        }
        Ok(())
    }
}
