//! Tables as kubectl prints them: columns padded with three spaces.

use serde_json::Value;

/// Rows under headings.
pub(crate) struct Table {
    /// The first is the heading.
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<H: AsRef<str>>(headings: &[H]) -> Self {
        let headings = headings.iter().map(|heading| heading.as_ref().to_owned());
        Self {
            rows: vec![headings.collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push(row.into());
    }

    /// As it is printed.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths);
            let padded: Vec<String> = cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
            text.push_str(padded.join("   ").trim_end());
            text.push('\n');
        }
        text
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
}
