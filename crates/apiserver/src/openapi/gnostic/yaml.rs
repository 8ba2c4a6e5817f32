//! Values as YAML, laid out as upstream's writer does it: steps of four, strings plain where they can be.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// How far a value stands to the right of the name before it.
const STEP: usize = 4;
/// How far an item stands to the right of its dash.
const DASH: usize = 2;

/// A value as a document of its own.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    match has_parts(value) {
        true => parts(&mut out, value, 0),
        false => scalar(&mut out, value, STEP),
    }
    out
}

fn has_parts(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    }
}

/// The lines of a list or an object. The first begins where the text ends, the others at a column.
fn parts(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::Array(items) => list(out, items, column),
        Value::Object(fields) => object(out, fields, column),
        _ => {}
    }
}

fn list(out: &mut String, items: &[Value], column: usize) {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            indent(out, column);
        }
        out.push_str("- ");
        match has_parts(item) {
            true => parts(out, item, column + DASH),
            false => scalar(out, item, column + DASH),
        }
    }
}

fn object(out: &mut String, fields: &Map<String, Value>, column: usize) {
    // Whatever belongs to a name stands at the next multiple of a step.
    let inner = (column / STEP + 1) * STEP;
    for (place, (name, value)) in fields.iter().enumerate() {
        if place > 0 {
            indent(out, column);
        }
        out.push_str(&one_line(name));
        out.push(':');
        if has_parts(value) {
            out.push('\n');
            indent(out, inner);
            parts(out, value, inner);
        } else {
            out.push(' ');
            scalar(out, value, inner);
        }
    }
}

/// A value without parts, and the end of its line. More lines of a text stand at a column.
fn scalar(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::String(text) if text.contains('\n') && can_be_a_block(text) => block(out, text, column),
        Value::String(text) => {
            out.push_str(&one_line(text));
            out.push('\n');
        }
        // Empty lists and objects are written as JSON has them, and so is everything else.
        other => {
            out.push_str(&other.to_string());
            out.push('\n');
        }
    }
}

/// A text of several lines, as it is.
fn block(out: &mut String, text: &str, column: usize) {
    out.push('|');
    match text.ends_with('\n') {
        true if text.len() == 1 || text.ends_with("\n\n") => out.push('+'),
        true => {}
        false => out.push('-'),
    }
    out.push('\n');
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            indent(out, column);
        }
        out.push_str(line);
        out.push('\n');
    }
}

/// Whether all lines of a text can stand as they are. One that begins with a blank would need a hint about its indentation.
fn can_be_a_block(text: &str) -> bool {
    let is_plain = |character: char| matches!(character, '\n' | '\t') || is_printable(character);
    !text.starts_with([' ', '\n'])
        && !text.ends_with(' ')
        && !text.contains(" \n")
        && text.chars().all(is_plain)
}

/// A text in one line: as it is, or else in quotes.
fn one_line(text: &str) -> String {
    if reads_as_another_type(text) || !text.chars().all(is_printable) {
        return in_double_quotes(text);
    }
    match is_plain(text) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Whether nothing in a text means something to a reader of YAML.
fn is_plain(text: &str) -> bool {
    let first_is_special =
        text.starts_with(|first: char| "#,[]{}&*!|>'\"%@`".contains(first)) || text.starts_with(' ');
    let is_mark = matches!(text, "-" | "?") || text.starts_with("- ") || text.starts_with("? ");
    let is_border = text.starts_with("---") || text.starts_with("...");
    let has_colon = text.contains(": ") || text.ends_with(':');
    let has_comment = text.contains(" #");
    !(first_is_special || is_mark || is_border || has_colon || has_comment || text.ends_with(' '))
}

/// Whether a reader would take a text for null, a truth, a number or a time.
fn reads_as_another_type(text: &str) -> bool {
    let is_word = matches!(
        text,
        "" | "~" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE"
    );
    is_word || OTHER_TYPE.is_match(text)
}

static OTHER_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?";
    let other_base = "[-+]?0([xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)";
    let unusual = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)";
    let clock = "[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}([.,][0-9]+)?";
    let time =
        format!("[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}([Tt]{clock}(Z|[-+][0-9]{{2}}:[0-9]{{2}})| {clock})?");
    Regex::new(&format!("^({number}|{other_base}|{unusual}|{time})$")).expect("the pattern is valid")
});

/// What stands in a text without an escape.
fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        // They end a line, for some.
        '\u{2028}' | '\u{2029}' => false,
        '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        '\u{a0}'..='\u{ffff}' => true,
        _ => false,
    }
}

fn in_double_quotes(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            _ if is_printable(character) => out.push(character),
            _ => out.push_str(&escape(character)),
        }
    }
    out.push('"');
    out
}

fn escape(character: char) -> String {
    let letter = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(character);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{letter}")
}

fn indent(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::document;

    #[test]
    fn parts_stand_below_their_names() {
        let value = json!({"a": {"b": [1, {"c": 1.5, "d": {"e": null}}, [true, []]]}, "f": {}});
        let text = "\
a:
    b:
        - 1
        - c: 1.5
          d:
            e: null
        - - true
          - []
f: {}
";
        assert_eq!(document(&value), text);
    }

    #[test]
    fn strings_are_quoted_where_they_would_read_as_something_else() {
        for (value, text) in [
            ("post", "post"),
            ("", "\"\""),
            ("yes", "yes"),
            ("true", "\"true\""),
            ("12", "\"12\""),
            ("0x1f", "\"0x1f\""),
            ("1e3", "\"1e3\""),
            ("2026-01-02", "\"2026-01-02\""),
            ("2026-01-02T03:04:05Z", "\"2026-01-02T03:04:05Z\""),
            ("v1.2", "v1.2"),
            ("has(self.a) ? self.a : true", "'has(self.a) ? self.a : true'"),
            ("self.a == 'b'", "self.a == 'b'"),
            ("'b' in self", "'''b'' in self'"),
            ("a # b", "'a # b'"),
            ("*/*", "'*/*'"),
            ("!has(self.a)", "'!has(self.a)'"),
            (" a", "' a'"),
            ("a\tb", "\"a\\tb\""),
            ("größer", "größer"),
            ("\u{1f600}\"", "\"\\U0001F600\\\"\""),
        ] {
            assert_eq!(document(&json!(value)), format!("{text}\n"), "{value:?}");
        }
    }

    #[test]
    fn several_lines_stay_several_lines() {
        let rule = json!([{"rule": "a &&\n\nb"}, {"rule": "a\n"}, {"rule": "a \nb"}]);
        let text = "- rule: |-\n    a &&\n\n    b\n- rule: |\n    a\n- rule: \"a \\nb\"\n";
        assert_eq!(document(&rule), text);
        assert_eq!(document(&json!(["a\nb"])), "- |-\n  a\n  b\n");
    }
}
