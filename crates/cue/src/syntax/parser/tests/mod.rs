//! The grammar, case by case. Accepted inputs and error messages are those of Go's cue v0.14.1.

mod accepted;
mod bounds;
mod comments;
mod refused;
mod show;

use super::parse;
use crate::diagnostic::Diagnostics;
use crate::source::Source;
use crate::syntax::ast::File;

/// The tree borrows from its source, which a test never gives back.
fn read(text: &str) -> Result<File<'static>, Diagnostics> {
    parse(Box::leak(Box::new(Source::new("t.cue", text))))
}

/// Compares what texts are read as; see `show` for how trees are written down.
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        match read(text) {
            Ok(file) => assert_eq!(show::file(&file), *expected, "for {text:?}"),
            Err(problems) => panic!("{text:?} is refused: {problems}"),
        }
    }
}

/// Compares `line:column message` of each problem.
fn check_problems(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        let found: Vec<String> = match read(text) {
            Ok(_) => Vec::new(),
            Err(problems) => problems
                .0
                .iter()
                .map(|problem| {
                    let place = &problem.places[0];
                    let position = place.source.position(place.span.start);
                    format!("{}:{} {}", position.line, position.column, problem.message)
                })
                .collect(),
        };
        assert_eq!(found, *expected, "for {text:?}");
    }
}
