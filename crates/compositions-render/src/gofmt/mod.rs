//! Go's `fmt`, for the values that JSON has.
//!
//! Formats in compositions are Go format strings, and the texts they make name real things, so they are made as Go makes them: flags,
//! width, precision, argument indexes, and the complaints (`%!d(string=x)`) where a verb and a value do not fit. The result is bounded:
//! a format may ask for a width of ten million, many times over.

mod float;
mod integer;
mod out;
mod quote;
mod value;

use serde_json::Value;

use crate::number::{self, GoNumber};
use out::Out;

pub(crate) use float::shortest as float_text;
pub(crate) use quote::quoted;

/// The longest text that a format may make: more would not fit into any object.
const LONGEST: usize = 1 << 20;

/// A format asked for more text than any object can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the formatted text is longer than {LONGEST} bytes; use a smaller width or precision")]
pub struct TooLong;

/// What is printed: a value that JSON has, or a float that it has not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// A value.
    Json(&'a Value),
    /// NaN or an infinity.
    NotFinite(f64),
}

impl<'a> From<&'a Value> for Argument<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Json(value)
    }
}

/// `fmt.Sprintf(format, arguments...)`.
///
/// # Errors
/// When the text is longer than 1 MiB.
pub fn sprintf<'a, A: Into<Argument<'a>> + Copy>(format: &str, arguments: &[A]) -> Result<String, TooLong> {
    let mut out = Out::new(LONGEST);
    let arguments: Vec<Argument<'a>> = arguments.iter().map(|argument| (*argument).into()).collect();
    let mut state = State {
        format: format.as_bytes(),
        text: format,
        arguments: &arguments,
        next: 0,
        reordered: false,
    };
    state.run(&mut out);
    out.finish().ok_or(TooLong)
}

/// `fmt.Sprintf("%v", value)`.
#[must_use]
pub fn plain<'a>(value: impl Into<Argument<'a>>) -> String {
    let value = value.into();
    if let Argument::Json(Value::String(text)) = value {
        return text.clone();
    }
    let mut out = Out::new(usize::MAX);
    value::print_argument(&mut out, value, 'v');
    out.finish().unwrap_or_default()
}

/// `fmt.Sprintf("%T", value)`.
#[must_use]
pub fn type_name<'a>(value: impl Into<Argument<'a>>) -> &'static str {
    let Argument::Json(value) = value.into() else {
        return "float64";
    };
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) => match number::of(number) {
            GoNumber::Int(_) => "int64",
            GoNumber::Float(_) => "float64",
        },
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

struct State<'a> {
    format: &'a [u8],
    text: &'a str,
    arguments: &'a [Argument<'a>],
    next: usize,
    reordered: bool,
}

/// How far one directive has been read.
struct Directive {
    at: usize,
    /// Whether every argument index so far made sense.
    sound: bool,
    /// Whether the last thing read was an argument index.
    after_index: bool,
}

impl State<'_> {
    fn run(&mut self, out: &mut Out) {
        let mut at = 0;
        while at < self.format.len() {
            let literal = self.format[at..].iter().position(|byte| *byte == b'%');
            let end = literal.map_or(self.format.len(), |length| at + length);
            out.text(&self.text[at..end]);
            if end == self.format.len() {
                break;
            }
            match self.directive(end + 1, out) {
                Some(next) => at = next,
                None => break,
            }
        }
        if !self.reordered && self.next < self.arguments.len() {
            self.complain_about_the_rest(out);
        }
    }

    /// Carries out the directive after a `%`; nothing if the format ends in the middle of it.
    fn directive(&mut self, start: usize, out: &mut Out) -> Option<usize> {
        out.flags = out::Flags::default();
        let mut directive = Directive {
            at: start,
            sound: true,
            after_index: false,
        };
        while let Some(byte) = self.format.get(directive.at) {
            match byte {
                b'#' => out.flags.sharp = true,
                b'0' => out.flags.zero = true,
                b'+' => out.flags.plus = true,
                b'-' => out.flags.minus = true,
                b' ' => out.flags.space = true,
                _ => break,
            }
            directive.at += 1;
        }
        self.index(&mut directive);
        self.width(&mut directive, out);
        self.precision(&mut directive, out);
        if !directive.after_index {
            self.index(&mut directive);
        }
        let Some(verb) = self.text.get(directive.at..).and_then(|rest| rest.chars().next()) else {
            out.text("%!(NOVERB)");
            return None;
        };
        self.carry_out(verb, directive.sound, out);
        Some(directive.at + verb.len_utf8())
    }

    fn carry_out(&mut self, verb: char, sound: bool, out: &mut Out) {
        if verb == '%' {
            out.text("%");
            return;
        }
        if !sound {
            complain(out, verb, "(BADINDEX)");
            return;
        }
        let Some(argument) = self.arguments.get(self.next).copied() else {
            complain(out, verb, "(MISSING)");
            return;
        };
        if matches!(verb, 'v' | 'w') {
            out.flags.go_syntax = std::mem::take(&mut out.flags.sharp);
            out.flags.plus = false;
        }
        value::print_argument(out, argument, verb);
        self.next += 1;
    }

    fn width(&mut self, directive: &mut Directive, out: &mut Out) {
        if self.format.get(directive.at) == Some(&b'*') {
            directive.at += 1;
            directive.after_index = false;
            match self.number_from_argument() {
                Some(width) => {
                    out.flags.width = Some(usize::try_from(width.unsigned_abs()).unwrap_or_default());
                    if width < 0 {
                        out.flags.minus = true;
                        out.flags.zero = false;
                    }
                }
                None => out.text("%!(BADWIDTH)"),
            }
            return;
        }
        out.flags.width = self.number(directive);
        if directive.after_index && out.flags.width.is_some() {
            directive.sound = false;
        }
    }

    fn precision(&mut self, directive: &mut Directive, out: &mut Out) {
        if self.format.get(directive.at) != Some(&b'.') {
            return;
        }
        directive.at += 1;
        if directive.after_index {
            directive.sound = false;
        }
        self.index(directive);
        if self.format.get(directive.at) == Some(&b'*') {
            directive.at += 1;
            directive.after_index = false;
            out.flags.precision = self
                .number_from_argument()
                .and_then(|precision| usize::try_from(precision).ok());
            if out.flags.precision.is_none() {
                out.text("%!(BADPREC)");
            }
            return;
        }
        out.flags.precision = Some(self.number(directive).unwrap_or(0));
    }

    /// A decimal number in the format. One that is far too large swallows the rest of the format.
    fn number(&self, directive: &mut Directive) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.format.get(directive.at).filter(|byte| byte.is_ascii_digit()) {
            if number.is_some_and(|number| number > LARGEST) {
                directive.at = self.format.len();
                return None;
            }
            number = Some(number.unwrap_or(0) * 10 + usize::from(digit - b'0'));
            directive.at += 1;
        }
        number
    }

    /// The next argument as a width or precision, for `*`.
    fn number_from_argument(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        let Argument::Json(argument) = argument else {
            return None;
        };
        let number = argument.as_i64()?;
        (number.unsigned_abs() <= LARGEST as u64).then_some(number)
    }

    /// An argument index, `[3]`, counted from 1.
    fn index(&mut self, directive: &mut Directive) {
        directive.after_index = false;
        if self.format.get(directive.at) != Some(&b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[directive.at..];
        let Some(length) = rest.iter().position(|byte| *byte == b']') else {
            directive.sound = false;
            directive.at += 1;
            return;
        };
        let mut inner = Directive {
            at: directive.at + 1,
            ..*directive
        };
        let number = self.number(&mut inner);
        let closed = inner.at == directive.at + length;
        directive.at += length + 1;
        match number.filter(|_| closed) {
            Some(number) if (1..=self.arguments.len()).contains(&number) => {
                self.next = number - 1;
                directive.after_index = true;
            }
            parsed => {
                directive.sound = false;
                directive.after_index = parsed.is_some();
            }
        }
    }

    fn complain_about_the_rest(&self, out: &mut Out) {
        out.flags = out::Flags::default();
        out.text("%!(EXTRA ");
        for (position, argument) in self.arguments[self.next..].iter().enumerate() {
            if position > 0 {
                out.text(", ");
            }
            if *argument != Argument::Json(&Value::Null) {
                out.text(type_name(*argument));
                out.text("=");
            }
            value::print_argument(out, *argument, 'v');
        }
        out.text(")");
    }
}

/// Widths and precisions above this are not taken seriously.
const LARGEST: usize = 1_000_000;

fn complain(out: &mut Out, verb: char, complaint: &str) {
    out.text("%!");
    out.character(verb);
    out.text(complaint);
}
