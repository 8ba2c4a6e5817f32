//! What names mean where.

use crate::program::symbols::{Label, Symbol};
use crate::source::Span;

/// One scope level; the evaluator has one environment for each.
#[derive(Debug)]
pub(super) enum Level {
    /// A struct literal.
    Struct(Names),
    /// A field whose value sees its own label or value.
    Frame {
        label: Option<Alias>,
        value: Option<Alias>,
    },
    /// A `for` or `let` clause.
    Clause { key: Option<Symbol>, value: Symbol },
}

/// The names that a struct literal declares, in order. Most have few, and a symbol is quickly compared.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<(Symbol, Entry)>);

impl Names {
    pub(super) fn get(&self, name: Symbol) -> Option<&Entry> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, entry)| entry)
    }

    pub(super) fn get_mut(&mut self, name: Symbol) -> Option<&mut Entry> {
        self.0
            .iter_mut()
            .find(|(known, _)| *known == name)
            .map(|(_, entry)| entry)
    }

    pub(super) fn push(&mut self, name: Symbol, entry: Entry) {
        self.0.push((name, entry));
    }

    pub(super) fn into_entries(self) -> Vec<(Symbol, Entry)> {
        self.0
    }
}

/// A name for a field's own label or value.
#[derive(Debug)]
pub(super) struct Alias {
    pub(super) name: Symbol,
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
