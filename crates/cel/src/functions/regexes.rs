//! Regular expressions, in Go's dialect.

mod repeats;

use cambium_schema::Pattern;

use super::Implementation;
use crate::error::{EvaluationError, Result, failure, no_such_overload};
use crate::meter;
use crate::value::Value;

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "matches" => |arguments| compiled("matches", arguments),
        "find" => |arguments| compiled("find", arguments),
        "findAll" => |arguments| compiled("findAll", arguments),
        _ => return None,
    };
    Some(found)
}

/// Compiles a pattern; fails for those that Go refuses, or that would be too expensive to compile.
pub(crate) fn compile_pattern(pattern: &str) -> std::result::Result<Pattern, String> {
    repeats::states(pattern).map_err(|cause| format!("error parsing regexp: {cause}"))?;
    cambium_schema::compile_pattern(pattern)
}

/// The additional cost of compiling a dynamic pattern, beyond Kubernetes': zero unless it is large.
pub(crate) fn compilation(pattern: &str) -> u64 {
    repeats::states(pattern).map_or(0, |states| states.saturating_sub(64))
}

/// The additional cost of a match, beyond Kubernetes': zero unless the pattern has many states for its length. At worst,
/// all states are visited for each byte.
pub(crate) fn matching(pattern: &Pattern, text: &str, counted: u64) -> u64 {
    let worst = (text.len() as u64).saturating_mul(per_byte(pattern));
    worst.saturating_sub(counted.saturating_mul(4))
}

fn per_byte(pattern: &Pattern) -> u64 {
    match pattern.size {
        ..=0x1000 => 0,
        size => (size as u64 >> 13) + 1,
    }
}

fn compiled<'a>(name: &str, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(Value::String(pattern)) = arguments.get(1) else {
        return no_such_overload();
    };
    apply_compiled(name, &compile_pattern(pattern), arguments)
}

/// Applies a pattern that may have failed to compile.
pub(crate) fn apply_compiled<'a>(
    name: &str,
    pattern: &std::result::Result<Pattern, String>,
    arguments: &[Value<'a>],
) -> Result<Value<'a>> {
    match pattern {
        Ok(pattern) => apply_regex(name, pattern, arguments),
        Err(cause) if name == "matches" => failure(cause.clone()),
        Err(cause) => failure(format!("Illegal regex: {cause}")),
    }
}

/// Applies a compiled pattern to the first argument.
pub(crate) fn apply_regex<'a>(name: &str, pattern: &Pattern, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(Value::String(text)) = arguments.first() else {
        return no_such_overload();
    };
    if !pattern.can_match(text) {
        return Err(EvaluationError::CostExceeded);
    }
    let regex = &pattern.regex;
    match (name, arguments.get(2)) {
        ("matches", None) => Ok(Value::Bool(regex.is_match(text))),
        ("find", None) => Ok(Value::text(regex.find(text).map_or("", |found| found.as_str()))),
        ("findAll", None) => all(pattern, text, usize::MAX),
        ("findAll", Some(Value::Int(most))) => {
            all(pattern, text, usize::try_from(*most).unwrap_or(usize::MAX))
        }
        _ => no_such_overload(),
    }
}

/// Bytes after a match that are searched per visited value.
const SEARCHED: usize = 256;

fn all<'a>(pattern: &Pattern, text: &str, most: usize) -> Result<Value<'a>> {
    let mut all = Vec::new();
    let mut made = 0;
    for found in pattern.regex.find_iter(text).take(most) {
        // All that follows may have to be looked at, for each match again.
        let searched = (text.len() - found.start()) / SEARCHED;
        meter::visit((searched as u64).saturating_mul(1 + per_byte(pattern)))?;
        made += size_of::<Value<'_>>() + found.len();
        meter::fits(made)?;
        all.push(Value::text(found.as_str()));
    }
    Ok(Value::list(all))
}
