//! Suggests the nearest legal reference for a text that is not one.

use super::{Reference, read};

/// The reference that was most probably meant, if the text gives any hint. It always parses.
pub(super) fn nearest(text: &str) -> Option<String> {
    if text.len() > Reference::LONGEST {
        return None;
    }
    let (artifact, tail) = text.split_once('@').unwrap_or((text, ""));
    let artifact = artifact.trim().to_lowercase().replace(['_', ' '], "-");
    // Of `web@@v2` the part after both; of `web@v10@v3` the first.
    let tail = tail
        .split('@')
        .map(str::trim)
        .find(|part| !part.is_empty())
        .unwrap_or_default();
    let guesses = [
        nearest_tail(&tail.to_lowercase()).map(|tail| format!("{artifact}@{tail}")),
        Some(artifact),
    ];
    guesses
        .into_iter()
        .flatten()
        .find(|guess| read::read(guess).is_ok())
}

/// What could stand after the `@`; none if the artifact alone is nearest.
fn nearest_tail(tail: &str) -> Option<String> {
    let operator_ends = tail
        .find(|c| !matches!(c, '<' | '>' | '=' | '^' | '~' | '!' | ' '))
        .unwrap_or(tail.len());
    let (operator, rest) = tail.split_at(operator_ends);
    let first = rest
        .split([' ', ',', '|', '<', '>', '='])
        .next()
        .unwrap_or_default();
    let body = first.strip_prefix('v').unwrap_or(first);
    let numbers = leading_numbers(body);
    match operator.trim() {
        ">" | ">=" => joined(numbers.get(..1)?),
        "^" => joined(caret(&numbers)),
        "~" | "~>" => joined(&numbers[..numbers.len().min(2)]),
        "<=" => joined(&numbers),
        "<" => joined(&below(numbers)?),
        _ if read::is_range(body) => joined(&numbers),
        _ => plain(first),
    }
}

/// What `^` holds fixed: everything up to the first number that is not zero.
fn caret(numbers: &[u64]) -> &[u64] {
    let fixed = numbers
        .iter()
        .position(|number| *number > 0)
        .map_or(numbers.len(), |index| index + 1);
    &numbers[..fixed]
}

/// The series just below a bound: 1 for `<2`, 1.3 for `<1.4.0`.
fn below(mut numbers: Vec<u64>) -> Option<Vec<u64>> {
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    *numbers.last_mut()? -= 1;
    Some(numbers)
}

/// A tail that is not a range, without what cannot be there.
fn plain(tail: &str) -> Option<String> {
    let without_build = tail.split('+').next().unwrap_or_default();
    let dashed = without_build.replace(['_', '/', ':'], "-");
    let parts = dashed
        .split('.')
        .map(|part| part.trim_matches('-'))
        .filter(|part| !part.is_empty());
    let cleaned = parts.collect::<Vec<_>>().join(".");
    (!cleaned.is_empty()).then_some(cleaned)
}

fn leading_numbers(body: &str) -> Vec<u64> {
    let core = body.split(['-', '+']).next().unwrap_or_default();
    core.split('.')
        .take(3)
        .map_while(|part| part.parse().ok())
        .collect()
}

fn joined(numbers: &[u64]) -> Option<String> {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    (!texts.is_empty()).then(|| texts.join("."))
}
