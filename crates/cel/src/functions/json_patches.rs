//! The `jsonpatch` library.

use super::Implementation;
use crate::error::no_such_overload;
use crate::value::Value;

pub(super) fn find(name: &str) -> Option<Implementation> {
    match name {
        "jsonpatch.escapeKey" => Some(|arguments| match arguments {
            // Tildes first: those that stand for slashes are not escaped again.
            [Value::String(text)] => Ok(Value::text(text.replace('~', "~0").replace('/', "~1"))),
            _ => no_such_overload(),
        }),
        _ => None,
    }
}
