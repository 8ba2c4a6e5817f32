//! Package `strings`. Indices count bytes, as in Go, except where a name says runes.

mod case;

pub use case::{to_camel, to_lower, to_title, to_upper};

use super::{CallError, within_limit};

/// The byte at an index.
pub fn byte_at(bytes: &[u8], index: i64) -> Result<u8, CallError> {
    usize::try_from(index)
        .ok()
        .and_then(|index| bytes.get(index).copied())
        .ok_or_else(out_of_range)
}

/// The bytes from `start` up to `end`.
pub fn byte_slice(bytes: &[u8], start: i64, end: i64) -> Result<&[u8], CallError> {
    let (start, end) = (usize::try_from(start).ok(), usize::try_from(end).ok());
    start
        .zip(end)
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(out_of_range)
}

/// The code points.
pub fn runes(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).collect()
}

/// Whether there are at least so many code points.
pub fn min_runes(text: &str, minimum: i64) -> bool {
    count_runes(text) >= minimum
}

/// Whether there are at most so many code points.
pub fn max_runes(text: &str, maximum: i64) -> bool {
    count_runes(text) <= maximum
}

/// The code points from `start` up to `end`.
pub fn slice_runes(text: &str, start: i64, end: i64) -> Result<&str, CallError> {
    let place = |index: i64| {
        let index = usize::try_from(index).ok()?;
        text.char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .nth(index)
    };
    place(start)
        .zip(place(end))
        .and_then(|(start, end)| text.get(start..end))
        .ok_or_else(out_of_range)
}

/// -1, 0 or 1.
pub fn compare(left: &str, right: &str) -> i64 {
    left.cmp(right) as i64
}

/// The number of non-overlapping occurrences of `part` in `text`. An empty part occurs before and after each code point.
pub fn count(text: &str, part: &str) -> i64 {
    index_of(text.matches(part).count())
}

/// Whether `part` is in `text`.
pub fn contains(text: &str, part: &str) -> bool {
    text.contains(part)
}

/// Whether any of the code points is in `text`.
pub fn contains_any(text: &str, characters: &str) -> bool {
    text.contains(|character| characters.contains(character))
}

/// The index of the first `part`, or -1.
pub fn index(text: &str, part: &str) -> i64 {
    text.find(part).map_or(-1, index_of)
}

/// The index of the last `part`, or -1.
pub fn last_index(text: &str, part: &str) -> i64 {
    text.rfind(part).map_or(-1, index_of)
}

/// The index of the first of any of the code points, or -1.
pub fn index_any(text: &str, characters: &str) -> i64 {
    text.find(|character| characters.contains(character))
        .map_or(-1, index_of)
}

/// The index of the last of any of the code points, or -1.
pub fn last_index_any(text: &str, characters: &str) -> i64 {
    text.rfind(|character| characters.contains(character))
        .map_or(-1, index_of)
}

/// The texts between separators; an empty separator splits after each code point.
pub fn split<'text>(text: &'text str, separator: &str) -> Vec<&'text str> {
    split_n(text, separator, -1)
}

/// Like [`split`], into at most `limit` texts; any number when it is negative.
pub fn split_n<'text>(text: &'text str, separator: &str, limit: i64) -> Vec<&'text str> {
    split_keeping(text, separator, 0, limit)
}

/// The texts with the separators that end them.
pub fn split_after<'text>(text: &'text str, separator: &str) -> Vec<&'text str> {
    split_after_n(text, separator, -1)
}

/// Like [`split_after`], into at most `limit` texts; any number when it is negative.
pub fn split_after_n<'text>(text: &'text str, separator: &str, limit: i64) -> Vec<&'text str> {
    split_keeping(text, separator, separator.len(), limit)
}

/// The texts between white space.
pub fn fields(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The texts with a separator between each two.
pub fn join<Text: AsRef<str>>(texts: &[Text], separator: &str) -> Result<String, CallError> {
    let length: usize = texts
        .iter()
        .map(|text| text.as_ref().len() + separator.len())
        .sum();
    within_limit(Some(length))?;
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    Ok(texts.join(separator))
}

/// Whether `text` begins with `prefix`.
pub fn has_prefix(text: &str, prefix: &str) -> bool {
    text.starts_with(prefix)
}

/// Whether `text` ends with `suffix`.
pub fn has_suffix(text: &str, suffix: &str) -> bool {
    text.ends_with(suffix)
}

/// `count` copies of `text`.
pub fn repeat(text: &str, count: i64) -> Result<String, CallError> {
    let count = usize::try_from(count).map_err(|_| CallError::new("strings: negative Repeat count"))?;
    within_limit(text.len().checked_mul(count))?;
    Ok(text.repeat(count))
}

/// `text` without any of the code points at both ends.
pub fn trim<'text>(text: &'text str, characters: &str) -> &'text str {
    text.trim_matches(|character| characters.contains(character))
}

/// `text` without any of the code points at its start.
pub fn trim_left<'text>(text: &'text str, characters: &str) -> &'text str {
    text.trim_start_matches(|character| characters.contains(character))
}

/// `text` without any of the code points at its end.
pub fn trim_right<'text>(text: &'text str, characters: &str) -> &'text str {
    text.trim_end_matches(|character| characters.contains(character))
}

/// `text` without white space at both ends.
pub fn trim_space(text: &str) -> &str {
    text.trim()
}

/// `text` without `prefix`, when it begins with that.
pub fn trim_prefix<'text>(text: &'text str, prefix: &str) -> &'text str {
    text.strip_prefix(prefix).unwrap_or(text)
}

/// `text` without `suffix`, when it ends with that.
pub fn trim_suffix<'text>(text: &'text str, suffix: &str) -> &'text str {
    text.strip_suffix(suffix).unwrap_or(text)
}

/// `text` with the first `limit` of `old` replaced by `new`; all when it is negative.
pub fn replace(text: &str, old: &str, new: &str, limit: i64) -> Result<String, CallError> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = text.matches(old).take(limit).count();
    within_limit(
        found
            .checked_mul(new.len())
            .and_then(|added| added.checked_add(text.len())),
    )?;
    Ok(text.replacen(old, new, limit))
}

fn split_keeping<'text>(text: &'text str, separator: &str, kept: usize, limit: i64) -> Vec<&'text str> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = text;
    while limit > 0 && parts.len() < limit - 1 {
        let (at, length) = match rest.chars().next() {
            first if separator.is_empty() => match first {
                Some(first) if first.len_utf8() < rest.len() => (first.len_utf8(), 0),
                _ => break,
            },
            _ => match rest.find(separator) {
                Some(at) => (at, separator.len()),
                None => break,
            },
        };
        parts.push(&rest[..at + kept]);
        rest = &rest[at + length..];
    }
    if limit > 0 && !(separator.is_empty() && rest.is_empty()) {
        parts.push(rest);
    }
    parts
}

fn count_runes(text: &str) -> i64 {
    index_of(text.chars().count())
}

fn index_of(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

fn out_of_range() -> CallError {
    CallError::new("index out of range")
}

#[cfg(test)]
mod tests;
