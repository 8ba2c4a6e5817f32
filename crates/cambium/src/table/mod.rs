//! Tables as kubectl prints them: columns padded with three spaces. On a terminal they fit its width, and states are coloured.

mod fit;
mod style;

use serde_json::Value;
use std::io::IsTerminal as _;

use crate::output;

/// The gap between two columns.
const GAP: &str = "   ";

/// Columns that a narrow terminal does without, in this order; `-o wide` has them.
const MISSED: [&str; 3] = ["DIGEST", "FROM", "NUMBER"];

/// Rows under headings.
pub(crate) struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The terminal that a table is printed for.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    /// The width of a line in characters; unlimited if the output is no terminal.
    width: Option<usize>,
    colour: bool,
}

impl Look {
    /// As standard output is.
    fn of_output() -> Self {
        let stdout = std::io::stdout();
        let size = match stdout.is_terminal() {
            true => terminal_size::terminal_size_of(&stdout),
            false => None,
        };
        Self {
            width: size.map(|(terminal_size::Width(width), _)| usize::from(width)),
            colour: output::in_colour(),
        }
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<H: AsRef<str>>(headings: &[H]) -> Self {
        Self {
            headings: headings
                .iter()
                .map(|heading| heading.as_ref().to_owned())
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push(row.into());
    }

    /// Without this column.
    pub(crate) fn without(mut self, heading: &str) -> Self {
        if let Some(column) = self.headings.iter().position(|known| known == heading) {
            self.headings.remove(column);
            for row in &mut self.rows {
                row.remove(column);
            }
        }
        self
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As it is printed on standard output.
    pub(crate) fn text(&self) -> String {
        self.text_for(Look::of_output())
    }

    /// With all columns, however wide they are.
    pub(crate) fn wide_text(&self) -> String {
        self.text_for(Look {
            width: None,
            ..Look::of_output()
        })
    }

    fn text_for(&self, look: Look) -> String {
        match look.width {
            Some(width) if !fit::has_room(&self.headings, &self.rows, width) => {
                self.narrowed(width).printed(look)
            }
            _ => self.printed(look),
        }
    }

    /// With shorter places, and without columns that can be missed, as far as that is needed.
    fn narrowed(&self, width: usize) -> Self {
        let mut table = Self {
            headings: self.headings.clone(),
            rows: self.rows.clone(),
        };
        if let Some(column) = table.headings.iter().position(|heading| heading == "PLACE") {
            for row in &mut table.rows {
                row[column] = short_place(&row[column]);
            }
        }
        for heading in MISSED {
            if !fit::has_room(&table.headings, &table.rows, width) {
                table = table.without(heading);
            }
        }
        table
    }

    fn printed(&self, look: Look) -> String {
        let widths = fit::widths(&self.headings, &self.rows, look.width);
        let mut text = String::new();
        let plain = self.headings.iter().map(|_| None).collect();
        fit::print(&mut text, &self.headings, &self.headings, &widths, plain);
        for row in &self.rows {
            let styles = match look.colour {
                true => style::of_row(&self.headings, row),
                false => row.iter().map(|_| None).collect(),
            };
            fit::print(&mut text, &self.headings, row, &widths, styles);
        }
        text
    }
}

/// A place in an application as people call it: `components[web].traits[0]` is `web.traits[0]`.
fn short_place(place: &str) -> String {
    let component = place.strip_prefix("components[");
    match component.and_then(|rest| rest.split_once(']')) {
        Some((component, rest)) => format!("{component}{rest}"),
        None => place.to_owned(),
    }
}

/// A `Table` that an API server answered. Wide ones have all columns.
pub(crate) fn of_server(table: &Value, wide: bool) -> String {
    let columns = table["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let shown: Vec<usize> = (0..columns.len())
        .filter(|index| wide || columns[*index]["priority"] == 0)
        .collect();
    let heading = shown.iter().map(|index| {
        columns[*index]["name"]
            .as_str()
            .unwrap_or_default()
            .to_uppercase()
    });
    let mut printed = Table::new(&heading.collect::<Vec<String>>());
    for row in table["rows"].as_array().into_iter().flatten() {
        let cell = |index: &usize| match &row["cells"][*index] {
            Value::String(text) => text.clone(),
            Value::Null => "<none>".to_owned(),
            other => other.to_string(),
        };
        printed.add(shown.iter().map(cell).collect::<Vec<_>>());
    }
    printed.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_look_as_kubectl_prints_them() {
        let table = json!({
            "columnDefinitions": [{"name": "Name", "priority": 0}, {"name": "Hidden", "priority": 1}, {"name": "Age", "priority": 0}],
            "rows": [{"cells": ["a-long-name", "x", "5s"]}, {"cells": ["b", "x", null]}],
        });
        assert_eq!(
            of_server(&table, false),
            "NAME          AGE\na-long-name   5s\nb             <none>\n"
        );
        assert_eq!(
            of_server(&table, true),
            "NAME          HIDDEN   AGE\na-long-name   x        5s\nb             x        <none>\n"
        );
    }

    fn example() -> Table {
        let mut table = Table::new(&["NAME", "READY", "REASON", "WHY"]);
        table.add(
            [
                "shop",
                "False",
                "RenderFailed",
                "must is required in the properties of the component",
            ]
            .map(str::to_owned),
        );
        table.add(["exact", "True", "Available", ""].map(str::to_owned));
        table
    }

    fn look(width: Option<usize>, colour: bool) -> Look {
        Look { width, colour }
    }

    #[test]
    fn what_is_too_long_for_the_terminal_goes_on_in_the_next_line() {
        let text = example().text_for(look(Some(60), false));
        assert_eq!(
            text,
            "NAME    READY   REASON         WHY\n\
             shop    False   RenderFailed   must is required in the\n\
             \u{20}                              properties of the component\n\
             exact   True    Available\n"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 60));
    }

    #[test]
    fn names_are_shortened_when_there_is_no_other_way() {
        let mut table = Table::new(&["NAME", "REVISION", "WHY"]);
        table.add(
            [
                "a-very-long-name-of-something",
                "a-very-long-name-of-something-v1",
                "pinned",
            ]
            .map(str::to_owned),
        );
        let text = table.text_for(look(Some(50), false));
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        assert!(text.contains('…'), "{text}");
    }

    #[test]
    fn a_narrow_terminal_does_without_some_columns_before_names_are_shortened() {
        let mut table = Table::new(&["PLACE", "REVISION", "DIGEST"]);
        table.add(["components[web].traits[0]", "databases-4129872", "4129872457f9"].map(str::to_owned));
        let at = |width| table.text_for(look(Some(width), false));
        assert_eq!(
            at(80),
            "PLACE                       REVISION            DIGEST\n\
             components[web].traits[0]   databases-4129872   4129872457f9\n"
        );
        assert_eq!(
            at(50),
            "PLACE           REVISION            DIGEST\n\
             web.traits[0]   databases-4129872   4129872457f9\n"
        );
        assert_eq!(
            at(40),
            "PLACE           REVISION\nweb.traits[0]   databases-4129872\n"
        );
    }

    #[test]
    fn without_a_terminal_a_row_is_a_line() {
        let text = example().text_for(look(None, false));
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("must is required in the properties of the component"));
    }

    #[test]
    fn states_and_their_reasons_are_coloured_and_stay_aligned() {
        let plain = example().text_for(look(Some(60), false));
        let coloured = example().text_for(look(Some(60), true));
        assert!(
            coloured.contains("\u{1b}[31mFalse\u{1b}[0m   \u{1b}[31mRenderFailed\u{1b}[0m   "),
            "{coloured}"
        );
        assert!(
            coloured.contains("\u{1b}[32mTrue\u{1b}[0m    \u{1b}[32mAvailable\u{1b}[0m"),
            "{coloured}"
        );
        let stripped = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[0m"]
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(stripped, plain);
    }
}
