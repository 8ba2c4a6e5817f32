//! Interned names and the labels made of them.

use std::collections::HashMap;
use std::sync::Arc;

/// An interned string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(u32);

/// The label of an arc from a struct or a list to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Label {
    /// An ordinary field.
    Regular(Symbol),
    /// `#name`; the symbol includes the `#`.
    Definition(Symbol),
    /// `_name`; the symbol includes the `_`.
    Hidden(Symbol),
    /// `_#name`; the symbol includes the `_#`.
    HiddenDefinition(Symbol),
    /// A list index.
    Index(u32),
}

impl Label {
    /// Whether the field is exported and counts as data.
    pub(crate) fn is_regular(self) -> bool {
        matches!(self, Self::Regular(_))
    }

    /// The name; a list index has none.
    pub(crate) fn symbol(self) -> Option<Symbol> {
        match self {
            Self::Regular(symbol)
            | Self::Definition(symbol)
            | Self::Hidden(symbol)
            | Self::HiddenDefinition(symbol) => Some(symbol),
            Self::Index(_) => None,
        }
    }

    /// Whether its value is closed.
    pub(crate) fn is_definition(self) -> bool {
        matches!(self, Self::Definition(_) | Self::HiddenDefinition(_))
    }
}

/// Interned strings: a shared part from the compiled program, and what an evaluation adds.
#[derive(Debug, Default, Clone)]
pub(crate) struct Symbols {
    shared: Arc<Table>,
    own: Table,
}

#[derive(Debug, Default, Clone)]
struct Table {
    names: Vec<Arc<str>>,
    index: HashMap<Arc<str>, u32, foldhash::fast::RandomState>,
}

impl Symbols {
    /// The symbol of a string.
    pub(crate) fn intern(&mut self, name: &str) -> Symbol {
        if let Some(&symbol) = self.shared.index.get(name).or_else(|| self.own.index.get(name)) {
            return Symbol(symbol);
        }
        let symbol =
            u32::try_from(self.shared.names.len() + self.own.names.len()).expect("fewer than 2^32 names");
        let name: Arc<str> = name.into();
        self.own.names.push(name.clone());
        self.own.index.insert(name, symbol);
        Symbol(symbol)
    }

    /// The string of a symbol.
    pub(crate) fn name(&self, symbol: Symbol) -> &Arc<str> {
        let index = symbol.0 as usize;
        let shared = self.shared.names.len();
        if index < shared {
            &self.shared.names[index]
        } else {
            &self.own.names[index - shared]
        }
    }

    /// The same symbols, ready to be shared by evaluations.
    pub(crate) fn freeze(self) -> Self {
        debug_assert!(self.shared.names.is_empty(), "symbols are frozen once");
        Self {
            shared: Arc::new(self.own),
            own: Table::default(),
        }
    }

    /// The label that an identifier means.
    pub(crate) fn identifier_label(&mut self, name: &str) -> Label {
        let symbol = self.intern(name);
        match name.as_bytes() {
            [b'_', b'#', ..] => Label::HiddenDefinition(symbol),
            [b'#', ..] => Label::Definition(symbol),
            [b'_', ..] => Label::Hidden(symbol),
            _ => Label::Regular(symbol),
        }
    }
}
