//! Field paths: how a patch names a place in an object.
//!
//! ```text
//!   spec.forProvider.region       fields
//!   spec.rules[0].host            an element of an array
//!   metadata.labels['a.b/c']      a field whose name has a dot
//!   spec.rules[*].host            every element, or every field (where the path is written to)
//! ```
//!
//! The grammar, the limits and the texts are those of Crossplane: what it can find, we find, and what it cannot find is not found
//! for the same reason. *Not found* ([`PathError::is_not_found`]) is a state of the world that an optional patch waits for; a value
//! of the wrong type on the way is a mistake and always an error.

mod access;
mod expand;
mod merge;

use std::fmt;
use std::str::FromStr;

pub use access::PathError;
pub use merge::{MergeError, MergeOptions, Repeats};

/// The highest index that may be written: a path is no way to make an array of a million nulls.
pub const HIGHEST_INDEX: u32 = 1024;

/// The most steps that a path may have: deeper objects cannot be read back.
pub const MOST_STEPS: usize = 100;

/// The name that stands for every element of an array, or every field of an object.
const WILDCARD: &str = "*";

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A field of an object, without quotes.
    Field(String),
    /// An element of an array, counted from 0.
    Index(u32),
}

/// A parsed field path. Two paths are equal if they take the same steps, however they were written.
#[derive(Debug, Clone, Eq)]
pub struct FieldPath {
    segments: Vec<Segment>,
    expands: bool,
}

/// Why a text is not a field path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathSyntaxError {
    /// A character where the grammar has no place for it.
    #[error("unexpected '{found}' at position {position}")]
    Unexpected {
        /// The character.
        found: char,
        /// Its place in the text, in bytes.
        position: usize,
    },
    /// A bracket that is never closed.
    #[error("unterminated '[' at position {position}")]
    Unterminated {
        /// Its place in the text, in bytes.
        position: usize,
    },
    /// More steps than any object is deep.
    #[error("a field path cannot have more than {MOST_STEPS} steps")]
    TooDeep,
    /// No path at all.
    #[error("a field path cannot be empty")]
    Empty,
}

impl FieldPath {
    /// The steps of the path, from the root of the object.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether the path was written with `[*]`, and so may name many places when it is written to.
    #[must_use]
    pub fn expands(&self) -> bool {
        self.expands
    }

    fn of(segments: Vec<Segment>) -> Self {
        Self {
            segments,
            expands: false,
        }
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        self.segments == other.segments
    }
}

impl FromStr for FieldPath {
    type Err = PathSyntaxError;

    fn from_str(text: &str) -> Result<Self, PathSyntaxError> {
        if text.is_empty() {
            return Err(PathSyntaxError::Empty);
        }
        let mut segments = Vec::new();
        let mut rest = text;
        loop {
            let position = text.len() - rest.len();
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            if end > 0 {
                segments.push(field(&rest[..end]));
            }
            if segments.len() > MOST_STEPS {
                return Err(PathSyntaxError::TooDeep);
            }
            let position = position + end;
            rest = match text[position..].chars().next() {
                None => break,
                Some('[') => bracketed(text, position, &mut segments)?,
                Some('.') => after_period(text, position)?,
                Some(found) => return Err(PathSyntaxError::Unexpected { found, position }),
            };
        }
        Ok(Self {
            segments,
            expands: text.contains("[*]"),
        })
    }
}

/// What follows the period at `position`: never nothing, and never another separator.
fn after_period(text: &str, position: usize) -> Result<&str, PathSyntaxError> {
    let rest = &text[position + 1..];
    if position == 0 || rest.is_empty() {
        return Err(PathSyntaxError::Unexpected { found: '.', position });
    }
    match rest.chars().next() {
        Some(found @ ('.' | '[')) => Err(PathSyntaxError::Unexpected {
            found,
            position: position + 1,
        }),
        _ => Ok(rest),
    }
}

/// Reads `[…]` at `position`; gives what follows it.
fn bracketed<'a>(
    text: &'a str,
    position: usize,
    segments: &mut Vec<Segment>,
) -> Result<&'a str, PathSyntaxError> {
    let inside = position + 1;
    let Some(length) = text[inside..].find(']') else {
        return Err(PathSyntaxError::Unterminated { position });
    };
    if length == 0 {
        return Err(PathSyntaxError::Unexpected {
            found: ']',
            position: inside,
        });
    }
    let content = &text[inside..inside + length];
    if let Some(offset) = content.find('[') {
        return Err(PathSyntaxError::Unexpected {
            found: '[',
            position: inside + offset,
        });
    }
    segments.push(field_or_index(content));
    Ok(&text[inside + length + 1..])
}

fn field(text: &str) -> Segment {
    Segment::Field(text.trim_matches(['\'', '"']).to_owned())
}

/// A number is an index, unless it is too large to be one.
fn field_or_index(text: &str) -> Segment {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(index) if digits => Segment::Index(index),
        _ => field(text),
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_segments(f, &self.segments)
    }
}

fn write_segments(f: &mut impl fmt::Write, segments: &[Segment]) -> fmt::Result {
    for (position, segment) in segments.iter().enumerate() {
        match segment {
            Segment::Index(index) => write!(f, "[{index}]")?,
            Segment::Field(name) if name.is_empty() => f.write_str("['']")?,
            Segment::Field(name) if name == WILDCARD || name.contains('.') => write!(f, "[{name}]")?,
            Segment::Field(name) if position == 0 => f.write_str(name)?,
            Segment::Field(name) => write!(f, ".{name}")?,
        }
    }
    Ok(())
}

/// The text of the first steps of a path, for a message.
fn text_of(segments: &[Segment]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_segments(&mut text, segments);
    text
}
