//! The strings library. Positions are in characters.

use super::Implementation;
use super::template::format;
use crate::error::{EvaluationError, Result, failure, no_such_overload};
use crate::meter;
use crate::value::{List, Text, Value};

/// Maximum length of a created string.
const LONGEST: usize = 64 << 20;

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "contains" => |arguments| pair(arguments, |text, part| text.contains(part)),
        "startsWith" => |arguments| pair(arguments, |text, part| text.starts_with(part)),
        "endsWith" => |arguments| pair(arguments, |text, part| text.ends_with(part)),
        "charAt" => char_at,
        "indexOf" => |arguments| match arguments {
            [Value::List(list), item] => super::lists::position(list, item, super::lists::End::First),
            [Value::String(text), Value::String(part)] => index_of(text, part, 0),
            [Value::String(text), Value::String(part), Value::Int(offset)] => index_of(text, part, *offset),
            _ => no_such_overload(),
        },
        "lastIndexOf" => |arguments| match arguments {
            [Value::List(list), item] => super::lists::position(list, item, super::lists::End::Last),
            [Value::String(text), Value::String(part)] => match (&**part, text.chars().count() as i64) {
                ("", count) => Ok(Value::Int(count)),
                _ if text.len() < part.len() => Ok(Value::Int(-1)),
                (_, count) => last_index_of(text, part, count - 1),
            },
            [Value::String(text), Value::String(part), Value::Int(offset)] => {
                last_index_of(text, part, *offset)
            }
            _ => no_such_overload(),
        },
        "lowerAscii" => |arguments| one(arguments, str::to_ascii_lowercase),
        "upperAscii" => |arguments| one(arguments, str::to_ascii_uppercase),
        "trim" => |arguments| one(arguments, |text| text.trim().to_owned()),
        "strings.quote" => |arguments| one(arguments, quote),
        "replace" => replace,
        "split" => split,
        "substring" => substring,
        "join" => join,
        "format" => |arguments| match arguments {
            [Value::String(template), Value::List(values)] => format(template, values),
            _ => no_such_overload(),
        },
        _ => return None,
    };
    Some(found)
}

fn one<'a>(arguments: &[Value<'a>], change: fn(&str) -> String) -> Result<Value<'a>> {
    match arguments {
        [Value::String(text)] => Ok(Value::text(change(text))),
        _ => no_such_overload(),
    }
}

fn pair<'a>(arguments: &[Value<'a>], holds: fn(&str, &str) -> bool) -> Result<Value<'a>> {
    match arguments {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(holds(text, part))),
        _ => no_such_overload(),
    }
}

fn out_of_range<T>(index: i64) -> Result<T> {
    failure(format!("index out of range: {index}"))
}

fn char_at<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::String(text), Value::Int(index)] = arguments else {
        return no_such_overload();
    };
    let mut characters = text.chars();
    let Ok(position) = usize::try_from(*index) else {
        return out_of_range(*index);
    };
    match characters.nth(position) {
        Some(character) => Ok(Value::text(character.to_string())),
        None if text.chars().count() == position => Ok(Value::text("")),
        None => out_of_range(*index),
    }
}

fn index_of<'a>(text: &str, part: &str, offset: i64) -> Result<Value<'a>> {
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    let Ok(start) = usize::try_from(offset) else {
        return out_of_range(offset);
    };
    let Some((byte, _)) = text.char_indices().nth(start) else {
        return Ok(Value::Int(-1));
    };
    let found = text[byte..].find(part);
    Ok(Value::Int(found.map_or(-1, |at| {
        (start + text[byte..byte + at].chars().count()) as i64
    })))
}

fn last_index_of<'a>(text: &str, part: &str, offset: i64) -> Result<Value<'a>> {
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    let Ok(start) = usize::try_from(offset) else {
        return out_of_range(offset);
    };
    let Some((byte, _)) = text.char_indices().nth(start) else {
        return Ok(Value::Int(-1));
    };
    let found = text[..]
        .char_indices()
        .take_while(|(at, _)| *at <= byte)
        .filter(|(at, _)| text[*at..].starts_with(part))
        .last();
    Ok(Value::Int(
        found.map_or(-1, |(at, _)| text[..at].chars().count() as i64),
    ))
}

fn replace<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let (text, old, new, count) = match arguments {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(count),
        ] => (text, old, new, *count),
        _ => return no_such_overload(),
    };
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let occurrences = match old.is_empty() {
        true => text.chars().count() + 1,
        false => text.matches(&**old).count(),
    };
    let growth = occurrences.min(most).saturating_mul(new.len());
    if text.len().saturating_add(growth) > LONGEST {
        return Err(EvaluationError::CostExceeded);
    }
    meter::fits(text.len() + growth)?;
    Ok(Value::text(text.replacen(&**old, new, most)))
}

fn split<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let (text, separator, count) = match arguments {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(count)] => (text, separator, *count),
        _ => return no_such_overload(),
    };
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let part = |range: std::ops::Range<usize>| match text {
        Text::Borrowed(text) => Value::String(Text::Borrowed(&text[range])),
        Text::Shared(text) => Value::text(&text[range]),
    };
    if most == 0 {
        return Ok(Value::list(Vec::new()));
    }
    let mut parts = Vec::new();
    let mut start = 0;
    if separator.is_empty() {
        for (index, character) in text.char_indices() {
            if parts.len() + 1 == most {
                break;
            }
            start = index + character.len_utf8();
            parts.push(part(index..start));
        }
        if start < text.len() {
            parts.push(part(start..text.len()));
        }
        return Ok(Value::list(parts));
    }
    for (index, _) in text.match_indices(&**separator) {
        if parts.len() + 1 == most {
            break;
        }
        parts.push(part(start..index));
        start = index + separator.len();
    }
    parts.push(part(start..text.len()));
    Ok(Value::list(parts))
}

fn substring<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let (text, start, end) = match arguments {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return no_such_overload(),
    };
    let count = text.chars().count() as i64;
    let last = end.unwrap_or(count);
    if end.is_some() && start > last {
        return failure(format!("invalid substring range. start: {start}, end: {last}"));
    }
    for index in [start, last] {
        if index < 0 || index > count {
            return out_of_range(index);
        }
    }
    let byte = |index: i64| {
        text.char_indices()
            .nth(index as usize)
            .map_or(text.len(), |(byte, _)| byte)
    };
    Ok(Value::text(&text[byte(start)..byte(last)]))
}

fn join<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let (list, separator): (&List<'a>, &str) = match arguments {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, separator),
        _ => return no_such_overload(),
    };
    let mut text = String::new();
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            meter::fits(text.len() + separator.len())?;
            text.push_str(separator);
        }
        match item? {
            Value::String(part) => {
                meter::fits(text.len() + part.len())?;
                text.push_str(&part);
            }
            other => return failure(format!("join: invalid input: {}", other.shown())),
        }
    }
    Ok(Value::text(text))
}

/// Quotes and escapes a string.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
