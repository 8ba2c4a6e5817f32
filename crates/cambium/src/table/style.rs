//! Colours of states: green for good, red for bad, yellow for in progress.

/// A colour, as terminals know it.
pub(super) type Style = &'static str;

const RED: Style = "\u{1b}[31m";
const GREEN: Style = "\u{1b}[32m";
const YELLOW: Style = "\u{1b}[33m";
const RESET: &str = "\u{1b}[0m";

/// Columns that say whether a condition holds.
const CONDITIONS: [&str; 5] = ["READY", "SYNCED", "ESTABLISHED", "OFFERED", "AVAILABLE"];

/// The colour of each cell.
pub(super) fn of_row(headings: &[String], row: &[String]) -> Vec<Option<Style>> {
    let cells = || headings.iter().map(String::as_str).zip(row);
    // A reason is that of the first condition beside it.
    let condition = cells().find_map(|(heading, cell)| of_condition(heading, cell));
    let is_refused = cells().any(|(heading, cell)| heading == "GOT" && cell == "<none>");
    let style = |(heading, cell): (&str, &String)| match heading {
        "REASON" => condition,
        "GOT" | "WHY" if is_refused => Some(RED),
        "WHY NOT" => Some(YELLOW),
        "ACTION" if cell == "delete" => Some(RED),
        "VERDICT" => match cell.as_str() {
            "same" => Some(GREEN),
            "missing" => Some(YELLOW),
            _ => Some(RED),
        },
        _ => of_condition(heading, cell),
    };
    cells().map(style).collect()
}

fn of_condition(heading: &str, cell: &str) -> Option<Style> {
    if !CONDITIONS.contains(&heading) {
        return None;
    }
    match cell {
        "True" => Some(GREEN),
        "False" => Some(RED),
        "Unknown" => Some(YELLOW),
        _ => None,
    }
}

/// A text in a colour.
pub(super) fn paint(text: &str, style: Option<Style>) -> String {
    match style {
        Some(style) => format!("{style}{text}{RESET}"),
        None => text.to_owned(),
    }
}
