//! Printing one value with one verb.

use serde_json::Value;

use super::out::Out;
use super::{Argument, float, integer, quote, type_name};
use crate::number::{self, GoNumber};

pub(super) fn print_argument(out: &mut Out, argument: Argument<'_>, verb: char) {
    let float = match argument {
        Argument::Json(value) => return print(out, value, verb),
        Argument::NotFinite(float) => float,
    };
    if verb == 'T' {
        print_text(out, type_name(argument));
    } else if !float::print_not_finite(out, float, verb) {
        super::complain(out, verb, "(float64=");
        float::print_not_finite(out, float, 'v');
        out.text(")");
    }
}

fn print(out: &mut Out, value: &Value, verb: char) {
    if verb == 'T' {
        print_text(out, type_name(value));
        return;
    }
    match value {
        Value::Null if verb == 'v' => out.padded("<nil>"),
        Value::Null => complain(out, value, verb),
        // Neither an error to wrap nor an address that would mean anything.
        _ if matches!(verb, 'w' | 'p') => complain(out, value, verb),
        Value::Array(elements) => print_array(out, elements, verb),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            print_object(out, &fields, verb);
        }
        Value::Bool(value) if matches!(verb, 't' | 'v') => out.padded(if *value { "true" } else { "false" }),
        Value::String(text) if print_string(out, text, verb) => {}
        Value::Number(number) => {
            let fits = match number::of(number) {
                GoNumber::Int(integer) => integer::print(out, integer, verb),
                GoNumber::Float(float) => float::print(out, float, verb),
            };
            if !fits {
                complain(out, value, verb);
            }
        }
        _ => complain(out, value, verb),
    }
}

fn print_array(out: &mut Out, elements: &[Value], verb: char) {
    let (open, between, close) = if out.flags.go_syntax {
        ("[]interface {}{", ", ", "}")
    } else {
        ("[", " ", "]")
    };
    out.text(open);
    for (position, element) in elements.iter().enumerate() {
        if position > 0 {
            out.text(between);
        }
        print_inside(out, element, verb);
    }
    out.text(close);
}

fn print_object(out: &mut Out, fields: &[(&String, &Value)], verb: char) {
    let (open, between, close) = if out.flags.go_syntax {
        ("map[string]interface {}{", ", ", "}")
    } else {
        ("map[", " ", "]")
    };
    out.text(open);
    for (position, (name, value)) in fields.iter().enumerate() {
        if position > 0 {
            out.text(between);
        }
        if !print_string(out, name, verb) {
            complain_about_text(out, name, verb);
        }
        out.text(":");
        print_inside(out, value, verb);
    }
    out.text(close);
}

/// A nil inside a collection prints itself whatever the verb.
fn print_inside(out: &mut Out, value: &Value, verb: char) {
    if value.is_null() {
        out.text(if out.flags.go_syntax {
            "interface {}(nil)"
        } else {
            "<nil>"
        });
    } else {
        print(out, value, verb);
    }
}

fn print_string(out: &mut Out, text: &str, verb: char) -> bool {
    match verb {
        'v' if out.flags.go_syntax => print_quoted(out, text),
        'v' | 's' => print_text(out, text),
        'q' => print_quoted(out, text),
        'x' | 'X' => print_bytes(out, text.as_bytes(), verb),
        _ => return false,
    }
    true
}

fn print_text(out: &mut Out, text: &str) {
    let text = truncated(out, text);
    out.padded(text);
}

fn print_quoted(out: &mut Out, text: &str) {
    let text = truncated(out, text);
    if out.flags.sharp && quote::can_be_raw(text) {
        out.padded(&format!("`{text}`"));
    } else if out.flags.plus {
        out.padded(&quote::quoted_ascii(text));
    } else {
        out.padded(&quote::quoted(text));
    }
}

fn truncated<'a>(out: &Out, text: &'a str) -> &'a str {
    let end = out
        .flags
        .precision
        .and_then(|precision| text.char_indices().nth(precision));
    end.map_or(text, |(end, _)| &text[..end])
}

fn print_bytes(out: &mut Out, bytes: &[u8], verb: char) {
    let length = out.flags.precision.unwrap_or(bytes.len()).min(bytes.len());
    let prefix = if verb == 'x' { "0x" } else { "0X" };
    let flags = out.flags;
    let missing = |written: usize| flags.width.unwrap_or(0).saturating_sub(written);
    if length == 0 {
        out.fill(missing(0));
        return;
    }
    let mut text = String::new();
    for (position, byte) in bytes[..length].iter().enumerate() {
        if flags.space && position > 0 {
            text.push(' ');
        }
        if flags.sharp && (flags.space || position == 0) {
            text.push_str(prefix);
        }
        text.push_str(&if verb == 'x' {
            format!("{byte:02x}")
        } else {
            format!("{byte:02X}")
        });
    }
    if flags.minus {
        out.text(&text);
    }
    out.fill(missing(text.len()));
    if !flags.minus {
        out.text(&text);
    }
}

fn complain(out: &mut Out, value: &Value, verb: char) {
    if let Value::String(text) = value {
        return complain_about_text(out, text, verb);
    }
    super::complain(out, verb, "(");
    if value.is_null() {
        out.text("<nil>");
    } else {
        out.text(type_name(value));
        out.text("=");
        print(out, value, 'v');
    }
    out.text(")");
}

fn complain_about_text(out: &mut Out, text: &str, verb: char) {
    super::complain(out, verb, "(string=");
    print_string(out, text, 'v');
    out.text(")");
}
