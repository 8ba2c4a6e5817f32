//! Tokens to tree.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{Source, Span};
use crate::syntax::ast::File;

/// Parses a whole file; on failure, every independent problem of it.
pub fn parse(source: &Source) -> Result<File, Diagnostics> {
    Err(Diagnostics(vec![Diagnostic::unsupported(source, Span::default(), "not written yet")]))
}
