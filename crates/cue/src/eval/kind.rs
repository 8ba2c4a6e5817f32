//! The kinds of values, as a set.

use std::fmt;
use std::ops::{BitAnd, BitOr};

/// A set of value kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kind(u16);

impl Kind {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOL: Self = Self(2);
    pub(crate) const INT: Self = Self(4);
    pub(crate) const FLOAT: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const BYTES: Self = Self(32);
    pub(crate) const LIST: Self = Self(64);
    pub(crate) const STRUCT: Self = Self(128);
    pub(crate) const FUNCTION: Self = Self(256);
    pub(crate) const NUMBER: Self = Self(4 | 8);
    pub(crate) const TOP: Self = Self(511);

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitAnd for Kind {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Kind {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::TOP || *self == Self(511 & !256) {
            return out.write_str("_");
        }
        let mut names = Vec::new();
        let single = [
            (Self::NULL, "null"),
            (Self::BOOL, "bool"),
            (Self::NUMBER, "number"),
            (Self::INT, "int"),
            (Self::FLOAT, "float"),
            (Self::STRING, "string"),
            (Self::BYTES, "bytes"),
            (Self::LIST, "list"),
            (Self::STRUCT, "struct"),
            (Self::FUNCTION, "func"),
        ];
        let mut rest = *self;
        for (kind, name) in single {
            if rest.contains(kind) {
                names.push(name);
                rest = Self(rest.0 & !kind.0);
            }
        }
        match names.as_slice() {
            [] => out.write_str("_|_"),
            [one] => out.write_str(one),
            many => write!(out, "({})", many.join("|")),
        }
    }
}
