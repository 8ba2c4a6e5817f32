//! Compiles syntax trees to programs with resolved names.

mod expressions;
pub(crate) mod ir;
mod predeclared;
mod resolve;
mod scope;
pub(crate) mod symbols;

use crate::diagnostic::Diagnostics;
use crate::packages::regexp::Pattern;
use crate::source::Source;
use crate::syntax;
use ir::{Position, StructExpr};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use symbols::Symbols;

/// A compiled program. It can be evaluated any number of times, from any thread.
#[derive(Debug)]
pub struct Program {
    pub(crate) sources: Vec<Source>,
    pub(crate) root: ir::Expr,
    pub(crate) symbols: Symbols,
    regexes: Mutex<HashMap<String, Pattern>>,
}

impl Program {
    /// A compiled regular expression, kept for the next evaluation.
    pub(crate) fn regex(&self, pattern: &str) -> Result<Pattern, String> {
        let kept = || self.regexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = kept().get(pattern) {
            return Ok(regex.clone());
        }
        let regex = Pattern::compile(pattern).map_err(|error| format!("invalid regexp: {error}"))?;
        let mut regexes = kept();
        if regexes.len() < MAXIMUM_REGEXES && regex.size() <= LARGEST_REGEX {
            regexes.insert(pattern.to_owned(), regex.clone());
        }
        Ok(regex)
    }
}

/// Maximum number of cached regular expressions.
const MAXIMUM_REGEXES: usize = 64;

/// Maximum size of a cached regular expression; larger ones are compiled by each evaluation.
const LARGEST_REGEX: usize = 128 << 10;

/// Options of compilation.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompileOptions<'a> {
    /// Names that the evaluation will inject at the top, so that the text may use them without declaring them.
    pub externals: &'a [&'a str],
    /// Whether unused imports and `let`s are accepted. Go's `cue` refuses them; KubeVela does not.
    pub allow_unused: bool,
}

/// Compiles one source text that stands on its own.
pub fn compile(source: &Source) -> Result<Program, Diagnostics> {
    compile_with(std::slice::from_ref(source), CompileOptions::default())
}

/// Compiles the files of one package together.
pub fn compile_with(sources: &[Source], options: CompileOptions<'_>) -> Result<Program, Diagnostics> {
    let mut files = Vec::with_capacity(sources.len());
    let mut problems = Vec::new();
    for source in sources {
        match syntax::parse(source) {
            Ok(file) => files.push(file),
            Err(diagnostics) => problems.extend(diagnostics.0),
        }
    }
    if !problems.is_empty() {
        return Err(Diagnostics(problems));
    }
    let (root, symbols): (StructExpr, Symbols) = resolve::resolve(sources, &files, options)?;
    let root = ir::Expr {
        kind: ir::ExprKind::Struct(Box::new(root)),
        position: Position::default(),
    };
    Ok(Program {
        sources: sources.to_vec(),
        root,
        symbols: symbols.freeze(),
        regexes: Mutex::default(),
    })
}
