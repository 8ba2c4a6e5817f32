//! The semver library, and comparisons shared with quantities.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Implementation;
use crate::error::{Result, failure, no_such_overload};
use crate::value::Value;

/// A version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Semver {
    numbers: [u64; 3],
    before: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Text(String),
}

impl Semver {
    /// Compares versions, ignoring build metadata.
    pub(crate) fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.before.is_empty(), other.before.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.before.cmp(&other.before),
            }
        })
    }
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "semver" => |arguments| match arguments {
            [Value::String(text)] => version(parse(text)),
            [Value::String(text), Value::Bool(normalize)] => version(read(text, *normalize)),
            _ => no_such_overload(),
        },
        "isSemver" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(parse(text).is_ok())),
            [Value::String(text), Value::Bool(normalize)] => Ok(Value::Bool(read(text, *normalize).is_ok())),
            _ => no_such_overload(),
        },
        "major" => |arguments| number(arguments, 0),
        "minor" => |arguments| number(arguments, 1),
        "patch" => |arguments| number(arguments, 2),
        "isGreaterThan" => |arguments| Ok(Value::Bool(compare(arguments)? == Ordering::Greater)),
        "isLessThan" => |arguments| Ok(Value::Bool(compare(arguments)? == Ordering::Less)),
        "compareTo" => |arguments| Ok(Value::Int(compare(arguments)? as i64)),
        _ => return None,
    };
    Some(found)
}

fn compare(arguments: &[Value<'_>]) -> Result<Ordering> {
    match arguments {
        [Value::Semver(a), Value::Semver(b)] => Ok(Semver::cmp(a, b)),
        [Value::Quantity(a), Value::Quantity(b)] => Ok(a.cmp(*b)),
        _ => no_such_overload(),
    }
}

fn number<'a>(arguments: &[Value<'a>], index: usize) -> Result<Value<'a>> {
    match arguments {
        [Value::Semver(version)] => Ok(Value::Int(version.numbers[index] as i64)),
        _ => no_such_overload(),
    }
}

fn version<'a>(parsed: std::result::Result<Semver, String>) -> Result<Value<'a>> {
    match parsed {
        Ok(version) => Ok(Value::Semver(Arc::new(version))),
        Err(cause) => failure(cause),
    }
}

fn read(text: &str, normalize: bool) -> std::result::Result<Semver, String> {
    if !normalize {
        return parse(text);
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in &mut parts {
        if part.len() > 1 {
            let stripped = part.trim_start_matches('0');
            *part = match stripped.starts_with(|first: char| first.is_ascii_digit()) {
                true => stripped.to_owned(),
                false => format!("0{stripped}"),
            };
        }
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    parse(&parts.join("."))
}

fn parse(text: &str) -> std::result::Result<Semver, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts.as_slice() else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let (rest, build) = match rest.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (*rest, None),
    };
    let (patch, before) = match rest.split_once('-') {
        Some((patch, before)) => (patch, Some(before)),
        None => (rest, None),
    };
    let numbers = [
        component(major, "major")?,
        component(minor, "minor")?,
        component(patch, "patch")?,
    ];
    let before = match before {
        Some(before) => before
            .split('.')
            .map(pre_release)
            .collect::<std::result::Result<_, _>>()?,
        None => Vec::new(),
    };
    for part in build.into_iter().flat_map(|build| build.split('.')) {
        if part.is_empty() {
            return Err("Build meta data is empty".to_owned());
        }
        if !part.bytes().all(is_allowed) {
            return Err(format!("Invalid character(s) found in build meta data {part:?}"));
        }
    }
    Ok(Semver { numbers, before })
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn component(text: &str, name: &str) -> std::result::Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {name} number {text:?}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        let title = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        return Err(format!("{title} number must not contain leading zeroes {text:?}"));
    }
    text.parse().map_err(|_| match text.is_empty() {
        true => "strconv.ParseUint: parsing \"\": invalid syntax".to_owned(),
        false => format!("strconv.ParseUint: parsing {text:?}: value out of range"),
    })
}

fn pre_release(text: &str) -> std::result::Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {text:?}"
            ));
        }
        let number = text.parse();
        return number
            .map(Part::Number)
            .map_err(|_| format!("strconv.ParseUint: parsing {text:?}: value out of range"));
    }
    match text.bytes().all(is_allowed) {
        true => Ok(Part::Text(text.to_owned())),
        false => Err(format!("Invalid character(s) found in prerelease {text:?}")),
    }
}
