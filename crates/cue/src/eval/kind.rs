//! The kinds of values, as a set.

use std::fmt;
use std::ops::{BitAnd, BitOr};

/// A set of value kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind(u16);

impl Kind {
    pub const NONE: Self = Self(0);
    pub const NULL: Self = Self(1);
    pub const BOOL: Self = Self(2);
    pub const INT: Self = Self(4);
    pub const FLOAT: Self = Self(8);
    pub const STRING: Self = Self(16);
    pub const BYTES: Self = Self(32);
    pub const LIST: Self = Self(64);
    pub const STRUCT: Self = Self(128);
    pub const FUNCTION: Self = Self(256);
    pub const NUMBER: Self = Self(4 | 8);
    pub const TOP: Self = Self(511);
    /// What can be compared with `<` and `>`, and so be bounded.
    pub const ORDERED: Self = Self(1 | 2 | 4 | 8 | 16 | 32);

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn intersects(self, other: Self) -> bool {
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
