//! Prints comparison tables: one row per measure, one column per rival, and the ratio.

/// Results of all rivals, ours first.
pub(crate) struct Beside<'a, T> {
    columns: &'a [T],
}

impl<'a, T> Beside<'a, T> {
    /// Prints the heading.
    #[expect(clippy::print_stdout, reason = "the table is the program's answer")]
    pub(crate) fn heading(columns: &'a [T], title: &str, name: impl Fn(&T) -> &'static str) -> Self {
        let names: Vec<String> = columns
            .iter()
            .map(|column| format!("{:>12}", name(column)))
            .collect();
        println!("{title:<44}{}", names.join(""));
        Self { columns }
    }

    /// Prints a row, with so many digits.
    #[expect(clippy::print_stdout, reason = "the table is the program's answer")]
    pub(crate) fn row(&self, name: &str, digits: usize, cell: impl Fn(&T) -> f64) {
        let values: Vec<f64> = self.columns.iter().map(cell).collect();
        let cells: Vec<String> = values
            .iter()
            .map(|value| format!("{value:>12.digits$}"))
            .collect();
        let ratio = match values.as_slice() {
            [ours, theirs] if *ours > 0.0 => format!("{:>11.1}x", theirs / ours),
            _ => String::new(),
        };
        println!("{name:<44}{}{ratio}", cells.join(""));
    }
}
