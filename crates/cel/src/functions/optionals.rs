//! The optional library.

use std::sync::Arc;

use super::Implementation;
use crate::error::{Result, failed, no_such_overload};
use crate::value::Value;

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "optional.of" => |arguments| match arguments {
            [value] => Ok(Value::some(value.clone())),
            _ => no_such_overload(),
        },
        "optional.ofNonZeroValue" => |arguments| match arguments {
            [value] if is_zero(value) => Ok(Value::Optional(None)),
            [value] => Ok(Value::some(value.clone())),
            _ => no_such_overload(),
        },
        "optional.none" => |_| Ok(Value::Optional(None)),
        "hasValue" => |arguments| match arguments {
            [Value::Optional(inner)] => Ok(Value::Bool(inner.is_some())),
            _ => no_such_overload(),
        },
        "value" => |arguments| match arguments {
            [Value::Optional(Some(inner))] => Ok((**inner).clone()),
            [Value::Optional(None)] => failed("optional.none() dereference"),
            _ => no_such_overload(),
        },
        "optional.unwrap" | "unwrapOpt" => unwrap,
        _ => return None,
    };
    Some(found)
}

fn unwrap<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::List(list)] = arguments else {
        return no_such_overload();
    };
    let mut values = Vec::new();
    for item in list.iter() {
        match item? {
            Value::Optional(inner) => values.extend(inner.map(|inner: Arc<Value<'a>>| (*inner).clone())),
            _ => return no_such_overload(),
        }
    }
    Ok(Value::list(values))
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(value) => *value == 0,
        Value::Uint(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::Duration(value) => *value == 0,
        Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) => value.size() == 0,
        Value::Made(made) => made.fields.is_empty(),
        Value::Optional(inner) => inner.as_deref().is_none_or(is_zero),
        _ => false,
    }
}
