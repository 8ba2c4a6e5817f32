//! Fits the columns of a table to the width of the terminal.

use super::GAP;
use super::style::{Style, paint};

/// Columns of sentences and lists: they go on in the next line.
const WRAPPED: [&str; 10] = [
    "WHY",
    "WHY NOT",
    "MESSAGE",
    "RUN BY",
    "USED BY",
    "LABELS",
    "DEFINITIONS",
    "COMPONENTS",
    "NEW REFERENCE",
    "RESOLVED",
];
/// A column of sentences is no narrower than this.
const NARROWEST_WRAPPED: usize = 14;
/// And one of names is no narrower than this.
const NARROWEST: usize = 8;

fn is_wrapped(heading: &str) -> bool {
    WRAPPED.contains(&heading)
}

/// Whether a line of `width` has room for all names, with sentences that go on in the next line.
pub(super) fn has_room(headings: &[String], rows: &[Vec<String>], width: usize) -> bool {
    let natural = widths(headings, rows, None);
    let fitted = widths(headings, rows, Some(width));
    let mut columns = headings.iter().zip(natural.iter().zip(&fitted));
    columns.all(|(heading, (natural, fitted))| is_wrapped(heading) || natural == fitted)
        && room(headings, width) >= fitted.iter().sum()
}

/// What a line of `width` has for cells.
fn room(headings: &[String], width: usize) -> usize {
    width.saturating_sub(GAP.len() * headings.len().saturating_sub(1))
}

/// How wide each column is: as wide as it needs, or as a line of `width` has room for. Sentences give way before names do.
pub(super) fn widths(headings: &[String], rows: &[Vec<String>], width: Option<usize>) -> Vec<usize> {
    let needed = |(column, heading): (usize, &String)| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let lengths = cells.map(|cell| cell.chars().count());
        lengths.max().unwrap_or_default().max(heading.chars().count())
    };
    let mut widths: Vec<usize> = headings.iter().enumerate().map(needed).collect();
    let Some(width) = width else {
        return widths;
    };
    let room = room(headings, width);
    while widths.iter().sum::<usize>() > room {
        let can_give = |wrapped: bool| {
            let columns = headings.iter().enumerate().filter(|(column, heading)| {
                let narrowest = match wrapped {
                    true => NARROWEST_WRAPPED,
                    false => NARROWEST,
                };
                is_wrapped(heading) == wrapped && widths[*column] > narrowest.max(heading.chars().count())
            });
            columns
                .map(|(column, _)| column)
                .max_by_key(|column| widths[*column])
        };
        let Some(widest) = can_give(true).or_else(|| can_give(false)) else {
            break;
        };
        widths[widest] -= 1;
    }
    widths
}

/// Prints a row, in as many lines as its longest sentence needs.
pub(super) fn print(
    text: &mut String,
    headings: &[String],
    row: &[String],
    widths: &[usize],
    styles: Vec<Option<Style>>,
) {
    let cells: Vec<Vec<String>> = row
        .iter()
        .zip(widths)
        .zip(headings)
        .map(|((cell, width), heading)| match is_wrapped(heading) {
            true => wrap(cell, *width),
            false => vec![shorten(cell, *width)],
        })
        .collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or_default();
    for line in 0..lines {
        let mut printed = String::new();
        let mut spare = 0;
        for (column, cell) in cells.iter().enumerate() {
            let part = cell.get(line).map_or("", String::as_str);
            if !part.is_empty() {
                printed.push_str(&" ".repeat(spare));
                spare = 0;
                printed.push_str(&paint(part, styles.get(column).copied().flatten()));
            }
            spare += widths[column].saturating_sub(part.chars().count()) + GAP.len();
        }
        text.push_str(printed.trim_end());
        text.push('\n');
    }
}

fn shorten(cell: &str, width: usize) -> String {
    match cell.chars().count() > width {
        true => cell.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => cell.to_owned(),
    }
}

/// Lines of at most this width, broken after spaces and commas where that is possible.
fn wrap(cell: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let length = |text: &str| text.chars().count();
    for word in cell.split_inclusive([' ', ',']) {
        let full = lines
            .last()
            .is_some_and(|line| !line.is_empty() && length(line) + length(word.trim_end()) > width);
        if full {
            lines.push(String::new());
        }
        for letter in word.chars() {
            if lines
                .last()
                .is_some_and(|line| length(line) >= width && letter != ' ')
            {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(letter);
            }
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}
