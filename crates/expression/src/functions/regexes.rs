//! Regular expressions, in Go's dialect.

use cambium_schema::Pattern;

use super::Implementation;
use crate::error::{EvaluationError, Result, failure, no_such_overload};
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

/// What it costs to compile a pattern that is not known before, beside what Kubernetes counts: nothing, unless it is large.
pub(crate) fn compilation(arguments: &[Value<'_>]) -> u64 {
    let Some(Value::String(pattern)) = arguments.get(1) else {
        return 0;
    };
    let size = cambium_schema::compile_pattern(pattern).map_or(0, |pattern| pattern.size);
    (size.saturating_sub(4 << 10) / 64) as u64
}

fn compiled<'a>(name: &str, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(Value::String(pattern)) = arguments.get(1) else {
        return no_such_overload();
    };
    match cambium_schema::compile_pattern(pattern) {
        Ok(pattern) => apply_regex(name, &pattern, arguments),
        Err(cause) if name == "matches" => failure(cause),
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
        ("findAll", None) => Ok(all(regex, text, usize::MAX)),
        ("findAll", Some(Value::Int(most))) => {
            Ok(all(regex, text, usize::try_from(*most).unwrap_or(usize::MAX)))
        }
        _ => no_such_overload(),
    }
}

fn all<'a>(regex: &regex::Regex, text: &str, most: usize) -> Value<'a> {
    let found = regex.find_iter(text).take(most);
    Value::list(found.map(|found| Value::text(found.as_str())).collect())
}
