//! What is wrong with a program, and where.

use crate::source::{Source, Span};
use std::fmt;

/// One problem: what, at which path, and the places that have to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The path of the value that is wrong, such as `parameter.ports[0]`; empty for the text as a whole.
    pub path: String,
    /// What is wrong, for example `conflicting values 1 and 2`.
    pub message: String,
    /// The places, most telling first.
    pub places: Vec<Place>,
}

/// How far a problem stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The text is not CUE.
    Syntax,
    /// The text is CUE that this crate does not evaluate.
    Unsupported,
    /// The value is wrong and no further information can mend it.
    Error,
    /// The evaluation costs more than it may: whether the value is wrong is not known.
    Exhausted,
    /// The value is not known yet: more information could make it so.
    Incomplete,
}

/// A range in a named source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Source,
    /// The range in it.
    pub span: Span,
}

/// One or more problems of a program, in the order of their places.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostic {
    /// A problem of the text itself.
    pub fn syntax(source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self::at(Severity::Syntax, source, span, message)
    }

    /// A construct that is CUE but not evaluated here.
    pub fn unsupported(source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self::at(Severity::Unsupported, source, span, message)
    }

    fn at(severity: Severity, source: &Source, span: Span, message: impl Into<String>) -> Self {
        let places = vec![Place {
            source: source.clone(),
            span,
        }];
        Self {
            severity,
            path: String::new(),
            message: message.into(),
            places,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        out.write_str(&self.message)?;
        for place in &self.places {
            let position = place.source.position(place.span.start);
            write!(
                out,
                "\n    {}:{}:{}",
                place.source.name, position.line, position.column
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                out.write_str("\n")?;
            }
            write!(out, "{diagnostic}")?;
        }
        Ok(())
    }
}
