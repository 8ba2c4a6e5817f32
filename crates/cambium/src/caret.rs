//! Prints problems of YAML and CUE with the line and a caret under the place.

use std::fmt::Write as _;

use cambium_cue::diagnostic::Place;
use cambium_cue::{Diagnostic, Diagnostics};

use crate::exit::WrongInput;

/// Writes every problem to standard error, and gives the error that ends the program.
#[expect(clippy::print_stderr, reason = "this is where a person reads what is wrong")]
pub(crate) fn show(diagnostics: &Diagnostics) -> WrongInput {
    for diagnostic in &diagnostics.0 {
        eprintln!("{}", text(diagnostic));
    }
    WrongInput {
        count: diagnostics.0.len(),
    }
}

/// One problem: what, then each place with its line and a caret.
pub(crate) fn text(diagnostic: &Diagnostic) -> String {
    let mut text = String::from("error: ");
    if !diagnostic.path.is_empty() {
        text += &format!("{}: ", diagnostic.path);
    }
    text += &diagnostic.message;
    for place in &diagnostic.places {
        show_place(&mut text, place);
    }
    text
}

fn show_place(text: &mut String, place: &Place) {
    let position = place.source.position(place.span.start);
    let number = position.line as usize;
    let line = place.source.text.lines().nth(number - 1).unwrap_or_default();
    let margin = " ".repeat(number.to_string().len());
    // Tabs stay tabs under the line, so that the caret stands where it should.
    let before = line.chars().take(position.column as usize - 1);
    let indent: String = before
        .map(|character| if character == '\t' { '\t' } else { ' ' })
        .collect();
    let end = place.source.position(place.span.end);
    let width = if end.line == position.line {
        (end.column - position.column).max(1)
    } else {
        1
    };
    let carets = "^".repeat(width as usize);
    let name = &place.source.name;
    write!(
        text,
        "\n{margin}--> {name}:{number}:{}\n{number} | {line}\n{margin} | {indent}{carets}",
        position.column
    )
    .expect("writing to a string does not fail");
}
