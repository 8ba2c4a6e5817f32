//! `regexp`.

use super::{Builtin, Function, IntoValue};
use crate::data::Data;
use crate::eval::Machine;
use crate::eval::error::Error;
use crate::eval::expression::Value;
use crate::eval::kind::Kind;
use crate::packages::regexp;
use crate::program::ir::Position;

const fn function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("regexp", name, arity, call)
}

#[rustfmt::skip]
pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::validator("regexp", "Valid", Kind::STRING, 1, |m, a, at| regexp::valid(&m.string(a, 0, at)?).into_value(m, at)),
    Builtin::validator("regexp", "Match", Kind::STRING, 2, |m, a, at| regexp::matches(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("Find", 2, |m, a, at| regexp::find(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("FindAll", 3, |m, a, at| regexp::find_all(&m.string(a, 0, at)?, &m.string(a, 1, at)?, m.integer(a, 2, at)?, m).map(texts).into_value(m, at)),
    function("FindSubmatch", 2, |m, a, at| regexp::find_submatch(&m.string(a, 0, at)?, &m.string(a, 1, at)?, m).map(texts).into_value(m, at)),
    function("FindAllSubmatch", 3, |m, a, at| regexp::find_all_submatch(&m.string(a, 0, at)?, &m.string(a, 1, at)?, m.integer(a, 2, at)?, m)
        .map(|all| Data::List(all.into_iter().map(texts).collect())).into_value(m, at)),
    function("FindNamedSubmatch", 2, |m, a, at| regexp::find_named_submatch(&m.string(a, 0, at)?, &m.string(a, 1, at)?, m).map(named).into_value(m, at)),
    function("FindAllNamedSubmatch", 3, |m, a, at| regexp::find_all_named_submatch(&m.string(a, 0, at)?, &m.string(a, 1, at)?, m.integer(a, 2, at)?, m)
        .map(|all| Data::List(all.into_iter().map(named).collect())).into_value(m, at)),
    function("ReplaceAll", 3, |m, a, at| regexp::replace_all(&m.string(a, 0, at)?, &m.string(a, 1, at)?, &m.string(a, 2, at)?, m).into_value(m, at)),
    function("ReplaceAllLiteral", 3, |m, a, at| regexp::replace_all_literal(&m.string(a, 0, at)?, &m.string(a, 1, at)?, &m.string(a, 2, at)?, m).into_value(m, at)),
    function("QuoteMeta", 1, |m, a, at| regexp::quote_meta(&m.string(a, 0, at)?).into_value(m, at)),
];

fn texts(texts: Vec<String>) -> Data {
    Data::List(texts.into_iter().map(Data::String).collect())
}

fn named(fields: Vec<(String, String)>) -> Data {
    Data::Struct(
        fields
            .into_iter()
            .map(|(name, text)| (name, Data::String(text)))
            .collect(),
    )
}

impl IntoValue for Data {
    fn into_value(self, machine: &mut Machine<'_>, _: Position) -> Result<Value, Error> {
        let node = machine.data_node(&self);
        machine.concrete(Value::Node(node))
    }
}
