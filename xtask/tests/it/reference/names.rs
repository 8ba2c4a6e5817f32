//! `docs/reference/conditions.md` and `annotations.md`, from the constants of `crates/api/src/names` and their doc comments.

use std::fmt::Write as _;

use super::{cell, check, notice};
use crate::documents::root;

/// A constant, and the paragraphs of its doc comment.
#[derive(Debug, Default)]
struct Name {
    /// The comment above it that begins a section.
    section: String,
    value: String,
    meaning: String,
    set_on: String,
    set_by: String,
    to_do: String,
}

#[test]
fn the_reference_of_conditions_is_that_of_the_constants() {
    let (conditions, reasons) = (names("condition"), names("reason"));
    let mut page = format!(
        "# Conditions and reasons\n\n{}What the conditions of our kinds mean, the reasons that they and events have, and what to do. \
         `kubectl describe` and `kubectl get -o yaml` show conditions; `kubectl events --for KIND/NAME` shows events. Messages name the object and the field.\n",
        notice("crates/api/src/names")
    );
    page.push_str("\n## Conditions\n");
    table(
        &mut page,
        &conditions,
        ["condition", "True when", "set on", "what to do if not"],
        |name| [&name.meaning, &name.set_on, &name.to_do],
    );
    page.push_str("\n## Reasons\n\nA condition is False with the reason, unless noted.\n");
    table(
        &mut page,
        &reasons,
        ["reason", "meaning", "set on", "what to do"],
        |name| [&name.meaning, &name.set_on, &name.to_do],
    );
    check("conditions.md", &page);
}

#[test]
fn the_reference_of_annotations_is_that_of_the_constants() {
    let mut page = format!(
        "# Annotations, labels and finalizers\n\n{}The annotations, labels and finalizers that Cambium reads or sets. Names are KubeVela's or Crossplane's where they have one. \
         Those of the workload simulator are in [The embedded API server](apiserver.md#workload-simulator).\n",
        notice("crates/api/src/names")
    );
    for (title, file) in [
        ("Annotations", "annotation"),
        ("Labels", "label"),
        ("Finalizers", "finalizer"),
    ] {
        let _ = writeln!(page, "\n## {title}");
        let head = title.to_lowercase();
        let head = head.trim_end_matches('s');
        table(
            &mut page,
            &names(file),
            [head, "meaning", "set on", "set by"],
            |name| {
                assert!(!name.set_by.is_empty(), "{} says who sets it", name.value);
                [&name.meaning, &name.set_on, &name.set_by]
            },
        );
    }
    check("annotations.md", &page);
}

/// A table for each section.
fn table(page: &mut String, names: &[Name], head: [&str; 4], cells: impl Fn(&Name) -> [&String; 3]) {
    let mut section = None;
    for name in names {
        assert!(!name.set_on.is_empty(), "{} says where it is set", name.value);
        if section != Some(&name.section) {
            section = Some(&name.section);
            if !name.section.is_empty() {
                let _ = write!(page, "\n### {}\n", name.section);
            }
            let _ = writeln!(page, "\n| {} |\n|---|---|---|---|", head.join(" | "));
        }
        let [meaning, set_on, last] = cells(name).map(|text| cell(&sentences(text)));
        let _ = writeln!(page, "| `{}` | {meaning} | {set_on} | {last} |", name.value);
    }
}

/// A text that begins with a capital letter; a single sentence has no full stop.
fn sentences(text: &str) -> String {
    let text = match text.contains(". ") {
        true => text,
        false => text.trim_end_matches('.'),
    };
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The constants of a file, in its order.
fn names(file: &str) -> Vec<Name> {
    let text = std::fs::read_to_string(root().join(format!("crates/api/src/names/{file}.rs"))).unwrap();
    let (mut names, mut section, mut docs) = (Vec::new(), String::new(), Vec::new());
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("/// ") {
            docs.push(line);
        } else if line == "///" {
            docs.push("");
        } else if let Some(title) = line.strip_prefix("// ") {
            title.clone_into(&mut section);
        } else if let Some(constant) = line.strip_prefix("pub const ") {
            let value = constant.split('"').nth(1).expect("a constant of one line");
            names.push(Name {
                section: section.clone(),
                value: value.to_owned(),
                ..documented(&std::mem::take(&mut docs).join("\n"))
            });
        }
    }
    let parsed = syn::parse_file(&text).unwrap();
    let constants = parsed
        .items
        .iter()
        .filter(|item| matches!(item, syn::Item::Const(_)));
    assert_eq!(names.len(), constants.count(), "{file}.rs is read whole");
    names
}

/// The paragraphs of a doc comment.
fn documented(docs: &str) -> Name {
    let mut name = Name::default();
    for paragraph in docs.split("\n\n") {
        let (field, text) = match paragraph.split_once(": ") {
            Some(("Set on", text)) => (&mut name.set_on, text),
            Some(("Set by", text)) => (&mut name.set_by, text),
            Some(("What to do", text)) => (&mut name.to_do, text),
            _ => (&mut name.meaning, paragraph),
        };
        if !field.is_empty() {
            field.push(' ');
        }
        field.push_str(&text.replace('\n', " "));
    }
    name
}
