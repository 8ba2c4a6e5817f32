//! Formats status details as text: strings unchanged, everything else as CUE.

use cambium_cue::Data;
use std::fmt::Write as _;

/// A detail as the status shows it.
pub(crate) fn cue_text(data: &Data) -> String {
    match data {
        Data::String(text) => text.clone(),
        other => {
            let mut out = String::new();
            write(other, 0, &mut out);
            out
        }
    }
}

fn write(data: &Data, depth: usize, out: &mut String) {
    match data {
        Data::Struct(fields) if fields.is_empty() => out.push_str("{}"),
        Data::Struct(fields) => {
            out.push_str("{\n");
            write_fields(fields, depth + 1, out);
            indent(depth, out);
            out.push('}');
        }
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(item, depth, out);
            }
            out.push(']');
        }
        Data::String(text) if depth > 0 && text.contains('\n') => {
            out.push_str("\"\"\"\n");
            for line in text.split('\n') {
                indent(depth + 1, out);
                out.push_str(&line.replace('\\', "\\\\"));
                out.push('\n');
            }
            indent(depth + 1, out);
            out.push_str("\"\"\"");
        }
        scalar => out.push_str(&scalar.to_json()),
    }
}

/// Fields one below the other; plain values of neighbours stand in one column.
fn write_fields(fields: &[(String, Data)], depth: usize, out: &mut String) {
    let labels: Vec<String> = fields.iter().map(|(name, _)| label(name)).collect();
    let is_tall = |data: &Data| matches!(data, Data::Struct(_) | Data::List(_));
    let mut index = 0;
    while index < fields.len() {
        let tall = is_tall(&fields[index].1);
        let length = match tall {
            true => 1,
            false => fields[index..]
                .iter()
                .take_while(|(_, value)| !is_tall(value))
                .count(),
        };
        let run = index..index + length;
        let width = labels[run.clone()]
            .iter()
            .map(|label| label.chars().count())
            .max()
            .unwrap_or(0);
        for at in run {
            indent(depth, out);
            let pad = if tall {
                1
            } else {
                width + 1 - labels[at].chars().count()
            };
            // Writing to a string does not fail.
            let _ = write!(out, "{}:{:pad$}", labels[at], "");
            write(&fields[at].1, depth, out);
            out.push('\n');
        }
        index += length;
    }
}

fn label(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '$')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if plain {
        name.to_owned()
    } else {
        Data::String(name.to_owned()).to_json()
    }
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n('\t', depth));
}
