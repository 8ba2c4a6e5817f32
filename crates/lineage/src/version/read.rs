//! The parser of versions, and suggestions for texts that are not one.

use super::{Version, VersionError, VersionProblem};
use semver::{BuildMetadata, Prerelease};

/// Where reading stopped: the part and what is wrong with it.
type Offence<'a> = (&'a str, VersionProblem);

/// Reads one to three numbers, a pre-release and build metadata.
pub(super) fn declared(text: &str) -> Result<semver::Version, VersionError> {
    read(text).map_err(|(part, problem)| VersionError {
        text: shown(text),
        part: shown(part),
        problem,
        suggestion: repaired(text),
    })
}

fn read(text: &str) -> Result<semver::Version, Offence<'_>> {
    if text.is_empty() {
        return Err((text, VersionProblem::Empty));
    }
    if text.len() > Version::LONGEST {
        return Err((text, VersionProblem::TooLong));
    }
    if text.contains(char::is_whitespace) {
        return Err((text, VersionProblem::Blank));
    }
    let (rest, build) = split(text, '+');
    let (core, prerelease) = split(rest, '-');
    if core.starts_with(['v', 'V']) {
        return Err((&core[..1], VersionProblem::Prefix));
    }
    let mut numbers = [0; 3];
    let mut count = 0;
    for part in core.split('.') {
        let slot = numbers
            .get_mut(count)
            .ok_or((part, VersionProblem::TooManyNumbers))?;
        *slot = number(part)?;
        count += 1;
    }
    for suffix in [prerelease, build].into_iter().flatten() {
        if count < 3 {
            return Err((suffix, VersionProblem::NeedsThreeNumbers));
        }
        identifiers(suffix)?;
    }
    let [major, minor, patch] = numbers;
    let mut version = semver::Version::new(major, minor, patch);
    if let Some(prerelease) = prerelease {
        version.pre = Prerelease::new(prerelease).map_err(|_| (prerelease, VersionProblem::LeadingZero))?;
    }
    if let Some(build) = build {
        version.build = BuildMetadata::new(build).map_err(|_| (build, VersionProblem::BadCharacter))?;
    }
    Ok(version)
}

fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn number(part: &str) -> Result<u64, Offence<'_>> {
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err((part, VersionProblem::NotANumber));
    }
    if part.len() > 1 && part.starts_with('0') {
        return Err((part, VersionProblem::LeadingZero));
    }
    part.parse().map_err(|_| (part, VersionProblem::TooLarge))
}

fn identifiers(suffix: &str) -> Result<(), Offence<'_>> {
    for identifier in suffix.split('.') {
        if identifier.is_empty() {
            return Err((suffix, VersionProblem::EmptyIdentifier));
        }
        if !identifier
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err((identifier, VersionProblem::BadCharacter));
        }
    }
    Ok(())
}

/// The nearest text that is a version: without `v`, blanks and leading zeros, with three numbers where they are needed.
fn repaired(text: &str) -> Option<String> {
    if text.len() > Version::LONGEST {
        return None;
    }
    let trimmed = text.trim().trim_start_matches(['v', 'V', '=']);
    let (rest, build) = split(trimmed, '+');
    let (core, prerelease) = split(rest, '-');
    let mut numbers: Vec<String> = Vec::new();
    for part in core.split('.').take(3) {
        numbers.push(match part {
            "x" | "X" | "*" | "" if !numbers.is_empty() => "0".into(),
            _ => without_zeros(part),
        });
    }
    if prerelease.is_some() || build.is_some() {
        numbers.resize(3, "0".into());
    }
    let mut guess = numbers.join(".");
    for (mark, suffix) in [('-', prerelease), ('+', build)] {
        let cleaned = suffix.map(|suffix| clean(suffix, mark)).unwrap_or_default();
        if !cleaned.is_empty() {
            guess.push(mark);
            guess.push_str(&cleaned);
        }
    }
    (guess != text && read(&guess).is_ok()).then_some(guess)
}

fn clean(suffix: &str, mark: char) -> String {
    let parts = suffix.split('.').filter(|part| !part.is_empty());
    let cleaned: Vec<String> = parts
        .map(|part| part.replace(['_', ' '], "-"))
        .map(|part| if mark == '-' { without_zeros(&part) } else { part })
        .collect();
    cleaned.join(".")
}

fn without_zeros(part: &str) -> String {
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return part.into();
    }
    let stripped = part.trim_start_matches('0');
    if stripped.is_empty() {
        "0".into()
    } else {
        stripped.into()
    }
}

/// What an error shows of a text that may be long.
fn shown(text: &str) -> String {
    match text.char_indices().nth(Version::LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
