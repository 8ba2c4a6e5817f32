//! The sets library.

use super::Implementation;
use super::operators::contains;
use crate::error::{Result, no_such_overload};
use crate::value::Value;

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "sets.contains" => |arguments| match arguments {
            [list, sublist] => holds_all(list, sublist).map(Value::Bool),
            _ => no_such_overload(),
        },
        "sets.equivalent" => |arguments| match arguments {
            [a, b] => Ok(Value::Bool(holds_all(a, b)? && holds_all(b, a)?)),
            _ => no_such_overload(),
        },
        "sets.intersects" => |arguments| match arguments {
            [a, Value::List(b)] => {
                for item in b.iter() {
                    if contains(a, &item?)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            _ => no_such_overload(),
        },
        _ => return None,
    };
    Some(found)
}

fn holds_all<'a>(list: &Value<'a>, sublist: &Value<'a>) -> Result<bool> {
    let Value::List(sublist) = sublist else {
        return no_such_overload();
    };
    for item in sublist.iter() {
        if !contains(list, &item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
