//! The parser of references.

use super::{Reference, ReferenceProblem, Wanted};
use crate::name::{self, NameError};
use crate::version::{Series, Version, VersionProblem};

/// Where reading stopped: the part and what is wrong with it.
type Offence<'a> = (&'a str, ReferenceProblem);

pub(super) fn read(text: &str) -> Result<Reference, Offence<'_>> {
    if text.trim().is_empty() {
        return Err((text, ReferenceProblem::Empty));
    }
    if text.len() > Reference::LONGEST {
        return Err((text, ReferenceProblem::TooLong));
    }
    let (artifact, tail) = match text.split_once('@') {
        Some((artifact, tail)) => (artifact, Some(tail)),
        None => (text, None),
    };
    if artifact.is_empty() {
        return Err((artifact, ReferenceProblem::NoArtifact));
    }
    name::check(artifact, 253).map_err(|error| (artifact, problem(artifact, &error)))?;
    let wanted = tail.map_or(Ok(Wanted::Newest), wanted)?;
    Ok(Reference {
        artifact: artifact.into(),
        wanted,
        tail: tail.unwrap_or_default().into(),
    })
}

fn wanted(tail: &str) -> Result<Wanted, Offence<'_>> {
    if tail.trim().is_empty() {
        return Err((tail, ReferenceProblem::NothingAfterAt));
    }
    if tail.contains('@') {
        return Err((tail, ReferenceProblem::SecondAt));
    }
    if tail.trim().eq_ignore_ascii_case("latest") {
        return Err((tail, ReferenceProblem::Latest));
    }
    if is_range(tail) {
        return Err((tail, ReferenceProblem::Range));
    }
    let body = tail.strip_prefix('v').unwrap_or(tail);
    match Version::declared(body) {
        Ok(version) => return Ok(by_precision(body, version)),
        Err(error) if error.problem == VersionProblem::TooLarge => {
            return Err((tail, ReferenceProblem::TooLarge));
        }
        Err(_) => {}
    }
    tail.parse()
        .map(Wanted::Named)
        .map_err(|error| (tail, problem(tail, &error)))
}

/// How many numbers were written says whether a version or a series is meant.
fn by_precision(body: &str, version: Version) -> Wanted {
    let core = body.split(['-', '+']).next().unwrap_or(body);
    match core.split('.').count() {
        1 => Wanted::Series(Series::major(version.major())),
        2 => Wanted::Series(Series::minor(version.major(), version.minor())),
        _ => Wanted::Exact(version),
    }
}

/// Whether a text is one of the many ways to write a range of versions, or `latest`.
pub(crate) fn is_range(text: &str) -> bool {
    let text = text.trim();
    if text.eq_ignore_ascii_case("latest")
        || text.contains(['<', '>', '=', '^', '~', '*', '|', ',', '!'])
        || text.contains(" - ")
    {
        return true;
    }
    let body = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let wild = |part: &str| part.eq_ignore_ascii_case("x");
    let mut parts = body.split('.');
    let first = parts.next().unwrap_or_default();
    wild(first) && parts.clone().all(wild)
        || !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()) && parts.any(wild)
}

fn problem(text: &str, error: &NameError) -> ReferenceProblem {
    if text.contains(char::is_whitespace) {
        return ReferenceProblem::Blank;
    }
    match error {
        NameError::Empty => ReferenceProblem::Empty,
        NameError::TooLong { .. } => ReferenceProblem::TooLong,
        NameError::Uppercase { .. } => ReferenceProblem::Uppercase,
        NameError::Character { .. } => ReferenceProblem::Character,
        NameError::Shape { .. } => ReferenceProblem::Shape,
        NameError::Range { .. } => ReferenceProblem::Range,
    }
}
