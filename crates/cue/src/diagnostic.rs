//! Diagnostics: problems of a program with paths and source positions.

use crate::source::{Source, Span};
use std::fmt;

/// A problem: message, path, and related source positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The path of the value, such as `parameter.ports[0]`; empty for the whole text.
    pub path: String,
    /// The message, for example `conflicting values 1 and 2`.
    pub message: String,
    /// The source positions, most relevant first.
    pub places: Vec<Place>,
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The text is not CUE.
    Syntax,
    /// Valid CUE that this crate does not support.
    Unsupported,
    /// A fatal error: more information cannot resolve it.
    Error,
    /// The budget was exceeded: the value is unknown.
    Exhausted,
    /// Incomplete: more information could make the value concrete.
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
