//! What names mean where.

use crate::program::symbols::Label;
use crate::source::Span;
use std::collections::HashMap;

/// One scope level; the evaluator has one environment for each.
#[derive(Debug)]
pub(super) enum Level {
    /// A struct literal.
    Struct(HashMap<String, Entry>),
    /// A field whose value sees its own label or value.
    Frame {
        label: Option<Alias>,
        value: Option<Alias>,
    },
    /// A `for` or `let` clause.
    Clause { key: Option<String>, value: String },
}

/// A name for a field's own label or value.
#[derive(Debug)]
pub(super) struct Alias {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) used: bool,
}

/// What a name in a struct is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) target: Target,
    pub(super) span: Span,
    pub(super) used: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Field(Label),
    /// An alias of a field.
    Alias(Label),
    Let(u32),
    /// An alias of the field that the declaration of this number makes.
    Computed(u32),
}
