//! Scopes and bindings.

use crate::program::symbols::{Label, Symbol};
use crate::source::Span;
use std::ops::Range;

/// One scope level; the evaluator has one environment for each.
#[derive(Debug)]
pub(super) enum Level {
    /// A struct literal, with its part of the names. Most have few, and a symbol is quickly compared.
    Struct(Range<usize>),
    /// A field whose value sees its own label or value.
    Frame {
        label: Option<Alias>,
        value: Option<Alias>,
    },
    /// A `for` or `let` clause.
    Clause { key: Option<Symbol>, value: Symbol },
}

/// A name for a field's own label or value.
#[derive(Debug)]
pub(super) struct Alias {
    pub(super) name: Symbol,
    pub(super) span: Span,
    pub(super) used: bool,
}

/// The meaning of a name in a struct.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Symbol,
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
