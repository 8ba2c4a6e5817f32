//! Names of revisions: the stored name, and the name that an author gives.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is nothing.
    #[error("a name is empty")]
    Empty,
    /// It is longer than names may be.
    #[error("{text:?} is longer than {longest} characters")]
    TooLong {
        /// The beginning of what was read.
        text: String,
        /// How long it may be.
        longest: usize,
    },
    /// An upper-case letter.
    #[error("{text:?} contains the upper-case letter {character:?}")]
    Uppercase {
        /// What was read.
        text: String,
        /// The first offending letter.
        character: char,
    },
    /// A character other than lower-case letters, digits, hyphens and dots.
    #[error("{text:?} contains {character:?}; names are lower-case letters, digits, hyphens and dots")]
    Character {
        /// What was read.
        text: String,
        /// The first offending character.
        character: char,
    },
    /// A dot or hyphen at the beginning, at the end, or beside a dot.
    #[error("{text:?} does not begin and end with a letter or digit between its dots")]
    Shape {
        /// What was read.
        text: String,
    },
    /// It reads as a range of versions, so that no reference could ever name it.
    #[error("{text:?} cannot be referred to: it reads as a range of versions")]
    Range {
        /// What was read.
        text: String,
    },
}

/// Checks a text to be lower-case letters, digits, hyphens and dots, in a shape that can be a part of an object's name.
pub(crate) fn check(text: &str, longest: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > longest {
        return Err(NameError::TooLong {
            text: text.chars().take(longest).collect(),
            longest,
        });
    }
    for character in text.chars() {
        match character {
            'a'..='z' | '0'..='9' | '-' | '.' => {}
            upper if upper.is_uppercase() => {
                return Err(NameError::Uppercase {
                    text: text.into(),
                    character,
                });
            }
            _ => {
                return Err(NameError::Character {
                    text: text.into(),
                    character,
                });
            }
        }
    }
    let well_formed = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    if text.split('.').all(well_formed) {
        Ok(())
    } else {
        Err(NameError::Shape { text: text.into() })
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                $check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    };
}

name! {
    /// The name that a revision is stored under: unique in its lineage, and never changed.
    RevisionName, |text: &str| check(text, 253)
}

name! {
    /// A name that a person gave to a revision (`prod`, `1.2`); a reference to a lineage without versions may use it.
    GivenName, check_given
}

fn check_given(text: &str) -> Result<(), NameError> {
    check(text, 128)?;
    if crate::reference::is_range(text) {
        Err(NameError::Range { text: text.into() })
    } else {
        Ok(())
    }
}
