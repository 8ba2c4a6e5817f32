//! Arithmetic, comparison, membership.

use std::cmp::Ordering;

use super::Implementation;
use super::times::timestamp;
use crate::error::{Result, failed, no_such_overload};
use crate::meter;
use crate::value::{Value, equal};

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "_+_" => add,
        "_-_" => subtract,
        "_*_" => multiply,
        "_/_" => divide,
        "_%_" => modulo,
        "-_" => negate,
        "!_" => |arguments| match arguments {
            [Value::Bool(value)] => Ok(Value::Bool(!value)),
            _ => no_such_overload(),
        },
        "_==_" => |arguments| match arguments {
            [a, b] => equal(a, b).map(Value::Bool),
            _ => no_such_overload(),
        },
        "_!=_" => |arguments| match arguments {
            [a, b] => equal(a, b).map(|same| Value::Bool(!same)),
            _ => no_such_overload(),
        },
        "_<_" => |arguments| ordered(arguments, |ordering| ordering == Ordering::Less),
        "_<=_" => |arguments| ordered(arguments, |ordering| ordering != Ordering::Greater),
        "_>_" => |arguments| ordered(arguments, |ordering| ordering == Ordering::Greater),
        "_>=_" => |arguments| ordered(arguments, |ordering| ordering != Ordering::Less),
        "@in" => |arguments| match arguments {
            [item, Value::Map(map)] => Ok(Value::Bool(map.find(item)?.is_some())),
            [item, list @ Value::List(_)] => contains(list, item).map(Value::Bool),
            _ => no_such_overload(),
        },
        "cel.@mapInsert" => |arguments| insert(arguments.to_vec()),
        _ => return None,
    };
    Some(found)
}

/// Whether a list holds a value.
pub(crate) fn contains<'a>(list: &Value<'a>, item: &Value<'a>) -> Result<bool> {
    let Value::List(list) = list else {
        return no_such_overload();
    };
    let mut problem = None;
    for known in list.iter() {
        match known.and_then(|known| equal(&known, item)) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    match problem {
        Some(error) => Err(error),
        None => Ok(false),
    }
}

pub(super) fn compare(a: &Value<'_>, b: &Value<'_>) -> Result<Option<Ordering>> {
    let is_number = |value: &Value<'_>| matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_));
    match crate::value::compare(a, b) {
        Some(ordering) => Ok(Some(ordering)),
        None if is_number(a) && is_number(b) => Ok(None),
        None => no_such_overload(),
    }
}

fn ordered<'a>(arguments: &[Value<'a>], holds: fn(Ordering) -> bool) -> Result<Value<'a>> {
    match arguments {
        [a, b] => match compare(a, b)? {
            Some(ordering) => Ok(Value::Bool(holds(ordering))),
            None => failed("NaN values cannot be ordered"),
        },
        _ => no_such_overload(),
    }
}

const INTEGER: &str = "integer overflow";
const UNSIGNED: &str = "unsigned integer overflow";

fn or_overflow<'a, T>(
    result: Option<T>,
    wrap: fn(T) -> Value<'a>,
    message: &'static str,
) -> Result<Value<'a>> {
    match result {
        Some(value) => Ok(wrap(value)),
        None => failed(message),
    }
}

pub(super) fn add<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [Value::Int(a), Value::Int(b)] => or_overflow(a.checked_add(*b), Value::Int, INTEGER),
        [Value::Uint(a), Value::Uint(b)] => or_overflow(a.checked_add(*b), Value::Uint, UNSIGNED),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a + b)),
        [Value::String(a), Value::String(b)] => {
            meter::fits(a.len() + b.len())?;
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Ok(Value::text(text))
        }
        [Value::Bytes(a), Value::Bytes(b)] => {
            meter::fits(a.len() + b.len())?;
            Ok(Value::Bytes(a.iter().chain(b.iter()).copied().collect()))
        }
        [Value::List(a), Value::List(b)] => {
            meter::fits((a.len() + b.len()) * size_of::<Value<'_>>())?;
            a.clone().concat(b).map(Value::List)
        }
        [Value::Duration(a), Value::Duration(b)] => or_overflow(a.checked_add(*b), Value::Duration, INTEGER),
        [Value::Timestamp(time), Value::Duration(span)] | [Value::Duration(span), Value::Timestamp(time)] => {
            timestamp(time.later(i128::from(*span)))
        }
        _ => no_such_overload(),
    }
}

fn subtract<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [Value::Int(a), Value::Int(b)] => or_overflow(a.checked_sub(*b), Value::Int, INTEGER),
        [Value::Uint(a), Value::Uint(b)] => or_overflow(a.checked_sub(*b), Value::Uint, UNSIGNED),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a - b)),
        [Value::Duration(a), Value::Duration(b)] => or_overflow(a.checked_sub(*b), Value::Duration, INTEGER),
        [Value::Timestamp(time), Value::Duration(span)] => timestamp(time.later(-i128::from(*span))),
        [Value::Timestamp(a), Value::Timestamp(b)] => {
            let nanoseconds = i64::try_from(a.nanoseconds() - b.nanoseconds()).ok();
            or_overflow(nanoseconds, Value::Duration, INTEGER)
        }
        _ => no_such_overload(),
    }
}

fn multiply<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [Value::Int(a), Value::Int(b)] => or_overflow(a.checked_mul(*b), Value::Int, INTEGER),
        [Value::Uint(a), Value::Uint(b)] => or_overflow(a.checked_mul(*b), Value::Uint, UNSIGNED),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a * b)),
        _ => no_such_overload(),
    }
}

fn divide<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => failed("division by zero"),
        [Value::Int(a), Value::Int(b)] => or_overflow(a.checked_div(*b), Value::Int, INTEGER),
        [Value::Uint(a), Value::Uint(b)] => Ok(Value::Uint(a / b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a / b)),
        _ => no_such_overload(),
    }
}

fn modulo<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => failed("modulus by zero"),
        [Value::Int(a), Value::Int(b)] => or_overflow(a.checked_rem(*b), Value::Int, INTEGER),
        [Value::Uint(a), Value::Uint(b)] => Ok(Value::Uint(a % b)),
        _ => no_such_overload(),
    }
}

fn negate<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [Value::Int(value)] => or_overflow(value.checked_neg(), Value::Int, INTEGER),
        [Value::Double(value)] => Ok(Value::Double(-value)),
        _ => no_such_overload(),
    }
}

/// Inserts entries into the accumulator map of a comprehension, in place if it is not shared.
pub(crate) fn insert<'a>(mut arguments: Vec<Value<'a>>) -> Result<Value<'a>> {
    let more = arguments.split_off(arguments.len().min(1));
    let Some(Value::Map(mut map)) = arguments.pop() else {
        return no_such_overload();
    };
    match more.as_slice() {
        [Value::Map(other)] => {
            for key in other.keys() {
                if let Some(value) = other.find(&key)? {
                    map.insert(&key, value)?;
                }
            }
            Ok(Value::Map(map))
        }
        [key, value] => {
            map.insert(key, value.clone())?;
            Ok(Value::Map(map))
        }
        _ => no_such_overload(),
    }
}
