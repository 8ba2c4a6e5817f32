//! Type conversions.

use super::Implementation;
use super::times::{format_duration, parse_duration, parse_timestamp, timestamp};
use crate::error::{Result, failed, failure, no_such_overload};
use crate::value::{Instant, Value};
use cambium_go_text::{plain_float, syntax_float};

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "bool" => to_bool,
        "bytes" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bytes(text.as_bytes().into())),
            [value @ Value::Bytes(_)] => Ok(value.clone()),
            _ => no_such_overload(),
        },
        "double" => to_double,
        "duration" => |arguments| match arguments {
            [Value::String(text)] => match parse_duration(text) {
                Ok(duration) => Ok(Value::Duration(duration)),
                Err(cause) => failure(cause),
            },
            // The overload is declared upstream, but not implemented.
            [Value::Int(_)] => failed("type conversion error from 'int' to 'google.protobuf.Duration'"),
            [value @ Value::Duration(_)] => Ok(value.clone()),
            _ => no_such_overload(),
        },
        "dyn" => |arguments| match arguments {
            [value] => Ok(value.clone()),
            _ => no_such_overload(),
        },
        "int" => to_int,
        "string" => to_string,
        "timestamp" => |arguments| match arguments {
            [Value::String(text)] => match parse_timestamp(text) {
                Ok(time) => timestamp(Some(time)),
                Err(cause) => failure(cause),
            },
            [Value::Int(seconds)] => timestamp(Instant::new(i128::from(*seconds) * 1_000_000_000, 0)),
            [value @ Value::Timestamp(_)] => Ok(value.clone()),
            _ => no_such_overload(),
        },
        "type" => |arguments| match arguments {
            [value] => Ok(Value::Type(value.ty())),
            _ => no_such_overload(),
        },
        "uint" => to_uint,
        "size" => |arguments| match arguments {
            [Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_)] => {
                Ok(Value::Int(arguments[0].size() as i64))
            }
            _ => no_such_overload(),
        },
        _ => return None,
    };
    Some(found)
}

fn to_bool<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [value @ Value::Bool(_)] => Ok(value.clone()),
        [Value::String(text)] => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => failed("type conversion error from 'string' to 'bool'"),
        },
        _ => no_such_overload(),
    }
}

fn to_double<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [value @ Value::Double(_)] => Ok(value.clone()),
        [Value::Int(value)] => Ok(Value::Double(*value as f64)),
        [Value::Uint(value)] => Ok(Value::Double(*value as f64)),
        [Value::String(text)] => match text.parse::<f64>() {
            Ok(value) => Ok(Value::Double(value)),
            Err(_) => failed("type conversion error from 'string' to 'double'"),
        },
        _ => no_such_overload(),
    }
}

fn to_int<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [value @ Value::Int(_)] => Ok(value.clone()),
        [Value::Uint(value)] => match i64::try_from(*value) {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => failed("integer overflow"),
        },
        [Value::Double(value)] => match value.is_finite()
            && *value > -9_223_372_036_854_775_808.0
            && *value < 9_223_372_036_854_775_808.0
        {
            true => Ok(Value::Int(*value as i64)),
            false => failed("integer overflow"),
        },
        [Value::Duration(nanoseconds)] => Ok(Value::Int(*nanoseconds)),
        [Value::Timestamp(time)] => Ok(Value::Int(time.seconds())),
        [Value::String(text)] => match text.parse::<i64>() {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => failed("type conversion error from 'string' to 'int'"),
        },
        _ => no_such_overload(),
    }
}

fn to_uint<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match arguments {
        [value @ Value::Uint(_)] => Ok(value.clone()),
        [Value::Int(value)] => match u64::try_from(*value) {
            Ok(value) => Ok(Value::Uint(value)),
            Err(_) => failed("unsigned integer overflow"),
        },
        [Value::Double(value)] => {
            match value.is_finite() && *value >= 0.0 && *value < 18_446_744_073_709_551_616.0 {
                true => Ok(Value::Uint(*value as u64)),
                false => failed("unsigned integer overflow"),
            }
        }
        [Value::String(text)] => match text.parse::<u64>() {
            Ok(value) if !text.starts_with('+') => Ok(Value::Uint(value)),
            _ => failed("type conversion error from 'string' to 'uint'"),
        },
        _ => no_such_overload(),
    }
}

/// Converts a value to a string.
pub(crate) fn to_string<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text = match arguments {
        [value @ Value::String(_)] => return Ok(value.clone()),
        [Value::Bool(value)] => value.to_string(),
        [Value::Int(value)] => value.to_string(),
        [Value::Uint(value)] => value.to_string(),
        [Value::Double(value)] => plain_float(*value),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return failed("invalid UTF-8 in bytes, cannot convert to string"),
        },
        [Value::Timestamp(time)] => time.to_string(),
        [Value::Duration(span)] => format_duration(*span),
        [Value::Ip(address)] => address.to_string(),
        [Value::Cidr(cidr)] => cidr.to_string(),
        _ => return no_such_overload(),
    };
    Ok(Value::text(text))
}

impl Value<'_> {
    /// The value as printed in errors.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::String(text) => text.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Uint(value) => value.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Double(value) => syntax_float(*value),
            Self::Null => "null".to_owned(),
            other => other.type_name().to_owned(),
        }
    }
}
