//! Equality and ordering of values.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::Value;
use crate::error::{Result, no_such_overload};
use crate::meter;

/// Whether two values are equal: different types never are, but numbers compare across types.
pub(crate) fn equal<'a>(a: &Value<'a>, b: &Value<'a>) -> Result<bool> {
    meter::visit(weight(a))?;
    let same = match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) => return a.equals(b),
        (Value::Map(a), Value::Map(b)) => return a.equals(b),
        (Value::List(a), _) if a.is_typed() => return no_such_overload(),
        (Value::Map(a), _) if a.is_typed() => return no_such_overload(),
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a.same_constructor(b),
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => return equal(a, b),
            _ => false,
        },
        (Value::Quantity(a), Value::Quantity(b)) => a.cmp(*b) == Ordering::Equal,
        (Value::Url(a), Value::Url(b)) => a == b,
        (Value::Ip(a), Value::Ip(b)) => a == b,
        (Value::Cidr(a), Value::Cidr(b)) => a == b,
        (Value::Format(a), Value::Format(b)) => a.name == b.name,
        (Value::Semver(a), Value::Semver(b)) => a.cmp(b) == Ordering::Equal,
        (Value::Unknown(a), Value::Unknown(b)) => a == b,
        (Value::Made(a), Value::Made(b)) => return a.equals(b),
        _ => return Ok(compare_numbers(a, b) == Some(Ordering::Equal)),
    };
    Ok(same)
}

/// The visits that a value counts as.
fn weight(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 256,
        Value::Bytes(bytes) => 1 + bytes.len() as u64 / 256,
        Value::Unknown(json) => values(json),
        _ => 1,
    }
}

/// The number of nested values of a schemaless value.
pub(super) fn values(json: &Json) -> u64 {
    match json {
        Json::Array(items) => 1 + items.iter().map(values).sum::<u64>(),
        Json::Object(fields) => 1 + fields.values().map(values).sum::<u64>(),
        Json::String(text) => 1 + text.len() as u64 / 256,
        _ => 1,
    }
}

/// Compares two values, if they are comparable.
pub(crate) fn compare(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        _ => compare_numbers(a, b),
    }
}

fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Double(a), Value::Int(b)) => compare_double(*a, i128::from(*b)),
        (Value::Double(a), Value::Uint(b)) => compare_double(*a, i128::from(*b)),
        (Value::Int(a), Value::Double(b)) => compare_double(*b, i128::from(*a)).map(Ordering::reverse),
        (Value::Uint(a), Value::Double(b)) => compare_double(*b, i128::from(*a)).map(Ordering::reverse),
        _ => None,
    }
}

fn compare_double(a: f64, b: i128) -> Option<Ordering> {
    if a >= 1.9e19 {
        return Some(Ordering::Greater);
    }
    if a <= -1.9e19 {
        return Some(Ordering::Less);
    }
    a.partial_cmp(&(b as f64))
}
