//! Writes YAML.

mod scalar;

use crate::data::Data;
use crate::number::{Number, NumberKind};
use scalar::Style;

/// Spaces for each level.
const INDENT: usize = 2;

/// The longest key that stands before its colon; a longer one is marked with `?`.
const LONGEST_SIMPLE_KEY: usize = 128;

/// One document, with the newline at its end. One that would be longer than the limit is cut behind it.
pub(super) fn document(data: &Data, limit: usize) -> String {
    let mut emitter = Emitter {
        limit,
        out: String::new(),
        column: 0,
        whitespace: true,
        indentation: true,
    };
    emitter.node(data, 0, Parent::Document);
    if emitter.column > 0 {
        emitter.line_break();
    }
    emitter.out
}

/// The context of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    Document,
    Sequence,
    Mapping,
}

struct Emitter {
    out: String,
    /// Output limit: deep indentation inflates small values.
    limit: usize,
    column: usize,
    /// Whether the last character was a space that separates, or the start of a line.
    whitespace: bool,
    /// Whether the line has only indentation and indicators so far, so that a block can start on it.
    indentation: bool,
}

impl Emitter {
    /// A value; `indent` is the column of the collection around it.
    fn node(&mut self, data: &Data, indent: usize, parent: Parent) {
        if self.is_full() {
            return;
        }
        let inner = if parent == Parent::Document {
            0
        } else {
            indent + INDENT
        };
        match data {
            Data::List(items) if items.is_empty() => self.indicator("[]"),
            Data::Struct(fields) if fields.is_empty() => self.indicator("{}"),
            Data::List(items) => {
                for item in items {
                    self.start_line(inner);
                    self.mark("-");
                    self.node(item, inner, Parent::Sequence);
                }
            }
            Data::Struct(fields) => {
                for (name, value) in fields {
                    self.field(name, value, inner);
                }
            }
            Data::Null => self.plain("null"),
            Data::Bool(value) => self.plain(if *value { "true" } else { "false" }),
            Data::Number(number) => self.plain(&number_text(number)),
            Data::String(text) => self.string(text, scalar::value_style(text), indent + INDENT),
        }
    }

    fn field(&mut self, name: &str, value: &Data, indent: usize) {
        self.start_line(indent);
        if name.len() <= LONGEST_SIMPLE_KEY && !scalar::has_line_break(name) {
            self.string(name, scalar::key_style(name), indent + INDENT);
            self.out.push(':');
            self.column += 1;
            (self.whitespace, self.indentation) = (false, false);
        } else {
            self.mark("?");
            self.string(name, scalar::value_style(name), indent + INDENT);
            self.start_line(indent);
            self.mark(":");
        }
        self.node(value, indent, Parent::Mapping);
    }

    fn string(&mut self, text: &str, style: Style, indent: usize) {
        match style {
            Style::Plain => self.plain(text),
            Style::SingleQuoted => {
                self.indicator("'");
                let mut breaks = false;
                for character in text.chars() {
                    let is_break = scalar::is_break(character);
                    if breaks && !is_break {
                        self.start_line(indent);
                    }
                    if character == '\'' {
                        self.push('\'');
                    }
                    self.push(character);
                    breaks = is_break;
                }
                self.push('\'');
                (self.whitespace, self.indentation) = (false, false);
            }
            Style::DoubleQuoted => {
                self.indicator("\"");
                for character in text.chars() {
                    match scalar::escape(character) {
                        Some(escape) => escape.chars().for_each(|character| self.push(character)),
                        None => self.push(character),
                    }
                }
                self.push('"');
                (self.whitespace, self.indentation) = (false, false);
            }
            Style::Literal => self.literal(text, indent),
        }
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.indicator("|");
        if text.starts_with(|character| character == ' ' || scalar::is_break(character)) {
            self.push(char::from_digit(INDENT as u32, 10).unwrap_or('2'));
        }
        let mut from_end = text.chars().rev();
        match (
            from_end.next().is_some_and(scalar::is_break),
            from_end.next().is_none_or(scalar::is_break),
        ) {
            (false, _) => self.push('-'),
            (true, true) => self.push('+'),
            (true, false) => {}
        }
        self.whitespace = true;
        let mut breaks = true;
        for character in text.chars() {
            let is_break = scalar::is_break(character);
            if breaks && !is_break {
                self.start_line(indent);
            }
            self.push(character);
            if !is_break {
                self.indentation = false;
            }
            breaks = is_break;
        }
    }

    fn plain(&mut self, text: &str) {
        self.separate();
        text.chars().for_each(|character| self.push(character));
        (self.whitespace, self.indentation) = (false, false);
    }

    /// A bracket or a quote, after a space where one is needed. No block can start on its line any more.
    fn indicator(&mut self, text: &str) {
        self.mark(text);
        self.indentation = false;
    }

    /// `-`, `?` or `:` before a block, which may start on the same line.
    fn mark(&mut self, text: &str) {
        self.separate();
        text.chars().for_each(|character| self.push(character));
        self.whitespace = false;
    }

    fn separate(&mut self) {
        if !self.whitespace {
            self.push(' ');
        }
    }

    fn push(&mut self, character: char) {
        if character == '\n' {
            self.line_break();
            return;
        }
        self.out.push(character);
        self.column += 1;
        if scalar::is_break(character) {
            self.column = 0;
            self.indentation = true;
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() > self.limit
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.indentation = true;
    }

    /// Goes to a column, on this line when nothing but indentation stands before it.
    fn start_line(&mut self, indent: usize) {
        if self.is_full() {
            return;
        }
        if !self.indentation || self.column > indent || self.column == indent && !self.whitespace {
            self.line_break();
        }
        while self.column < indent {
            self.push(' ');
        }
        self.whitespace = true;
    }
}

/// A float always has a point or an exponent; so much of an integer that it has an exponent is written in lower case.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    match number.kind() {
        NumberKind::Int => text.replace('E', "e"),
        NumberKind::Float if text.contains(['.', 'E']) => text,
        NumberKind::Float => text + ".",
    }
}
