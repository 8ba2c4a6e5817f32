//! YAML in the layout of Go's yaml.v3: indentation of four, plain strings where possible.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// Indentation of a value below its key.
const STEP: usize = 4;
/// Indentation of an item after its dash.
const DASH: usize = 2;
/// The last column for block style. Beyond it, values use flow style: otherwise a deeply nested value would be mostly
/// indentation.
const LAST_COLUMN: usize = 40;
/// The longest simple key, in bytes. YAML readers do not look for the colon of a longer one.
const LONGEST_NAME: usize = 128;

/// A value as a YAML document.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    match has_lines(value, 0) {
        true => lines(&mut out, value, 0),
        false => line(&mut out, value, STEP),
    }
    out
}

/// Whether a value is written in block style at a column.
fn has_lines(value: &Value, column: usize) -> bool {
    let has_parts = match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    };
    has_parts && column <= LAST_COLUMN
}

/// Writes a list or an object in block style. The first line begins at the end of the text, the others at a column.
fn lines(out: &mut String, value: &Value, column: usize) {
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
        match has_lines(item, column + DASH) {
            true => lines(out, item, column + DASH),
            false => line(out, item, column + DASH),
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
        out.push_str(mark(name));
        out.push_str(&one_line(name));
        if !mark(name).is_empty() {
            out.push('\n');
            indent(out, column);
        }
        out.push(':');
        if has_lines(value, inner) {
            out.push('\n');
            indent(out, inner);
            lines(out, value, inner);
        } else {
            out.push(' ');
            line(out, value, inner);
        }
    }
}

/// Writes a value in the rest of a line. Further lines of a block scalar are indented to a column.
fn line(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::String(text) if can_be_a_block(text, column) => return block(out, text, column),
        Value::String(text) => out.push_str(&one_line(text)),
        other => flow(out, other),
    }
    out.push('\n');
}

/// Writes a value in flow style: JSON with YAML's escapes.
fn flow(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => out.push_str(&in_double_quotes(text)),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                flow(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (place, (name, field)) in fields.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                out.push_str(mark(name));
                out.push_str(&in_double_quotes(name));
                out.push_str(": ");
                flow(out, field);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The `? ` of an explicit key, for keys that are too long.
fn mark(name: &str) -> &'static str {
    if name.len() > LONGEST_NAME { "? " } else { "" }
}

/// Writes a literal block scalar.
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

/// Whether a multi-line string can be a literal block scalar at a column. One that begins with a blank would need an
/// indentation indicator.
fn can_be_a_block(text: &str, column: usize) -> bool {
    let is_plain = |character: char| matches!(character, '\n' | '\t') || is_printable(character);
    text.contains('\n')
        && column <= LAST_COLUMN
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with(' ')
        && !text.contains(" \n")
        && text.chars().all(is_plain)
}

/// A string in one line: plain or quoted.
fn one_line(text: &str) -> String {
    if reads_as_another_type(text) || !text.chars().all(is_printable) {
        return in_double_quotes(text);
    }
    match is_plain(text) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Whether a string needs no quotes.
fn is_plain(text: &str) -> bool {
    let first_is_special =
        text.starts_with(|first: char| "#,[]{}&*!|>'\"%@`".contains(first)) || text.starts_with(' ');
    let is_mark = matches!(text, "-" | "?") || text.starts_with("- ") || text.starts_with("? ");
    let is_border = text.starts_with("---") || text.starts_with("...");
    let has_colon = text.contains(": ") || text.ends_with(':');
    let has_comment = text.contains(" #");
    !(first_is_special || is_mark || is_border || has_colon || has_comment || text.ends_with(' '))
}

/// Whether a plain string would be read as null, a boolean, a number, a timestamp or a merge key.
fn reads_as_another_type(text: &str) -> bool {
    let is_word = matches!(
        text,
        "" | "~" | "<<" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE"
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

/// Whether a character needs no escape.
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
    use serde_json::{Value, json};

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
            ("\ta", "\"\\ta\""),
            ("\ta\nb", "\"\\ta\\nb\""),
            ("<<", "\"<<\""),
            ("<< a", "<< a"),
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

    #[test]
    fn what_is_deep_is_written_in_one_line() {
        let deep = json!(["a\nb", {"c": "<<\u{85}", "d": [1.5, null, {}, []]}]);
        let item = r#"{"c": "<<\N", "d": [1.5, null, {}, []]}"#;
        let blanks = " ".repeat(40);
        let lines = format!("{blanks}- \"a\\nb\"\n{blanks}- {item}\n");
        let text = document(&nested(deep.clone(), 10));
        assert!(text.ends_with(&lines), "{text}");
        let text = document(&nested(deep, 11));
        assert!(
            text.ends_with(&format!("{blanks}a: [\"a\\nb\", {item}]\n")),
            "{text}"
        );
    }

    #[test]
    fn depth_costs_no_blanks() {
        let many = json!({"ones": vec![1; 10_000], "lines": "a\n".repeat(10_000)});
        let shallow = document(&nested(many.clone(), 12)).len();
        let deep = document(&nested(many, 100)).len();
        assert!(deep < shallow + 1000, "{shallow} became {deep}");
    }

    fn nested(value: Value, levels: usize) -> Value {
        (0..levels).fold(value, |inner, _| json!({"a": inner}))
    }

    #[test]
    fn long_names_are_marked() {
        let (long, short) = ("n".repeat(129), "n".repeat(128));
        let text = format!("{short}: 1\n? {long}\n:\n    - 2\n");
        assert_eq!(document(&json!({&short: 1, &long: [2]})), text);
        let flow = document(&nested(json!({&short: 1, &long: [2]}), 11));
        assert!(
            flow.ends_with(&format!("{{\"{short}\": 1, ? \"{long}\": [2]}}\n")),
            "{flow}"
        );
    }
}
