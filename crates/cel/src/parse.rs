//! Parses expressions and expands macros.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use cel::common::ast::{Expr, IdedExpr, SourceInfo};
use cel::{Env, ParseErrors};

use crate::macros;
use crate::source::{CompileError, Place, Problem};

/// Maximum nesting of an expression, as the API server.
const MOST_NESTED: u16 = 250;

/// Maximum length of an expression, in characters.
const LONGEST: usize = 100_000;

/// An expression as written.
pub(crate) struct Parsed<'a> {
    pub(crate) source: &'a str,
    pub(crate) root: IdedExpr,
    info: SourceInfo,
}

impl Parsed<'_> {
    pub(crate) fn problem(&self, id: u64, message: String) -> Problem {
        let place = match self.info.offset_for(id) {
            Some((start, _)) => Place::of(self.source, start),
            None => Place::NOWHERE,
        };
        Problem { place, message }
    }
}

/// Parses an expression.
pub(crate) fn parse(source: &str) -> Result<Parsed<'_>, CompileError> {
    static ENVIRONMENT: LazyLock<Env> = LazyLock::new(|| {
        let mut environment = Env::default();
        for expansion in macros::all() {
            // The names and argument counts differ, so none is refused.
            let added = environment.add_macro(expansion);
            debug_assert!(added.is_ok(), "two macros of one form");
        }
        environment
    });
    let nowhere = |message: String| CompileError::nowhere(source, message);
    let length = source.chars().count();
    if length > LONGEST {
        let message = format!("expression code point size exceeds limit: size: {length}, limit {LONGEST}");
        return Err(nowhere(message));
    }
    let (root, info) = ENVIRONMENT
        .parser()
        .max_recursion_depth(MOST_NESTED)
        .parse_with_source_info(source)
        .map_err(|errors| CompileError::of(source, problems(errors)))?;
    if matches!(root.expr, Expr::Unspecified) {
        return Err(nowhere("unspecified expression".to_owned()));
    }
    Ok(Parsed { source, root, info })
}

/// The problems of a parse, without duplicates and internal errors of the parser.
fn problems(errors: ParseErrors) -> Vec<Problem> {
    let is_internal = |message: &str| {
        message.contains("Context") || message.starts_with("Incomplete ") || message.starts_with("No `")
    };
    let mut by_place: BTreeMap<(isize, isize), Vec<String>> = BTreeMap::new();
    let total = errors.errors.len();
    for error in errors.errors {
        if total > 1 && is_internal(&error.msg) {
            continue;
        }
        let message = match error.msg.split_once(": ") {
            Some((kind @ ("invalid string literal" | "invalid bytes literal"), _)) => kind.to_owned(),
            _ => error.msg,
        };
        by_place.entry(error.pos).or_default().push(message);
    }
    by_place
        .into_iter()
        .flat_map(|((line, column), messages)| {
            messages.into_iter().map(move |message| {
                // The parser points at the dot before the identifier.
                let shift = i64::from(message == "unsupported syntax: '`'");
                let place = Place {
                    line: line as i64,
                    column: column as i64 - 1 + shift,
                };
                Problem { place, message }
            })
        })
        .collect()
}
