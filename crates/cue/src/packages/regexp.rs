//! Package `regexp` and what `=~` matches with: the syntax of RE2.

mod classes;
mod translate;

use super::{Budget, CallError, within_limit};
use regex::{Captures, Regex, RegexBuilder};

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    /// The names of its groups; the first stands for the whole match and has none.
    names: Vec<Option<String>>,
    /// The worst-case cost of matching a byte, relative to the smallest patterns.
    width: u64,
    size: usize,
}

/// Size limits of compiled patterns, and the cost of matching a byte with a pattern of that size. Matching takes time
/// proportional to bytes times states, at worst.
const SIZES: [(usize, u64); 6] = [
    (SMALL, 1),
    (32 << 10, 1),
    (128 << 10, 4),
    (512 << 10, 16),
    (2 << 20, 64),
    (10 << 20, 320),
];

/// Bytes that the smallest patterns search per evaluation step.
const SEARCHED: u64 = 4096;

/// Size of patterns whose matching is always about as cheap as reading.
const SMALL: usize = 4 << 10;

/// Longer texts are charged more: a match cannot be interrupted, and must fit into the time of an evaluation.
const SHORT: usize = 1 << 10;

impl Pattern {
    /// Compiles a pattern in RE2's syntax; what that refuses, this refuses.
    pub fn compile(pattern: &str) -> Result<Self, CallError> {
        let translated =
            translate::translate(pattern).map_err(|error| CallError::Failed(error.to_string()))?;
        let mut builder = RegexBuilder::new(&translated.pattern);
        builder.nest_limit(1_100).dfa_size_limit(256 << 10);
        let mut built = Err(regex::Error::CompiledTooBig(0));
        let (mut width, mut size) = (0, 0);
        for (limit, cost) in SIZES {
            built = builder.size_limit(limit).build();
            (width, size) = (cost, limit);
            if !matches!(built, Err(regex::Error::CompiledTooBig(_))) {
                break;
            }
        }
        match built {
            Ok(regex) => Ok(Self {
                regex,
                names: translated.names,
                width,
                size,
            }),
            Err(regex::Error::CompiledTooBig(_)) => Err(CallError::Failed(format!(
                "error parsing regexp: expression too large: `{pattern}`"
            ))),
            Err(_) => Err(CallError::Failed(format!(
                "error parsing regexp: not supported here: `{pattern}`"
            ))),
        }
    }

    /// The maximum memory of the compiled pattern.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The evaluation steps of compiling it.
    pub(crate) fn compilation(&self) -> u64 {
        self.width * 100
    }

    /// The evaluation steps of matching a text of this length.
    pub(crate) fn weight(&self, length: usize) -> u64 {
        let long = length.saturating_sub(SHORT) as u64;
        let worst = match self.size {
            SMALL => long / 4,
            _ => long.saturating_mul(2 * self.width),
        };
        self.reading(length).saturating_add(worst)
    }

    /// The evaluation steps if matching is as cheap as reading.
    pub(crate) fn reading(&self, length: usize) -> u64 {
        self.width.saturating_mul(length as u64) / 16
    }

    /// Whether it matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Counts what it takes to find one more match: all that follows may have to be looked at, for each match again.
    fn searched(&self, text: &str, start: usize, budget: &mut dyn Budget) -> Result<(), CallError> {
        budget.take(
            self.width.saturating_mul((text.len() - start) as u64) / SEARCHED,
            0,
        )
    }

    fn named(
        &self,
        captures: &Captures<'_>,
        budget: &mut dyn Budget,
    ) -> Result<Vec<(String, String)>, CallError> {
        let mut found: Vec<(String, String)> = Vec::new();
        budget.take(self.names.len() as u64 / 64, 0)?;
        for (index, name) in self.names.iter().enumerate() {
            let Some(name) = name else { continue };
            let text = copied(captures, index, budget)?;
            match found.binary_search_by(|(other, _)| other.cmp(name)) {
                Ok(at) => found[at].1 = text,
                Err(at) => found.insert(at, (name.clone(), text)),
            }
        }
        Ok(found)
    }
}

/// Whether a pattern is valid; says why not otherwise.
pub fn valid(pattern: &str) -> Result<bool, CallError> {
    Pattern::compile(pattern).map(|_| true)
}

/// Whether a pattern matches anywhere in a text.
pub fn matches(pattern: &str, text: &str) -> Result<bool, CallError> {
    Ok(Pattern::compile(pattern)?.is_match(text))
}

/// The first match.
pub fn find(pattern: &str, text: &str) -> Result<String, CallError> {
    let pattern = Pattern::compile(pattern)?;
    pattern
        .regex
        .find(text)
        .map(|found| found.as_str().to_owned())
        .ok_or_else(no_match)
}

/// All matches, at most `limit` when that is not negative.
pub fn find_all(
    pattern: &str,
    text: &str,
    limit: i64,
    budget: &mut dyn Budget,
) -> Result<Vec<String>, CallError> {
    let pattern = Pattern::compile(pattern)?;
    let mut all = Vec::new();
    for found in pattern.regex.find_iter(text).take(count(limit)) {
        pattern.searched(text, found.start(), budget)?;
        all.push(found.as_str().to_owned());
    }
    some(all)
}

/// The first match and what its groups matched.
pub fn find_submatch(pattern: &str, text: &str, budget: &mut dyn Budget) -> Result<Vec<String>, CallError> {
    let pattern = Pattern::compile(pattern)?;
    let captures = pattern.regex.captures(text).ok_or_else(no_match)?;
    groups(&captures, budget)
}

/// All matches and what their groups matched, at most `limit` when that is not negative.
pub fn find_all_submatch(
    pattern: &str,
    text: &str,
    limit: i64,
    budget: &mut dyn Budget,
) -> Result<Vec<Vec<String>>, CallError> {
    all_captures(pattern, text, limit, budget, |_, captures, budget| {
        groups(captures, budget)
    })
}

/// The named groups of the first match, by name.
pub fn find_named_submatch(
    pattern: &str,
    text: &str,
    budget: &mut dyn Budget,
) -> Result<Vec<(String, String)>, CallError> {
    let pattern = Pattern::compile(pattern)?;
    let captures = pattern.regex.captures(text).ok_or_else(no_match)?;
    pattern.named(&captures, budget)
}

/// The named groups of all matches, by name; at most `limit` matches when that is not negative.
pub fn find_all_named_submatch(
    pattern: &str,
    text: &str,
    limit: i64,
    budget: &mut dyn Budget,
) -> Result<Vec<Vec<(String, String)>>, CallError> {
    all_captures(pattern, text, limit, budget, Pattern::named)
}

fn all_captures<T>(
    pattern: &str,
    text: &str,
    limit: i64,
    budget: &mut dyn Budget,
    read: impl Fn(&Pattern, &Captures<'_>, &mut dyn Budget) -> Result<T, CallError>,
) -> Result<Vec<T>, CallError> {
    let pattern = Pattern::compile(pattern)?;
    let mut all = Vec::new();
    for captures in pattern.regex.captures_iter(text).take(count(limit)) {
        pattern.searched(text, captures.get_match().start(), budget)?;
        all.push(read(&pattern, &captures, budget)?);
    }
    some(all)
}

/// The text with every match replaced; `$1`, `$name` and `${name}` stand for groups and `$$` for a dollar.
pub fn replace_all(
    pattern: &str,
    text: &str,
    replacement: &str,
    budget: &mut dyn Budget,
) -> Result<String, CallError> {
    let pattern = Pattern::compile(pattern)?;
    replace_with(&pattern, text, budget, |captures, result, budget| {
        expand(&pattern, captures, replacement, result, budget)
    })
}

/// The text with every match replaced.
pub fn replace_all_literal(
    pattern: &str,
    text: &str,
    replacement: &str,
    budget: &mut dyn Budget,
) -> Result<String, CallError> {
    let pattern = Pattern::compile(pattern)?;
    replace_with(&pattern, text, budget, |_, result, _| result.push(replacement))
}

/// A pattern that matches exactly this text.
pub fn quote_meta(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

fn replace_with(
    pattern: &Pattern,
    text: &str,
    budget: &mut dyn Budget,
    mut replace: impl FnMut(&Captures<'_>, &mut Limited, &mut dyn Budget) -> Result<(), CallError>,
) -> Result<String, CallError> {
    let mut result = Limited(String::with_capacity(text.len()));
    let mut copied = 0;
    for captures in pattern.regex.captures_iter(text) {
        let whole = captures.get_match();
        pattern.searched(text, whole.start(), budget)?;
        result.push(&text[copied..whole.start()])?;
        replace(&captures, &mut result, budget)?;
        copied = whole.end();
    }
    result.push(&text[copied..])?;
    Ok(result.0)
}

/// A text that is never longer than a result may be.
struct Limited(String);

impl Limited {
    fn push(&mut self, text: &str) -> Result<(), CallError> {
        within_limit(self.0.len().checked_add(text.len()))?;
        self.0.push_str(text);
        Ok(())
    }
}

fn expand(
    pattern: &Pattern,
    captures: &Captures<'_>,
    template: &str,
    result: &mut Limited,
    budget: &mut dyn Budget,
) -> Result<(), CallError> {
    // Each match may be replaced by nothing, after all of the template is read.
    budget.take(template.len() as u64 / 256, 0)?;
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        result.push(&rest[..at])?;
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            result.push("$")?;
            rest = after;
            continue;
        }
        let Some((name, after)) = variable(rest) else {
            result.push("$")?;
            continue;
        };
        rest = after;
        let numbered =
            name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
        let index = match name.parse::<usize>() {
            Ok(index) if numbered => Some(index),
            _ => {
                budget.take(pattern.names.len() as u64 / 64, 0)?;
                pattern
                    .names
                    .iter()
                    .position(|other| other.as_deref() == Some(name))
            }
        };
        result.push(index.map_or("", |index| group(captures, index)))?;
    }
    result.push(rest)
}

/// The name after a dollar, with or without braces, and what follows.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (braced, name) = match text.strip_prefix('{') {
        Some(name) => (true, name),
        None => (false, text),
    };
    let end = name
        .find(|c: char| c != '_' && !c.is_alphanumeric())
        .unwrap_or(name.len());
    let (name, after) = name.split_at(end);
    let after = if braced { after.strip_prefix('}')? } else { after };
    (!name.is_empty()).then_some((name, after))
}

fn groups(captures: &Captures<'_>, budget: &mut dyn Budget) -> Result<Vec<String>, CallError> {
    (0..captures.len())
        .map(|index| copied(captures, index, budget))
        .collect()
}

/// The text of a group. Groups are nested: each of them may be the whole text.
fn copied(captures: &Captures<'_>, index: usize, budget: &mut dyn Budget) -> Result<String, CallError> {
    let text = group(captures, index);
    if index > 0 {
        budget.take(0, size_of::<String>() + text.len())?;
    }
    Ok(text.to_owned())
}

fn group<'text>(captures: &Captures<'text>, index: usize) -> &'text str {
    captures.get(index).map_or("", |found| found.as_str())
}

fn count(limit: i64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn some<T>(found: Vec<T>) -> Result<Vec<T>, CallError> {
    if found.is_empty() {
        Err(no_match())
    } else {
        Ok(found)
    }
}

fn no_match() -> CallError {
    CallError::new("no match")
}

#[cfg(test)]
mod tests;
