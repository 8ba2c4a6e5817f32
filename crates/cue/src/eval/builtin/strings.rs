//! `strings`.

use super::{Builtin, Function, IntoValue};
use crate::eval::kind::Kind;
use crate::eval::scalar::Scalar;
use crate::number::Number;
use crate::packages::strings;

const fn function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("strings", name, arity, call)
}

const fn validator(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::validator("strings", name, Kind::STRING, arity, call)
}

#[rustfmt::skip]
pub(super) const BUILTINS: &[Builtin] = &[
    function("ToLower", 1, |m, a, at| strings::to_lower(&m.string(a, 0, at)?).into_value(m, at)),
    function("ToUpper", 1, |m, a, at| strings::to_upper(&m.string(a, 0, at)?).into_value(m, at)),
    function("ToTitle", 1, |m, a, at| strings::to_title(&m.string(a, 0, at)?).into_value(m, at)),
    function("ToCamel", 1, |m, a, at| strings::to_camel(&m.string(a, 0, at)?).into_value(m, at)),
    function("ByteAt", 2, |m, a, at| strings::byte_at(&m.bytes(a, 0, at)?, m.integer(a, 1, at)?).into_value(m, at)),
    function("ByteSlice", 3, |m, a, at| strings::byte_slice(&m.bytes(a, 0, at)?, m.integer(a, 1, at)?, m.integer(a, 2, at)?).into_value(m, at)),
    function("SliceRunes", 3, |m, a, at| strings::slice_runes(&m.string(a, 0, at)?, m.integer(a, 1, at)?, m.integer(a, 2, at)?).into_value(m, at)),
    validator("MinRunes", 2, |m, a, at| strings::min_runes(&m.string(a, 0, at)?, m.integer(a, 1, at)?).into_value(m, at)),
    validator("MaxRunes", 2, |m, a, at| strings::max_runes(&m.string(a, 0, at)?, m.integer(a, 1, at)?).into_value(m, at)),
    function("Compare", 2, |m, a, at| strings::compare(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("Count", 2, |m, a, at| strings::count(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    validator("Contains", 2, |m, a, at| strings::contains(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    validator("ContainsAny", 2, |m, a, at| strings::contains_any(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("Index", 2, |m, a, at| strings::index(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("LastIndex", 2, |m, a, at| strings::last_index(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("IndexAny", 2, |m, a, at| strings::index_any(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("LastIndexAny", 2, |m, a, at| strings::last_index_any(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("Split", 2, |m, a, at| strings::split(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("SplitN", 3, |m, a, at| strings::split_n(&m.string(a, 0, at)?, &m.string(a, 1, at)?, m.integer(a, 2, at)?).into_value(m, at)),
    function("SplitAfter", 2, |m, a, at| strings::split_after(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("SplitAfterN", 3, |m, a, at| strings::split_after_n(&m.string(a, 0, at)?, &m.string(a, 1, at)?, m.integer(a, 2, at)?).into_value(m, at)),
    function("Fields", 1, |m, a, at| strings::fields(&m.string(a, 0, at)?).into_value(m, at)),
    function("Join", 2, |m, a, at| strings::join(&m.strings(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    validator("HasPrefix", 2, |m, a, at| strings::has_prefix(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    validator("HasSuffix", 2, |m, a, at| strings::has_suffix(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("Repeat", 2, |m, a, at| strings::repeat(&m.string(a, 0, at)?, m.integer(a, 1, at)?).into_value(m, at)),
    function("Trim", 2, |m, a, at| strings::trim(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("TrimLeft", 2, |m, a, at| strings::trim_left(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("TrimRight", 2, |m, a, at| strings::trim_right(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("TrimSpace", 1, |m, a, at| strings::trim_space(&m.string(a, 0, at)?).into_value(m, at)),
    function("TrimPrefix", 2, |m, a, at| strings::trim_prefix(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("TrimSuffix", 2, |m, a, at| strings::trim_suffix(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("Replace", 4, |m, a, at| strings::replace(&m.string(a, 0, at)?, &m.string(a, 1, at)?, &m.string(a, 2, at)?, m.integer(a, 3, at)?).into_value(m, at)),
    function("Runes", 1, |m, a, at| {
        let runes = strings::runes(&m.string(a, 0, at)?);
        let mut nodes = Vec::new();
        for rune in runes {
            m.step()?;
            nodes.push(m.scalar_node(Scalar::Number(Number::integer(rune))));
        }
        Ok(m.list_value(&nodes))
    }),
];
